"""English sentences that say at once whether they were heard right: common words, none that sounds like another.

``LONG`` and ``SHORT`` are asked for at the same time. Each has a sentence that begins like one of the other and has as
many characters: what looks at no more than that takes them for the same.
"""

__all__ = ["LONG", "SHORT"]

LONG = (
    "Farmers bring fresh apples to the market before sunrise.",
    "Children laugh when the puppy chases its own tail.",
    "Every evening she waters the roses behind the kitchen.",
    "Nobody noticed the silver key under the garden bench.",
    "Doctors say that a short walk after dinner helps you sleep.",
)
SHORT = (
    "Every evening he plays quiet music on a wooden guitar.",
    "Winter came early, so the lake was frozen by November.",
)

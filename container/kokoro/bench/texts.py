"""What is spoken: short answers, sentences, paragraphs, and the Harvard sentences for listening."""

from dataclasses import dataclass

from container.kokoro.bench.client import TEXT


@dataclass(frozen=True)
class Sample:
    """One text; `category` groups figures."""

    id: str
    category: str
    text: str


SHORT = (
    "One moment, please.",
    "Your appointment is confirmed.",
    "Which day would suit you best?",
    "I have found your order.",
    "Thank you, goodbye.",
    "Shall I read that to you again?",
)
"""What a voice agent says most; 25 characters on average."""

MEDIUM = (
    "The parcel was handed to your neighbour at half past three this afternoon.",
    "I can move the meeting to Thursday, or to any morning of the week after that.",
    "Please keep the receipt, because the warranty only begins with the day of purchase.",
    "Your balance is two hundred and forty dollars, and the next payment is due in June.",
)

HARVARD = (
    "The birch canoe slid on the smooth planks.",
    "Glue the sheet to the dark blue background.",
    "It's easy to tell the depth of a well.",
    "These days a chicken leg is a rare dish.",
    "Rice is often served in round bowls.",
    "The juice of lemons makes fine punch.",
    "The box was thrown beside the parked truck.",
    "The hogs were fed chopped corn and garbage.",
    "Four hours of steady work faced us.",
    "A large size in stockings is hard to sell.",
    "The boy was there when the sun rose.",
    "A rod is used to catch pink salmon.",
    "The source of the huge river is the clear spring.",
    "Kick the ball straight and follow through.",
    "Help the woman get back to her feet.",
    "A pot of tea helps to pass the evening.",
    "Smoky fires lack flame and heat.",
    "The soft cushion broke the man's fall.",
    "The salt breeze came across from the sea.",
    "The girl at the booth sold fifty bonds.",
)
"""Lists 1 and 2 of IEEE's recommended practice for speech quality measurements (1969)."""

SAMPLES = (
    *(Sample(f"short-{number}", "short", text) for number, text in enumerate(SHORT, 1)),
    *(Sample(f"medium-{number}", "medium", text) for number, text in enumerate(MEDIUM, 1)),
    Sample("long-1", "long", TEXT),
    Sample("page-1", "page", " ".join([TEXT] * 4)),
)

SPOKEN = (
    *(Sample(f"harvard-{number}", "harvard", text) for number, text in enumerate(HARVARD, 1)),
    *(sample for sample in SAMPLES if sample.category in ("medium", "long")),
)
"""What the quality is judged by: no abbreviations or digits, which a recogniser may write either way."""

MIXES = {"short": SHORT, "medium": MEDIUM, "long": (TEXT,), "mixed": (*SHORT, *MEDIUM, TEXT)}
"""Loads to choose from. A maximum depends on the length of the texts: results of two loads do not compare."""

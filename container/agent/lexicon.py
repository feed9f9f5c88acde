"""Words that decide whether a full stop ends a sentence. Additions to sentencex's own lists, for all languages at once.

All are in lower case, without their last full stop.
"""

# ruff: noqa: RUF001  # Cyrillic letters look like Latin ones, and are meant


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_LAST = _words(
    # titles
    "mr mrs ms dr prof gen col sgt capt lt rev hon sen rep gov st mt ft hr frl hrn sra srta profa dña m mm mme mlle "
    "sig dott ing avv "
    # connections
    "e.g i.e eg cf vs viz approx ca z.b d.h u.a o.ä bzw bspw ggf evtl inkl p.ej p.ex p.es c.-à-d ee av "
    "т.е т.к т.н т.д г ул им см напр проф डॉ श्री"
)
"""Abbreviations that something always follows."""

NEVER_LAST_OF = {"de": _words("fa"), "it": _words("on")}
"""The same, of one language: in others they are words."""

ELIDING_LANGUAGES = frozenset({"ca", "fr", "it"})
"""Languages that write an article before an abbreviation together with it: "l'on." is "on."."""

BEFORE_NUMBERS = _words(
    "no nos nr vol vols fig figs eq eqs sec ch chap p pp pg par art ed op app ver v tab abb bd núm pág cap стр рис гл"
)
"""Abbreviations that go on where a number follows: "vol. 2"."""

BEFORE_LETTERS = _words(
    "plan option vitamin type group grade class category gate terminal exhibit appendix annex section hepatitis "
    "version point part platform team block zone row "
    "typ gruppe klasse punkt teil anhang groupe classe opción grupo clase opção gruppo classe"
)
"""Words that a letter is the name of: in "Plan B." it is nobody's initial."""

OFTEN_LAST = frozenset({"etc", "usw", "ecc", "no"})
"""Abbreviations, and a word that looks like one, after which a capital starts a sentence."""

MAYBE_LAST = _words("inc ltd co corp jr sr al bros llc gmbh")
"""Abbreviations after which only :data:`STARTERS` start a sentence: "Acme Inc. Chairman", "Acme Inc. She"."""

TIMES = frozenset({"a.m", "p.m"})

AFTER_TIMES = _words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun eastern central mountain "
    "pacific est edt cst cdt mst mdt pst pdt et ct mt pt gmt utc bst cet cest"
)
"""Capitalised words with which a sentence goes on after one of the :data:`TIMES`."""

STARTERS = _words(
    # English
    "the this that these those it he she we you they i a an in on at but and so if when while how what where why who "
    "which there here then now yes no not is are was were do does did can could will would should let my your our "
    "his her their its after before because since for from to with as all some many most one however also still even "
    "please thank thanks next finally first "
    # German, French, Spanish, Italian, Portuguese
    "der die das ein eine er sie es wir ihr ich und aber dann wenn wie wo warum "
    "le la les un une il elle nous vous ils elles je et mais puis si "
    "el los las una yo tú él ella nosotros y pero luego "
    "lo gli uno io noi voi loro ma poi se o os as um uma eu nós mas"
)
"""Function words: their capital can only be that of a sentence."""

ORDINAL_LANGUAGES = _words("cs da de et fi hr hu is lv nb nn no pl sk sl sr tr")
"""Languages that write ordinal numbers with a full stop: "am 3. Oktober"."""

GERMAN_DETERMINERS = _words(
    "der die das den dem des am im zum zur beim vom ein eine einen einem einer eines mein meine meinen meinem meiner "
    "dein deine sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer unser unsere unseren unserem unserer "
    "dieser diese dieses diesen diesem jeder jede jedes jeden jedem"
)
"""Words after which a number with a full stop is an ordinal: "der 3. Versuch"."""

QUOTATIVES = frozenset("とってっは、，,他她我你说說问問道喊叫")
"""Characters with which a Chinese or Japanese sentence goes on after a quotation that ended in a stop."""

CONNECTIVES = frozenset("然接随便就并又才")
"""Characters with which a Chinese sentence, but hardly a Japanese one, goes on there: 然后, 接着, 便."""

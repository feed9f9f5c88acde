"""Texts of our own, and the sentences that they consist of: (language, text with | where a sentence ends)."""

# ruff: noqa: RUF001  # CJK and Cyrillic characters look like others, and are meant

GOLD: list[tuple[str, str]] = [
    # plain ends
    ("en", "It was 1980.| Another one."),
    ("en", "Hello!| I am A.| How?"),
    ("en", "What?!| No way!!| Fine."),
    ("en", "The text ends without a stop, bye"),
    ("en", "One sentence. and it goes on in lower case."),
    ("en", "I bought it.| iPhone sales rose."),
    ("en", "They sequenced it.| mRNA was found."),
    # ellipses
    ("en", "Well... maybe we should go.| Or not."),
    ("en", "He thought about it...| Then he left."),
    ("en", "I... I do not know.| Sorry."),
    ("en", "Wait… what was that?| Nothing…"),
    # abbreviations
    ("en", "Dr. Smith and Mrs. Jones met at 5 p.m. yesterday.| They talked."),
    ("en", "Ask Prof. Lee, e.g. about Gov. Brown, i.e. the new one.| She knows."),
    ("en", "Acme Inc. Chairman Bob Lee resigned.| He was old."),
    ("en", "She works for Acme Inc.| She likes it."),
    ("en", "Bring apples, pears, etc.| Come early."),
    ("en", "It needs tests, docs, etc. before Monday."),
    ("en", "See vol. 2, no. 5 and Fig. 3 on p. 17.| Then come back."),
    ("en", "Say no.| Then say it again."),
    ("en", "Garcia et al. found it.| Others did not."),
    ("en", "The U.S. Army is in the U.S. for now.| The law is strict."),
    ("en", "He moved to the U.S.| The winter was cold."),
    ("en", "It is 5 a.m.| Be quiet."),
    ("en", "The call is at 9 a.m. Eastern on Monday.| Join us."),
    ("en", "Martin Luther King Jr. Day is in January.| It is a Monday."),
    ("en", "J. R. R. Tolkien wrote it.| John F. Kennedy read it."),
    ("en", "It was written by J. K. Rowling.| He liked vitamin C.| It is healthy."),
    ("en", "He is a Ph.D. student.| He has no job."),
    ("en", "We met on Main St. near the park.| It rained."),
    # numbers, names of machines
    ("en", "It is $3.50 now.| It was 98.6 before."),
    ("en", "Version 2.0.1 is out.| 20 people have it."),
    ("en", "Pi is 3.14159, about 22/7.| Good enough."),
    ("en", "Open docs.aws.amazon.com.| Then read https://example.org/a.b?c=d first.| It is long."),
    ("en", "Mail me at j.doe@example.org.| Thanks!"),
    ("en", "Edit main.py and config.toml.| Then run it at 10:30."),
    ("en", "The server 127.0.0.1:8080 answers.| Good."),
    ("en", "Node.js and ASP.NET are old.| Rust is not."),
    # quotations and parentheses
    ("en", "He asked \"Really? Are you sure?\" and left.| I stayed."),
    ("en", "She said “Stop!” and ran.| “Why?” he asked."),
    ("en", "“Yes.”| “No.”| “Maybe.”"),
    ("en", "He said \"Go.\"| Then he went."),
    ("en", "(Note: x.)| Go on."),
    ("en", "It works (see Fig. 2. It is blue) most of the time.| Try it."),
    ("en", "That is 5'10\" tall.| Quite tall."),
    # layout
    ("en", "1. Open the door.\n|2. Close it.\n|3. Leave."),
    ("en", "1. Open the door.| 2. Close it."),
    ("en", "Shopping list:\n|- apples\n|- green pears\n|Done."),
    ("en", "# Heading\n\n|Some text here.\n|* a point"),
    ("en", "This text is wrapped\nby a machine.| It is one paragraph\nof two sentences."),
    ("en", "**Bold move.**| *Next* one."),
    ("en", "A title\n\n|the next paragraph, in lower case."),
    # emoji
    ("en", "Great job! 🎉| What is next? 🤔"),
    ("en", "I love it 😀 and you? 👍🏽| Good."),
    # glued
    ("en", "Let me see.Then we go.| Fine."),
    # German
    ("de", "Das ist z. B. Äpfel mit d. h. Birnen.| Gut."),
    ("de", "Am 3. Oktober kommt Dr. Müller.| Er bleibt bis 1980.| Dann geht er."),
    ("de", "Er sagte „Halt! Wer da?“ und lief.| Niemand kam."),
    ("de", "Wir kaufen Brot, Milch usw.| Danach gehen wir."),
    # French
    ("fr", "M. Dupont habite au n° 3.| Il est là."),
    ("fr", "« Vraiment ? » dit-elle.| Oui !"),
    ("fr", "Avec respect...| Vous savez, p. ex. hier.| Merci !"),
    # Spanish
    ("es", "El Sr. López vive en EE. UU. con la Sra. Ruiz.| ¿Y tú?| ¡Yo no!"),
    ("es", "¡Hola!| ¿Qué tal?| Son las 5.30 de la tarde."),
    # Italian, Portuguese, Polish
    ("it", "Il Sig. Rossi è qui.| La Dott. Bianchi arriva dopo.| Bene!"),
    ("pt", "O Sr. Silva chegou.| Ele trouxe 3.500 livros.| Ótimo!"),
    ("pl", "Np. Adam mieszka tutaj.| Tak jest."),
    # Chinese, Japanese, Korean
    ("zh", "你好。|我很好！|“真的吗？”他说。|再见。"),
    ("zh", "价格是3.5元。|真的吗?|好的……我们走吧。"),
    ("ja", "「本当ですか？」と彼は言った。|はい。"),
    ("ja", "今日は。|元気ですか？|はい、元気です！"),
    ("ko", "안녕하세요.| 잘 지내세요?| 네!"),
    # Hindi, Arabic, Russian
    ("hi", "यह सही है।| क्या आप ठीक हैं?| हाँ।"),
    ("ar", "مرحبا.| كيف حالك؟| بخير."),
    ("ru", "Это т. е. Москва и ул. Ленина.| А ты?| Да!"),
    ("ru", "А. С. Пушкин родился в 1799 г. в Москве.| Он писал стихи."),
]  # fmt: skip


def gold() -> list[tuple[str, str, list[str]]]:
    """Return (language, text, sentences), the sentences without the white space at their ends."""
    return [(lang, marked.replace("|", ""), [part.strip() for part in marked.split("|")]) for lang, marked in GOLD]

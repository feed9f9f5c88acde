"""A container for the whole live path: a stand-in for a voice, with a model that works, but not for long."""

from contract_tests.good.paced import PacedSession
from contract_tests.good.speech import speech_app


class QuickSession(PacedSession):
    """Makes half a minute of audio in a second: a long answer takes twice what a probe needs to see work."""

    pace = 30.0


app = speech_app(QuickSession)

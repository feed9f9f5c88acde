"""The good speech container as most people would build it: Starlette."""

from contract_tests.good.speech import speech_app

app = speech_app()

"""An application with a fake model, for servers that import it by name; it is set up as asgi.py's is."""

from container.kokoro.app import create_app
from container.kokoro.settings import from_environment
from container.kokoro.tests.fakes import FakeEngine, speech

_settings = from_environment()
app = create_app(lambda: speech(FakeEngine(), _settings), settings=_settings)

"""An application with a fake model, for servers that import it by name."""

from container.kokoro.app import create_app
from container.kokoro.tests.fakes import FakeEngine, speech

app = create_app(lambda: speech(FakeEngine()))

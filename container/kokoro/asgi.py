"""`container.kokoro.asgi:app`, for any ASGI server: set up by environment variables alone."""

from container.kokoro.app import create_app
from container.kokoro.loading import loader
from container.kokoro.settings import from_environment

_settings = from_environment()
app = create_app(loader(_settings), settings=_settings)

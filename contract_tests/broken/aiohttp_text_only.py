"""Fault: an aiohttp loop that knows only TEXT. Seen in https://github.com/kirodotdev/KiroCrew/issues/6222.

`if msg.type == WSMsgType.TEXT`, as in nearly every example: a BINARY frame is passed over in silence.
"""

from aiohttp import WSMessage, WSMsgType

from contract_tests.good.aiohttp_speech import AiohttpSession, serve, speech_server


class TextOnlySession(AiohttpSession):
    """Session whose loop has one branch."""

    def payload(self, message: WSMessage) -> str | bytes | None:
        """Return the text of a message."""
        return message.data if message.type == WSMsgType.TEXT else None


if __name__ == "__main__":
    serve(speech_server(TextOnlySession))

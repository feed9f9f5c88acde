"""Whose fault it is: one bug must not make every check red that comes across it."""

from contract_tests.bench import Bench
from contract_tests.client import Silence

__all__ = ["bad_message_ends_session", "pause_ends_session", "second_request_fails"]

_QUIET_S = 1.0


async def second_request_fails(bench: Bench) -> bool:
    """Tell whether a session does not outlive its first good request, whatever it was: CT7 says so then."""
    async with bench.connect() as conversation:
        await conversation.ask("first")
        return not (await conversation.ask("second")).complete


async def bad_message_ends_session(bench: Bench) -> bool:
    """Tell whether a session does not outlive the simplest bad messages: CT2 says so then."""
    async with bench.connect() as conversation:
        for message in bench.profile.bad_messages:
            await conversation.send(message.encode(), conversation.data_type)
            await conversation.hear(conversation.expect("bad"), patience=_QUIET_S)
            if conversation.session.over is not None:
                return True
        return not (await conversation.ask_again("after-bad")).complete


async def pause_ends_session(bench: Bench, seconds: float) -> bool:
    """Tell whether the container ends a session in which nothing whole comes for so long: CT7 says so then."""
    async with bench.connect() as conversation:
        return not isinstance(await conversation.finish(seconds), Silence)

"""The process that speaks for the callers of one Locust worker: ``python -m live_tests.load.talker``.

Locust runs its users on gevent, the SDK runs on asyncio and on threads of its own; in one process they stand in each
other's way. Turns come in as lines on stdin, answers go out as lines on stdout, any number at once.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

from contract_tests import profile
from contract_tests.client import Client
from contract_tests.conversation import Conversation
from contract_tests.pace import audio_parts
from live_tests.cloud import Cloud, UnreachableError, connected
from live_tests.load.turn import LONGEST_S, Asked, Heard
from live_tests.settings import NotConfiguredError, SettingsError, settings

__all__ = ["Talker", "main"]

_PATIENCE_S = 60.0
_CLOSING_S = 10.0


class Talker:
    """The open sessions of one worker, by caller. Each has a connection of its own, as callers have."""

    def __init__(self, cloud: Cloud, rules: profile.Profile) -> None:
        self._cloud = cloud
        self._rules = rules
        self._open: dict[str, tuple[AsyncExitStack, Conversation]] = {}

    async def take(self, asked: Asked) -> Heard:
        """Take one turn. Whatever goes wrong is the answer: a caller that gets none waits."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            async with asyncio.timeout(LONGEST_S) as limit:
                return await self.turn(asked)
        except Exception as error:  # noqa: BLE001 - told to the caller, who counts it
            waited_ms = 1000 * (clock() - begun)
            told = f"not over within {LONGEST_S:g} s" if limit.expired() else f"{type(error).__name__}: {error}"
        with suppress(Exception):  # the session may be what is broken
            async with asyncio.timeout(_CLOSING_S):
                await self._drop(asked.caller)
        return Heard(asked.number, total_ms=waited_ms, error=told)

    async def turn(self, asked: Asked) -> Heard:
        """Take one turn. A session that is over is dropped: the caller's next turn opens another one."""
        if asked.text is None:
            await self._drop(asked.caller)
            return Heard(asked.number)
        opened = None
        if asked.caller not in self._open:
            self._open[asked.caller] = await self._dial()
            at = self._open[asked.caller][1].session.opened
            opened = None if at is None else 1000 * at
        conversation = self._open[asked.caller][1]
        answer = await conversation.ask(f"load-{asked.number}", asked.text)
        waited = conversation.session.now - answer.sent_at
        audio = audio_parts(answer)
        if not answer.complete:
            await self._drop(asked.caller)
        rate = self._rules.audio.sample_rate if self._rules.audio else None
        size = sum(len(part.data) for part in answer.parts)
        return Heard(
            asked.number,
            first_audio_ms=1000 * (audio[0].at - answer.sent_at) if audio else None,
            total_ms=1000 * (answer.seconds if answer.complete else waited),
            audio_ms=500 * sum(len(part.data) for part in audio) / rate if rate else 0.0,
            size=size,
            opened_ms=opened,
            error=None if answer.complete else answer.describe(),
        )

    async def _dial(self) -> tuple[AsyncExitStack, Conversation]:
        chosen = self._cloud.settings
        stack = AsyncExitStack()
        try:
            # a client of its own: credentials of a role are renewed in a long run
            client = await stack.enter_async_context(Client.connect(chosen.streaming_url, self._cloud.account()))
            session = await client.open(chosen.endpoint, self._rules.path, self._rules.query)
            stack.push_async_callback(session.close)
        except BaseException:
            await stack.aclose()
            raise
        return stack, Conversation(session, self._rules, _PATIENCE_S, "UTF8")

    async def _drop(self, caller: str) -> None:
        entry = self._open.pop(caller, None)
        if entry is not None:
            await entry[0].aclose()

    async def close(self) -> None:
        """Close all sessions."""
        await asyncio.gather(*(self._drop(caller) for caller in list(self._open)))


async def _serve(cloud: Cloud, rules: profile.Profile) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    turns: set[asyncio.Task[None]] = set()
    talker = Talker(cloud, rules)

    async def take(asked: Asked) -> None:
        heard = await talker.take(asked)
        sys.stdout.buffer.write(heard.line())
        sys.stdout.buffer.flush()

    while line := await reader.readline():
        task = asyncio.create_task(take(Asked.read(line)))
        turns.add(task)
        task.add_done_callback(turns.discard)
    for task in turns:
        task.cancel()
    await asyncio.gather(*turns, return_exceptions=True)
    await talker.close()
    transport.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Speak until stdin ends."""
    parser = argparse.ArgumentParser(prog="python -m live_tests.load.talker")
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--region")
    parser.add_argument("--endpoint-url")
    parser.add_argument("--profile", default="kokoro")
    options = parser.parse_args(arguments)
    try:
        rules = profile.load(options.profile)
        chosen = settings(endpoint=options.endpoint, region=options.region, endpoint_url=options.endpoint_url)
        with connected(chosen) as cloud, suppress(KeyboardInterrupt):
            asyncio.run(_serve(cloud, rules))
    except (NotConfiguredError, SettingsError, UnreachableError, profile.ProfileError) as error:
        print(f"talker: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

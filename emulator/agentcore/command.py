"""``--agent`` and ``--bedrock-script``: what ``emulator up`` does for an agent."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from emulator.agentcore.start import agent_container
from emulator.bedrock.script import Script
from emulator.server import Server

__all__ = ["add_agent_options", "agent_banner", "agent_environment", "script_of", "serving_agent"]

_SNIPPET = """\
import boto3, json

answer = boto3.client("bedrock-agentcore").invoke_agent_runtime(
    agentRuntimeArn="{arn}",
    payload=json.dumps({{"prompt": "Who are you?", "mode": "bidi"}}),
)
for block in answer["response"]._raw_stream.stream():  # as it comes; iter_lines() would hold frames back
    print(block[:100])
"""


def add_agent_options(group: argparse._ArgumentGroup | argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the options of a command that runs an agent."""
    group.add_argument(
        "--agent",
        metavar="TARGET",
        default=default,
        help="the agent's container: agent (the one of this repository), MODULE:APP (a BedrockAgentCoreApp, served "
        "here), a COMMAND with {port} in it, or http://HOST:PORT (runs already). It gets the emulator's address and "
        "credentials, and SPEECH_ENDPOINT" + (f" (default: {default})" if default else ""),
    )
    group.add_argument(
        "--agent-name", default="local", metavar="NAME", help="name of its runtime (default: %(default)s)"
    )
    group.add_argument(
        "--bedrock-script",
        type=Path,
        metavar="FILE",
        help="TOML: what the model of Bedrock answers to Converse and ConverseStream, how quickly, and how it fails "
        "(default: five sentences, 40 tokens/s, the first after 0.5 s)",
    )


def script_of(options: argparse.Namespace) -> Script | None:
    """Read the script.

    Raises:
        ScriptError: it cannot be used.
    """
    return None if options.bedrock_script is None else Script.load(options.bedrock_script)


def agent_environment(server: Server, endpoint: str) -> dict[str, str]:
    """Return the variables that an agent gets: the emulator's, and the endpoint that speaks."""
    return {**server.certificates.environment(server.url), "SPEECH_ENDPOINT": endpoint}


@contextlib.asynccontextmanager
async def serving_agent(
    server: Server, options: argparse.Namespace, stopping: asyncio.Event
) -> AsyncIterator[str | None]:
    """Run the server with its agent; gives the ARN of its runtime, None where there is none or ``stopping`` was set.

    Raises:
        AgentStartError: the agent did not come up.
    """
    async with contextlib.AsyncExitStack() as agents, server:  # the server ends first: what is running is cut by it
        if options.agent is None:
            yield None
            return
        container = agent_container(options.agent, agent_environment(server, options.endpoint), heard=_print_line)
        starting = asyncio.ensure_future(agents.enter_async_context(container))
        interrupted = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait({starting, interrupted}, return_when=asyncio.FIRST_COMPLETED)
            arn = server.agents.runtimes.put(options.agent_name, starting.result()) if starting.done() else None
        finally:
            for each in (starting, interrupted):
                each.cancel()
            await asyncio.gather(starting, interrupted, return_exceptions=True)
        yield arn


def agent_banner(server: Server, arn: str | None, endpoint: str) -> str:
    """Return what ``emulator up`` says about the agent; ``endpoint`` is the one that it was told to speak with."""
    if arn is None:
        return ""
    voice = "" if endpoint in server.registry else f"It has no voice: no endpoint {endpoint} is served (--target).\n"
    page = f"Page to talk to it: {server.http_url}/_page/\n" if server.http_url is not None else ""
    client = f"A client of the agent to paste (pip install boto3):\n\n{_SNIPPET.format(arn=arn)}"
    return f"Agent: {arn}\n{voice}{page}\n{client}\n"


def _print_line(line: str) -> None:
    print(f"agent | {line}", file=sys.stderr, flush=True)

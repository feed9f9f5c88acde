"""The command line: `python -m container.agent serve`."""

import argparse
import sys
from collections.abc import Sequence

from container.agent.settings import SettingsError, from_environment

PORT = 8080
"""AgentCore's."""
_LAST_PORT = 65_535


def parser() -> argparse.ArgumentParser:
    """Return the parser."""
    result = argparse.ArgumentParser(
        prog="python -m container.agent",
        description=__doc__,
        epilog="Environment: SPEECH_ENDPOINT (the SageMaker endpoint that speaks), AGENT_MODEL_ID, AWS_REGION, "
        "AGENT_VOICE, AGENT_SYSTEM_PROMPT, and AWS_ENDPOINT_URL_BEDROCK_RUNTIME, "
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2, SSL_CERT_FILE to talk to an emulator.",
    )
    result.add_argument("command", nargs="?", choices=("serve",), default="serve")
    result.add_argument("--host", help="address to listen on; 0.0.0.0 in a container, else 127.0.0.1")
    result.add_argument("--port", type=int, default=PORT, help="port to listen on (%(default)s)")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code: 0 done, 2 it was called wrongly."""
    options = parser().parse_args(arguments)
    try:
        if not 0 <= options.port <= _LAST_PORT:
            raise SettingsError(f"--port is {options.port}; expected a number from 0 (any free one) to {_LAST_PORT}")
        settings = from_environment()
    except SettingsError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    if not settings.endpoint:
        sys.stderr.write("warning: SPEECH_ENDPOINT is not set; every turn will be answered with an error\n")
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415  # --help needs no AWS

    from container.agent import telemetry  # noqa: PLC0415  # --help needs no server
    from container.agent.app import create_app  # noqa: PLC0415  # nor the agent

    telemetry.set_up()
    try:
        app = create_app(settings)
    except (BotoCoreError, ValueError) as error:  # a profile that is not there, a region or address that is none
        sys.stderr.write(f"error: no client of Amazon Bedrock can be made with the AWS settings found here: {error}\n")
        return 2
    app.run(options.port, options.host, timeout_graceful_shutdown=5)
    return 0

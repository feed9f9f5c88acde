"""``emulator up`` and ``emulator facts``."""

import argparse
import asyncio
import contextlib
import io
import logging
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from emulator import facts
from emulator.agentcore.command import add_agent_options, agent_banner, script_of, serving_agent
from emulator.agentcore.start import AgentStartError
from emulator.arguments import add_start_timeout
from emulator.certificates import StateDirectoryError
from emulator.demo import add_command as add_demo
from emulator.endpoint import Endpoint, Variant
from emulator.faults_cli import add_commands
from emulator.fidelity import fidelity_page
from emulator.launch import TargetError, launched
from emulator.parity import import_report
from emulator.recording import Recorder, Recording, RecordingError
from emulator.replay import replay
from emulator.server import PortInUseError, Server
from emulator.sidecar import UpgradeRefusedError
from emulator.sigterm import ended_by_sigterm
from emulator.switches import Switches, switches
from emulator.target import SERVERS, parse
from emulator.trace import SessionTrace, TraceEntry
from emulator.wire.faults import Faults

__all__ = ["main"]

_log = logging.getLogger("emulator.cli")

_RECORDING = "what 'up --record DIR' wrote: DIR/REQUEST-ID.ndjson"
_SNIPPET = """\
import asyncio
from aws_sdk_sagemaker_runtime_http2 import models
from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from smithy_http.aio.crt import AWSCRTHTTPClient

async def main():
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(transport=AWSCRTHTTPClient())
    client = AsyncSageMakerRuntimeHTTP2Client(config=config)
    stream = await client.invoke_endpoint_with_bidirectional_stream(
        models.InvokeEndpointWithBidirectionalStreamInput(endpoint_name="{endpoint}")
    )
    _, output = await stream.await_output()
    part = models.RequestPayloadPart(bytes_=b'{{"text": "Hello there."}}', data_type="UTF8")
    await stream.input_stream.send(models.RequestStreamEventPayloadPart(value=part))
    event = await output.receive()
    print(event.value.data_type, event.value.bytes_[:80])
    await stream.input_stream.close()

asyncio.run(main())
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a wire log can hold what no terminal shows
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    status: int = options.run(options)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="emulator", description="A local stand-in for Amazon SageMaker AI bidirectional streaming."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="serve endpoints until Ctrl-C: one given here, and what boto3 creates")
    up.set_defaults(run=_up)
    up.add_argument(
        "--target",
        help="the container: MODULE:APP or FILE.py:APP (an ASGI app, served here), image:NAME[:TAG] (run here), "
        "'command:WORDS {port}' (a program, started here), http://HOST:PORT or ws://HOST:PORT (runs already), or "
        "kokoro (the one of this repository); without it, endpoints come from the control plane only (create_endpoint "
        "of boto3)",
    )
    up.add_argument("--server", choices=SERVERS, default=SERVERS[0], help="serves MODULE:APP (default: %(default)s)")
    add_start_timeout(up)
    up.add_argument(
        "--endpoint", default="local", metavar="NAME", help="endpoint name of --target (default: %(default)s)"
    )
    up.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME[@WEIGHT]=TARGET",
        help="in the place of --target: a production variant of the endpoint, as in blue@9=http://127.0.0.1:8080. May "
        "be given more than once",
    )
    up.add_argument(
        "--variant-seed", type=int, default=0, metavar="N", help="the same seed, the same variants in the same order"
    )
    up.add_argument(
        "--local-image",
        action="append",
        default=[],
        metavar="IMAGE=COMMAND",
        help="for create_endpoint: run COMMAND, with {port} in it, in the place of IMAGE; other images are run by the "
        "Docker engine. May be given more than once",
    )
    up.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    up.add_argument(
        "--port", type=int, default=facts.integer("wire.port"), help="0 takes any free one (default: %(default)s)"
    )
    up.add_argument(
        "--http-port",
        type=int,
        metavar="PORT",
        help="listen for plain HTTP/1.1 too, for programs that take no private CA (bidirectional streams need TLS)",
    )
    up.add_argument("--state-dir", type=Path, metavar="DIR", help="where the local CA is kept (or $BIDI_STATE_DIR)")
    up.add_argument("--log", action="store_true", help="print the wire log of every session")
    up.add_argument("--no-trace", action="store_true", help="keep no wire logs (to measure what they cost)")
    modes = up.add_mutually_exclusive_group()
    modes.add_argument(
        "--strict", action="store_true", help="every documented limit enforced (accept within 250 ms, …)"
    )
    modes.add_argument("--lenient", action="store_true", help="no limit on accepting the WebSocket")
    up.add_argument("--record", type=Path, metavar="DIR", help="write every session to DIR/REQUEST-ID.ndjson")
    add_agent_options(up.add_argument_group("agent", "what stands in for AgentCore and Bedrock"))
    _add_faults(up.add_argument_group("faults", "what is to go wrong in every session (docs/faults.md)"))
    _add_switches(up.add_argument_group("switches", "where AWS documents a number, or nobody knows (emulator facts)"))
    add_demo(commands)
    table = commands.add_parser("facts", help="print what is reproduced, and how sure we are of it")
    table.add_argument("--markdown", action="store_true", help="as the page docs/fidelity.md")
    table.add_argument(
        "--import",
        dest="report",
        type=Path,
        metavar="FILE",
        help="enter the confirmations of a live run's report (pytest -m live) into the table",
    )
    table.set_defaults(run=_facts)
    add_commands(commands)
    show = commands.add_parser("show", help="the same as 'trace show'")
    trace = commands.add_parser("trace", help="look at recorded sessions")
    inner = trace.add_subparsers(required=True, metavar="COMMAND")
    for each in (show, inner.add_parser("show", help="print recorded sessions as wire logs")):
        each.set_defaults(run=_show)
        each.add_argument("recording", type=Path, metavar="FILE", help=_RECORDING)
    again = commands.add_parser("replay", help="send a recorded session to another container and compare the answers")
    again.set_defaults(run=_replay)
    again.add_argument("recording", type=Path, metavar="FILE", help=_RECORDING)
    again.add_argument("--target", required=True, help="the other container, in every form that 'up --target' takes")
    again.add_argument("--server", choices=SERVERS, default=SERVERS[0], help="serves MODULE:APP (default: %(default)s)")
    add_start_timeout(again)
    again.add_argument("--paced", action="store_true", help="keep the recorded times between the messages")
    return parser


def _add_faults(group: argparse._ArgumentGroup) -> None:
    names = "; ".join(f"{name}: {text} ({expected})" for name, expected, text in Faults.help())
    group.add_argument(
        "--fault", action="append", default=[], metavar="NAME=VALUE", help=f"may be given more than once. {names}"
    )
    group.add_argument("--fault-seed", type=int, default=0, metavar="N", help="the same seed, the same faults")


def _add_switches(group: argparse._ArgumentGroup) -> None:
    for switch in switches():
        group.add_argument(
            switch.option,
            type=type(switch.default),
            choices=switch.choices or None,
            metavar=None if switch.choices else type(switch.default).__name__.upper(),
            default=argparse.SUPPRESS,
            help=f"{switch.text} (default: {switch.default}) [{switch.fact.id}]",
        )


def _chosen(options: argparse.Namespace) -> Switches:
    """Return the switches of the command line: a mode first, then what was given by name."""
    base = Switches()
    if options.strict:
        base = base.strict()
    elif options.lenient:
        base = base.lenient()
    names = {switch.name for switch in switches()}
    return replace(base, **{name: value for name, value in vars(options).items() if name in names})


@ended_by_sigterm()  # while a target is being started, too
def _up(options: argparse.Namespace) -> int:
    try:
        with contextlib.ExitStack() as stack:
            endpoints = {}
            faults = Faults.parse(*options.fault) if options.fault else None
            listener = _listener(options.log, options.record)  # says what is wrong before anything is started
            if options.target is not None and options.variant:
                raise ValueError("--target and --variant: an endpoint has a container or variants, not both")
            if options.target is not None:
                endpoints[options.endpoint] = Endpoint(stack.enter_context(_container(options.target, options)))
            elif options.variant:
                variants = [_variant(given, options, stack) for given in options.variant]
                endpoints[options.endpoint] = Endpoint(variants=variants)
            server = Server(
                endpoints,
                switches=_chosen(options),
                host=options.host,
                port=options.port,
                http_port=0 if options.http_port is None and options.agent is not None else options.http_port,
                local_images=dict(map(_local_image, options.local_image)),
                state_directory=options.state_dir,
                listener=listener,
                faults=faults,
                fault_seed=options.fault_seed,
                bedrock_script=script_of(options),
                variant_seed=options.variant_seed,
                keep_traces=not options.no_trace,
            )
            if faults is not None:
                print(f"Faults in every session: {faults} (seed {options.fault_seed})")
            asyncio.run(_serve(server, options))
    except (ValueError, StateDirectoryError, PortInUseError, TargetError, AgentStartError) as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


@contextlib.contextmanager
def _container(given: str, options: argparse.Namespace) -> Iterator[str]:
    """Give the address of the container, started where it does not run already."""
    target = parse(given, options.server)
    if target.kind == "url":
        yield target.address  # dialled when a client comes; it may start later
        return
    print(f"Starting {target} …", flush=True)
    with launched(target, options.start_timeout, Path.cwd(), echo=True) as url:
        yield url


def _variant(given: str, options: argparse.Namespace, stack: contextlib.ExitStack) -> Variant:
    """Read ``NAME[@WEIGHT]=TARGET``, and start the container where it does not run already."""
    match = re.fullmatch(r"([^=@]+)(?:@(\d+(?:\.\d+)?))?=(.+)", given)
    if match is None:
        raise ValueError(f"--variant {given!r}: expected is NAME[@WEIGHT]=TARGET, as in blue@9=http://127.0.0.1:8080")
    weight = float(match[2] or 1)
    Variant(match[1], "http://127.0.0.1", weight)  # says what is wrong before anything is started
    return Variant(match[1], stack.enter_context(_container(match[3], options)), weight)


def _local_image(given: str) -> tuple[str, str]:
    """Read ``IMAGE=COMMAND``."""
    image, separator, command = given.partition("=")
    if not image or not separator or not command.strip():
        raise ValueError(
            f"--local-image {given!r}: expected is IMAGE=COMMAND, as in 'voice:1=python serve.py {{port}}'"
        )
    return image, command


async def _serve(server: Server, options: argparse.Namespace) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    async with serving_agent(server, options, stopping) as arn:
        if not stopping.is_set():
            print(_banner(server, options.endpoint, arn), flush=True)
        await stopping.wait()
        print("\nStopping: open sessions are ended with an exception event.", flush=True)


def _banner(server: Server, endpoint: str, agent: str | None) -> str:
    variables = server.certificates.environment(server.url)
    exports = "\n".join(f"  export {name}={value}" for name, value in variables.items())
    first = f"Endpoint {endpoint} is served" if endpoint in server.registry else "The control plane is served"
    plain = f", without TLS at {server.http_url}" if server.http_url is not None else ""
    return (
        f"{first} at {server.url}{plain}\n"
        f"Local CA: {server.certificates.ca}\n\n"
        f"For the SDKs (AWS_CA_BUNDLE: boto3 and the AWS CLI, SSL_CERT_FILE: Python, NODE_EXTRA_CA_CERTS: JavaScript; "
        f"an SDK that does not trust the CA seems to hang for 15 s):\n{exports}\n\n"
        f"A client to paste (pip install 'aws-sdk-sagemaker-runtime-http2[awscrt]'):\n\n"
        f"{_SNIPPET.format(endpoint=endpoint)}\n"
        f"{agent_banner(server, agent, endpoint)}"
        "Ctrl-C stops the emulator."
    )


def _listener(log: bool, record: Path | None) -> Callable[[SessionTrace, TraceEntry], None] | None:
    listeners: dict[str, Callable[[SessionTrace, TraceEntry], None]] = {}
    if log:
        listeners["--log"] = _print_entry
    if record is not None:
        try:
            listeners["--record"] = Recorder(record)
        except OSError as error:
            raise ValueError(
                f"--record {record}: no session can be written there ({error.strerror or error}); expected is a "
                "directory, which is made where there is none"
            ) from None
    if not listeners:
        return None
    failed: set[tuple[str, str]] = set()

    def tell(trace: SessionTrace, entry: TraceEntry) -> None:
        for name, listener in listeners.items():
            if (trace.request_id, name) in failed:
                continue
            try:
                listener(trace, entry)
            except Exception:  # noqa: BLE001  # neither the session nor the other listener is to suffer
                failed.add((trace.request_id, name))
                _log.exception("session %s: %s failed and is told nothing more", trace.request_id, name)

    return tell


def _show(options: argparse.Namespace) -> int:
    try:
        recordings = Recording.load_all(options.recording)
    except RecordingError as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 2
    for recording in recordings:
        path = f", container path {recording.target}" if recording.target else ""
        print(f"session {recording.request_id}{path}")
        for entry in recording.entries:
            print(entry)
    return 0


def _replay(options: argparse.Namespace) -> int:
    try:
        recording = Recording.load(options.recording)
        with _container(options.target, options) as url:
            compared = asyncio.run(replay(recording, Endpoint(url), paced=options.paced))
    except (RecordingError, ValueError, UpgradeRefusedError, TargetError) as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print("\n".join(compared.differences) or f"The same {len(compared.replayed)} answers.")
    return 0 if compared.same else 1


def _print_entry(trace: SessionTrace, entry: TraceEntry) -> None:
    print(f"{trace.request_id[:8]} {entry}", flush=True)


def _facts(options: argparse.Namespace) -> int:
    if options.report is not None:
        return import_report(options.report)
    if options.markdown:
        print(fidelity_page(), end="")
        return 0
    for fact in facts.table().values():
        confirmed = f", confirmed on live AWS {fact.confirmed}" if fact.confirmed else ""
        value = f" = {fact.value}" if fact.value is not None else ""
        print(f"{fact.id}{value}\n  {fact.statement}\n  {fact.confidence}{confirmed}: {fact.url}")
    return 0

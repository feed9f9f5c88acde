"""When an agent begins to speak: sentences handed over while the model writes (bidi), or the whole text (batch).

``bench agent``: the same prompt in both modes, a scripted model at several token rates and times to
the first token. First audio counts from ``agent_start``, on the client's clock and on the container's.
"""

import argparse
import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import botocore.config
from botocore.exceptions import BotoCoreError, ClientError

from emulator.agentcore.body import blocks
from emulator.arguments import add_dry_run, count
from emulator.bench import saved
from emulator.bench.carried import CarriedError, over_events, over_websocket
from emulator.bench.chart import Chart
from emulator.bench.figures import conditions as measured_on
from emulator.bench.figures import headline
from emulator.bench.first_audio import COLUMNS, Condition, Run, report, row_of, table, timed
from emulator.bench.stack import Stack, StackError, running
from emulator.environment import environment_of
from emulator.outputfile import output_file

_CONDITIONS = ("40:0", "40:0.5", "80:0.5", "20:0.5")
_PROMPT = "Why should an agent speak before its answer is complete?"
_MODES = ("bidi", "batch")
_SPEECH = "emulator.bench.speech:app"
_DEPLOYED = "deployed"
_ARN = re.compile(r"arn:aws[\w-]*:bedrock-agentcore:([a-z0-9-]+):\d{12}:runtime/[\w-]+")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 where a bidi answer was not heard before its text was complete.

    Only with the speech container of the benchmark: a real one may be slower than the model, whatever the order.
    """
    options = _options(arguments)
    scripted = options.condition or [Condition.parse(given) for given in _CONDITIONS]
    conditions: Sequence[Condition | str] = [_DEPLOYED] if options.runtime else scripted
    target = None if options.runtime else options.target
    found = measured_on(
        agent=options.runtime or options.agent,
        target=target,
        prompt=_PROMPT,
        models=list(map(str, conditions)),
        runs_each=options.runs,
    )
    if options.dry_run:
        print(f"{headline(found)}\n{_plan(options, conditions)}")
        return 0
    carried: dict[str, Any] = {}
    try:
        if options.runtime:
            runs = _rounds(options.runtime, conditions, options.runs)
        else:
            with _stack(options, scripted) as stack, environment_of(stack.environment):
                runs = _rounds(stack.arn, conditions, options.runs)
                carried = _carried(stack, scripted[0])
    except (StackError, ValueError, BotoCoreError, ClientError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    print(report(runs, found))
    if carried:
        print(f"\n{carried['told']}")
    chart = _chart(runs, conditions)
    if options.json is not None:
        rows = [row_of(condition, mode, runs) for condition in conditions for mode in _MODES]
        raw = {"rows": rows, "runs": [run.as_json() for run in runs], "carried": carried}
        saved.write(options.json, "agent", found, COLUMNS, table(runs), raw, chart=chart)
    if options.plot is not None:
        options.plot.write_text(chart.svg())
    late = [run for run in runs if run.mode == "bidi" and run.late]
    for run in late:
        print(
            f"not early: {run.condition}, first audio at {run.container_ms:g} ms, text complete at {run.text_ms:g} ms"
        )
    return 1 if late and target == _SPEECH else 0  # another container may be slower than any text


def _chart(runs: Sequence[Run], conditions: Sequence[Condition | str]) -> Chart:
    series = {
        mode: [(at, row_of(condition, mode, runs)["client"]["p50"]) for at, condition in enumerate(conditions)]
        for mode in _MODES
    }
    return Chart("First audio after agent_start, p50", "model", "ms", series, [str(each) for each in conditions])


def _plan(options: argparse.Namespace, conditions: Sequence[Condition | str]) -> str:
    asked = f"a warm-up, then {options.runs} times each in both modes: {'; '.join(map(str, conditions))}"
    if options.runtime:
        return f"would: ask {options.runtime} {_turns(options)} times, which is billed ({asked})"
    started = f"an emulator, the speech container {options.target} and the agent {options.agent}"
    return f"would: start {started}, and ask: {asked}"


def _turns(options: argparse.Namespace) -> int:
    rounds: int = options.runs + 1
    return len(_MODES) * rounds


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench agent", description=__doc__)
    parser.add_argument("--agent", default="agent", help="as emulator up takes it (default: %(default)s)")
    parser.add_argument(
        "--target",
        default=_SPEECH,
        help="the speech container: by default one that takes 50 ms + 0.03 s for each second of audio; or kokoro, …",
    )
    parser.add_argument("--runs", type=count, default=5, help="of each mode and condition (default: %(default)s)")
    parser.add_argument(
        "--condition",
        type=Condition.parse,
        action="append",
        metavar="TPS:TTFT",
        help=f"tokens per second and seconds to the first one (default: {', '.join(_CONDITIONS)})",
    )
    parser.add_argument(
        "--runtime",
        metavar="ARN",
        help="instead: a runtime that is deployed on AWS, with its own model and voice and the AWS credentials found "
        "here; what it says is billed, so --yes is needed",
    )
    parser.add_argument("--yes", action="store_true", help="agree to what the turns of --runtime cost")
    add_dry_run(parser)
    parser.add_argument("--json", type=output_file, metavar="FILE", help="write every run and the table")
    parser.add_argument("--plot", type=output_file, metavar="FILE", help="write an SVG of the medians")
    options = parser.parse_args(arguments)
    if options.runtime is None:
        return options
    if _ARN.fullmatch(options.runtime) is None:
        parser.error(f"--runtime {options.runtime!r}: expected arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/ID")
    if options.condition:
        parser.error("--condition is for a model that is scripted here; leave it out with --runtime")
    if not options.yes and not options.dry_run:
        parser.error(f"--runtime: {_turns(options)} turns of its model, and their speech, are billed; agree with --yes")
    return options


@contextlib.contextmanager
def _stack(options: argparse.Namespace, conditions: list[Condition]) -> Iterator[Stack]:
    with tempfile.TemporaryDirectory() as state:
        script = Path(state, "script.toml")
        script.write_text(
            "".join(
                f"[[turn]]\nwhen = '\\[{each.mark}\\]'\n"
                f"tokens_per_second = {each.tokens_per_second}\nfirst_token = {each.first_token}\n"
                for each in conditions
            )
        )
        arguments = ["--target", options.target, "--agent", options.agent, "--bedrock-script", str(script)]
        print("starting emulator, speech container and agent …", file=sys.stderr)
        with running(arguments, Path(state)) as stack:
            yield stack


def _rounds(arn: str, conditions: Sequence[Condition | str], count: int) -> list[Run]:
    client = _client(arn)
    runs = []
    try:
        for number in range(count + 1):  # the first round warms up
            for condition in conditions if number else conditions[:1]:
                for mode in _MODES if number % 2 else reversed(_MODES):
                    _progress(f"\rround {number}/{count}: {condition}, {mode:<6}")
                    with _asked(client, arn, condition, mode) as answer:
                        run = timed(condition, mode, blocks(answer))
                    if number:
                        runs.append(run)
    finally:
        client.close()
    _progress("\n")
    return runs


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)


def _client(arn: str) -> Any:
    config = botocore.config.Config(retries={"total_max_attempts": 1}, read_timeout=120)
    return boto3.client("bedrock-agentcore", region_name=arn.split(":")[3], config=config)


def _request(condition: Condition | str, mode: str) -> dict[str, str]:
    return {"prompt": _PROMPT if isinstance(condition, str) else f"{_PROMPT} [{condition.mark}]", "mode": mode}


def _asked(client: Any, arn: str, condition: Condition | str, mode: str) -> "contextlib.closing[Any]":
    response = client.invoke_agent_runtime(
        agentRuntimeArn=arn,
        payload=json.dumps(_request(condition, mode)).encode(),
        contentType="application/json",
        accept="text/event-stream",
    )
    return contextlib.closing(response["response"])


def _carried(stack: Stack, condition: Condition) -> dict[str, Any]:
    """Ask once over each transport; return what the answer weighed, and in words."""
    client = _client(stack.arn)
    try:
        with _asked(client, stack.arn, condition, "batch") as answer:
            events = over_events(blocks(answer))
        frames = over_websocket(stack.http_url, stack.arn, stack.environment, _request(condition, "batch"))
    except CarriedError as error:
        return {"told": f"server-sent events against /ws: not measured ({error})"}
    finally:
        client.close()
    told = (
        f"the same answer, {events.audio / 1000:.1f} kB of audio: {events.payload / 1000:.1f} kB as server-sent "
        f"events, {frames.payload / 1000:.1f} kB over /ws: {1 - frames.payload / events.payload:.0%} less to carry"
    )
    return {"sse_bytes": events.payload, "ws_bytes": frames.payload, "audio_bytes": events.audio, "told": told}


if __name__ == "__main__":
    raise SystemExit(main())

"""When an agent begins to speak: sentences handed over while the model writes (bidi), or the whole text (batch).

``bench agent``: the same prompt in both modes, a scripted model at several token rates and times to
the first token. First audio counts from ``agent_start``, on the client's clock and on the container's.
"""

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import botocore.config

from emulator.agentcore.body import blocks
from emulator.bench.figures import at_least_one
from emulator.bench.figures import conditions as measured_on
from emulator.bench.first_audio import Condition, Run, report, row_of, timed
from emulator.bench.plot import bars
from emulator.bench.stack import Stack, StackError, running
from emulator.environment import environment_of
from emulator.outputfile import output_file

_CONDITIONS = ("40:0", "40:0.5", "80:0.5", "20:0.5")
_PROMPT = "Why should an agent speak before its answer is complete?"
_MODES = ("bidi", "batch")
_SPEECH = "emulator.bench.speech:app"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 where a bidi answer was not heard before its text was complete.

    Only with the speech container of the benchmark: a real one may be slower than the model, whatever the order.
    """
    options = _parser().parse_args(arguments)
    conditions = options.condition or [Condition.parse(given) for given in _CONDITIONS]
    found = measured_on(agent=options.agent, target=options.target, prompt=_PROMPT)
    try:
        with _stack(options, conditions) as stack:
            runs = _measure(stack, conditions, options.runs)
    except (StackError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    print(report(runs, found))
    rows = [row_of(condition, mode, runs) for condition in conditions for mode in _MODES]
    if options.json is not None:
        written = {"conditions": found, "rows": rows, "runs": [run.as_json() for run in runs]}
        options.json.write_text(json.dumps(written, indent=1) + "\n")
    if options.plot is not None:
        named = [(f"{row['condition']}, {row['mode']}", row["client"]["p50"]) for row in rows]
        bidi = {name for name, _ in named if name.endswith("bidi")}
        options.plot.write_text(bars(named, title="First audio after agent_start, p50", strong=bidi))
    late = [run for run in runs if run.mode == "bidi" and run.late]
    for run in late:
        print(
            f"not early: {run.condition}, first audio at {run.container_ms:g} ms, text complete at {run.text_ms:g} ms"
        )
    return 1 if late and options.target == _SPEECH else 0  # another container may be slower than any text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench agent", description=__doc__)
    parser.add_argument("--agent", default="agent", help="as emulator up takes it (default: %(default)s)")
    parser.add_argument(
        "--target",
        default=_SPEECH,
        help="the speech container: by default one that takes 50 ms + 0.03 s for each second of audio; or kokoro, …",
    )
    parser.add_argument(
        "--runs", type=at_least_one, default=5, help="of each mode and condition (default: %(default)s)"
    )
    parser.add_argument(
        "--condition",
        type=Condition.parse,
        action="append",
        metavar="TPS:TTFT",
        help=f"tokens per second and seconds to the first one (default: {', '.join(_CONDITIONS)})",
    )
    parser.add_argument("--json", type=output_file, metavar="FILE", help="write every run and the table")
    parser.add_argument("--plot", type=output_file, metavar="FILE", help="write an SVG of the medians")
    return parser


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


def _measure(stack: Stack, conditions: list[Condition], count: int) -> list[Run]:
    with environment_of(stack.environment):
        return _rounds(stack, conditions, count)


def _rounds(stack: Stack, conditions: list[Condition], count: int) -> list[Run]:
    config = botocore.config.Config(retries={"total_max_attempts": 1}, read_timeout=120)
    client = boto3.client("bedrock-agentcore", config=config)
    runs = []
    try:
        for number in range(count + 1):  # the first round warms up
            for condition in conditions if number else conditions[:1]:
                for mode in _MODES if number % 2 else reversed(_MODES):
                    _progress(f"\rround {number}/{count}: {condition}, {mode:<6}")
                    run = _ask(client, stack.arn, condition, mode)
                    if number:
                        runs.append(run)
    finally:
        client.close()
    _progress("\n")
    return runs


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)


def _ask(client: Any, arn: str, condition: Condition, mode: str) -> Run:
    payload = {"prompt": f"{_PROMPT} [{condition.mark}]", "mode": mode}
    response = client.invoke_agent_runtime(
        agentRuntimeArn=arn,
        payload=json.dumps(payload).encode(),
        contentType="application/json",
        accept="text/event-stream",
    )
    with contextlib.closing(response["response"]):
        return timed(condition, mode, blocks(response["response"]))


if __name__ == "__main__":
    raise SystemExit(main())

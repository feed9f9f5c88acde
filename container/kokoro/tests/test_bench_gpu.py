"""Throughput on a GPU: `uv run --extra torch pytest -m gpu container/kokoro/tests/test_bench_gpu.py`.

The servers have the environment of the test: KOKORO_BATCH and KOKORO_PRECISION choose how they compute.
"""

import json
from pathlib import Path

import pytest

from container.kokoro.bench import __main__ as bench
from container.kokoro.bench import report
from container.kokoro.tests.test_torch import marked

GOAL = 150
"""Audio-hours per hour on one GPU of a data centre."""


@pytest.mark.gpu
@marked
def test_throughput_on_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not report.has_gpu():
        pytest.skip("no CUDA device")
    file = tmp_path / "throughput.json"
    sessions = ("1", "8", "32", "64")
    measured = ("throughput", "--engine", "torch", "--sessions", *sessions, "--seconds", "30", "--peers")
    assert bench.main([*measured, "--json", str(file)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    with capsys.disabled():
        print(f"\n{found['conditions']['gpu']}, {found['conditions']['environment']}")
        for rung in found["raw"]["rungs"]:
            first = [rung[share] * 1000 for share in ("first_p50", "first_p95")]
            print(
                f"{rung['sessions']} sessions: first audio {first[0]:.0f} ms (p50), {first[1]:.0f} ms (p95), ", end=""
            )
            print(f"{rung['audio_rate']:.1f} audio-hours per hour")
    assert [rung["sessions"] for rung in found["raw"]["rungs"]] == [1, 8, 32, 64]
    assert max(rung["audio_rate"] for rung in found["raw"]["rungs"]) >= GOAL

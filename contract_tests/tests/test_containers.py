"""The fault of each broken container as it shows on the wire, without the checks; the good ones show none."""

import asyncio

import pytest

from contract_tests import broken, good
from contract_tests.containers import Container
from contract_tests.tests.probes import GOOD, PROBES
from contract_tests.tests.serving import served


def everywhere(outcome: str) -> dict[str, str]:
    """Return the symptoms of a container whose every answer is spoilt."""
    return dict.fromkeys(["text_frame", "binary_frame", "bad_message", "audio"], outcome) | {
        "sentences": f"sentence 0: {outcome}"
    }


SYMPTOMS = {
    "model-missing": everywhere("error") | {"binary_frame": "error"},
    "receive-text": {"binary_frame": "eof", "bad_message": "bad binary: eof"},
    "receive-text-hypercorn": {"binary_frame": "silence", "bad_message": "bad binary: silence"},
    "text-only-branch": {"binary_frame": "silence", "bad_message": "bad binary: silence"},
    "control-as-binary": everywhere("binary event"),
    "unguarded-json": {"bad_message": "eof"},
    "undecoded": {"bad_message": "bad binary: eof"},
    "closes-on-bad": {"bad_message": "close 1003"},
    "one-sentence": {"sentences": "sentence 1: close 1000"},
    "fragment-decode": {},  # takes fragments: tested elsewhere
    "fragment-log": {},
    "first-chunk-wait": {},  # takes a text without a word: tested elsewhere
    "empty-concat": {},
    "ping-locked": {},  # takes a long text and a look at the clock: the matrix
    "blocked-loop": {},
    "blocked-pong": {},  # takes a long text and a Ping: tested elsewhere
    "idle-timeout": {},  # takes a pause: tested elsewhere
    "odd-frames": {"audio": "odd-frame"},
    "wav-header": {"audio": "encoded"},
    "wrong-duration": {"audio": "duration"},
    "wrapping": {"audio": "wrapped"},
    "byte-shift": {"audio": "byte-shift"},
    "big-endian": {"audio": "byte-order"},
    "realtime-shift": {},  # another protocol: the matrix
    "float-samples": {"audio": "float"},
    "text-duration": {"audio": "no number"},
    "wrong-start-id": {"sentences": "sentence 0: foreign id"},
    "no-start": everywhere("audio before start") | {"bad_message": "audio before start"},
    "double-complete": {"sentences": "sentence 1: foreign id"},
    "collects": {},  # takes a look at the clock
    "clicks": {},  # takes a look at the joints
    "one-frame": {"audio": "large frame"},
    "oversize-raises": {},  # takes a large message: tested elsewhere
    "orphaned-work": {},  # takes a caller who hangs up
    "leftovers": {},  # the same
    "shared-queue": {},  # takes two callers at once
    "shared-voice": {},  # the same
    "current-socket": {},  # the same
    "task-per-message": {},  # takes two requests at once
    "stale-after-cancel": {},  # takes a cancel message
    "empty-200": {},  # HTTP only
    "silent-gap": {},  # HTTP only
    "fastapi-receive-json": {"binary_frame": "eof", "bad_message": "bad binary: eof"},
    "fastapi-validation": {"bad_message": "eof"},
    "node-binary-is-audio": {"binary_frame": "silence", "bad_message": "bad binary: silence"},
    "node-buffer-events": everywhere("binary event"),
    "node-buffer-pool": {"audio": "duration"},
    "node-close-without-code": {"close": "close 1005"},
    "node-stop-waits": {},  # takes a SIGTERM
    "node-unguarded-parse": {"bad_message": "eof"},
    "lws-fragments": {},  # takes fragments: tested elsewhere
    "aiohttp-text-only": {},  # serves itself: the matrix
    "aiohttp-deaf": {},
    "aiohttp-stop": {},
    "websockets-unguarded": {},
    "early-ping": {},  # takes a look right after its start
    "hypercorn-stop-hypercorn": {},  # the same
    "endless-worker": {},  # takes a SIGTERM
    "query-refused": {},  # takes a query string
    "deflate-refused": {},  # takes an offer of compression: none of the probes makes one
    "origin-demanded": {},  # refuses every probe
    "return-without-close": {"close": "eof"},
    "never-closes": {"close": "silence"},
    "silent-voice": {},  # takes a wrong parameter: tested elsewhere
    "nan-speed": {},
    "truncated-text": {},  # takes a long text: tested elsewhere
    "long-text-hangs": {},
    "split-control": everywhere("half an event"),
    "glued-control": everywhere("audio before start") | {"bad_message": "audio before start"},
    "ping-busy": {"ping": "503"},
    "ping-slow": {"ping": "late"},
    "skipped-sentence": {},  # takes an ear: the matrix
    "swallowed-word": {},
    "careless-cache": {},
}

TAKES_OTHERS_ALONG = {"node-unguarded-parse"}
SPEAKING = [
    container
    for container in (*good.CONTAINERS, *broken.CONTAINERS)
    if container.profile == "kokoro"
    and not container.blocks
    and container.caught_by != "CT18"  # start and stop
    and container.server not in {"aiohttp", "websockets"}  # slow to start
]


async def observe(container: Container) -> dict[str, str]:
    with served(container) as port:
        if container.caught_by == "CT13" or container.name in TAKES_OTHERS_ALONG:
            outcomes = [await probe(port) for probe in PROBES]
        else:
            outcomes = await asyncio.gather(*(probe(port) for probe in PROBES))
    return {probe.__name__: outcome for probe, outcome in zip(PROBES, outcomes, strict=True)}


@pytest.mark.parametrize("container", SPEAKING, ids=lambda container: container.name)
async def test_shows_its_fault_and_no_other(container: Container) -> None:
    assert await observe(container) == GOOD | SYMPTOMS.get(container.name, {})


def test_every_broken_container_has_a_check_and_a_known_symptom() -> None:
    names = [container.name for container in broken.CONTAINERS]
    assert sorted(names) == sorted(SYMPTOMS)
    assert all(container.caught_by for container in broken.CONTAINERS)
    assert not any(container.caught_by for container in good.CONTAINERS)
    everything = [*names, *(container.name for container in good.CONTAINERS)]
    assert len(set(everything)) == len(everything)

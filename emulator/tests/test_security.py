"""What a client sends reaches its own container and nothing else: no other container, no file, no shell."""

import os
import socket
import sys
from pathlib import Path

import pytest

from emulator import Endpoint, Server, Switches
from emulator.controlplane.container import ContainerSpec, LocalCommand
from emulator.tests.client import END_OF_INPUT, RawClient, event
from emulator.tests.containers import container
from emulator.tests.test_cli import emulator_up

UNSIGNED = Switches(signatures="off")
PATH, QUERY = "x-amzn-sagemaker-model-invocation-path", "x-amzn-sagemaker-model-query-string"


@pytest.mark.parametrize(
    "headers",
    [
        {PATH: "/169.254.169.254/latest"},
        {PATH: "//127.0.0.1:{other}/x"},
        {PATH: "http://127.0.0.1:{other}/x"},
        {PATH: "x@127.0.0.1:{other}"},
        {PATH: "x HTTP/1.1\r\nHost: 127.0.0.1:{other}"},
        {PATH: "%2e%2e/x"},
        {PATH: "file:///etc/passwd"},
        {PATH: "$(touch pwned)"},
        {QUERY: "a=b HTTP/1.1\r\nX-Other: 1"},
        {QUERY: "a=`touch pwned`"},
        {QUERY: "a=b#@127.0.0.1:{other}"},
        {":path": "/endpoints/ep%2F..%2Fother/invocations-bidirectional-stream"},
        {":path": "/endpoints/../other/invocations-bidirectional-stream"},
        {":path": "/endpoints/ep%00/invocations-bidirectional-stream"},
        {"x-amzn-sagemaker-target-variant": "http://127.0.0.1:{other}"},
    ],
)
async def test_what_could_lead_elsewhere_is_refused_and_nobody_is_dialled(
    headers: dict[str, str], state_directory: Path
) -> None:
    async with (
        container() as mine,
        container() as other,
        Server(
            {"ep": Endpoint(mine.url), "other": Endpoint(other.url)}, switches=UNSIGNED, state_directory=state_directory
        ) as server,
        RawClient(int(server.url.rsplit(":", 1)[1]), server.certificates.ca) as client,
    ):
        client.h2.config.validate_outbound_headers = False  # no SDK sends this
        client.h2.config.normalize_outbound_headers = False
        port = other.url.rsplit(":", 1)[1]
        stream = await client.open(headers={name: value.replace("{other}", port) for name, value in headers.items()})
        ended = await client.next(stream)  # a head that HTTP/2 forbids is reset, any other answered
        assert ended == "RST_STREAM 1" or await client.status(stream) in (400, 404)
        assert mine.requests == other.requests == []


@pytest.mark.parametrize(
    ("path", "seen"), [("../../etc/passwd", "/../../etc/passwd"), ("a/./b", "/a/./b"), ("..", "/..")]
)
async def test_dots_are_only_a_path_of_the_container_s_own(path: str, seen: str, state_directory: Path) -> None:
    async with (
        container() as target,
        Server({"ep": Endpoint(target.url)}, switches=UNSIGNED, state_directory=state_directory) as server,
        RawClient(int(server.url.rsplit(":", 1)[1]), server.certificates.ca) as client,
    ):
        stream = await client.open(headers={PATH: path, "x-forwarded-host": "evil.example"})
        assert await client.status(stream) == 200
        await client.send(stream, event(b"x", "UTF8"))
        assert (await client.message(stream)).payload == b"x"
        await client.send(stream, END_OF_INPUT, end=True)
        (request,) = target.requests
        assert request.path == seen
        assert request.headers["host"] == target.url.removeprefix("ws://")
        assert "evil" not in str(request.headers)


async def test_what_a_model_names_is_no_part_of_a_command(tmp_path: Path) -> None:
    trap = tmp_path / "pwned"
    spec = ContainerSpec(f"image; touch {trap}", {"A": f"$(touch {trap})", "{port}": f"; touch {trap}"})
    script = "import os, sys; print(sys.argv[1:], os.environ['A'], os.environ['SAGEMAKER_BIND_TO_PORT'])"
    command = await LocalCommand.start(f'{sys.executable} -c "{script}" {{port}} "; touch {trap}"', spec)
    try:
        while await command.exit_status() is None:
            await command._process.wait()  # noqa: SLF001  # the protocol has no event for it
        said = await command.output()
    finally:
        await command.stop(1)
    port = command.url.rsplit(":", 1)[1]
    assert said == f"['{port}', '; touch {trap}'] $(touch {trap}) {port}"
    assert not trap.exists()


def test_the_emulator_listens_on_loopback_unless_told(tmp_path: Path) -> None:
    with emulator_up("--target", "ws://127.0.0.1:9", "--port", "0", "--http-port", "0", state=tmp_path) as (
        process,
        printed,
    ):
        assert "https://127.0.0.1:" in printed
        inodes = {
            os.readlink(link).removeprefix("socket:[").removesuffix("]")  # noqa: PTH115  # not a path
            for link in Path(f"/proc/{process.pid}/fd").iterdir()
            if os.path.islink(link)  # noqa: PTH114
        }
        listening = [
            fields[1].rpartition(":")[0]
            for table in ("tcp", "tcp6")
            for fields in map(str.split, Path(f"/proc/{process.pid}/net/{table}").read_text().splitlines()[1:])
            if fields[3] == "0A" and fields[9] in inodes
        ]
    loopback = socket.inet_aton("127.0.0.1")[::-1].hex().upper()
    assert listening == [loopback, loopback]

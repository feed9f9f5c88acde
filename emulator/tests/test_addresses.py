"""Where the emulator listens, and the URL that it gives for it."""

import socket
import ssl
from pathlib import Path

import httpx
import pytest

from emulator import Emulator, Server
from emulator.cli import main


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.2", "127.0.0.2"),
        ("localhost", "localhost"),
        ("0.0.0.0", "127.0.0.1"),  # noqa: S104  # what a container is told to
        ("::1", "[::1]"),
        ("::", "[::1]"),
    ],
)
async def test_the_url_can_be_called_whatever_the_address_is(state_directory: Path, host: str, named: str) -> None:
    if ":" in host:
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            pytest.skip(f"this machine has no IPv6 ({error})")
    async with Server(host=host, port=0, http_port=0, state_directory=state_directory) as server:
        trusted = ssl.create_default_context(cafile=server.certificates.bundle)
        assert server.http_url is not None
        async with httpx.AsyncClient(verify=trusted) as client:
            for url in (server.url, server.http_url):
                assert url.split("://")[1].rpartition(":")[0] == named
                assert (await client.get(f"{url}/_emulator/traces")).status_code == 200


async def test_a_name_that_is_none_is_refused(state_directory: Path) -> None:
    with pytest.raises(ValueError, match="no certificate can be made for 'no name'"):
        await Server(host="no name", port=0, state_directory=state_directory).__aenter__()


@pytest.mark.parametrize(("port", "http_port"), [(70_000, None), (-1, None), (0, 99_999)])
def test_a_port_that_is_none_is_refused(state_directory: Path, port: int, http_port: int | None) -> None:
    with pytest.raises(ValueError, match=r"expected is 0 \(any free one\) to 65535"):
        Emulator(port=port, http_port=http_port, state_directory=state_directory)


def test_the_command_line_says_so_too(capsys: pytest.CaptureFixture[str], state_directory: Path) -> None:
    assert main(["up", "--port", "70000", "--state-dir", str(state_directory)]) == 2
    assert capsys.readouterr().err == "emulator: port is 70000; expected is 0 (any free one) to 65535\n"

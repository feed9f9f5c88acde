"""Production variants: several containers behind one name."""

import json
from collections import Counter
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection

from emulator import Endpoint, Server, Switches, Variant
from emulator.cli import main
from emulator.faults_cli import AdminClient
from emulator.registry import Registry
from emulator.tests.client import END_OF_INPUT, RawClient, event
from emulator.tests.containers import Handler, container
from emulator.tests.test_cli import emulator_up
from emulator.wire.exceptions import RequestError

UNSIGNED = Switches(signatures="off")
BLUE, GREEN = Variant("blue", "http://127.0.0.1:8081", 9), Variant("green", "http://127.0.0.1:8082", 1)


def saying(word: str) -> Handler:
    async def handler(connection: ServerConnection) -> None:
        async for _ in connection:
            await connection.send(word)

    return handler


async def answer(client: RawClient, **headers: str) -> tuple[int, str, str]:
    """Open a session; returns its status, the variant that the head names, and what the container says."""
    stream = await client.open(headers=headers)
    status = await client.status(stream)
    if status != 200:
        await client.next(stream)
        return status, "", client.body(stream).decode()
    await client.send(stream, event(b"who?", "UTF8"))
    said = (await client.message(stream)).payload.decode()
    await client.send(stream, END_OF_INPUT, end=True)
    assert await client.next(stream) == "END_STREAM"
    return status, client.headers(stream)["x-amzn-invoked-production-variant"], said


async def test_target_variant_reaches_its_own_container_and_the_head_names_it(state_directory: Path) -> None:
    async with container(saying("I am blue")) as blue, container(saying("I am green")) as green:
        endpoint = Endpoint(variants=[Variant("blue", blue.url, 1), Variant("green", green.url, 0)])
        async with (
            Server({"ep": endpoint}, switches=UNSIGNED, state_directory=state_directory) as server,
            RawClient(int(server.url.rsplit(":", 1)[1]), server.certificates.ca) as client,
        ):
            target = "x-amzn-sagemaker-target-variant"
            assert await answer(client, **{target: "green"}) == (200, "green", "I am green")  # whatever its weight
            assert await answer(client, **{target: "blue"}) == (200, "blue", "I am blue")
            for _ in range(5):
                assert await answer(client) == (200, "blue", "I am blue")
            status, _, body = await answer(client, **{target: "red"})
            assert (status, "Variant red not found for endpoint ep. It has blue, green." in body) == (400, True)
            assert [trace.variant for trace in server.data_plane.traces] == ["green", *["blue"] * 6, ""]


def test_sessions_are_shared_out_by_weight_and_the_seed_repeats_it() -> None:
    def drawn(seed: int) -> list[str]:
        registry = Registry({"ep": Endpoint(variants=[BLUE, GREEN])}, seed)
        return [registry.route("ep", None, 400).name for _ in range(1000)]

    assert 860 < Counter(drawn(1))["blue"] < 940
    assert drawn(1) == drawn(1) != drawn(2)


def test_what_happens_on_one_endpoint_does_not_change_what_another_gets() -> None:
    endpoints = {"one": Endpoint(variants=[BLUE, GREEN]), "two": Endpoint(variants=[BLUE, GREEN])}
    alone, together = Registry(endpoints), Registry(endpoints)
    expected = [alone.route("one", None, 400).name for _ in range(50)]
    found = []
    for _ in range(50):
        together.route("two", None, 400)
        found.append(together.route("one", None, 400).name)
    assert found == expected


def test_an_endpoint_of_one_container_is_one_of_one_variant() -> None:
    endpoint = Endpoint("http://127.0.0.1:8080", "only")
    assert endpoint.variants == (Variant("only", "http://127.0.0.1:8080"),)
    assert Registry({"ep": endpoint}).route("ep", "only", 400).port == 8080
    with pytest.raises(RequestError, match="It has only"):
        Registry({"ep": endpoint}).route("ep", "other", 400)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Endpoint, "is no address of a container"),
        (lambda: Endpoint(variants=[BLUE, BLUE]), "the same name: blue, blue"),
        (lambda: Endpoint(variants=[Variant("a", BLUE.container, 0)]), "are all 0"),
        (lambda: Endpoint("http://127.0.0.1:1", variants=[BLUE]), "a container or variants, not both"),
        (lambda: Variant("a_b", BLUE.container), "'a_b' is no name of a variant"),
        (lambda: Variant("a", BLUE.container, -1), "expected is 0 or more"),
        (lambda: Variant("a", BLUE.container, float("nan")), "expected is 0 or more"),
    ],
)
def test_variants_that_do_not_fit_are_refused_at_once(make: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()  # type: ignore[operator]  # a lambda


def test_the_draw_covers_every_variant_to_its_edges() -> None:
    endpoint = Endpoint(variants=[Variant("none", BLUE.container, 0), BLUE, GREEN])
    assert [endpoint.draw(chance).name for chance in (0.0, 0.8999, 0.9, 0.999999)] == ["blue", "blue", "green", "green"]


def test_variants_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    variants = ["--variant", "blue@9=ws://127.0.0.1:9", "--variant", "green=http://127.0.0.1:10"]
    with emulator_up(*variants, "--port", "0", "--endpoint", "voice", state=tmp_path) as (_, printed):
        assert "Endpoint voice is served at " in printed
        url = printed.split("served at ")[1].split()[0]
        (endpoint,) = json.loads(AdminClient(url, tmp_path).ask("GET", "endpoints"))
    assert [(each["name"], each["weight"]) for each in endpoint["variants"]] == [("blue", 9), ("green", 1)]
    for given, says in (
        (["blue"], "expected is NAME[@WEIGHT]=TARGET"),
        (["a_b=ws://127.0.0.1:9"], "'a_b' is no name of a variant"),
        (["blue@1.2.3=ws://127.0.0.1:9"], "expected is NAME[@WEIGHT]=TARGET"),
        (["a=ws://127.0.0.1:9", "--target", "ws://127.0.0.1:9"], "not both"),
    ):
        assert main(["up", "--state-dir", str(tmp_path), "--port", "0", "--variant", *given]) == 2
        assert says in capsys.readouterr().err

"""The parts of the control plane without moto: start-up, supervision, notes, and moto's locked door."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from emulator.controlplane.container import Container, ContainerError, ContainerSpec
from emulator.controlplane.docker_image import image_notes
from emulator.controlplane.moto_main import stay_at_home
from emulator.controlplane.startup import Lifecycle, Startup, failure_reason
from emulator.controlplane.supervisor import Plan, Report, Supervisor, VariantPlan
from emulator.endpoint import Endpoint
from emulator.registry import Registry
from emulator.tests.http_container import Seen, http_container, reply

QUICK = Lifecycle(startup_limit=0.2, ping_timeout=0.1, starting_interval=0.01, running_interval=0.01, stop_grace=0.1)


def test_two_good_answers_in_a_row_are_ready() -> None:
    startup = Startup(480, 0)
    startup.answered(200, 1)
    startup.answered(503, 2)
    startup.answered(200, 3)
    assert not startup.ready
    startup.answered(200, 4)
    assert startup.ready
    assert startup.failure is None


def test_the_limit_names_the_last_answer() -> None:
    startup = Startup(480, 0)
    startup.answered(503, 479)
    assert startup.failure is None
    startup.silent("it gave no answer within 2 s", 480)
    assert startup.failure == "/ping did not answer 200 within 480 s; at last it gave no answer within 2 s"


def test_an_exit_names_its_status() -> None:
    startup = Startup(480, 0)
    startup.exited(127, 1.5)
    assert startup.failure is not None
    assert "exited with status 127 (the program was not found" in startup.failure
    assert "after 1.5 s" in startup.failure


def test_a_failure_reason_keeps_to_its_length_and_shows_the_last_lines() -> None:
    reason = failure_reason("AllTraffic", "it exited", ["the label is missing"], "\n".join(map(str, range(1000))))
    assert reason.startswith("The primary container for production variant AllTraffic did not pass")
    assert "(Emulator: it exited" in reason
    assert reason.endswith("998\n999")
    assert len(reason) <= 1024


def test_notes_tell_what_sagemaker_trips_over() -> None:
    label = {"com.amazonaws.sagemaker.capabilities.bidirectional-streaming": "true"}
    assert image_notes({"Entrypoint": ["python", "serve.py"], "Labels": label}) == []
    shell, user = image_notes({"Entrypoint": ["/bin/sh", "-c", "python serve.py"], "Labels": label, "User": "app"})
    assert "shell form" in shell
    assert "'app'" in user
    missing, unlabelled = image_notes({"Entrypoint": None, "Labels": None})
    assert "no ENTRYPOINT" in missing
    assert "opens no WebSocket" in unlabelled


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("socket.getaddrinfo", ("sts.amazonaws.com", 443, 0, 0, 0)),
        ("socket.connect", (None, ("169.254.169.254", 80))),
        ("socket.connect", (None, ("2600::1", 80, 0, 0))),
        ("socket.gethostbyname", ("example.com",)),
    ],
)
def test_moto_cannot_leave_the_machine(event: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(PermissionError, match="keeps it on this machine"):
        stay_at_home(event, arguments)


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("socket.getaddrinfo", ("localhost", 80, 0, 0, 0)),
        ("socket.getaddrinfo", (None, 80, 0, 0, 0)),
        ("socket.connect", (None, ("127.0.0.9", 80))),
        ("socket.connect", (None, "/run/docker.sock")),
        ("open", ("/etc/hosts", "r", 0)),
    ],
)
def test_moto_may_use_what_is_on_the_machine(event: str, arguments: tuple[object, ...]) -> None:
    stay_at_home(event, arguments)


class FakeContainer(Container):
    def __init__(self, url: str) -> None:
        self.url = url
        self.bidirectional = True
        self.notes: list[str] = []
        self.status: int | None = None
        self.stopped = asyncio.Event()

    async def exit_status(self) -> int | None:
        return self.status

    async def output(self) -> str:
        return "last words"

    def kill(self) -> None:
        self.status = 137

    def freeze(self) -> None: ...

    def resume(self) -> None: ...

    async def stop(self, grace: float) -> bool:
        assert grace == QUICK.stop_grace
        self.stopped.set()
        return True


class Stage:
    """A supervisor over fake containers whose /ping is real."""

    def __init__(self, url: str, start: Callable[[ContainerSpec], Awaitable[Container]] | None = None) -> None:
        self.containers: list[FakeContainer] = []
        self.reports: asyncio.Queue[Report] = asyncio.Queue()
        self.registry = Registry({"static": Endpoint("http://127.0.0.1:9")})
        self._url = url
        self.supervisor = Supervisor(self.registry, start or self.start, self.reports.put, QUICK)

    async def start(self, _: ContainerSpec) -> Container:
        self.containers.append(FakeContainer(self._url))
        return self.containers[-1]

    async def report(self) -> Report:
        async with asyncio.timeout(5):
            return await self.reports.get()


def plan(name: str = "ep", generation: int = 1, image: str = "image", timeout: float | None = None) -> Plan:
    variant = VariantPlan("AllTraffic", ContainerSpec(image, {}), startup_timeout=timeout)
    return Plan(f"arn:{name}", name, generation, (variant,))


async def healthy(_: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("200 OK", b""))


async def sick(_: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("500 Broken", b""))


async def silent(seen: Seen, _: asyncio.StreamWriter) -> None:
    await seen.client_gone()


async def test_an_update_keeps_the_old_container_until_its_last_session_is_over() -> None:
    async with http_container(healthy) as target:
        stage = Stage(target.url)
        await stage.supervisor.reconcile([plan()])
        assert (await stage.report()).status == "InService"
        with stage.registry.lease(stage.registry["ep"].container):
            await stage.supervisor.reconcile([plan(generation=2)])
            assert await stage.report() == Report("arn:ep", 2, "InService")
            old, new = stage.containers
            assert not old.stopped.is_set()
        async with asyncio.timeout(5):
            await old.stopped.wait()
        assert not new.stopped.is_set()
        await stage.supervisor.reconcile([])
        assert "ep" not in stage.registry
        async with asyncio.timeout(5):
            await new.stopped.wait()
        await stage.supervisor.shut_down()


async def test_a_container_that_ends_in_service_is_started_anew(caplog: pytest.LogCaptureFixture) -> None:
    async with http_container(healthy) as target:
        stage = Stage(target.url)
        await stage.supervisor.reconcile([plan()])
        await stage.report()
        stage.containers[0].status = 137
        assert (await stage.report()).status == "InService"
        assert len(stage.containers) == 2
        assert "exited with status 137 while in service" in caplog.text
        assert "last words" in caplog.text
        await stage.supervisor.shut_down()
        assert all(container.stopped.is_set() for container in stage.containers)


@pytest.mark.parametrize(("script", "cause"), [(sick, "HTTP 500, expected is 200"), (silent, "no answer within 0.1 s")])
async def test_a_container_that_never_gets_healthy_is_stopped(
    script: Callable[[Seen, asyncio.StreamWriter], Awaitable[None]], cause: str
) -> None:
    async with http_container(script) as target:
        stage = Stage(target.url)
        await stage.supervisor.reconcile([plan()])
        report = await stage.report()
        assert report.status == "Failed"
        assert cause in (report.reason or "")
        assert "ep" not in stage.registry
        await stage.supervisor.shut_down()
        assert stage.containers[0].stopped.is_set()


async def test_after_a_failed_update_the_old_container_is_watched_and_started_anew() -> None:
    async with http_container(healthy) as target:

        async def start(spec: ContainerSpec) -> Container:
            if spec.image == "broken":
                raise ContainerError("it is broken")
            return await stage.start(spec)

        stage = Stage(target.url, start)
        await stage.supervisor.reconcile([plan()])
        await stage.report()
        broken = plan(generation=2, image="broken")
        await stage.supervisor.reconcile([broken])
        assert await stage.report() == Report("arn:ep", 2, "InService", rolled_back=True)
        assert not stage.containers[0].stopped.is_set()
        stage.containers[0].status = 1
        assert await stage.report() == Report("arn:ep", 2, "InService")
        assert len(stage.containers) == 2
        await stage.supervisor.shut_down()


async def test_one_name_in_two_regions_is_served_once() -> None:
    async with http_container(healthy) as target:
        stage = Stage(target.url)
        other = replace(plan(generation=2), arn="arn:other-region")
        await stage.supervisor.reconcile([plan(), other])
        by_arn = {report.arn: report for report in [await stage.report(), await stage.report()]}
        assert by_arn["arn:ep"].status == "InService"
        assert "in another region" in (by_arn["arn:other-region"].reason or "")
        await stage.supervisor.reconcile([plan()])
        assert "ep" in stage.registry
        await stage.supervisor.shut_down()


async def test_a_variant_s_own_limit_comes_before_the_eight_minutes() -> None:
    async with http_container(sick) as target:
        stage = Stage(target.url)
        own = plan(timeout=0.05)
        await stage.supervisor.reconcile([own])
        assert "within 0.05 s" in ((await stage.report()).reason or "")
        await stage.supervisor.shut_down()


async def test_a_name_that_is_served_already_fails_and_leaves_the_other_alone() -> None:
    stage = Stage("http://127.0.0.1:9")
    await stage.supervisor.reconcile([plan("static")])
    report = await stage.report()
    assert report.status == "Failed"
    assert "is served already" in (report.reason or "")
    await stage.supervisor.reconcile([])
    assert stage.registry["static"].container == "http://127.0.0.1:9"
    assert stage.containers == []


async def test_a_container_that_starts_while_its_endpoint_is_deleted_is_stopped() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    late = FakeContainer("http://127.0.0.1:9")

    async def start(_: ContainerSpec) -> Container:
        begun.set()
        await go_on.wait()
        return late

    stage = Stage("", start)
    await stage.supervisor.reconcile([plan()])
    await begun.wait()
    await stage.supervisor.reconcile([])
    go_on.set()
    async with asyncio.timeout(5):
        await late.stopped.wait()
    await stage.supervisor.shut_down()


async def test_what_cannot_be_started_is_failed() -> None:
    async def start(_: ContainerSpec) -> Container:
        raise ContainerError("no Docker engine answers")

    stage = Stage("", start)
    await stage.supervisor.reconcile([plan()])
    assert "no Docker engine answers" in ((await stage.report()).reason or "")
    await stage.supervisor.shut_down()

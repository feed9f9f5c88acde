"""An image run by the Docker engine, as SageMaker runs it: ``docker run IMAGE serve``."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, override

from emulator import facts
from emulator.controlplane.container import Container, ContainerError, ContainerSpec

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DockerContainer", "image_notes"]

_log = logging.getLogger("emulator.docker")
_PORT = f"{facts.integer('ctr.port')}/tcp"
_MARK = "sagemaker-bidi.emulator"
_KEPT_LINES = 40


class DockerContainer(Container):
    """A container of the engine, its port 8080 published on loopback."""

    def __init__(self, client: "DockerClient", container: Any, labels: dict[str, str], notes: list[str]) -> None:
        port = container.attrs["NetworkSettings"]["Ports"][_PORT][0]["HostPort"]
        self.url = f"http://127.0.0.1:{port}"
        self.bidirectional = labels.get(facts.text("ctr.label"), "").lower() == "true"
        self.notes = notes
        self._client = client
        self._container = container

    @classmethod
    async def start(cls, spec: ContainerSpec) -> "DockerContainer":
        """Run the image.

        Raises:
            ContainerError: no engine, no such image, or the engine cannot start it.
        """
        return await asyncio.to_thread(cls._start, spec)

    @classmethod
    def _start(cls, spec: ContainerSpec) -> "DockerContainer":
        try:
            import docker  # noqa: PLC0415  # optional, and slow to import
            from docker.errors import APIError, DockerException, ImageNotFound  # noqa: PLC0415
        except ImportError:
            raise ContainerError(
                f"image {spec.image} needs the Docker SDK, which is not installed: "
                "pip install 'sagemaker-bidi[control]', or map the image to a command with --local-image"
            ) from None
        try:
            client = docker.from_env(timeout=60)
        except DockerException as error:
            raise ContainerError(
                f"no Docker engine answers ({error}): start one, or map the image to a command with "
                f"--local-image '{spec.image}=COMMAND --port {{port}}'"
            ) from None
        container = None
        try:
            image = client.images.get(spec.image)
            notes = image_notes(image.attrs.get("Config") or {})
            container = client.containers.create(
                spec.image,
                [facts.text("life.run")],
                environment=dict(spec.environment),
                ports={_PORT: ("127.0.0.1", None)},
                labels={_MARK: "true"},
            )
            container.start()
            container.reload()
            if not container.attrs["NetworkSettings"]["Ports"].get(_PORT):
                raise ContainerError(_ended_at_once(container))
            return cls(client, container, image.labels, notes)
        except ImageNotFound:
            client.close()
            raise ContainerError(
                f"the engine has no image {spec.image}: build, pull or 'docker tag' it under this name "
                "(the emulator itself pulls nothing), or map it to a command with --local-image"
            ) from None
        except APIError as error:
            if container is not None:
                container.remove(force=True)
            client.close()
            raise ContainerError(
                f"the engine cannot start {spec.image} with the argument 'serve': {error.explanation}"
            ) from None
        except ContainerError:
            if container is not None:
                container.remove(force=True)
            client.close()
            raise

    @override
    async def exit_status(self) -> int | None:
        return await asyncio.to_thread(self._exit_status)

    def _exit_status(self) -> int | None:
        self._container.reload()
        state = self._container.attrs["State"]
        return None if state["Running"] else int(state["ExitCode"])

    @override
    async def output(self) -> str:
        raw = await asyncio.to_thread(self._container.logs, tail=_KEPT_LINES)
        return bytes(raw).decode("utf-8", "replace").rstrip()

    @override
    def kill(self) -> None:
        self._unless_gone(self._container.kill)

    @override
    def freeze(self) -> None:
        self._unless_gone(self._container.pause)

    @override
    def resume(self) -> None:
        self._unless_gone(self._container.unpause)

    def _unless_gone(self, act: Callable[[], object]) -> None:
        from docker.errors import APIError  # noqa: PLC0415

        try:
            act()
        except APIError as error:
            _log.warning("container %s: %s", self._container.short_id, error.explanation or error)

    @override
    async def stop(self, grace: float) -> bool:
        return await asyncio.to_thread(self._stop, grace)

    def _stop(self, grace: float) -> bool:
        from docker.errors import DockerException  # noqa: PLC0415

        try:
            was_running = self._exit_status() is None
            if self._container.attrs["State"]["Paused"]:
                self._container.unpause()  # SIGTERM would not reach it
            self._container.stop(timeout=round(grace))
            self._container.reload()
            state = self._container.attrs["State"]
            return not (was_running and state["ExitCode"] == 137 and not state["OOMKilled"])
        except DockerException as error:
            _log.warning("container %s could not be stopped: %s", self._container.short_id, error)
            return True
        finally:
            with contextlib.suppress(DockerException):
                self._container.remove(force=True)
            self._client.close()


def _ended_at_once(container: Any) -> str:
    status = container.attrs["State"]["ExitCode"]
    said = bytes(container.logs(tail=_KEPT_LINES)).decode("utf-8", "replace").rstrip()
    return f"the container exited with status {status} at once; its output:\n{said}"


def image_notes(config: dict[str, Any]) -> list[str]:
    """Return what in an image's configuration SageMaker would trip over."""
    notes = []
    entrypoint = config.get("Entrypoint") or []
    if not entrypoint:
        notes.append("the image has no ENTRYPOINT: SageMaker runs 'docker run IMAGE serve', so 'serve' is the program")
    elif entrypoint[:2] in (["/bin/sh", "-c"], ["/bin/bash", "-c"]):
        notes.append(
            "the image's ENTRYPOINT is in shell form: the shell takes the argument 'serve' and SIGTERM, the program "
            'gets neither; write ENTRYPOINT ["program", "argument"]'
        )
    if config.get("User") not in (None, "", "root", "0"):
        notes.append(f"the image runs as user {config['User']!r}; SageMaker expects root")
    label = facts.text("ctr.label")
    if str((config.get("Labels") or {}).get(label, "")).lower() != "true":
        notes.append(f"the image lacks the label {label}=true: SageMaker opens no WebSocket to it")
    return notes

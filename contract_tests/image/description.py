"""One image as far as it can be known without running it. None stands for what the source does not tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["ImageDescription", "ImageError", "SourceKind"]

SourceKind = Literal["Dockerfile", "archive", "engine"]


class ImageError(Exception):
    """Raised for what cannot be read as an image. Says what, why and what to do."""

    def __init__(self, what: str, problem: str, advice: str) -> None:
        super().__init__(what, problem, advice)
        self.what = what
        self.problem = problem
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.what}: {self.problem}\nwhat to do: {self.advice}"


@dataclass(frozen=True)
class ImageDescription:
    """Name and kind of the source, and what it tells.

    base          the image that a Dockerfile builds on, where nothing in the file says what that one holds
    entrypoint    empty where there is none
    shell_form    ENTRYPOINT was written without brackets, so that a shell is in between
    ports         what EXPOSE names, as ``8080/tcp``
    manifest      media type of the manifest that a registry would get
    size          bytes, layers unpacked in an engine, as stored in an archive
    torch         version of the package, the oldest one that was seen
    """

    name: str
    kind: SourceKind
    base: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    architecture: str | None = None
    operating_system: str | None = None
    entrypoint: tuple[str, ...] = ()
    shell_form: bool = False
    command: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    user: str = ""
    manifest: str | None = None
    size: int | None = None
    torch: str | None = None
    torch_place: str = ""

"""A Dockerfile as the description of the image that it builds. Nothing is built, no base image is looked at."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contract_tests.image.description import ImageDescription, ImageError
from contract_tests.image.requirement import oldest, torch_in_requirements

__all__ = ["read_dockerfile"]

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?([-+])([^}]*))?\})")
_HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;]*);\s*do\b(.*?)\bdone\b", re.DOTALL)
_REQUIREMENTS = re.compile(r"(?:-r|--requirements?|-c)[ =]?(\S+\.txt)")
_SHELL = ("/bin/sh", "-c")


@dataclass
class _Stage:
    """One build stage while it is read."""

    base: str
    platform: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    shell_form: bool = False
    command: tuple[str, ...] = ()
    ports: list[str] = field(default_factory=list)
    user: str = ""
    torch: list[str] = field(default_factory=list)

    def child(self, base: str, platform: str) -> "_Stage":
        """Return a stage that builds on this one."""
        return _Stage(
            self.base or base,
            platform or self.platform,
            dict(self.labels),
            dict(self.environment),
            self.entrypoint,
            self.shell_form,
            self.command,
            list(self.ports),
            self.user,
            list(self.torch),
        )


def read_dockerfile(
    path: Path, arguments: Mapping[str, str] | None = None, stage: str | None = None
) -> ImageDescription:
    """Return what a Dockerfile tells of its image.

    ``arguments`` are build arguments, ``stage`` names another stage than the last.

    Raises:
        ImageError: it cannot be read, or has no such stage.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ImageError(str(path), f"cannot be read ({error})", "name a Dockerfile.") from None
    reader = _Reader(path, dict(arguments or {}))
    for instruction, rest in _instructions(text):
        reader.take(instruction, rest)
    if not reader.stages:
        raise ImageError(str(path), "holds no FROM: it is no Dockerfile", "name a Dockerfile.")
    if stage is not None and stage not in reader.names:
        known = ", ".join(reader.names) or "none has a name"
        raise ImageError(str(path), f"has no stage {stage!r} (stages: {known})", "name one of its stages.")
    built = reader.stages[-1] if stage is None else reader.names[stage]
    system, _, architecture = built.platform.partition("/")
    return ImageDescription(
        name=str(path),
        kind="Dockerfile",
        base=built.base,
        labels=built.labels,
        architecture=architecture or None,
        operating_system=system or None,
        entrypoint=built.entrypoint,
        shell_form=built.shell_form,
        command=built.command,
        ports=tuple(built.ports),
        user=built.user,
        torch=oldest(reader.torch),
        torch_place="a pip command or a requirements file of it",
    )


class _Reader:
    """Takes the instructions in order."""

    def __init__(self, path: Path, arguments: dict[str, str]) -> None:
        self._folder = path.absolute().parent
        self._given = arguments
        self._global: dict[str, str] = {}
        self._arguments: dict[str, str] = {}
        self.stages: list[_Stage] = []
        self.names: dict[str, _Stage] = {}
        self.torch: list[str] = []

    def take(self, instruction: str, rest: str) -> None:
        """Take one instruction."""
        method = getattr(self, f"_{instruction.lower()}", None)
        if method is not None and (self.stages or instruction in {"FROM", "ARG"}):
            method(rest)

    @property
    def _now(self) -> _Stage:
        return self.stages[-1]

    def _fill(self, text: str) -> str:
        known = {**self._arguments, **(self._now.environment if self.stages else {})}

        def value(match: re.Match[str]) -> str:
            found = known.get(match[1] or match[2])
            if match[3] == "-" and not found:
                return match[4]
            if match[3] == "+":
                return match[4] if found else ""
            return found if found is not None else match[0]

        return _VARIABLE.sub(value, text)

    def _arg(self, rest: str) -> None:
        for word in _words(rest):
            name, given, default = word.partition("=")
            value = self._given.get(name, self._fill(default) if given else self._global.get(name))
            if value is not None:
                self._arguments[name] = value
                if not self.stages:
                    self._global[name] = value

    def _from(self, rest: str) -> None:
        self._arguments = dict(self._global)
        words = [self._fill_global(word) for word in rest.split()]
        platform = next((word.split("=", 1)[1] for word in words if word.startswith("--platform=")), "")
        words = [word for word in words if not word.startswith("--")]
        image = words[0] if words else ""
        parent = self.names.get(image)
        self.stages.append(parent.child(image, platform) if parent else _Stage(image, platform))
        if len(words) >= 3 and words[1].lower() == "as":
            self.names[words[2]] = self._now

    def _fill_global(self, text: str) -> str:
        return _VARIABLE.sub(lambda match: self._global.get(match[1] or match[2], match[4] or match[0]), text)

    def _label(self, rest: str) -> None:
        self._now.labels.update(_pairs(self._fill(rest)))

    def _env(self, rest: str) -> None:
        self._now.environment.update(_pairs(self._fill(rest)))

    def _expose(self, rest: str) -> None:
        self._now.ports += [port if "/" in port else f"{port}/tcp" for port in self._fill(rest).split()]

    def _user(self, rest: str) -> None:
        self._now.user = self._fill(rest).strip()

    def _entrypoint(self, rest: str) -> None:
        words = _exec_form(rest)
        self._now.shell_form = words is None and bool(rest.strip())
        self._now.entrypoint = tuple(words) if words is not None else (*_SHELL, self._fill(rest))
        self._now.command = ()  # what the base image had is void

    def _cmd(self, rest: str) -> None:
        words = _exec_form(rest)
        self._now.command = tuple(words) if words is not None else (*_SHELL, self._fill(rest))

    def _run(self, rest: str) -> None:
        script = _unrolled(self._fill(rest))
        found = torch_in_requirements(script) if "pip" in rest or "uv " in rest else None
        if found:
            self.torch.append(found)
        for name in _REQUIREMENTS.findall(script):
            # it was copied from somewhere near: the same name below the Dockerfile's folder, or below its parents
            for folder in (self._folder, *list(self._folder.parents)[:2]):
                file = folder / Path(name).name
                version = torch_in_requirements(file.read_text("utf-8", "replace")) if file.is_file() else None
                if version:
                    self.torch.append(version)
                    break


def _unrolled(script: str) -> str:
    """Return a shell script with the bodies of its ``for`` loops repeated, their variable filled in."""

    def bodies(loop: re.Match[str]) -> str:
        return " ".join(re.sub(rf"\$(?:{loop[1]}\b|\{{{loop[1]}\}})", word, loop[3]) for word in loop[2].split())

    return _LOOP.sub(bodies, script)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield instruction and rest; continued lines are joined, comments and the bodies of heredocs left out."""
    escape = "`" if re.match(r"#\s*escape\s*=\s*`", text) else "\\"
    lines = iter(text.splitlines())
    for line in lines:
        joined = line.strip()
        if not joined or joined.startswith("#"):
            continue
        while joined.endswith(escape):
            following = next(lines, "")
            if following.strip().startswith("#"):
                continue
            joined = f"{joined[:-1].rstrip()} {following.strip()}"
        instruction, _, rest = joined.partition(" ")
        if instruction.upper() in {"RUN", "COPY", "ADD"}:
            for _, word in _HEREDOC.findall(rest):
                body = []
                for each in lines:
                    if each.strip() == word:
                        break
                    body.append(each)
                rest = "\n".join([rest, *body])
        if instruction.upper() != "ONBUILD":
            yield instruction.upper(), rest.strip()


def _exec_form(rest: str) -> list[str] | None:
    """Return the words of ``["program", "argument"]``, None for the shell form."""
    try:
        words = json.loads(rest)
    except ValueError:
        return None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


def _pairs(rest: str) -> dict[str, str]:
    words = _words(rest)
    if words and "=" not in words[0]:  # LABEL name some value
        name, _, value = rest.strip().partition(" ")
        return {name: value.strip().strip("\"'")}
    return dict(word.split("=", 1) for word in words if "=" in word)


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:  # a quotation mark that is never closed
        return rest.split()

"""What must hold for an image before SageMaker runs it, judged from its description alone."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from contract_tests.image.description import ImageDescription
from contract_tests.image.requirement import version_key
from contract_tests.verdict import Finding, Fix, Level, Verdict, failed, not_applicable, passed, warned
from emulator import facts

__all__ = ["IMAGE_CHECKS", "ImageCheck", "judge_image"]

_LABEL = facts.text("ctr.label")
_PORT = facts.integer("ctr.port")
_SERVE = facts.text("life.run")
_DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_LARGE = 15 * 1000**3
_TORCH_FLOOR = "2.13"
_SHELLS = frozenset({"sh", "bash", "dash", "ash"})
_INITS = frozenset({"tini", "dumb-init", "tini-static", "docker-init", "s6-svscan"})
_STRICT = frozenset({"uvicorn", "hypercorn", "gunicorn", "daphne", "granian"})
"""Servers whose command line refuses an argument that it does not know."""
_OFF_8080 = {"uvicorn": "8000", "hypercorn": "8000", "gunicorn": "8000", "daphne": "8000", "granian": "8000"}


@dataclass(frozen=True, slots=True)
class ImageCheck:
    """One thing that must hold for an image; ``stake`` says why."""

    id: str
    name: str
    level: Level
    stake: str
    facts: tuple[str, ...]
    judge: Callable[[ImageDescription], Finding]


def judge_image(image: ImageDescription) -> list[Verdict]:
    """Return a verdict for each check, in their order."""
    unjudged = not_applicable("nothing is run")
    return [
        Verdict(check.id, check.name, check.level, check.stake, check.facts, check.judge(image), unjudged)
        for check in IMAGE_CHECKS
    ]


def _label(image: ImageDescription) -> Finding:
    value = image.labels.get(_LABEL)
    if value is not None and value.strip().lower() == "true":
        return passed(f"{_LABEL}={value}")
    near = [name for name in image.labels if "sagemaker" in name.lower()]
    observed = f"{_LABEL}={value}" if value is not None else "the image has no such label"
    more = f"; it has {', '.join(near)}" if near and value is None else ""
    base = f" (unless {image.base} has it, which the Dockerfile does not show)" if image.base and value is None else ""
    return failed(
        sent="",
        expected=f"{_LABEL}=true",
        observed=f"{observed}{more}{base}",
        causes=("The label stands in a stage that is not the last one.",) if image.kind == "Dockerfile" else (),
        fix=Fix("Add it to the last stage of the Dockerfile.", after=f'LABEL {_LABEL}="true"'),
    )


def _platform(image: ImageDescription) -> Finding:
    if image.architecture is None:
        return not_applicable(
            "the Dockerfile leaves it to the building machine: build with `docker build --platform linux/amd64`"
        )
    seen = f"{image.operating_system or 'linux'}/{image.architecture}"
    if seen in {"linux/amd64", "linux/x86_64"}:
        return passed(seen)
    return failed(
        sent="",
        expected="linux/amd64",
        observed=seen,
        causes=("It was built on a machine with an ARM processor, without --platform.",),
        fix=Fix("Name the platform.", before="docker build .", after="docker build --platform linux/amd64 ."),
    )


def _manifest(image: ImageDescription) -> Finding:
    how = "docker buildx build --platform linux/amd64 --provenance=false --sbom=false --output type=docker ."
    if image.manifest is None:
        return not_applicable(f"it is made when the image is pushed; to be sure, build with `{how}`")
    if image.manifest == _DOCKER_MANIFEST:
        return passed(image.manifest)
    index = "index" in image.manifest or "list" in image.manifest
    return failed(
        sent="",
        expected=_DOCKER_MANIFEST,
        observed=image.manifest,
        causes=(
            "buildx adds an attestation (provenance) to the image, and wraps both in an index."
            if index
            else "buildx, or an engine with the containerd image store, writes OCI media types.",
        ),
        fix=Fix(
            "Build one image without attestations, in Docker's own format.", before="docker buildx build .", after=how
        ),
    )


def _entrypoint(image: ImageDescription) -> Finding:
    words = image.entrypoint
    expected = 'ENTRYPOINT in exec form: ["program", "argument", ...]'
    if not words:
        if image.base and not _is_plain(image.base):
            return warned(
                sent="",
                expected=expected,
                observed=f"the Dockerfile sets none; whether {image.base} has one cannot be seen here",
                causes=("The entrypoint is left to the base image.",),
                fix=_EXEC,
            )
        said = (
            f"only CMD {list(image.command)}, which `{_SERVE}` replaces"
            if image.command
            else "neither ENTRYPOINT nor CMD"
        )
        return failed(
            sent=f"docker run IMAGE {_SERVE}",
            expected=expected,
            observed=f"{said}: the engine looks for a program named `{_SERVE}`",
            causes=("The command stands in CMD, which is a default for `docker run IMAGE` without arguments.",),
            fix=_EXEC,
        )
    program = PurePosixPath(words[0]).name
    if image.shell_form or (program in _SHELLS and "-c" in words[1:2]):
        return failed(
            sent=f"docker run IMAGE {_SERVE}",
            expected=expected,
            observed=f"shell form: {' '.join(words)}",
            causes=("ENTRYPOINT is written without brackets, so that `/bin/sh -c` runs it.",),
            fix=_EXEC,
        )
    if program in _INITS:
        return warned(
            sent="",
            expected="the program itself, without an init in front of it (AWS's guide advises against tini)",
            observed=" ".join(words),
            causes=("An init process is put in front to reap children.",),
            fix=_EXEC,
        )
    return passed(" ".join(words))


_EXEC = Fix(
    "Write the program and its arguments in brackets, and let it take the argument `serve`.",
    before="ENTRYPOINT python -m my_container\nCMD python -m my_container",
    after='ENTRYPOINT ["python", "-m", "my_container"]      # gets "serve" as its argument\nCMD ["serve"]',
)


def _is_plain(base: str) -> bool:
    """Tell whether a base image is known to have no ENTRYPOINT."""
    name = base.partition("@")[0].rsplit(":", 1)[0].rsplit("/", 1)[-1]
    return name in {"python", "debian", "ubuntu", "alpine", "scratch", "amazonlinux", "fedora", "busybox"}


def _server(image: ImageDescription) -> tuple[str, list[str]] | None:
    """Return name and arguments of a known server that the entrypoint starts itself."""
    words = list(image.entrypoint)
    while words:
        program = PurePosixPath(words[0]).name
        if program in _STRICT:
            return program, words[1:]
        if program.startswith("python") and words[1:2] == ["-m"] and len(words) > 2 and words[2] in _STRICT:
            return words[2], words[3:]
        if program in _INITS or program == "--":
            words = words[1:]
            continue
        return None
    return None


def _serve(image: ImageDescription) -> Finding:
    if not image.entrypoint or image.shell_form:
        return not_applicable("there is no entrypoint that could take it: see IM4")
    server = _server(image)
    if server is not None:
        return failed(
            sent=f"docker run IMAGE {_SERVE}, which is: {' '.join(image.entrypoint)} {_SERVE}",
            expected="the server starts",
            observed=f"{server[0]} takes `{_SERVE}` for an argument of its own and refuses it",
            causes=("The entrypoint is the server's own command line.",),
            fix=Fix(
                "Start the server from a program of yours that takes `serve`, or from a script that ignores it.",
                before=f'ENTRYPOINT ["{server[0]}", "app:app", "--port", "{_PORT}"]',
                after='ENTRYPOINT ["python", "-m", "my_container"]\n\n'
                "# my_container/__main__.py\n"
                f'uvicorn.run("app:app", host="0.0.0.0", port={_PORT})    # sys.argv[1:] is ["serve"]',
            ),
        )
    if _SERVE in image.entrypoint[1:]:
        return warned(
            sent=f"docker run IMAGE {_SERVE}, which is: {' '.join(image.entrypoint)} {_SERVE}",
            expected=f"`{_SERVE}` once",
            observed=f"`{_SERVE}` stands in the entrypoint already, and comes a second time",
            causes=("It was put there for runs without an argument.",),
            fix=Fix("Leave it to CMD.", after=f'CMD ["{_SERVE}"]'),
        )
    return passed(f"{' '.join(image.entrypoint)} {_SERVE}: a program of its own; `contract check image:NAME` runs it")


def _port(image: ImageDescription) -> Finding:
    server = _server(image)
    if server is not None:
        name, arguments = server
        port = _option(arguments, ("--port", "-p")) or _bound(arguments) or _OFF_8080[name]
        if port != str(_PORT) and not port.startswith("$"):
            return failed(
                sent="",
                expected=f"port {_PORT}",
                observed=f"{name} listens on {port}: {' '.join(image.entrypoint)}",
                causes=(f"{port} is its default." if port == _OFF_8080[name] else "Another port is written there.",),
                fix=Fix("Name the port.", after=f'"--port", "{_PORT}"'),
            )
    numbers = [port.split("/")[0] for port in image.ports]
    if str(_PORT) in numbers:
        return passed(f"EXPOSE {_PORT}")
    seen = f"EXPOSE {' '.join(numbers)}" if numbers else "no EXPOSE"
    return warned(
        sent="",
        expected=f"EXPOSE {_PORT}",
        observed=f"{seen}; on which port the program listens cannot be seen",
        causes=("The image was made for another platform, with another port.",)
        if numbers
        else ("EXPOSE changes nothing by itself, and was left out.",),
        fix=Fix(f"Listen on {_PORT}, and say so.", after=f"EXPOSE {_PORT}"),
    )


def _option(arguments: list[str], names: tuple[str, ...]) -> str | None:
    for number, word in enumerate(arguments):
        if word in names and number + 1 < len(arguments):
            return arguments[number + 1]
        for name in names:
            if word.startswith(f"{name}="):
                return word.split("=", 1)[1]
    return None


def _bound(arguments: list[str]) -> str | None:
    bound = _option(arguments, ("--bind", "-b"))
    return bound.rsplit(":", 1)[1] if bound and ":" in bound else None


def _user(image: ImageDescription) -> Finding:
    user = image.user.split(":")[0]
    if user in {"", "root", "0"}:
        return passed("root")
    return warned(
        sent="",
        expected="root",
        observed=f"USER {image.user}",
        causes=("Other platforms want an ordinary user.",),
        fix=Fix("Leave USER out of the last stage, or try with a mounted /opt/ml/model that belongs to root."),
    )


def _size(image: ImageDescription) -> Finding:
    if image.size is None:
        return not_applicable("a Dockerfile does not tell")
    seen = f"{image.size / 1000**3:.2f} GB"
    if image.size <= _LARGE:
        return passed(seen)
    return warned(
        sent="",
        expected=f"at most {_LARGE // 1000**3} GB",
        observed=seen,
        causes=("Weights, caches of pip, or compilers are in the image.",),
        fix=Fix("Build in a stage of its own and copy the result; keep weights in S3 (ModelDataSource)."),
    )


def _torch(image: ImageDescription) -> Finding:
    if image.torch is None:
        return not_applicable(_unseen(image))
    if version_key(image.torch) >= version_key(_TORCH_FLOOR):
        return passed(f"torch {image.torch}")
    return warned(
        sent="",
        expected=f"torch {_TORCH_FLOOR} or newer",
        observed=f"torch {image.torch} ({image.torch_place})",
        causes=("An old version is pinned, or comes with the base image.",),
        fix=Fix("Raise the pin; from 2.11 on its CUDA needs a newer driver, so choose the inference AMI to match.",
                after=f"torch>={_TORCH_FLOOR}"),
    )  # fmt: skip


def _unseen(image: ImageDescription) -> str:
    if image.kind == "engine":
        return "no version can be seen from outside; `docker save` the image and look at the archive"
    return "no torch was seen" if image.kind == "archive" else "the Dockerfile pins no torch"


IMAGE_CHECKS = (
    ImageCheck(
        "IM1",
        "label",
        Level.MUST,
        "Without the label SageMaker opens no WebSocket to the container.",
        ("ctr.label",),
        _label,
    ),
    ImageCheck(
        "IM2",
        "platform",
        Level.MUST,
        "An instance with an x86-64 processor, as nearly all with a GPU, cannot run an image for arm64, which is what "
        "a Mac builds: the endpoint fails after minutes.",
        (),
        _platform,
    ),
    ImageCheck(
        "IM3",
        "manifest",
        Level.MUST,
        "SageMaker refuses OCI manifests and indexes (Unsupported manifest media type), which buildx writes by "
        "default: https://github.com/aws/amazon-sagemaker-feedback/issues/180",
        (),
        _manifest,
    ),
    ImageCheck(
        "IM4",
        "entrypoint",
        Level.MUST,
        "SageMaker runs `docker run IMAGE serve`, which replaces CMD. A shell in between takes the argument and "
        "SIGTERM, and the server gets neither.",
        ("life.run", "life.stop"),
        _entrypoint,
    ),
    ImageCheck(
        "IM5",
        "serve",
        Level.MUST,
        "The argument `serve` reaches the program; one that refuses it never starts.",
        ("life.run",),
        _serve,
    ),
    ImageCheck("IM6", "port", Level.MUST, "SageMaker speaks to port 8080 and to nothing else.", ("ctr.port",), _port),
    ImageCheck(
        "IM7",
        "user",
        Level.SHOULD,
        "AWS's guide expects containers to run as root; what SageMaker mounts may not be readable to others.",
        (),
        _user,
    ),
    ImageCheck(
        "IM8",
        "size",
        Level.SHOULD,
        "Every new instance pulls the whole image before its first /ping.",
        ("life.startup",),
        _size,
    ),
    ImageCheck(
        "IM9",
        "torch",
        Level.SHOULD,
        "torch before 2.13 has known advisories: PYSEC-2025-194 (CVE-2025-3000), PYSEC-2026-2286.",
        (),
        _torch,
    ),
)

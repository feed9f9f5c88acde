"""``contract image``: the static checks of an image."""

import argparse
import sys
import tarfile
from pathlib import Path
from typing import Any

from contract_tests.exit_status import ExitStatus
from contract_tests.export import to_json
from contract_tests.image.archive import read_archive
from contract_tests.image.checks import judge_image
from contract_tests.image.description import ImageDescription, ImageError
from contract_tests.image.dockerfile import read_dockerfile
from contract_tests.image.engine import read_image
from contract_tests.report import render, summary_line
from contract_tests.verdict import Status
from emulator.outputfile import output_problem

__all__ = ["add_to"]

_EPILOG = """\
WHAT is one of
  PATH/Dockerfile       nothing is built; the folder of a Dockerfile will do
  image.tar             from `docker save`, or an OCI layout (docker buildx build --output type=oci,dest=image.tar)
  image:NAME[:TAG]      an image that the container engine has; it is not run"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "image",
        help="look at an image without running it",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    parser.add_argument("what", metavar="WHAT")
    parser.add_argument("--build-arg", metavar="NAME=VALUE", action="append", default=[], help="for a Dockerfile")
    parser.add_argument("--stage", metavar="NAME", help="of a Dockerfile, where it is not the last one that is shipped")
    parser.add_argument("--level", choices=("MUST", "SHOULD"), default="MUST", help="what fails (%(default)s)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the verdicts as JSON")


def _run(options: argparse.Namespace) -> int:
    try:
        arguments = dict(each.split("=", 1) for each in options.build_arg)
    except ValueError:
        print("contract image: --build-arg wants NAME=VALUE", file=sys.stderr)
        return ExitStatus.USAGE
    if (problem := output_problem(options.json)) is not None:
        print(f"contract image: --json {problem}", file=sys.stderr)
        return ExitStatus.USAGE
    try:
        image = _read(options.what, arguments, options.stage)
    except ImageError as error:
        print(f"contract image: {error}", file=sys.stderr)
        return ExitStatus.NOTHING_TO_JUDGE
    verdicts = [each.graded(options.level == "SHOULD") for each in judge_image(image)]
    print(f"{image.name} ({image.kind})")
    print("\n".join(map(summary_line, verdicts)))
    for each in verdicts:
        if each.status in {Status.FAIL, Status.WARN}:
            print(f"\n{render(each)}")
    if options.json is not None:
        options.json.write_text(to_json(verdicts, image.name, "image"), encoding="utf-8")
    failed = any(each.status is Status.FAIL for each in verdicts)
    return ExitStatus.FOUND if failed else ExitStatus.GOOD


def _read(what: str, arguments: dict[str, str], stage: str | None) -> ImageDescription:
    if what.startswith("image:"):
        return read_image(what.removeprefix("image:"))
    path = Path(what)
    if path.is_dir():
        path /= "Dockerfile"
    if not path.exists():
        raise ImageError(what, "there is no such file", "name a Dockerfile, an archive (.tar), or image:NAME.")
    return read_archive(path) if tarfile.is_tarfile(path) else read_dockerfile(path, arguments, stage)

import re
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
PROJECT = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["onnx", "torch", "fetch", "languages", "espeak"])
def test_everything_is_pinned_by_hash_and_no_host_is_named(name: str) -> None:
    text = (HERE / f"requirements-{name}.txt").read_text(encoding="utf-8")
    assert "://" not in text
    requirements = re.split(r"(?m)^(?=[a-z])", re.sub(r"(?m)^\s*#.*\n", "", text))
    assert len(requirements) > 1
    assert all("==" in part and "--hash=sha256:" in part for part in requirements if part)


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("onnx", "kokoro"),
        ("torch", "torch"),
        *((engine, extra) for engine in ("onnx", "torch") for extra in ("s3", "mp3")),
        ("languages", "languages"),
        ("espeak", "espeak"),
    ],
)
def test_the_image_has_what_the_extra_names(name: str, extra: str) -> None:
    pinned = re.findall(r"(?m)^([a-z0-9-]+)==", (HERE / f"requirements-{name}.txt").read_text(encoding="utf-8"))
    wanted = [re.split(r"[^A-Za-z0-9-]", line)[0] for line in PROJECT["project"]["optional-dependencies"][extra]]
    assert set(wanted) - set(pinned) <= {"sagemaker-bidi"}


@pytest.mark.parametrize("name", ["languages", "espeak"])
def test_what_comes_on_wish_has_the_same_versions(name: str) -> None:
    found = [
        dict(
            re.findall(r"(?m)^([a-z0-9-]+)==([^ ;]+)", (HERE / f"requirements-{file}.txt").read_text(encoding="utf-8"))
        )
        for file in ("onnx", "torch", name)
    ]
    for image in found[:2]:
        assert {package: version for package, version in image.items() if package in found[2]}.items() <= found[
            2
        ].items()

"""What images hold: valid CycloneDX, from the pins before a build and from what is installed during one."""

import importlib.metadata
import json
import re
import warnings
from pathlib import Path
from typing import Any, Literal

import pytest

from container import sbom as inside
from deploy import push, sbom
from deploy.pins import Pin, root

STATUS = """\
Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.41-12+deb13u1

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1
"""


def schema_errors(document: dict[str, Any]) -> str:
    """Return what CycloneDX's own schema has against a document, "" where it is valid. Reads no network."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # in the validator's dependencies
        from cyclonedx.schema import SchemaVersion  # noqa: PLC0415  # slow
        from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415  # slow

        error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))
    return "" if error is None else str(error)


def test_the_schema_is_looked_at() -> None:
    document = sbom.bill("image", [Pin("h11", "0.16.0")])
    assert schema_errors(document) == ""
    assert "colour" in schema_errors(document | {"colour": "blue"})
    assert schema_errors(document | {"serialNumber": "7"})
    assert schema_errors(document | {"components": [{"name": "h11"}]})


@pytest.mark.parametrize(("image", "engine"), [("speech", "torch"), ("speech", "onnx"), ("agent", "")])
def test_the_list_of_each_image_is_valid_and_complete(image: Literal["speech", "agent"], engine: str) -> None:
    held = push.held(image, engine)
    document = sbom.bill(f"{image}-{engine}", held)
    assert schema_errors(document) == ""
    listed = {(component["name"], component["version"]) for component in document["components"]}
    assert listed == {(pin.name, pin.version) for pin in held}
    assert document["dependencies"][0]["dependsOn"] == [component["bom-ref"] for component in document["components"]]
    assert sbom.bill(f"{image}-{engine}", held) == document


def test_a_package_is_named_as_the_index_names_it_and_by_its_one_file() -> None:
    one, two = "1" * 64, "2" * 64
    document = sbom.bill(
        "image", [Pin("Zope.Interface", "8.7+cu130", hashes=(one,)), Pin("h11", "0.16", "", (one, two))]
    )
    assert [component["purl"] for component in document["components"]] == [
        "pkg:pypi/h11@0.16",
        "pkg:pypi/zope-interface@8.7%2Bcu130",
    ]
    assert "hashes" not in document["components"][0]
    assert document["components"][1]["hashes"] == [{"alg": "SHA-256", "content": one}]


def test_what_is_in_an_image_is_listed_from_inside(tmp_path: Path) -> None:
    site, weights = tmp_path / "site", tmp_path / "weights"
    package = site / "good_thing-1.5.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: Good_Thing\nVersion: 1.5\nLicense-Expression: MIT\n"
    )
    (weights / "voices").mkdir(parents=True)
    (weights / "voices" / "af.bin").write_bytes(b"voice")
    (weights / "notes.txt").write_text("no weights")
    status, release = tmp_path / "status", tmp_path / "os-release"
    status.write_text(STATUS)
    release.write_text('ID=debian\nVERSION_ID="13"\n')
    parts = [*inside.installed([site]), *inside.weights(weights), *inside.debian(status, release)]
    document = inside.document("image", parts)
    assert schema_errors(document) == ""
    by_ref = {component["bom-ref"]: component for component in document["components"]}
    assert by_ref["pkg:pypi/good-thing@1.5"]["licenses"] == [{"license": {"name": "MIT"}}]
    assert by_ref["machine-learning-model:voices/af.bin"]["type"] == "machine-learning-model"
    assert len(by_ref["machine-learning-model:voices/af.bin"]["hashes"][0]["content"]) == 64
    assert "pkg:deb/debian/libc6@2.41-12%2Bdeb13u1?arch=amd64&distro=debian-13" in by_ref
    elsewhere = inside.debian(status, release, "aarch64")
    assert [part.purl for part in elsewhere] == ["pkg:deb/debian/libc6@2.41-12%2Bdeb13u1?arch=arm64&distro=debian-13"]
    assert len(by_ref) == 3  # what was removed from the system is in it no longer


def test_the_command_in_an_image_writes_what_this_python_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inside, "_DPKG", tmp_path / "none")
    path = tmp_path / "new" / "image.cdx.json"
    assert inside.main(["image", str(path)]) == 0
    document = json.loads(path.read_text("utf-8"))
    assert schema_errors(document) == ""
    version = importlib.metadata.version("pytest")
    assert f"pkg:pypi/pytest@{version}" in document["dependencies"][0]["dependsOn"]
    assert f"{len(document['components'])} components" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        inside.main(["image", str(path), "--weights", str(tmp_path / "no-such")])
    assert "no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("image", ["kokoro", "agent"])
def test_each_image_is_built_with_its_list(image: str) -> None:
    text = (root() / "container" / image / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    build, last = text.rsplit("\nFROM ", 1)
    written = re.search(r"-m container\.sbom \S+ (/\S+/)sbom\.cdx\.json", build)
    assert written is not None
    assert re.search(rf"COPY --from=build {written[1].rstrip('/')} ", last)

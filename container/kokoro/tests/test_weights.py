import hashlib
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from container.kokoro import files, languages, npm, packaged, voices, weights
from container.kokoro.errors import RequestError, SetupError
from container.kokoro.files import write_checked
from container.kokoro.vocabulary import CONFIG
from container.kokoro.voices import VOICE_BYTES
from container.kokoro.weights import Weights, resolve


def voice_directory(directory: Path, *names: str) -> Path:
    directory.mkdir(parents=True)
    for name in names:
        (directory / f"{name}.bin").write_bytes(bytes(VOICE_BYTES))
    return directory


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KOKORO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KOKORO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert files.cache_directory() == tmp_path / "sagemaker-bidi" / "kokoro"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert files.cache_directory() == tmp_path / "home" / ".cache" / "sagemaker-bidi" / "kokoro"


def test_write_checked_is_all_or_nothing(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with pytest.raises(SetupError, match="expected 0000"):
        write_checked(target, [b"ab", b"c"], "0000", "The thing")
    assert list(tmp_path.iterdir()) == []
    write_checked(target, [b"ab", b"c"], hashlib.sha256(b"abc").hexdigest(), "The thing")
    assert target.read_bytes() == b"abc"
    assert list(tmp_path.iterdir()) == [target]


def test_an_unwritable_cache_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KOKORO_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(SetupError, match="Point KOKORO_CACHE at a writable directory"):
        packaged.packaged_onnx()


def test_packaged_weights_are_joined_once_and_repaired(empty_cache: Path) -> None:
    path = packaged.packaged_onnx()
    assert path == empty_cache / packaged.ONNX_NAME
    assert files.sha256_of(path) == packaged.ONNX_SHA256
    before = path.stat().st_mtime_ns
    assert packaged.packaged_onnx().stat().st_mtime_ns == before
    path.write_bytes(b"damaged")
    assert files.sha256_of(packaged.packaged_onnx()) == packaged.ONNX_SHA256


def test_missing_packages_are_named(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "_PACKAGES", ("kokoro_no_such_part",))
    with pytest.raises(SetupError, match=r"the package kokoro-no-such-part is not installed.*KOKORO_WEIGHTS"):
        packaged.packaged_onnx()
    assert [path.name for path in empty_cache.iterdir()] == [".lock"]


def test_two_processes_fill_one_cache(tmp_path: Path) -> None:
    code = "from container.kokoro.packaged import packaged_onnx; print(packaged_onnx())"
    environment = {"KOKORO_CACHE": str(tmp_path), "PATH": "", "PYTHONPATH": str(Path(files.__file__).parents[2])}
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0].strip() for process in started]
    assert outputs == [str(tmp_path / packaged.ONNX_NAME)] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", packaged.ONNX_NAME]


def test_the_hub_is_pinned_and_asked_only_on_wish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def snapshot_download(repository: str, **_: object) -> str:
        asked.append(repository)
        if not (tmp_path / "voices").is_dir():
            raise OSError("no network")
        return str(tmp_path)

    hub = ModuleType("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", snapshot_download, raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    with pytest.raises(SetupError, match="could not be fetched from the hub: no network"):
        resolve("hub", "torch")
    voice_directory(tmp_path / "voices", "af_heart")
    (tmp_path / weights.CHECKPOINT_NAME).write_bytes(b"checkpoint")
    with pytest.raises(SetupError, match="expected 496dba118d1a"):
        resolve("hub", "torch")
    monkeypatch.setattr(weights, "CHECKPOINT_SHA256", hashlib.sha256(b"checkpoint").hexdigest())
    found = resolve("hub", "torch")
    assert (found.source, found.precision, found.voices) == ("hub", "fp32", tmp_path / "voices")
    assert asked == ["hexgrad/Kokoro-82M"] * 3


@pytest.mark.usefixtures("empty_cache")
def test_a_directory_comes_first(tmp_path: Path) -> None:
    given = tmp_path / "given"
    voice_directory(given / "voices", "af_heart")
    (given / "mine.onnx").write_bytes(b"model")
    found = resolve(str(given), "onnx")
    assert (found.model, found.voices) == (given / "mine.onnx", given / "voices")
    assert str(found) == f"mine.onnx (unknown precision, sha256 {hashlib.sha256(b'model').hexdigest()[:12]}, {given})"


@pytest.mark.usefixtures("empty_cache")
def test_what_a_desktop_leaves_beside_the_model_is_no_model(tmp_path: Path) -> None:
    voice_directory(tmp_path / "voices", "af_heart")
    for name in ("mine.onnx", "._mine.onnx"):
        (tmp_path / name).write_bytes(b"model")
    assert resolve(str(tmp_path), "onnx").model == tmp_path / "mine.onnx"


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("engine", ["onnx", "torch"])
def test_a_configuration_with_another_vocabulary_is_refused(tmp_path: Path, engine: str) -> None:
    voice_directory(tmp_path / "voices", "af_heart")
    (tmp_path / ("mine.onnx" if engine == "onnx" else "kokoro-v1_0.pth")).write_bytes(b"model")
    usual = json.loads(CONFIG.read_text(encoding="utf-8"))
    config = tmp_path / "config.json"
    config.write_text(json.dumps(usual), encoding="utf-8")
    assert resolve(str(tmp_path), engine).config == config
    config.write_text(json.dumps(usual | {"vocab": usual["vocab"] | {"a": 999}}), encoding="utf-8")
    with pytest.raises(SetupError, match=r"another vocabulary .* \(2 entries differ: 'a' is 43, 'a' is 999\)"):
        resolve(str(tmp_path), engine)
    for text in ("not json", "[]", "{}", '{"vocab": 3}'):
        config.write_text(text, encoding="utf-8")
        with pytest.raises(SetupError, match=r"config\.json"):
            resolve(str(tmp_path), engine)


@pytest.mark.usefixtures("empty_cache")
def test_auto_prefers_what_sagemaker_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "SAGEMAKER_DIRECTORY", tmp_path / "model")
    voice_directory(tmp_path / "model" / "voices", "af_heart")
    (tmp_path / "model" / "some.onnx").write_bytes(b"model")
    assert resolve("auto", "onnx").source == str(tmp_path / "model")
    (tmp_path / "model" / weights.CHECKPOINT_NAME).write_bytes(b"checkpoint")
    assert resolve("auto", "torch").model == tmp_path / "model" / weights.CHECKPOINT_NAME


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize(
    ("engine", "names", "words"),
    [
        ("onnx", ["config.json", "kokoro.onxx"], "Found: config.json, kokoro.onxx. Expected a .onnx file"),
        ("onnx", ["kokoro-v1_0.pth"], "For what is there, set KOKORO_ENGINE to torch"),
        ("torch", ["a.onnx", "b.onnx"], "For what is there, set KOKORO_ENGINE to onnx"),
        ("onnx", ["v1/kokoro.onnx"], "Found: v1/.* not in a folder below it"),
        ("onnx", ["1", "2", "3", "4", "5", "6", "7"], "Found: 1, 2, 3, 4, 5 and 2 more."),
    ],
)
def test_model_data_without_a_model_for_this_engine_is_not_replaced_by_another_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, names: list[str], words: str
) -> None:
    monkeypatch.setattr(weights, "SAGEMAKER_DIRECTORY", tmp_path / "model")
    for name in names:
        (tmp_path / "model" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "model" / name).write_bytes(b"model")
    with pytest.raises(SetupError, match=words) as told:
        resolve("auto", engine)
    assert f"{tmp_path / 'model'} holds no weights for the engine {engine}" in str(told.value)
    assert "leave the model data out" in str(told.value)


@pytest.mark.parametrize("left_over", [[], [".cache", "lost+found"]])
def test_an_empty_mount_is_no_model_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_over: list[str]) -> None:
    monkeypatch.setattr(weights, "SAGEMAKER_DIRECTORY", tmp_path)
    for name in left_over:
        (tmp_path / name).mkdir()
    assert resolve("auto", "onnx").source == "packaged"


@pytest.mark.parametrize("choice", ["auto", "directory"])
def test_a_model_without_voices_gets_none_from_elsewhere(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    voice_directory(empty_cache / "voices", "af_heart")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "some.onnx").write_bytes(b"model")
    monkeypatch.setattr(weights, "SAGEMAKER_DIRECTORY", tmp_path / "model")
    with pytest.raises(SetupError) as told:
        resolve("auto" if choice == "auto" else str(tmp_path / "model"), "onnx")
    assert str(told.value).startswith(f"{tmp_path / 'model'} holds a model, but no voices. Expected voices/*.bin")
    assert f"leaves in {empty_cache / 'voices'}" in str(told.value)


def test_packaged_weights_by_default(weights: Weights) -> None:
    assert (weights.precision, weights.source, weights.sha256) == ("int8", "packaged", packaged.ONNX_SHA256)


@pytest.mark.parametrize(
    ("names", "engine", "words"),
    [
        ((), "onnx", "holds no weights for the engine onnx"),
        (("a.onnx",), "torch", "holds no weights for the engine torch"),
        (("a.onnx", "b.onnx"), "onnx", r"several models \(a.onnx, b.onnx\)"),
    ],
)
def test_directories_that_do_not_do(tmp_path: Path, names: tuple[str, ...], engine: str, words: str) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(SetupError, match=words):
        resolve(str(tmp_path), engine)
    with pytest.raises(SetupError, match="does not exist"):
        resolve(str(tmp_path / "none"), engine)


def test_only_voices_whose_language_can_be_read_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = voice_directory(tmp_path / "voices", "af_heart", "bm_george", "jf_alpha", "ef_dora")
    monkeypatch.setattr(languages, "is_available", "abj".__contains__)
    loaded = voices.load(directory)
    assert loaded.names == ["af_heart", "bm_george", "jf_alpha"]
    assert loaded.style("af_heart", 510).shape == (1, 256)


def test_a_voice_may_have_digits_and_what_is_no_voice_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = voice_directory(tmp_path / "voices", "af_heart", "af_2nd_try", "AF_Loud", "xf_far", "af")
    (directory / "README.md").write_text("")
    loaded = voices.load(directory)
    assert loaded.names == ["af_2nd_try", "af_heart"]
    voices.check_name("af_2nd_try+af_heart", loaded.names)
    assert "left out AF_Loud.bin, af.bin, xf_far.bin, whose names say no language" in caplog.text
    assert "README" not in caplog.text


def test_tensors_without_torch_are_told_and_not_needed_beside_the_same_voice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else find(name))
    directory = voice_directory(tmp_path / "voices", "af_heart")
    (directory / "af_heart.pt").write_bytes(b"tensor")
    assert voices.load(directory).names == ["af_heart"]
    (directory / "af_sky.pt").write_bytes(b"tensor")
    with pytest.raises(SetupError, match=r"af_sky.pt can only be read with torch.*Put a .bin beside each"):
        voices.load(directory)


def test_damaged_voices_are_named(tmp_path: Path) -> None:
    directory = voice_directory(tmp_path / "voices", "af_heart")
    np.full(510 * 256, np.nan, dtype="<f4").tofile(directory / "af_sky.bin")
    with pytest.raises(SetupError, match=r"af_sky.bin holds .* expected finite"):
        voices.load(directory)
    (directory / "af_sky.bin").write_bytes(b"short")
    with pytest.raises(SetupError, match=r"af_sky.bin has 5 bytes, expected 522240"):
        voices.load(directory)


def test_the_default_voice_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"expected af_heart.bin .* found 1 voices"):
        voices.load(voice_directory(tmp_path / "voices", "af_sky"))


def test_near_names() -> None:
    with pytest.raises(RequestError, match="Did you mean af_heart"):
        voices.check_name("AF_HEART", ["af_heart", "bf_emma"])
    with pytest.raises(RequestError, match="On offer: af_heart, bf_emma"):
        voices.check_name("zzz", ["af_heart", "bf_emma"])


def test_only_voice_files_leave_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as package:
        for name, size in [
            ("package/voices/af_heart.bin", VOICE_BYTES),
            ("package/voices/af_short.bin", 10),
            ("package/voices/../../af_evil.bin", VOICE_BYTES),
            ("/package/voices/af_root.bin", VOICE_BYTES),
            ("package/index.js", VOICE_BYTES),
        ]:
            member = tarfile.TarInfo(name)
            member.size = size
            package.addfile(member, io.BytesIO(bytes(size)))
        link = tarfile.TarInfo("package/voices/af_link.bin")
        link.type, link.linkname, link.size = tarfile.SYMTYPE, "/etc/passwd", VOICE_BYTES
        package.addfile(link)
    with pytest.raises(SetupError, match="expected 1f0d0383"):
        voices.extract(archive, tmp_path / "refused")
    monkeypatch.setattr(voices, "PACKAGE_SHA256", files.sha256_of(archive))
    voices.extract(archive, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["af_heart.bin"]


def test_a_failing_npm_says_what_else_would_do(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = empty_cache.parent / "npm"
    fake.write_text("#!/bin/sh\necho 'npm error ENOTFOUND no network' >&2\nexit 7\n")
    fake.chmod(0o755)
    monkeypatch.setattr(npm, "command", lambda: [str(fake)])
    with pytest.raises(SetupError) as caught:
        voices.fetch()
    for words in ("exit code 7", "ENOTFOUND no network", "KOKORO_WEIGHTS", "voices/*.bin", "522240"):
        assert words in str(caught.value)
    assert [path.name for path in empty_cache.iterdir()] == [".lock"]


def test_without_npm_on_path_the_packaged_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    done = subprocess.run([*npm.command(), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip()[0].isdigit()


def test_without_any_npm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(SetupError, match=r"npm was not found\. Install Node"):
        npm.command()

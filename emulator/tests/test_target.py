"""What --target may be."""

from pathlib import Path

import pytest

from emulator.target import Target, TargetSyntaxError, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Target("kokoro", "container.kokoro")),
        ("myapp:app", Target("app", "myapp:app")),
        ("my.package.server:make.app", Target("app", "my.package.server:make.app")),
        ("http://127.0.0.1:8080", Target("url", "http://127.0.0.1:8080")),
        ("ws://localhost:9000/", Target("url", "http://localhost:9000")),
        ("http://host", Target("url", "http://host:8080")),
        ("http://[::1]:8080", Target("url", "http://[::1]:8080")),
        ("image:tts:1.2", Target("image", "tts:1.2")),
        ("command:node a.js {port}", Target("command", "node a.js {port}")),
        ("image:example.org:5000/tts", Target("image", "example.org:5000/tts")),
    ],
)
def test_targets(text: str | None, expected: Target) -> None:
    assert parse(text) == expected


def test_only_our_own_container_is_judged_as_kokoro_by_default() -> None:
    assert [parse(text).profile for text in (None, "a:b", "http://h", "image:i")] == [
        "kokoro-cancel",
        *["sagemaker"] * 3,
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("localhost:8080", "did you mean http://localhost:8080?"),
        ("server/main.py", "there is no file "),
        ("./server.py:app", "there is no file "),
        ("server/main:app", "did you mean server/main.py:app?"),
        ("https://h:1", "plain HTTP"),
        ("ftp://h:1", "ftp:// is unknown"),
        ("ws://h:99999", "port"),
        ("ws://h:1/stream", "leave the path out"),
        ("http://", "host is missing"),
        ("image:", "no image name"),
        ("just words", "no target"),
        ("command:", "no command"),
        ("command:node 'a", "cannot be read"),
        ("command:node a.js", "has to hold {port}"),
    ],
)
def test_what_is_no_target_says_what_is(text: str, hint: str) -> None:
    with pytest.raises(TargetSyntaxError) as caught:
        parse(text)
    assert hint in str(caught.value)
    assert "MODULE:APP" in str(caught.value)


def test_an_app_by_its_file_is_imported_from_the_folder_of_its_package(tmp_path: Path) -> None:
    package = tmp_path / "shop" / "voice"
    package.mkdir(parents=True)
    for file in (package / "__init__.py", package / "server.py", tmp_path / "shop" / "main.py"):
        file.touch()
    assert parse(f"{package}/server.py:make.app") == Target(
        "app", "voice.server:make.app", folder=str(tmp_path / "shop")
    )
    assert parse(f"{tmp_path}/shop/main.py:app") == Target("app", "main:app", folder=str(tmp_path / "shop"))
    with pytest.raises(TargetSyntaxError, match=r"did you mean .*/shop/main\.py:app\?"):
        parse(f"{tmp_path}/shop/main.py")

"""What is said where a container cannot be started: a missing tool is a reason to leave it out, a mistake is not."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from contract_tests import toolchains
from contract_tests.tests.serving import named

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("contract_tests.toolchains._ROOT", tmp_path)


def test_what_is_not_installed_is_named_with_the_way_to_install_it(tmp_path: Path) -> None:
    source = tmp_path / "elsewhere.c"
    source.write_text("#include <no_such_library.h>\n")
    with pytest.raises(toolchains.ToolMissingError, match=r"no_such_library\.h(.|\n)*apt-get install"):
        toolchains.command(str(source))
    assert [each.name for each in tmp_path.iterdir()] == [source.name]


def test_what_is_missing_is_not_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "again.c"
    source.write_text("int main(void) { return 0; }\n")
    container = replace(named("libwebsockets"), app=str(source))
    with monkeypatch.context() as bare:
        bare.setenv("PATH", str(tmp_path))
        assert container.missing
    assert container.missing == "there is no C compiler: cc was not found"


def test_an_error_in_a_container_is_no_reason_to_leave_it_out(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int main(\n")
    with pytest.raises(RuntimeError, match=r"wrong\.c"):
        toolchains.command(str(source))


def test_without_a_compiler_there_is_no_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    container = replace(named("libwebsockets"), app=str(tmp_path / "any.c"))
    assert container.missing == "there is no C compiler: cc was not found"


def test_a_source_is_compiled_once(tmp_path: Path) -> None:
    source = tmp_path / "fine.c"
    source.write_text("int main(void) { return 0; }\n")
    container = replace(named("libwebsockets"), app=str(source))
    if container.missing:
        pytest.skip(container.missing)
    (made,) = [each for each in tmp_path.iterdir() if each.is_dir()]
    assert container.target.address == f"{made / 'container'} {{port}}"
    assert made.name.startswith(".venv-c-fine-")

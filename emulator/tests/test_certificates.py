import ssl
import stat
import threading
from pathlib import Path

import pytest

from emulator.certificates import Certificates, StateDirectoryError, default_state_directory


def test_the_authority_is_made_once_and_kept(tmp_path: Path) -> None:
    first = Certificates.load(tmp_path)
    made = first.ca.read_bytes()
    assert Certificates.load(tmp_path).ca.read_bytes() == made
    assert stat.S_IMODE((tmp_path / "ca" / "ca.key").stat().st_mode) == 0o600


def test_the_bundle_trusts_what_the_system_trusts_and_does_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "system.pem"
    other = Certificates.load(tmp_path / "other").ca.read_bytes()
    system.write_bytes(other)
    monkeypatch.setenv("SSL_CERT_FILE", str(system))
    files = Certificates.load(tmp_path)
    bundle = files.bundle.read_bytes()
    assert other.strip() in bundle
    assert files.ca.read_bytes() in bundle
    # the variable as a user exports it after the first start
    monkeypatch.setenv("SSL_CERT_FILE", str(files.bundle))
    Certificates.load(tmp_path)
    assert files.bundle.read_bytes().count(files.ca.read_bytes()) == 1
    assert len(ssl.create_default_context(cafile=str(files.bundle)).get_ca_certs()) >= 1


def test_two_processes_that_start_at_once_agree_on_one_authority(tmp_path: Path) -> None:
    together = threading.Barrier(8)
    seen: list[bytes] = []

    def load() -> None:
        together.wait()
        seen.append(Certificates.load(tmp_path).ca.read_bytes())

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ca"]


def test_a_directory_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StateDirectoryError, match="--state-dir or BIDI_STATE_DIR"):
        Certificates.load(tmp_path / "file")


@pytest.mark.parametrize(
    ("name", "rubbish", "what"),
    [
        ("ca.key", "rubbish", ""),
        ("ca.pem", "rubbish", ""),
        ("ca.key", None, "ca.key is missing"),
        ("ca.pem", None, "ca.pem is missing"),
    ],
)
def test_damaged_files_say_what_to_delete(tmp_path: Path, name: str, rubbish: str | None, what: str) -> None:
    Certificates.load(tmp_path)
    if rubbish is None:
        (tmp_path / "ca" / name).unlink()
    else:
        (tmp_path / "ca" / name).write_text(rubbish)
    with pytest.raises(StateDirectoryError, match=rf"is damaged: {what}.*\nDelete .*ca to have a new one made"):
        Certificates.load(tmp_path).server_context()


def test_a_key_of_another_authority_is_noticed(tmp_path: Path) -> None:
    Certificates.load(tmp_path / "one")
    Certificates.load(tmp_path / "two")
    (tmp_path / "one" / "ca" / "ca.key").replace(tmp_path / "two" / "ca" / "ca.key")
    with pytest.raises(StateDirectoryError, match="key values mismatch"):
        Certificates.load(tmp_path / "two").server_context()


def test_where_the_authority_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BIDI_STATE_DIR", "/given")
    assert default_state_directory() == Path("/given")
    monkeypatch.delenv("BIDI_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_state_directory() == tmp_path / "sagemaker-bidi"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_state_directory() == Path.home() / ".local" / "state" / "sagemaker-bidi"


def test_every_sdk_gets_its_variables(tmp_path: Path) -> None:
    files = Certificates.load(tmp_path)
    assert files.environment("https://127.0.0.1:8443") == {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        "AWS_REGION": "us-west-2",
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_ENDPOINT_URL": "https://127.0.0.1:8443",
        "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": "https://127.0.0.1:8443",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://127.0.0.1:8443",
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2": "https://127.0.0.1:8443",
        "AWS_CA_BUNDLE": str(files.bundle),
        "SSL_CERT_FILE": str(files.bundle),
        "NODE_EXTRA_CA_CERTS": str(files.ca),
    }
    assert files.bundle.is_absolute()

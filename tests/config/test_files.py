"""Files that a configuration names."""

import os
import ssl
import threading
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.hazmat.primitives.serialization import load_pem_private_key as read_key

from gateway.config import load_config
from tests.config.support import MODELS, problems, write


class Certificates:
    """A folder with `cert.pem`, its `key.pem`, the same key with a passphrase, another key, and the CA."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        authority = trustme.CA()
        mine, other = authority.issue_cert("localhost"), authority.issue_cert("localhost")
        mine.cert_chain_pems[0].write_to_path(folder / "cert.pem")
        mine.private_key_pem.write_to_path(folder / "key.pem")
        other.private_key_pem.write_to_path(folder / "other.pem")
        authority.cert_pem.write_to_path(folder / "ca.pem")
        key = read_key(mine.private_key_pem.bytes(), None)
        locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
        (folder / "locked.pem").write_bytes(locked)
        (folder / "text.pem").write_text("not a certificate\n")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


def listen(cert: str, key: str) -> str:
    return f"{MODELS}listen:\n  tls_cert: {cert}\n  tls_key: {key}\n"


def test_relative_paths_start_at_the_file(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(certificates.folder, listen("cert.pem", "./key.pem"))
    path = Path(os.path.relpath(certificates.folder)) / "spillway.yaml"
    config = load_config(path, {}).config
    assert config.listen.tls_cert == Path.cwd() / path.parent / "cert.pem"
    assert config.listen.tls_key is not None
    assert config.listen.tls_key.is_absolute()
    assert ssl.create_default_context(cafile=certificates.folder / "ca.pem").get_ca_certs()


@pytest.mark.parametrize(
    ("cert", "key", "reason"),
    [
        ("cert.pem", "other.pem", "does not belong to tls_key"),
        ("cert.pem", "locked.pem", "the key without a passphrase"),
        ("text.pem", "key.pem", "both must be in PEM form"),
        ("cert.pem", "text.pem", "both must be in PEM form"),
    ],
)
def test_unusable_certificate(cert: str, key: str, reason: str, certificates: Certificates) -> None:
    (problem,) = problems(write(certificates.folder, listen(cert, key)))
    assert (problem.field, problem.line) == ("listen.tls_cert", 6)
    assert reason in problem.reason


def test_the_admin_certificate_is_tried_too(certificates: Certificates) -> None:
    text = f"{MODELS}admin: {{port: 9090, tls_cert: cert.pem, tls_key: other.pem}}\n"
    (problem,) = problems(write(certificates.folder, text))
    assert (problem.field, problem.line) == ("admin.tls_cert", 5)


def test_ca_file(certificates: Certificates) -> None:
    text = MODELS.replace("{discovery", "{tls: {ca_file: ca.pem}, discovery")
    pool = load_config(write(certificates.folder, text), {}).config.models[0].pools.baseline
    assert pool is not None
    assert pool.tls.ca_file == certificates.folder / "ca.pem"
    (problem,) = problems(write(certificates.folder, text.replace("ca.pem", "text.pem")))
    assert (problem.field, problem.line) == ("models[0].pools.baseline.tls.ca_file", 4)
    assert problem.reason == f"'{certificates.folder / 'text.pem'}' holds no certificate in PEM form"


@pytest.mark.parametrize(
    ("lines", "fields", "reason"),
    [
        ("listen:\n  tls_cert: no.pem\n  tls_key: no.key\n", ["listen.tls_cert", "listen.tls_key"], "does not exist"),
        ("auth:\n  keys_file: no\n", ["auth.keys_file"], "does not exist"),
        ("auth:\n  keys_file: /\n", ["auth.keys_file"], "'/' is a folder; name a file in it"),
        ("auth:\n  keys_file: ''\n", ["auth.keys_file"], "is a folder"),
        ("auth:\n  keys_file: spillway.yaml/x\n", ["auth.keys_file"], "cannot be read: Not a directory"),
        ('auth:\n  keys_file: "a\\0b"\n', ["auth.keys_file"], "cannot be read: embedded null byte"),
    ],
)
def test_unreadable(lines: str, fields: list[str], reason: str, tmp_path: Path) -> None:
    found = problems(write(tmp_path, MODELS + lines))
    assert [problem.field for problem in found] == fields
    assert [problem.line for problem in found] == list(range(6, 6 + len(fields)))
    assert all(reason in problem.reason for problem in found)


def test_forbidden_file(tmp_path: Path) -> None:
    path = write(tmp_path, MODELS)
    path.chmod(0)
    user = os.geteuid()
    if user == 0:
        # Root may read anything: look as somebody else.
        os.seteuid(65534)
    try:
        (problem,) = problems(path)
        reason = f"may not be read by user {os.geteuid()}: change its owner or mode"
    finally:
        os.seteuid(user)
    assert problem.reason == reason


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(MODELS,))
    writer.start()
    loaded = load_config(pipe, {})
    writer.join()
    assert loaded.config.models[0].name == "m"
    assert [source.digest for source in loaded.sources] == [None]


def test_a_pipe_that_a_configuration_names_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keys")
    (problem,) = problems(write(tmp_path, MODELS + "auth: {keys_file: keys}\n"))
    assert problem.reason == f"'{tmp_path / 'keys'}' is not a regular file"

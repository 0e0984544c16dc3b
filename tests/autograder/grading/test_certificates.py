"""Certificates, and which schedulers grading connects to with and without them."""

import os
import socket
from datetime import UTC, datetime, timedelta
from stat import S_IMODE

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from autograder.cli.main import main
from autograder.grading import certificates, cluster
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folders of two clusters' certificates."""
    places = [tmp_path_factory.mktemp(name) / "tls" for name in ("own", "other")]
    for folder in places:
        certificates.make(folder)
    return places


def test_only_the_owner_can_read_certificates(folders):
    assert S_IMODE(folders[0].stat().st_mode) == 0o700
    assert {file.name: S_IMODE(file.stat().st_mode) for file in folders[0].iterdir()} == {
        "certificate.pem": 0o600,
        "key.pem": 0o600,
    }


def test_certificates_outlast_a_term(folders):
    certificate = x509.load_pem_x509_certificate((folders[0] / "certificate.pem").read_bytes())
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc >= timedelta(days=200)


@pytest.mark.parametrize("existing", ["certificate.pem", "key.pem"])
def test_existing_certificates_are_not_overwritten(existing, tmp_path, capsys):
    (tmp_path / existing).write_text("precious")
    assert main(["certificates", str(tmp_path)]) == 2
    assert f"already holds {existing}: name another folder" in capsys.readouterr().err
    assert [file.read_text() for file in tmp_path.iterdir()] == ["precious"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["certificates", str(tmp_path / "file" / "tls")]) == 2
    assert "file/tls cannot be written (Not a directory): name another folder" in capsys.readouterr().err


def expired(folder):
    """Return the certificate of a folder, as if it had been made two years ago."""
    key = serialization.load_pem_private_key((folder / "key.pem").read_bytes(), None)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dask-internal")])
    start = datetime.now(UTC) - timedelta(days=730)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    certificate = builder.not_valid_before(start).not_valid_after(start + timedelta(days=365))
    return certificate.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize(("name", "content", "words"), [
    ("certificate.pem", None, "certificate.pem cannot be read (No such file or directory): make new ones with"),
    ("key.pem", None, "key.pem cannot be read (No such file or directory): make new ones"),
    ("key.pem", "folder", "key.pem cannot be read (Is a directory)"),
    ("certificate.pem", b"-----BEGIN", "certificate.pem is not a certificate: copy it again"),
    ("certificate.pem", expired, "certificate.pem expired on "),
    ("key.pem", b"", "key.pem is not the key of"),
    ("key.pem", "other", "key.pem is not the key of"),
])  # fmt: skip
def test_certificates_that_cannot_be_used_are_named(name, content, words, folders, tmp_path):
    own, other = folders
    for file in own.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    file = tmp_path / name
    if content is expired:
        content = expired(tmp_path)
    file.unlink()
    if content == "folder":
        file.mkdir()
    elif content is not None:
        file.write_bytes((other / name).read_bytes() if content == "other" else content)
    with pytest.raises(certificates.UnusableCertificates) as error:
        certificates.security(tmp_path)
    assert words in str(error.value)


NAMES = {"here": ["127.0.0.1", "::1"], "elsewhere": ["192.0.2.1"], "both": ["127.0.0.1", "192.0.2.1"]}


@pytest.fixture
def names(monkeypatch):
    """Resolve NAMES without asking a server."""
    real = socket.getaddrinfo

    def getaddrinfo(host, port, *more, **options):
        if host in NAMES:
            return [address for number in NAMES[host] for address in real(number, port, *more, **options)]
        return real(host, port, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "[::1]", "localhost", "here"])
def test_this_machine_needs_no_certificates(host, names):
    assert cluster.reason_to_refuse(f"tcp://{host}:8786", certified=False, trusting=False) == ""
    assert cluster.reason_to_refuse(f"{host}:8786", certified=False, trusting=False) == ""


@pytest.mark.parametrize("host", ["192.0.2.1", "0.0.0.0", "[2001:db8::1]", "[::ffff:192.0.2.1]", "elsewhere", "both"])
def test_another_machine_needs_certificates(host, names):
    for address in (f"tcp://{host}:8786", f"{host}:8786"):
        why = cluster.reason_to_refuse(address, certified=False, trusting=False)
        assert "run code on its workers" in why and f"say --scheduler tls://{host}:8786 --tls FOLDER" in why
        assert cluster.reason_to_refuse(address, certified=False, trusting=True) == ""


@pytest.mark.parametrize(("arguments", "words"), [
    (["--scheduler", "tcp://192.0.2.1:8786"], "tcp://192.0.2.1:8786 is not on this machine and has no certificates"),
    (["--scheduler", "tls://192.0.2.1:8786"], "tls://192.0.2.1:8786 needs --tls FOLDER"),
    (["--scheduler", "tls://192.0.2.1:8786", "--trust-everyone-on-the-network"], "needs --tls FOLDER"),
    (["--scheduler", "tcp://127.0.0.1:1", "--tls", "OWN"], "say --scheduler tls://127.0.0.1:1 --tls FOLDER"),
    (["--scheduler", "tls://127.0.0.1:1", "--tls", "nowhere"], "nowhere/certificate.pem cannot be read (No such file"),
    (["--scheduler", "ws://127.0.0.1:1"], "no scheduler answers at ws://127.0.0.1:1 (its address begins neither with"),
    (["--tls", "OWN"], "--tls needs --scheduler tls://HOST:PORT"),
])  # fmt: skip
def test_an_unsafe_scheduler_is_not_connected_to(
    arguments, words, course, hand_in, contents, folders, capsys, monkeypatch
):
    def client(*arguments, **options):
        raise AssertionError("it was connected to")

    monkeypatch.setattr(cluster, "Client", client)
    hand_in("ada", contents["perfect"])
    arguments = [str(folders[0]) if word == "OWN" else word for word in arguments]
    assert main(["grade", CHAPTER, "--course", str(course), *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not os.path.exists(course / "reports" / CHAPTER)


def test_the_flag_allows_a_scheduler_without_certificates_on_another_machine(
    course, hand_in, contents, capsys, monkeypatch
):
    def client(address, **options):
        raise OSError(f"{address} was connected to")

    monkeypatch.setattr(cluster, "Client", client)
    hand_in("ada", contents["perfect"])
    arguments = ["--scheduler", "tcp://192.0.2.1:8786", "--trust-everyone-on-the-network"]
    assert main(["grade", CHAPTER, "--course", str(course), *arguments]) == 2
    assert "tcp://192.0.2.1:8786 was connected to" in capsys.readouterr().err

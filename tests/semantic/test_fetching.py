"""Files from a server on this machine: whole, continued, wrong, cut off."""

import hashlib
import os
import ssl
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from file_server import FileServer, serving

from search_mcp.semantic.fetching import FetchError, fetch
from search_mcp.semantic.known_models import MINILM, RemoteFile

NETWORK = os.urandom(300_000)
TOKENIZER = b'{"version": "1.0"}'


def remote(name: str, path: str, data: bytes) -> RemoteFile:
    return RemoteFile(name, path, len(data), hashlib.sha256(data).hexdigest())


FILES = remote("model.onnx", "onnx/model.onnx", NETWORK), remote("tokenizer.json", "tokenizer.json", TOKENIZER)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving({"onnx/model.onnx": NETWORK, "tokenizer.json": TOKENIZER}) as running:
        yield running


def fetched(server: FileServer, folder: Path) -> list[tuple[str, int]]:
    told: list[tuple[str, int]] = []
    fetch(server.address, FILES, folder, lambda name, size: told.append((name, size)))
    return told


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_files_are_fetched(server: FileServer, tmp_path: Path) -> None:
    told = fetched(server, tmp_path)
    assert names(tmp_path) == ["model.onnx", "tokenizer.json"]
    assert (tmp_path / "model.onnx").read_bytes() == NETWORK
    assert (tmp_path / "tokenizer.json").read_bytes() == TOKENIZER
    assert told[0] == ("model.onnx", 0)
    assert told[-1] == ("tokenizer.json", len(TOKENIZER))
    assert ("model.onnx", len(NETWORK)) in told


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_the_user_can_read_them(server: FileServer, tmp_path: Path) -> None:
    fetched(server, tmp_path)
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


def test_what_is_there_is_not_fetched_again(server: FileServer, tmp_path: Path) -> None:
    fetched(server, tmp_path)
    server.requests.clear()
    assert fetched(server, tmp_path) == [(each.name, each.size) for each in FILES]
    assert server.requests == []


def test_a_broken_fetch_is_continued(server: FileServer, tmp_path: Path) -> None:
    server.most_bytes = 100_000
    with pytest.raises(FetchError, match="cannot be fetched: it closed the connection") as failed:
        fetched(server, tmp_path)
    assert "run the command again, which continues where this ended" in failed.value.remedy
    assert names(tmp_path) == ["model.onnx.part"]
    server.most_bytes = None
    assert fetched(server, tmp_path)[0] == ("model.onnx", 100_000)
    assert ("onnx/model.onnx", "bytes=100000-") in server.requests
    assert (tmp_path / "model.onnx").read_bytes() == NETWORK


def test_a_server_without_ranges_gives_the_whole_file(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "model.onnx.part").write_bytes(NETWORK[:5000])
    server.has_ranges = False
    assert fetched(server, tmp_path)[0] == ("model.onnx", 0)
    assert (tmp_path / "model.onnx").read_bytes() == NETWORK


@pytest.mark.parametrize("part", [b"other bytes", b"x" * len(NETWORK), b"x" * (len(NETWORK) + 1)])
def test_a_damaged_part_is_fetched_anew(server: FileServer, tmp_path: Path, part: bytes) -> None:
    (tmp_path / "model.onnx.part").write_bytes(part)
    fetched(server, tmp_path)
    assert (tmp_path / "model.onnx").read_bytes() == NETWORK


def test_a_complete_part_is_not_fetched_again(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "model.onnx.part").write_bytes(NETWORK)
    fetched(server, tmp_path)
    assert [path for path, _ in server.requests] == ["tokenizer.json"]


@pytest.mark.parametrize("data", [b"y" * len(NETWORK), NETWORK + b"z"])
def test_another_file_is_deleted(server: FileServer, tmp_path: Path, data: bytes) -> None:
    server.files["onnx/model.onnx"] = data
    with pytest.raises(FetchError, match=r"127\.0\.0\.1 gave another model\.onnx than the known one") as failed:
        fetched(server, tmp_path)
    assert "--from FOLDER" in failed.value.remedy
    assert [each.stat().st_size for each in tmp_path.iterdir()] == [0]


def test_a_shorter_file_is_another_one(server: FileServer, tmp_path: Path) -> None:
    server.files["onnx/model.onnx"] = NETWORK[:-1]
    with pytest.raises(FetchError, match=r"the connection ended after 299,999 of 300,000 bytes of model\.onnx"):
        fetched(server, tmp_path)


def test_a_file_that_does_not_exist(server: FileServer, tmp_path: Path) -> None:
    del server.files["tokenizer.json"]
    with pytest.raises(FetchError, match=r"127\.0\.0\.1 answered with HTTP status 404 instead of the file"):
        fetched(server, tmp_path)
    assert "model.onnx" in names(tmp_path)


def test_redirects_are_followed(server: FileServer, tmp_path: Path) -> None:
    with serving({"signed": NETWORK}) as storage:
        server.redirects["onnx/model.onnx"] = f"{storage.address}signed"
        (tmp_path / "model.onnx.part").write_bytes(NETWORK[:1000])
        fetched(server, tmp_path)
        assert storage.requests == [("signed", "bytes=1000-")]
    assert (tmp_path / "model.onnx").read_bytes() == NETWORK


def test_endless_redirects_end(server: FileServer, tmp_path: Path) -> None:
    server.redirects["onnx/model.onnx"] = "/onnx/model.onnx"
    with pytest.raises(FetchError, match="it redirects more than 5 times"):
        fetched(server, tmp_path)


def test_a_redirect_to_an_address_without_tls_is_refused(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with serving({}, context) as secure:
        secure.redirects["onnx/model.onnx"] = f"{server.address}onnx/model.onnx"
        with pytest.raises(FetchError, match="it redirects to an address without TLS"):
            fetched(secure, tmp_path)
    assert server.requests == []


def test_no_connection(tmp_path: Path) -> None:
    with serving({}) as server:
        pass
    with pytest.raises(FetchError, match=r"the model cannot be fetched: no connection to 127\.0\.0\.1:\d+: ") as failed:
        fetched(server, tmp_path)
    assert "HTTPS_PROXY" in failed.value.remedy


def test_a_proxy_is_used(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, server.address)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    fetch("http://models.invalid/", FILES, tmp_path, lambda _name, _size: None)
    assert names(tmp_path) == ["model.onnx", "tokenizer.json"]
    assert {*server.hosts} == {"models.invalid"}


def test_no_room(server: FileServer, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="Windows has no such limits")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(FetchError, match=r"the disk of .* is full") as failed:
            fetched(server, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert failed.value.remedy.startswith("free some space, then")
    assert fetched(server, tmp_path)[0] == ("model.onnx", 100_000)


def test_a_folder_that_cannot_be_written(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"model\.onnx\.part cannot be written"):
        fetched(server, tmp_path / "missing")


def test_the_known_model_has_a_fixed_revision_and_digests() -> None:
    assert MINILM.address.startswith("https://huggingface.co/")
    assert MINILM.address.endswith("/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41/")
    assert all(len(each.digest) == 64 for each in MINILM.files)
    assert MINILM.model.digests == {each.name: each.digest for each in MINILM.files}
    assert MINILM.size == 90_871_461

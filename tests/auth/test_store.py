"""Stored logins: who can read them, and what a damaged one means."""

import logging
import os
import stat
import sys
from pathlib import Path

import pytest

from search_mcp.auth.records import Login
from search_mcp.auth.registration import Registration
from search_mcp.auth.settings import LoginSettings
from search_mcp.auth.store import LoginStore
from search_mcp.auth.tokens import Tokens
from search_mcp.wire.structs import replace

SETTINGS = LoginSettings(name="files", url="https://mcp.example.com/mcp")
LOGIN = Login(
    name="files",
    url=SETTINGS.url,
    issuer="https://auth.example.com",
    token_endpoint="https://auth.example.com/token",
    client=Registration(issuer="https://auth.example.com", client_id="me"),
    tokens=Tokens(access_token="s3cret", refresh_token="s3cret-too", obtained_at=0, expires_at=1e9, scopes=("a",)),
)


@pytest.fixture
def store(tmp_path: Path) -> LoginStore:
    return LoginStore(tmp_path / "state" / "logins", patience_seconds=0)


def stored(store: LoginStore, settings: LoginSettings = SETTINGS, login: Login = LOGIN) -> Path:
    with store.changing(settings) as change:
        change.write(login)
    return max(store.folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)


def test_a_login_is_read_as_it_was_written_until_it_is_deleted(store: LoginStore) -> None:
    assert store.read(SETTINGS) is None
    assert store.state(SETTINGS) is None
    stored(store)
    before = store.state(SETTINGS)
    assert store.read(SETTINGS) == LoginStore(store.folder).read(SETTINGS) == LOGIN
    stored(store, login=LOGIN.over("expired"))
    assert store.state(SETTINGS) != before
    assert [each.ended for each in store.logins()] == ["expired"]
    with store.changing(SETTINGS) as change:
        assert change.read() is not None
        change.delete()
        change.delete()
    assert store.read(SETTINGS) is None


def test_a_secret_of_the_configuration_is_not_stored(store: LoginStore) -> None:
    settings = replace(SETTINGS, client_id="me", client_secret="s3cret-of-the-file")
    client = replace(LOGIN.client, client_secret="s3cret-of-the-file", auth_method="client_secret_post")
    given = replace(LOGIN, client=client)
    assert "s3cret-of-the-file" in stored(store, login=given).read_text("utf-8"), "the one of a registration is"
    own = replace(LOGIN, client=replace(client, source="configured"))
    assert "s3cret-of-the-file" not in stored(store, settings, own).read_text("utf-8")
    assert store.read(settings) == own
    assert [each.client.client_secret for each in store.logins() if each.client.source == "configured"] == [None]
    with store.changing(replace(settings, client_secret="another")) as change:
        assert change.read() == own.with_secret("another")


@pytest.mark.parametrize(
    "other",
    [
        replace(SETTINGS, name="Files"),
        replace(SETTINGS, url="https://mcp.example.com/other"),
        replace(SETTINGS, client_id="mine"),
        replace(SETTINGS, grant="client_credentials"),
        replace(SETTINGS, resource=False),
    ],
)
def test_another_server_or_client_has_another_login(store: LoginStore, other: LoginSettings) -> None:
    stored(store)
    assert store.read(other) is None


def test_scopes_and_the_port_make_no_other_login(store: LoginStore) -> None:
    stored(store)
    same = replace(SETTINGS, url="HTTPS://mcp.example.com:443/mcp", scopes=("x",), callback_port=1, issuer="x")
    assert store.read(same) == LOGIN


@pytest.mark.parametrize("name", ["../../x", "a/b\\c:d", "", "x" * 300, "名前"])
def test_no_name_leads_out_of_the_folder(store: LoginStore, name: str) -> None:
    path = stored(store, replace(SETTINGS, name=name))
    assert path.parent == store.folder
    assert len(path.name) < 70


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_only_the_user_can_read_a_login(store: LoginStore) -> None:
    store.folder.mkdir(parents=True, mode=0o755)
    before = os.umask(0)
    try:
        path = stored(store)
    finally:
        os.umask(before)
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in store.folder.iterdir()} == {0o600}
    assert b"s3cret" in path.read_bytes() or sys.platform == "win32"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version":2}', b'{"access_token":"s3cret"}'])
def test_a_damaged_login_is_none_and_is_not_quoted(
    store: LoginStore, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = stored(store)
    path.write_bytes(damage)
    with caplog.at_level(logging.DEBUG):
        assert store.read(SETTINGS) is None
        assert store.logins() == []
    assert "is damaged, or of another version" in caplog.text
    assert "s3cret" not in caplog.text


def test_one_process_at_a_time_changes_a_login(store: LoginStore) -> None:
    with store.changing(SETTINGS):
        with pytest.raises(TimeoutError):
            store.changing(SETTINGS).__enter__()
        with store.changing(replace(SETTINGS, name="other")):
            pass

"""The files of tokens."""

import json
from pathlib import Path
from typing import Any

import pytest

from search_mcp.fronts.http.access import Token, principal
from search_mcp.fronts.http.token_store import TokenStore


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"name": "../bob"}, "it is of another name"),
        ({"profile": "no-client"}, "this version does not know the client 'no-client'"),
        ({"servers": "-"}, "names nothing"),
        ({"expires": "never"}, "float"),
    ],
)
def test_a_token_that_cannot_be_used_is_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changed: dict[str, Any], reason: str
) -> None:
    store = TokenStore(tmp_path / "tokens")
    store.add(Token("anna", ""))
    file = store.folder / "anna.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))
    assert store.all() == []
    assert f"{file} is ignored: " in caplog.text
    assert reason in caplog.text


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]"])
def test_a_damaged_file_is_no_token(tmp_path: Path, content: bytes) -> None:
    store = TokenStore(tmp_path / "tokens")
    store.add(Token("anna", ""))
    (store.folder / "bob.json").write_bytes(content)
    assert [each.name for each in store.all()] == ["anna"]


def test_a_digest_that_is_none_harms_no_other_token() -> None:
    assert principal("smcp_anna_x", [Token("bob", "é")]) is None


def test_a_use_that_cannot_be_recorded_is_no_bug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tokens").touch()
    TokenStore(tmp_path / "tokens").note_use(Token("anna", ""))
    assert "the last use of anna cannot be recorded" in caplog.text

"""The choice of what makes vectors, and the reason where nothing does. No library is loaded."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from search_mcp.config.schema import Embeddings, EmbeddingsAddress
from search_mcp.semantic import choice
from search_mcp.semantic.choice import Setting
from search_mcp.semantic.lines import Address, Local
from search_mcp.semantic.models import DESCRIPTION, NETWORK
from search_mcp.wire.structs import replace

URL = "http://localhost:11434/v1"
ADDRESS = EmbeddingsAddress(url=URL, model="m", api_key="k", written=Embeddings(url=URL, model="m"))
NO_MODEL = "no sentence model is installed; `search-mcp semantic setup` installs one"
REMEDY = "`search-mcp semantic status` shows the command that installs"


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The libraries that are missing; the others are there."""
    names: set[str] = set()
    monkeypatch.setattr(choice, "find_spec", lambda name: None if name in names else sys.__spec__)
    monkeypatch.setattr(choice, "_installed", set())
    return names


@pytest.mark.parametrize(
    ("setting", "is_installed", "missed", "opening", "reason"),
    [
        (None, False, (), None, ""),
        (None, True, (), Local, ""),
        ("off", True, (), None, ""),
        ("local", False, (), None, NO_MODEL),
        ("local", True, (), Local, ""),
        (
            "local",
            True,
            ("numpy",),
            None,
            f"numpy is not installed; {REMEDY} it",
        ),
        (
            None,
            True,
            ("onnxruntime", "tokenizers"),
            None,
            f"onnxruntime and tokenizers are not installed; {REMEDY} them",
        ),
        (ADDRESS, False, ("onnxruntime", "tokenizers"), Address, ""),
        (
            ADDRESS,
            True,
            ("numpy",),
            None,
            f"numpy is not installed; {REMEDY} it",
        ),
        (replace(ADDRESS, problem="its url is wrong; repair it"), True, (), None, "its url is wrong; repair it"),
    ],
)
def test_choice(
    setting: Setting,
    is_installed: bool,
    missed: Sequence[str],
    opening: Any,
    reason: str,
    tmp_path: Path,
    missing: set[str],
) -> None:
    missing.update(missed)
    if is_installed:
        (tmp_path / DESCRIPTION).touch()
        (tmp_path / NETWORK).touch()
    found = choice.choose(setting, tmp_path)
    assert (found.reason, None if found.opening is None else type(found.opening)) == (reason, opening)


def test_the_default_model_needs_numpy_alone(tmp_path: Path, missing: set[str]) -> None:
    missing.update(("onnxruntime", "tokenizers"))
    (tmp_path / DESCRIPTION).touch()
    assert choice.choose(None, tmp_path).opening == Local(str(tmp_path))
    missing.add("numpy")
    choice._installed.clear()
    assert choice.choose(None, tmp_path).reason == f"numpy is not installed; {REMEDY} it"


def test_another_model_is_another_choice(tmp_path: Path, missing: set[str]) -> None:
    assert not missing
    (tmp_path / DESCRIPTION).touch()
    before = choice.choose("local", tmp_path)
    assert choice.choose(None, tmp_path).key == before.key
    os.utime(tmp_path / DESCRIPTION, (1.0, 1.0))
    assert choice.choose("local", tmp_path).key != before.key

"""Vectors of a small model, and models that cannot be used."""

import os
from pathlib import Path

import numpy
import pytest
from sentence_models import tiny

from search_mcp.semantic import models
from search_mcp.semantic.encoder import OnnxEncoder, loaded
from search_mcp.semantic.models import DESCRIPTION, NETWORK, TOKENIZER, ModelError, Pooling
from search_mcp.wire.structs import replace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny(tmp_path / "tiny")
    return tmp_path / "tiny"


def encoder(folder: Path) -> OnnxEncoder:
    return OnnxEncoder(folder, models.read(folder))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="only Unix has endless files")
@pytest.mark.parametrize("name", [DESCRIPTION, NETWORK, TOKENIZER])
def test_a_file_without_an_end(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(ModelError, match=f"{name} is not a regular file"):
        loaded(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only Unix has named pipes")
@pytest.mark.parametrize("name", [DESCRIPTION, NETWORK, TOKENIZER])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ModelError, match=f"{name} is not a regular file"):
        loaded(folder)


def test_vectors_have_the_length_one(folder: Path) -> None:
    vectors = encoder(folder).texts(["read a file", "weather", ""])
    assert vectors.shape == (3, 8)
    assert numpy.linalg.norm(vectors[:2], axis=1) == pytest.approx([1.0, 1.0], abs=1e-6)
    assert not vectors[2].any()  # nothing to encode


def test_a_vector_does_not_depend_on_the_texts_beside_it(folder: Path) -> None:
    loaded = encoder(folder)
    together = loaded.texts(["read a file", "draw the picture of the city the weather"])
    assert together[0] == pytest.approx(loaded.query("read a file"), abs=1e-5)


def test_long_texts_are_cut(folder: Path) -> None:
    loaded = encoder(folder)
    assert loaded.query("file " * 500) == pytest.approx(loaded.query("file " * 32), abs=1e-5)


def test_queries_and_texts_have_their_prefixes(tmp_path: Path) -> None:
    tiny(tmp_path / "plain")
    tiny(tmp_path / "prefixed", query_prefix="read ", text_prefix="write ")
    plain, prefixed = encoder(tmp_path / "plain"), encoder(tmp_path / "prefixed")
    assert prefixed.query("mail") == pytest.approx(plain.query("read mail"))
    assert prefixed.texts(["mail"])[0] == pytest.approx(plain.query("write mail"))


def test_the_first_token_may_stand_for_the_text(tmp_path: Path) -> None:
    tiny(tmp_path / "first", pooling=Pooling.FIRST)
    tiny(tmp_path / "mean")
    first, mean = encoder(tmp_path / "first"), encoder(tmp_path / "mean")
    assert first.query("mail") == pytest.approx(mean.query("mail"), abs=1e-5)
    assert first.query("mail the file") != pytest.approx(mean.query("mail the file"), abs=1e-4)


def test_what_changes_a_vector_changes_the_identity(tmp_path: Path) -> None:
    first, second = tiny(tmp_path / "one"), tiny(tmp_path / "two", query_prefix="read ")
    assert first.identity != second.identity
    assert first.identity == models.read(tmp_path / "one").identity


def test_the_files_are_checked(folder: Path) -> None:
    models.check(folder, models.read(folder))
    (folder / TOKENIZER).write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not the file that was installed"):
        models.check(folder, models.read(folder))
    (folder / TOKENIZER).unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json cannot be read"):
        models.check(folder, models.read(folder))


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model in"):
        models.read(tmp_path)
    (tmp_path / DESCRIPTION).write_text("[]")
    with pytest.raises(ModelError, match="cannot be read"):
        models.read(tmp_path)


def test_a_file_that_is_no_network(folder: Path) -> None:
    (folder / NETWORK).write_text("nothing")
    with pytest.raises(ModelError, match="cannot be loaded"):
        encoder(folder)


def test_a_model_that_is_replaced_while_it_is_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.read(folder)
    described = iter([model, replace(model, query_prefix="read ")])
    monkeypatch.setattr(models, "read", lambda _folder: next(described))
    with pytest.raises(ModelError, match="was replaced while it was loaded"):
        loaded(folder)

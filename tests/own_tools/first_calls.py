"""Requests of users, and what a model makes of each with one answer of `search_tools`, read from `first_calls.txt`.

A block is the request in the words of a user, then lines of these kinds:

    query: the query of the model
    answer: the signature in the answer to it
    call: the arguments that the request means, written from the signature alone
    wrong: arguments as models get them wrong
    error: what the model is told about the line before

`real_tools.jsonl` has the definitions of all tools of the servers; `benchmarks/search/excerpt.py` writes it.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
FOLDER = "/home/ada/notes"
"""The folder of all files and of the repository in the arguments."""
TOOLS: list[dict[str, Any]] = [
    json.loads(line) for line in (HERE / "real_tools.jsonl").read_text(encoding="utf-8").splitlines()
]


class FirstCall(NamedTuple):
    """A request of a user, and what a model makes of it."""

    request: str
    query: str
    answer: str
    arguments: dict[str, Any]
    wrong: list[tuple[dict[str, Any], str]]
    """Arguments as models get them wrong, each with what it is told."""

    @property
    def tool(self) -> str:
        return self.answer.partition("(")[0]


def _read(block: str) -> FirstCall:
    request, *lines = block.splitlines()
    pairs = [line.split(": ", 1) for line in lines]
    (query,), (answer,), (call,) = (
        [text for kind, text in pairs if kind == each] for each in ("query", "answer", "call")
    )
    wrong, errors = ([text for kind, text in pairs if kind == each] for each in ("wrong", "error"))
    told = [(json.loads(given), error) for given, error in zip(wrong, errors, strict=True)]
    return FirstCall(request, query, answer, json.loads(call), told)


FIRST_CALLS = [_read(block) for block in (HERE / "first_calls.txt").read_text(encoding="utf-8").split("\n\n")]

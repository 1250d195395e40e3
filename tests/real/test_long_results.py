"""Files of megabytes, read with the official filesystem server through a limit of 20,000 characters."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from real import packages
from real.conftest import Aggregator
from real.conversation import Conversation, Era
from real.peers import Run

LIMIT = 20_000
ERAS = [Era("2025-11-25", {}), Era("2026-07-28", {})]
LINES = "".join(f"{number:06} 日本語 か\u3099 👩\u200d👩\u200d👧 🇯🇵 plain words\n" for number in range(80_000))
ITEMS = [{"id": number, "name": f"item {number}", "tags": ["a", "b"], "nothing": None} for number in range(30_000)]


@pytest.fixture(scope="module")
def run(new_run: Callable[[], Run]) -> Run:
    return new_run()


@pytest.fixture(scope="module", params=ERAS, ids=["legacy", "modern"])
def front(request: pytest.FixtureRequest, run: Run, aggregator: Aggregator) -> Iterator[Conversation]:
    folder = run.folder / "files"
    folder.mkdir(exist_ok=True)
    (folder / "long.txt").write_text(LINES, encoding="utf-8", newline="\n")
    (folder / "list.json").write_text(json.dumps(ITEMS, indent=1), encoding="utf-8")
    command, *args = packages.server("filesystem")
    servers = {"files": {"command": command, "args": [*args, str(folder)]}}
    command_line = aggregator(servers, listing="full", maxResultCharacters=LIMIT)
    with Conversation(command_line, request.param, run.environment) as conversation:
        yield conversation
    left = [path for path in run.folder.rglob("results/*/*") if path.name != "lock"]
    assert left == [], "the files of a client go with it"


def calls(front: Conversation, name: str, **arguments: Any) -> dict[str, Any]:
    body: dict[str, Any] = front.ask("tools/call", name=name, arguments=arguments).value
    assert not body.get("isError"), body
    return body


def texts(body: dict[str, Any]) -> list[str]:
    return [block["text"] for block in body["content"] if block["type"] == "text"]


def test_a_text_of_five_megabytes_is_shortened_and_read_on(front: Conversation, run: Run) -> None:
    assert len(LINES.encode()) > 5_000_000
    body = calls(front, "files.read_text_file", path=str(run.folder / "files" / "long.txt"))
    assert "structuredContent" not in body
    shown, note = texts(body)
    assert len(shown) + len(note) <= LIMIT
    head, _, tail = shown.split("\n\n")
    assert LINES.startswith(head + "\n")
    assert LINES.endswith(tail)
    found = body["_meta"]["search-mcp/truncated"]
    assert found["total"] == len(LINES)
    middle, about = texts(calls(front, "read_result", handle=found["handle"], offset=1_000_000))
    assert LINES[1_000_000:].startswith(middle)
    assert about.endswith(f"next offset {1_000_000 + len(middle)}]")
    lines, about = texts(calls(front, "read_result", handle=found["handle"], pattern="^07(78|99)99 "))
    assert [line.split(": ")[1].split()[0] for line in lines.splitlines() if ": " in line] == ["077899", "079999"]
    link = next(block for block in body["content"] if block["type"] == "resource_link")
    assert link["size"] == len(LINES.encode())
    whole = front.ask("resources/read", uri=link["uri"]).value
    assert whole["contents"][0]["text"] == LINES


def test_a_json_list_of_two_megabytes_is_read_by_path(front: Conversation, run: Run) -> None:
    path = run.folder / "files" / "list.json"
    assert path.stat().st_size > 2_000_000
    body = calls(front, "files.read_text_file", path=str(path))
    assert "path=" in texts(body)[-1]
    handle = body["_meta"]["search-mcp/truncated"]["handle"]
    assert json.loads(texts(calls(front, "read_result", handle=handle, path="/29999"))[0]) == ITEMS[29_999]
    chosen = calls(front, "read_result", handle=handle, path="[?id > `29990`].name")
    assert json.loads(texts(chosen)[0]) == [f"item {number}" for number in range(29_991, 30_000)]


def test_a_short_result_and_an_error_pass_as_they_are(front: Conversation, run: Run) -> None:
    small = calls(front, "files.list_allowed_directories")
    assert "_meta" not in small or "search-mcp/truncated" not in small["_meta"]
    missing = front.ask("tools/call", name="files.read_text_file", arguments={"path": str(run.folder / "no")}).value
    assert missing["isError"] is True

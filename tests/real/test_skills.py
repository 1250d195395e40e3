"""Skills of real servers for a real client, both on FastMCP: what it sees of a server directly, it sees through us."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from real import packages
from real.conftest import Aggregator
from real.peers import HERE, SECONDS, Run
from real.processes import wait_until_gone

REFUNDS = {
    "SKILL.md": '---\nname: refunds\ndescription: Handle refunds ☃\nmetadata:\n  since: "1.0"\n---\n\nRead limits.\n',
    "references/limits.md": "At most 100 ☃.\n",
}
TODAY = {"SKILL.md": "---\nname: today\ndescription: Plan the day\n---\n\nPlan it.\n"}


@pytest.fixture
def run(new_run: Callable[[], Run]) -> Run:
    return new_run()


def served(run: Run, name: str, **skills: dict[str, str]) -> list[str]:
    """Write skills to a folder; the command line of a server that has them."""
    folder = run.folder / name
    for skill, files in skills.items():
        for path, text in files.items():
            file = folder / skill / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
    return [packages.fastmcp(), str(HERE / "servers" / "fastmcp_skills.py"), str(folder)]


def visited(run: Run, server: list[str]) -> dict[str, Any]:
    client = [packages.fastmcp(), str(HERE / "clients" / "fastmcp_skills.py"), *server]
    done = subprocess.run(
        client, capture_output=True, timeout=SECONDS, env=run.environment, cwd=run.folder, check=False
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    seen: dict[str, Any] = json.loads(done.stdout)
    assert not wait_until_gone(run.folder.name)
    return seen


def test_every_skill_is_listed_got_and_read_as_it_is_directly(run: Run, aggregator: Aggregator) -> None:
    command, *arguments = server = served(run, "files", refunds=REFUNDS, today=TODAY)
    time = {"command": sys.executable, "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]}
    through = aggregator({"skills": {"command": command, "args": arguments}, "time": time})
    direct = visited(run, server)
    assert {each["frontmatter"]["name"] for each in direct["skills/list"]["skills"]} == {"refunds", "today"}
    assert direct["unknown"] == -32602
    assert visited(run, through) == direct


def test_of_two_servers_with_one_skill_the_files_are_those_of_the_listed_entry(
    run: Run, aggregator: Aggregator
) -> None:
    other = {**REFUNDS, "references/limits.md": "No limits."}
    servers = {
        "first": served(run, "first", refunds=REFUNDS),
        "second": served(run, "second", refunds=other, today=TODAY),
    }
    entries = {name: {"command": command, "args": args} for name, (command, *args) in servers.items()}
    seen = visited(run, aggregator(entries))
    skills = seen["skills/list"]["skills"]
    assert [each["uri"] for each in skills] == ["skill://refunds/SKILL.md", "skill://today/SKILL.md"]
    for file in (file for skill in skills for file in skill["resources"]):
        (content,) = seen[file["uri"]]
        text = content["text"].encode()
        assert (f"sha256:{hashlib.sha256(text).hexdigest()}", len(text)) == (file["digest"], file["size"])
    assert seen["skill://refunds/references/limits.md"][0]["text"] == REFUNDS["references/limits.md"]

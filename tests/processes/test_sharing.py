"""Several clients of one user at once: their processes share caches, trust records and logs."""

import json
from functools import partial

from processes.conftest import Serve
from processes.run import Run, server

SERVERS = {f"restless{number}": server("restless") for number in range(4)}
TOOLS = 5 * len(SERVERS)
CHANGES = 12


def test_two_processes_whose_servers_change_do_not_damage_shared_files(serve: Serve) -> None:
    with serve(SERVERS, listing="full") as one, serve(SERVERS, listing="full") as two:
        for run in (one, two):
            run.opens()
            run.asks("tools/list")
        for number in range(CHANGES):
            calls = [
                (run, run.sends("tools/call", name=f"{name}.change", arguments={"words": f"{number} of {run.mark}"}))
                for run in (one, two)
                for name in SERVERS
            ]
            for run, call in calls:
                assert "result" in run.answer(call)
        for run in (one, two):
            run.waits_until(partial(are_described_as, run, f"{CHANGES - 1} of {run.mark}"))
    for path in one.folder.rglob("*.json"):
        json.loads(path.read_bytes())
    for path in (records := [*one.folder.rglob("*.jsonl")]):
        assert [json.loads(line) for line in path.read_bytes().splitlines()]
    assert len(records) == len(SERVERS)
    with serve(SERVERS, listing="full") as later:
        later.opens()
        assert later.calls("restless0.echo", words="x") == "x"
    for run in (one, two, later):
        assert b"Traceback" not in run.stderr
        assert [line for line in run.stderr.splitlines() if is_trouble(run, line)] == []


def are_described_as(run: Run, words: str) -> bool:
    tools = [tool for tool in run.asks("tools/list")["tools"] if "." in tool["name"]]
    return [tool["description"] for tool in tools] == [words] * TOOLS


def is_trouble(run: Run, line: bytes) -> bool:
    """Return whether a log line reports a fault, or warns about a shared file."""
    names_a_file = str(run.folder).encode() in line and str(run.config).encode() not in line
    return b" ERROR " in line or (b" WARNING " in line and names_a_file)

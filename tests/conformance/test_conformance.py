"""The official conformance suite: what it finds in a server directly, it must find through search-mcp.

The suite's scenarios of both required revisions run against `reference.py` twice, directly and as the only backend,
under its own names and in the full listing. Then once more with that backend held to the other era.
"""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fork_server import ForkServer, forked
from real import packages, processes
from real.conftest import Aggregator
from real.peers import Run

from conformance import suite
from conformance.suite import Check, Report

LEGACY, MODERN = "2025-11-25", "2026-07-28"
REFERENCE = str(Path(__file__).with_name("reference.py"))

AT_ONCE = 2  # runs; most of their time goes into starting processes
MOST_RUNS = 3  # on a machine with other things to do the suite may lose its patience; what hangs does so every time

# Over HTTP alone: a stdio server cannot close the stream of its own response, so there is nothing to resume.
HTTP_ONLY = {"server-sse-priming-event", "server-sse-retry-field"}

# Skipped, since the freshness of results is of 2026-07-28.
OF_LATER = "not applicable on negotiated protocol"

# What cannot be the same when a legacy backend answers a modern client, which sees each of the backend's own
# requests as an `input_required` of one entry, under a key of ours.
LEGACY_BACKEND = {
    "sep-2322-elicitation-incomplete": "the suite wants its own key for the question; a legacy request has none",
    "sep-2322-elicitation-complete": "so the suite never comes to the second round",
    "sep-2322-multiple-inputs-incomplete": "a legacy backend asks one thing after the other",
    "sep-2322-multiple-inputs-complete": "so the suite never comes to the second round",
    "sep-2322-respect-client-capabilities": "a legacy backend is told of capabilities once, this scenario has its own",
    "sep-2322-ignore-unexpected-params": "answers to a question that was never asked reach no legacy backend",
}


@dataclass(frozen=True)
class Runs:
    """What came of the suite at one revision: against the reference alone, and behind search-mcp in either era."""

    direct: Report
    through: Report
    other_era: Report


@pytest.fixture(scope="module", params=[LEGACY, MODERN])
def runs(
    request: pytest.FixtureRequest,
    new_run: Callable[[], Run],
    aggregator: Aggregator,
    server_fork_server: ForkServer | None,
) -> Runs:
    """Run the suite against search-mcp twice; it starts a process for each session, forked where that is possible.

    Its run against the reference alone says the same until one of the two changes, so its results are kept.
    """
    reference = forked(server_fork_server, [sys.executable, REFERENCE])
    entry = {"command": reference[0], "args": reference[1:], "prefix": ""}
    other_era = {LEGACY: MODERN, MODERN: LEGACY}[request.param]
    servers = [
        aggregator({"reference": entry}, listing="full"),
        aggregator({"reference": {**entry, "protocol": other_era}}, listing="full"),
    ]

    def run(server: list[str]) -> tuple[Report, Path]:
        for _ in range(MOST_RUNS):
            place = new_run()
            report = suite.run(server, request.param, place.folder, place.environment)
            assert not processes.wait_until_gone(place.folder.name)
            if not report.ran_out_of_time:
                break
        return report, place.folder

    def keep(folder: Path) -> None:
        report, results = run(reference)
        assert not report.ran_out_of_time
        shutil.copytree(results, folder, dirs_exist_ok=True)

    sources = [Path(REFERENCE), *(Path(suite.__file__).with_name(name) for name in ("suite.py", "bridge.py"))]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        direct = pool.submit(packages.conformance_results, request.param, sources, keep)
        through, other = (report for report, _ in pool.map(run, servers))
        return Runs(suite.read(request.param, direct.result()), through, other)


def test_reference_conforms(runs: Runs) -> None:
    """Or else what follows says little: a scenario that fails directly cannot fail any more."""
    found = [check for check in runs.direct.checks if check.status not in ("SUCCESS", "INFO")]
    report([f"{check}" for check in found if check.id not in HTTP_ONLY and OF_LATER not in check.message])
    assert {"tools-list", "resources-list", "prompts-list", "completion-complete"} <= runs.direct.scenarios
    assert {*suite.SKILLS} <= runs.direct.scenarios


def test_conforms_through_search_mcp(runs: Runs) -> None:
    report(worse(runs.direct, runs.through))
    assert "Traceback" not in runs.through.stderr


def test_conforms_through_search_mcp_with_a_backend_of_the_other_era(runs: Runs) -> None:
    report(worse(runs.direct, runs.other_era, {} if runs.direct.revision == LEGACY else LEGACY_BACKEND))
    assert "Traceback" not in runs.other_era.stderr


def test_messages_through_search_mcp_are_the_backends_own(runs: Runs) -> None:
    """Whether the suite looks at it or not: every answer and every notification is what the backend alone would say."""
    direct, through = conversations(runs.direct.lines), conversations(runs.through.lines)
    assert len(direct) == len(through)
    report([problem for one, other in zip(direct, through, strict=True) for problem in different(one, other)])


def report(problems: list[str]) -> None:
    if problems:
        pytest.fail("\n".join([f"{len(problems)} found:", *problems]), pytrace=False)


def worse(direct: Report, through: Report, excepted: Collection[str] = ()) -> list[str]:
    """Say what passes directly and not through search-mcp, and what is complained of only through search-mcp."""
    before = {check.key: check for check in direct.checks}
    after = {check.key: check for check in through.checks}
    lost = [
        f"{key[0]} / {key[2]} [{key[1]}] passes directly and is not come to through search-mcp"
        for key, check in before.items()
        if check.status == "SUCCESS" and key not in after
    ]
    complaints = [
        f"passes directly, fails through search-mcp: {check}"
        for key, check in after.items()
        if is_complaint(check) and not (key in before and is_complaint(before[key]))
    ]
    return [line for line in (*complaints, *lost) if not any(f"[{each}]" in line for each in excepted)]


def is_complaint(check: Check) -> bool:
    return check.status in ("FAILURE", "WARNING")


# Messages

Conversation = list[tuple[str, dict[str, Any]]]  # ">" to the server or "<" from it, and the message

OURS = {"search_tools", "describe_tools", "call_tool", "call_read_only_tool", "list_servers"}
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
LABEL = '"message": "[reference] '
"""The asking server's name stands in front of a question."""


def conversations(lines: Path) -> list[Conversation]:
    """Read what was said with each process, in the order in which they were first spoken to."""
    said: dict[str, Conversation] = {}
    for line in lines.read_text(encoding="utf-8").split("\n")[:-1]:
        direction, process, message = line.split(" ", 2)
        said.setdefault(process, []).append((direction, json.loads(message)))
    return list(said.values())


def different(direct: Conversation, through: Conversation) -> list[str]:
    requests = [message for direction, message in direct if direction == ">" and {"id", "method"} <= message.keys()]
    asked = {request["id"]: request for request in requests}
    problems = []
    expected, given = answers(direct), answers(through)
    for number, message in expected.items():
        method = asked[number]["method"]
        one, other = (essence(method, each) for each in (message, given.get(number, {})))
        if 0 <= other.get("ttlMs", -1) <= one.get("ttlMs", -1):
            other["ttlMs"] = one["ttlMs"]  # the time since search-mcp read the list is over
        if one != other:
            problems.append(f"{json.dumps(asked[number])}\n  directly: {one}\n  through:  {other}")
    if unheard := list_changes(direct) - list_changes(through):
        problems.append(f"announced only directly: {unheard}")
    news = [Counter(unasked(conversation)) for conversation in (direct, through)]
    if news[0] != news[1]:
        problems.append(f"notifications and requests\n  only directly: {news[0] - news[1]}")
        problems.append(f"  only through:  {news[1] - news[0]}")
    return problems


def answers(conversation: Conversation) -> dict[Any, dict[str, Any]]:
    return {message["id"]: message for way, message in conversation if way == "<" and "method" not in message}


def list_changes(conversation: Conversation) -> set[str]:
    """Return the notifications of changed lists."""
    said = (message.get("method", "") for direction, message in conversation if direction == "<")
    return {method for method in said if method.endswith("/list_changed")}


def unasked(conversation: Conversation) -> list[str]:
    """Return the server's own requests and notifications, except changes of lists, which come once for a burst."""
    said = [message for direction, message in conversation if direction == "<" and "method" in message]
    return [
        unlabelled(json.dumps({name: value for name, value in message.items() if name != "id"}, sort_keys=True))
        for message in said
        if not message["method"].endswith("list_changed")
    ]


def unlabelled(message: str) -> str:
    return message.replace(LABEL, '"message": "')


def essence(method: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out of an answer what is search-mcp's own by its contract: who it is, its tools, its errors' form."""
    if method == "subscriptions/listen":
        return {}  # how a stream ends depends on who was first to notice that the client is gone
    if "error" in answer:
        error = answer["error"]
        if error["code"] == -32000 and error["message"].startswith("Backend MCP server error: "):
            error = error["data"]
        return {"error": error["code"]}
    result = dict(answer.get("result", {}))
    if "inputRequests" in result:
        result["inputRequests"] = json.loads(unlabelled(json.dumps(result["inputRequests"])))
    if "_meta" in result:
        result["_meta"] = {name: value for name, value in result["_meta"].items() if name != SERVER_INFO}
    if method in ("initialize", "server/discover"):
        return {name: result.get(name) for name in ("protocolVersion", "supportedVersions")}
    if method == "tools/list":
        result["tools"] = [each for each in result["tools"] if each["name"] not in OURS]
    return result

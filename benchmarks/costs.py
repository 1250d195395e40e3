"""Measures of memory, idle CPU, tokens and imports."""

import gzip
import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import processes
from client import WrongAnswerError, patience, result_of
from readings import Extent, Reading, Turns, counted
from subjects import HERE, START_SECONDS, Backend, Subject, backends, tools_in

IDLE_SECONDS = 3.0
SETTLING_SECONDS = 2.0
"""Time that a subject may stay busy after its start."""
RECORDED = HERE / "search" / "recorded.tools.jsonl.gz"
RECORDED_TOOLS = 200
CHARACTERS_A_TOKEN = 4.0
"""Approximate characters of JSON per token: good enough to compare lists, not to predict a bill."""
IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def idle(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure memory, and the CPU and wakeups while idle, with the most backends of twenty tools each."""
    servers = backends(extent.backends[-1], "--tools", "20")
    label = f"{counted(len(servers))}, {20 * len(servers):,} tools"
    for turn in range(extent.turns):
        with subject.running(servers, folder / str(turn)) as session:
            session.open(servers)
            time.sleep(SETTLING_SECONDS)
            memory, threads = processes.memory(session), processes.threads(session)
            used, woken = processes.cpu_seconds(session), processes.wakeups(session)
            time.sleep(IDLE_SECONDS)
            share = (processes.cpu_seconds(session) - used) / IDLE_SECONDS
            woken_after = processes.wakeups(session)
        readings = [
            Reading(f"memory, {label}", "MB", memory),
            Reading(f"threads, {label}", "", threads),
            Reading(f"processor while idle, {label}", "%", 100 * share),
        ]
        if woken is not None and woken_after is not None:
            readings.append(Reading(f"wake-ups while idle, {label}", "/s", (woken_after - woken) / IDLE_SECONDS))
        yield readings


def list_size(subject: Subject, extent: Extent, folder: Path) -> Turns:
    """Measure the share of a model's context that the list of real tools takes, instructions included."""
    servers = _recorded_backends(folder)
    for _ in range(extent.turns):
        yield [
            Reading(
                f"{RECORDED_TOOLS} real tools, {listing} list", "tokens", _list_size(subject, listing, servers, folder)
            )
            for listing in subject.listings
        ]


def _list_size(subject: Subject, listing: str, servers: Sequence[Backend], folder: Path) -> float:
    showing = replace(subject, listings=[listing])
    with showing.running(servers, folder / listing) as session, patience(session.pipes, START_SECONDS):
        results = session.initialize()
        size = sum(len(str(result.get("instructions", ""))) for result in results)
        answers = session.list_tools(1)
        if listing != "search" and len(tools_in(answers)) < RECORDED_TOOLS:
            raise WrongAnswerError("tools are missing from its list")
        lists = [result_of(answer)["tools"] for answer in answers]
        size += sum(len(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))) for tools in lists)
    return size / CHARACTERS_A_TOKEN


def _recorded_backends(folder: Path) -> list[Backend]:
    """Return backends that list the tools of real servers."""
    folder.mkdir(parents=True, exist_ok=True)
    by_server: dict[str, list[object]] = {}
    for line in gzip.decompress(RECORDED.read_bytes()).decode().splitlines()[:RECORDED_TOOLS]:
        tool = json.loads(line)
        definition = {"name": tool["tool"], "description": tool["description"], "inputSchema": tool["inputSchema"]}
        by_server.setdefault(tool["server"], []).append(definition)
    servers = []
    for server, definitions in by_server.items():
        path = folder / f"{server}.json"
        path.write_text(json.dumps(definitions), "utf-8")
        servers.append(Backend(server, ("--tools", str(path))))
    return servers


def import_time(subject: Subject, extent: Extent, _folder: Path) -> Turns:
    """Measure the time to import the modules that a start needs."""
    if subject.imports is None:
        return
    python, module = subject.imports
    command = [python, "-c", IMPORT.format(module)]
    for _ in range(extent.turns):
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=START_SECONDS)
        yield [Reading("import", "ms", float(done.stdout) * 1e3)]

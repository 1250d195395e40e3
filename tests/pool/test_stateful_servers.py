"""Servers that keep state in their process, behind one pool: no client sees the state of another one by default."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from real.conversation import Era

from pool.machine import Client, Machine, compare
from search_mcp.config.schema import ServerConfig

CAPABILITIES: dict[str, Any] = {"roots": {}, "sampling": {}}
LEGACY, MODERN = Era("2025-11-25", CAPABILITIES), Era("2026-07-28", CAPABILITIES)
STUB = str(Path(__file__).parent.parent / "servers" / "keeps_state.py")


def _machine(tmp_path: Path, *arguments: str) -> Machine:
    return Machine(ServerConfig(name="stub", command=sys.executable, args=(STUB, *arguments)), tmp_path)


async def _says(client: Client, tool: str, **arguments: Any) -> Any:
    answer = json.loads(await client.ask("tools/call", {"name": f"stub.{tool}", "arguments": arguments}))
    return answer["result"]["content"][0]["text"]


def _roots(name: str) -> dict[str, Any]:
    return {"roots": [{"uri": f"file:///{name}"}]}


async def _opens(client: Client, name: str) -> None:
    client.gives["roots/list"] = _roots(name)
    client.gives["sampling/createMessage"] = {"role": "assistant", "content": {"type": "text", "text": ""}, "model": ""}
    await client.play([("tools/list", {})])


@pytest.mark.parametrize("era", [LEGACY, Era("2026-07-28", {})], ids=["legacy", "modern"])
async def test_each_client_has_its_own_page_project_and_folder(era: Era, tmp_path: Path) -> None:
    machine = _machine(tmp_path)
    async with machine.pool.running(), machine.client(era) as first, machine.client(era) as second:
        clients = {"first": first, "second": second}
        for name, client in clients.items():
            await _opens(client, name)
            (tmp_path / name).mkdir()
        for name, client in clients.items():
            await _says(client, "set", page=f"https://{name}", project=name)
            await _says(client, "enter", folder=str(tmp_path / name))
        for name, client in clients.items():
            state = json.loads(await _says(client, "state"))
            folder = str(tmp_path / name)
            assert state == {"page": f"https://{name}", "project": name, "folder": folder, "roots": state["roots"]}


async def test_each_client_is_asked_for_its_own_roots_and_about_its_own_page(tmp_path: Path) -> None:
    machine = _machine(tmp_path)
    async with machine.pool.running(), machine.client(LEGACY) as first, machine.client(LEGACY) as second:
        clients = {"first": first, "second": second}
        for name, client in clients.items():
            await _opens(client, name)
        for name, client in clients.items():
            await _says(client, "set", page=name, asks=True)
        for name, client in clients.items():
            assert json.loads(await _says(client, "roots")) == _roots(name)["roots"]
            await client.until_asked("sampling/createMessage")
            asked = [each for each in client.heard() if each.get("method") == "sampling/createMessage"]
            assert [each["params"]["messages"][0]["content"]["text"] for each in asked] == [f"What is on {name}?"]


@pytest.mark.parametrize("era", [LEGACY, MODERN], ids=["legacy", "modern"])
async def test_a_modern_server_that_keeps_the_roots_serves_each_client_its_own(era: Era, tmp_path: Path) -> None:
    machine = _machine(tmp_path, "modern")
    async with machine.pool.running(), machine.client(era) as first, machine.client(era) as second:
        for name, client in {"first": first, "second": second}.items():
            await _opens(client, name)
            call = {"name": "stub.roots", "arguments": {}}
            answer = json.loads(await client.ask("tools/call", call))["result"]
            if era is MODERN:
                responses = dict.fromkeys(answer["inputRequests"], _roots(name))
                state = {"requestState": answer["requestState"]} if "requestState" in answer else {}
                again = await client.ask("tools/call", {**call, "inputResponses": responses, **state})
                answer = json.loads(again)["result"]
            assert json.loads(answer["content"][0]["text"]) == _roots(name)["roots"]
        assert len(machine.pool.servers) == 2


@pytest.mark.parametrize("era", [LEGACY, MODERN], ids=["legacy", "modern"])
async def test_a_comparison_finds_what_another_client_left(era: Era, tmp_path: Path) -> None:
    server = ServerConfig(name="stub", command=sys.executable, args=(STUB,), share=True)
    left = {"name": "stub.set", "arguments": {"page": "https://left"}}
    script = [("tools/call", {"name": "stub.state", "arguments": {}}), ("tools/call", left)]
    compared = await compare(server, script, era, tmp_path)
    assert compared.processes == 1
    assert b"https://left" not in b"".join(compared.alone[:-1])
    assert b"https://left" in b"".join(compared.together[-1][:-1])

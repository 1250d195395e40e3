"""Real AI clients with a scripted model: the tools the model is offered, and the texts it reads.

Every client has the same three servers: one that answers at once, one that does not answer before the model has
made a call, and one that exits. A model reads less than a server sends: each client drops some parts, so everything
that matters must be in the parts that all clients pass on.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from real.ai_clients import CLIENTS, Conversation, Home, Interruption, Step
from real.peers import HERE, Run
from real.processes import stop_engines, wait_until_gone
from real.scripted_model import Json, Turn, folded

REASON = "the subscription has lapsed"
ENDED = "it exited with code 1"
TOOLS = ("echo", "structured", "insist", "refuse", "create", "endless")
FAST, SLOW = ([f"{server}.{tool}" for tool in TOOLS] for server in ("fast", "slow"))
OWN_TOOLS = ("search_tools", "describe_tools", "list_servers")


def servers(gate: Path) -> Json:
    program = str(HERE / "servers" / "acquaintance.py")
    return {
        "broken": {"command": sys.executable, "args": ["-I", "-S", "-c", f"raise SystemExit('{REASON}')"]},
        "slow": {"command": sys.executable, "args": [program, str(gate)]},
        "fast": {"command": sys.executable, "args": [program], "description": "Answers at once."},
    }


def steps(gate: Path, port: int, *, honours_news: bool) -> dict[str, Step]:
    """Return the script of a conversation; its last call is never answered."""
    late = {"words": "better late"}
    slow = Step("slow.echo", late) if honours_news else Step("call_tool", {"name": "slow.echo", "arguments": late})
    return READS | {
        "the slow server may start": Step("fast.create", {"path": str(gate)}),
        "a call of the slow server": slow,
        "an endless call": Step("fast.endless", {"port": port}),
    }


READS = {
    "a right call": Step("fast.echo", {"words": "héllo ✓"}, ("héllo ✓",)),
    "a structured result": Step("fast.structured", {}, ("42",)),
    "a call the server refuses": Step("fast.refuse", {"amount": 3}, ("the vault is closed",)),
    "a call the server refuses, with wrong arguments": Step(
        "fast.refuse", {"amount": "three"}, ("the vault is closed", "amount: integer", "unit?: string")
    ),
    "an error result, with wrong arguments": Step(
        "fast.insist", {"amount": "three"}, ("that is no amount", "amount: integer", "unit?: string")
    ),
    "an unknown name in call_tool": Step("call_tool", {"name": "fast.ecko", "arguments": {}}, ("fast.echo",)),
    "an unknown name in describe_tools": Step("describe_tools", {"names": ["fast.ecko"]}, ("fast.echo",)),
    "a bare name in call_tool": Step("call_tool", {"name": "insist", "arguments": {"amount": 1}}, ("42",)),
    "a search that finds": Step("search_tools", {"query": "repeat words"}, ("fast.echo", "words: string", ENDED)),
    "a search that fits nothing": Step(
        "search_tools", {"query": "answer an email from Bob"}, ("No tool of the connected servers clearly does",)
    ),
    "a search that matches nothing": Step("search_tools", {"query": "xylophone"}, ("fast", "broken")),
    "a search in a server that is down": Step("search_tools", {"query": "renew", "server": "broken"}, (REASON,)),
    "a call of a server that is down": Step(
        "call_tool", {"name": "broken.renew", "arguments": {}}, ("is not running", REASON)
    ),
    "the servers": Step("list_servers", {}, ("broken", REASON)),
}


@dataclass(frozen=True)
class Meeting:
    """A client's first conversation after servers were added, and its second one."""

    home: Home
    cold: Conversation
    warm: Conversation
    heard: bytes
    left: set[int]


EVERY_RUN = ("claude-code", "gemini-cli")
"""The clients of every run. The others are 760 MB to fetch, and wait for their lists as conversations do that play them
in every run, so they are met every night."""


@pytest.fixture(
    scope="session",
    params=[name if name in EVERY_RUN else pytest.param(name, marks=pytest.mark.figures) for name in CLIENTS],
)
def client(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def meeting(client: str, new_run: Callable[[], Run]) -> Meeting:
    run = new_run()
    home, gate = Home(client, run), run.folder / "gate"
    home.configure({})
    home.install()
    home.configure(servers(gate))
    interruption = Interruption()
    script = steps(gate, interruption.port, honours_news=home.client.honours_news)
    cold = home.converse(script, interruption)
    left = wait_until_gone(run.folder.name, but_engines=True)
    gate.unlink(missing_ok=True)
    warm = home.converse({"a call": READS["a right call"]})
    stop_engines()
    return Meeting(home, cold, warm, interruption.heard, left)


@pytest.fixture(scope="session")
def installed(client: str, new_run: Callable[[], Run]) -> Conversation:
    """Install with the servers configured and able to start; return the client's first conversation."""
    run = new_run()
    home, gate = Home(client, run), run.folder / "gate"
    gate.touch()
    home.configure(servers(gate))
    home.install()
    gate.unlink()
    conversation = home.converse({"a call": READS["a right call"]})
    stop_engines()
    return conversation


def shown(turn: Turn | None) -> set[str]:
    """Return the names of the tools of the two servers, and of our own, that a request offers."""
    return {tool for tool in (*FAST, *SLOW, *OWN_TOOLS, "call_tool") if turn is not None and turn.find(tool)}


def test_a_first_start_offers_the_server_that_answers(meeting: Meeting) -> None:
    offered = shown(meeting.cold.taken.get("a right call"))
    assert offered - {"call_tool"} == {*FAST, *OWN_TOOLS}, str(meeting.cold)


def test_a_list_without_the_slow_server_offers_a_way_to_call_it(meeting: Meeting) -> None:
    assert "call_tool" in shown(meeting.cold.taken.get("a right call")), str(meeting.cold)


def test_a_tool_is_offered_with_its_required_parameters(meeting: Meeting) -> None:
    tool = meeting.cold.taken["a right call"].find("fast.echo")
    assert tool is not None
    assert "(words)" in tool.description or "words" in tool.schema["properties"]


def test_the_instructions_describe_each_server(meeting: Meeting) -> None:
    instructions = meeting.warm.turns[-1].instructions
    assert "- fast (6 tools): Answers at once" in instructions, instructions


def test_a_slow_server_is_reached_in_the_same_conversation(meeting: Meeting) -> None:
    assert "better late" in meeting.cold.read.get("a call of the slow server", ""), str(meeting.cold)


def test_a_second_start_offers_everything_at_once(meeting: Meeting) -> None:
    assert shown(meeting.warm.first_offer) >= {*FAST, *SLOW, *OWN_TOOLS}, str(meeting.warm)


def test_a_start_after_install_offers_everything_at_once(installed: Conversation) -> None:
    assert shown(installed.first_offer) >= {*FAST, *SLOW, *OWN_TOOLS}, str(installed)


@pytest.mark.parametrize("step", READS)
def test_the_model_reads_the_texts_that_matter(step: str, meeting: Meeting) -> None:
    assert step in meeting.cold.read, f"{READS[step].tool} was not offered\n{meeting.cold}"
    read = meeting.cold.read[step]
    assert [words for words in READS[step].reads if folded(words) not in folded(read)] == [], read


def test_an_interrupted_call_leaves_no_process(meeting: Meeting) -> None:
    assert meeting.heard.startswith(b"called"), str(meeting.cold)
    assert meeting.left == set()


def test_a_conversation_that_ends_leaves_no_process(meeting: Meeting) -> None:
    assert wait_until_gone(meeting.home.run.folder.name) == set()

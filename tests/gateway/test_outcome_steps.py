"""The steps that an outcome passes on its way to the client."""

from typing import Any

import pytest

from search_mcp.catalog.catalog import Catalog
from search_mcp.catalog.items import Item
from search_mcp.catalog.uris import ResourceMap
from search_mcp.config.schema import ServerConfig
from search_mcp.gateway.links import Links
from search_mcp.gateway.outcome_steps import Forwarded, OutcomeSteps
from search_mcp.gateway.tasks import IdMap, TaskMap
from search_mcp.model.calls import Outcome, Result
from search_mcp.wire import payload
from search_mcp.wire.errors import PeerError, WireError
from search_mcp.wire.structs import ErrorObject, Raw

SCHEMA = {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}
TOOL = Item("a", "b", "a", "b", payload.fields(payload.encode({"name": "b", "inputSchema": SCHEMA})))
MENTION = {"content": [{"type": "resource_link", "uri": "x:y", "name": "y"}]}


class Client:
    """The steps of one client, and the outcomes it receives."""

    def __init__(self) -> None:
        self.resources, self.tasks = ResourceMap(Catalog([ServerConfig(name="a", command="x")])), TaskMap()
        self.links = Links(lambda: 0.0)
        self.steps = OutcomeSteps(self.resources, self.tasks, IdMap(), self.links)

    def gets(self, kind: str, outcome: Outcome) -> Outcome:
        item = TOOL if "tool" in kind else None
        forwarded = Forwarded("a", getattr(self.steps, kind), frozenset({"secret"}), "a.b", {}, item)
        read = self.steps.read(forwarded, outcome)
        assert read is not None
        return read


@pytest.fixture
def client() -> Client:
    return Client()


KINDS = ["of_call", "of_prompt", "of_task_call", "of_tool_call", "of_tool_call_as_task"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_error_shows_a_secret(client: Client, kind: str) -> None:
    error = client.gets(kind, PeerError(ErrorObject(-1, "the secret is out")))
    assert isinstance(error, WireError)
    assert "secret" not in str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_passes_as_it_is(client: Client, kind: str) -> None:
    result = Result(payload.encode({"content": [], "text": "secret"}))
    assert client.gets(kind, result) is result


@pytest.mark.parametrize(
    ("kind", "body", "is_noted"),
    [
        ("of_call", MENTION, False),
        ("of_tool_call", MENTION, True),
        ("of_tool_call", {"result": MENTION}, False),
        ("of_prompt", {"messages": [{"role": "user", "content": MENTION["content"][0]}]}, True),
        ("of_prompt", {"messages": [{"role": "user"}]}, False),
        ("of_prompt", {"messages": MENTION["content"][0]}, False),
        ("of_task_call", MENTION, True),
        ("of_task_call", {"taskId": "t", "status": "completed", "result": MENTION}, True),
        ("of_task_call", {"taskId": "t", "result": [MENTION]}, False),
    ],
)
@pytest.mark.parametrize("is_raw", [True, False], ids=["as bytes", "decoded"])
def test_the_uris_in_a_result_lead_to_its_server(
    client: Client, kind: str, body: dict[str, Any], is_noted: bool, is_raw: bool
) -> None:
    raw = payload.encode(body)
    client.gets(kind, Result(raw if is_raw else payload.fields(raw)))
    assert client.resources.owner("x:y") == ("a" if is_noted else None)


@pytest.mark.parametrize(("kind", "is_explained"), [("of_call", False), ("of_tool_call", True)])
def test_arguments_that_do_not_fit_are_explained(client: Client, kind: str, is_explained: bool) -> None:
    error = client.gets(kind, PeerError(ErrorObject(-32602, "wrong")))
    result = client.gets(kind, Result(payload.encode({"isError": True, "content": []})))
    assert isinstance(result, Result)
    for text in (str(error), bytes(result.raw()).decode()):
        assert ("a.b(path: string)" in text) is is_explained


@pytest.mark.parametrize(
    ("kind", "type_", "is_translated"),
    [
        ("of_call", "task", False),
        ("of_task_call", "complete", True),
        ("of_tool_call", "complete", False),
        ("of_tool_call", "task", True),
        ("of_tool_call_as_task", "complete", True),
    ],
)
def test_tasks_have_the_ids_that_the_client_knows(client: Client, kind: str, type_: str, is_translated: bool) -> None:
    client.tasks.id_for_client("another", "t")
    result = client.gets(kind, Result(payload.encode({"taskId": "t"}), type_))
    assert isinstance(result, Result)
    given = payload.value(result.fields()["taskId"])
    assert (given != "t") is is_translated
    assert client.tasks.find(given) == (("a", "t") if is_translated else ("another", "t"))


@pytest.mark.parametrize("is_decoded", [False, True])
def test_a_result_keeps_its_bytes_unless_the_task_of_another_server_has_its_id(
    client: Client, is_decoded: bool
) -> None:
    raw = Raw(b'{"resultType": "x", "taskId" : "t", "n": 1.0}')
    answer = Result(payload.fields(raw) if is_decoded else raw, "task")
    assert client.gets("of_task_call", answer) is answer
    another = Client()
    another.tasks.id_for_client("another", "t")
    theirs = another.gets("of_task_call", answer)
    assert isinstance(theirs, Result) and theirs.type == "task"
    assert theirs.fields() == {**payload.fields(raw), "taskId": payload.encode(another.tasks.id_for_client("a", "t"))}

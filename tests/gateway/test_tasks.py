"""The owner of a task, its id for the client, and the merged list of all servers' tasks."""

from json import dumps, loads
from typing import Any

import pytest

from search_mcp.gateway.tasks import LONGEST_ID, MAX_PAGES, REMEMBERED_TASKS, TaskLists, TaskMap
from search_mcp.model.calls import Call, Outcome, Reply, Result
from search_mcp.model.names import Action
from search_mcp.wire.payload import encode, fields, value
from search_mcp.wire.structs import Fields, Raw

RELATED = "io.modelcontextprotocol/related-task"

NAMING = [
    # parts of a server's message: "{t}" is the id of its task
    pytest.param({"taskId": "{t}", "status": "working"}, id="a task"),
    pytest.param({"task": {"taskId": "{t}", "new": 1}, "_meta": {"x": 1}}, id="a task that was made"),
    pytest.param({"level": "info", "_meta": {"x": 1, RELATED: {"taskId": "{t}"}}}, id="what is related to a task"),
    pytest.param({"taskId": "{t}", "_meta": {RELATED: {"taskId": "{t}"}}}, id="both"),
]


def with_id(said: dict[str, Any], task: str) -> Fields:
    return fields(encode(loads(dumps(said).replace("{t}", task))))


@pytest.mark.parametrize("said", NAMING)
def test_a_task_keeps_its_id_unless_the_task_of_another_server_has_it(said: dict[str, Any]) -> None:
    tasks, message = TaskMap(), with_id(said, "t")
    assert tasks.translate("alpha", message) is message  # relayed byte for byte
    assert tasks.find("t") == ("alpha", "t")
    known = tasks.id_for_client("beta", "t")
    assert tasks.translate("beta", message) == with_id(said, known) != message
    assert tasks.translate("alpha", message) is message
    assert (tasks.find("t"), tasks.find(known)) == (("alpha", "t"), ("beta", "t"))


SILENT: list[dict[str, Any]] = [{"content": []}, {"taskId": 7}, {"task": 7, "_meta": None}, {"_meta": {RELATED: ["t"]}}]


@pytest.mark.parametrize("said", SILENT)
def test_a_message_without_a_task_is_relayed_unchanged(said: dict[str, Any]) -> None:
    message = with_id(said, "t")
    assert TaskMap().translate("alpha", message) is message


def test_an_id_given_to_the_client_for_one_task_is_not_used_for_another() -> None:
    tasks = TaskMap()
    tasks.id_for_client("alpha", "t")
    given = tasks.id_for_client("beta", "t")
    assert tasks.id_for_client("gamma", given) != given
    assert tasks.find(given) == ("beta", "t")


def test_a_server_has_only_so_many_tasks_and_forgets_none_of_another() -> None:
    tasks = TaskMap()
    first = tasks.id_for_client("alpha", "t-0")
    given = tasks.id_for_client("beta", "t-0")
    for number in range(1, REMEMBERED_TASKS + 1):
        tasks.id_for_client("beta", f"b-{number}")
    assert tasks.find(given) is None
    assert tasks.find("b-1") == ("beta", "b-1")
    assert tasks.find(first) == ("alpha", "t-0")


def test_an_id_that_is_too_long_is_not_remembered() -> None:
    tasks, longest = TaskMap(), "t" * LONGEST_ID
    assert tasks.id_for_client("alpha", longest + "t") == longest + "t"
    assert tasks.find(longest + "t") is None
    tasks.id_for_client("alpha", longest)
    assert tasks.find(longest) == ("alpha", longest)


class Endless:
    """A backend whose list of tasks always has another page."""

    name = "endless"

    def __init__(self) -> None:
        self.waiting: list[Call] = []
        self.cursors: list[object] = []

    def submit(self, call: Call, target: str) -> None:
        self.waiting.append(call)
        self.cursors.append(value(call.params.get("cursor", Raw(b"null"))))

    def answer(self) -> None:
        page = {"tasks": [{"taskId": f"t-{len(self.cursors)}"}], "nextCursor": f"{len(self.cursors)}"}
        self.waiting.pop().reply(Result(encode(page)))


def test_a_list_that_never_ends_is_cut_off() -> None:
    outcomes: list[Outcome] = []
    backend, tasks = Endless(), TaskMap()
    caller: Any = None  # the caller is not used
    having: Any = [backend]
    asked = Call(Action.LIST_TASKS, "", {}, {}, caller, Reply(outcomes.append))
    TaskLists(asked, having, tasks.translate).gather()
    while backend.waiting:
        backend.answer()
    assert backend.cursors == [None, *(f"{number}" for number in range(1, MAX_PAGES))]
    (outcome,) = outcomes
    assert isinstance(outcome, Result) and isinstance(outcome.body, dict)
    assert [task["taskId"] for task in value(outcome.body["tasks"])] == [
        f"t-{page}" for page in range(1, MAX_PAGES + 1)
    ]
    assert tasks.find(f"t-{MAX_PAGES}") == ("endless", f"t-{MAX_PAGES}")

"""Whose a task is, and what one list of all servers' tasks holds."""

from typing import Any

import pytest

from search_mcp.jsonrpc import Fields, Raw, encode, fields, value
from search_mcp.model import NOTHING, Action, Call, Cancel, Kind, Opening, Outcome, Result, Status
from search_mcp.tasks import MAX_PAGES, REMEMBERED_TASKS, TaskLists, TaskMap


def call(action: Action, **params: Any) -> Call:
    caller: Any = None  # nobody looks at who calls
    return Call(
        action, "", {key: encode(each) for key, each in params.items()}, {}, caller, reply=lambda _outcome: None
    )


NOTED = [
    # the call's params, the result's body and type, whether the task is known then
    pytest.param({"task": {}}, {"task": {"taskId": "t"}}, "complete", True, id="asked for by task"),
    pytest.param({}, {"taskId": "t"}, "task", True, id="another type of result"),
    pytest.param({}, {"taskId": "t"}, "complete", False, id="a tool's own word"),
    pytest.param({"task": {}}, {"task": {"taskId": 7}}, "complete", False, id="no string"),
    pytest.param({"task": {}}, {"task": 7}, "complete", False, id="no task"),
    pytest.param({"task": {}}, {"content": []}, "complete", False, id="not made a task"),
]


@pytest.mark.parametrize(("params", "body", "kind", "known"), NOTED)
@pytest.mark.parametrize("opened", [False, True])
def test_a_task_belongs_to_whoever_made_it(
    params: dict[str, Any], body: dict[str, Any], kind: str, known: bool, opened: bool
) -> None:
    tasks, raw = TaskMap(), encode(body)
    tasks.note_result("alpha", call(Action.CALL_TOOL, **params), Result(fields(raw) if opened else raw, kind))
    assert tasks.owner("t") == ("alpha" if known else None)


def test_the_oldest_tasks_are_forgotten() -> None:
    tasks = TaskMap()
    for number in range(REMEMBERED_TASKS + 1):
        tasks.note("alpha", {"taskId": encode(f"t-{number}")})
    assert tasks.owner("t-0") is None
    assert tasks.owner("t-1") == tasks.owner(f"t-{REMEMBERED_TASKS}") == "alpha"


class Endless:
    """A backend whose list of tasks has always another page."""

    name = "endless"
    status = Status("endless", "ready")

    def __init__(self) -> None:
        self.waiting: list[Call] = []
        self.cursors: list[object] = []

    def look_again(self, kind: Kind) -> None: ...

    def submit(self, call: Call, target: str) -> Cancel:
        self.waiting.append(call)
        self.cursors.append(value(call.params.get("cursor", Raw(b"null"))))
        return NOTHING

    def answer(self) -> None:
        page = {"tasks": [{"taskId": f"t-{len(self.cursors)}"}], "nextCursor": f"{len(self.cursors)}"}
        self.waiting.pop().reply(Result(encode(page)))

    def recall(self, opening: Opening) -> None: ...
    def open(self, opening: Opening) -> None: ...
    def set_log_level(self, level: str) -> None: ...
    def roots_changed(self) -> None: ...


def test_a_list_that_never_ends_is_cut_off() -> None:
    outcomes: list[Outcome] = []
    backend, noted = Endless(), list[tuple[str, Fields]]()
    asked = call(Action.LIST_TASKS)
    asked.reply = outcomes.append
    TaskLists(asked, [backend], lambda server, task: noted.append((server, task))).gather()
    while backend.waiting:
        backend.answer()
    assert backend.cursors == [None, *(f"{number}" for number in range(1, MAX_PAGES))]
    (outcome,) = outcomes
    assert isinstance(outcome, Result) and isinstance(outcome.body, dict)
    assert len(value(outcome.body["tasks"])) == len(noted) == MAX_PAGES

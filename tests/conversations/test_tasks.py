"""Tasks, of both kinds and in both directions: their ids lead to whoever issued them."""

import pytest

from conversations.eras import legacy_legacy, modern_client, modern_legacy, modern_modern
from conversations.front import Asked
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import SUBSCRIPTION, Json, accept, elicit, sample, sampled, text

TASK: Json = {"taskId": "t-1", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000}
EXTENSION = "io.modelcontextprotocol/tasks"
EXPERIMENTAL: Json = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
OF_THE_CLIENT: Json = {"list": {}, "cancel": {}, "requests": {"sampling": {"createMessage": {}}}}


# The experimental tasks of 2025-11-25: docs/specification/2025-11-25/basic/utilities/tasks.mdx


@legacy_legacy
def test_experimental_tasks_are_asked_of_the_server_that_made_them(pair: Pair) -> None:
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}
    pair.front.opens()
    call = pair.front.asks("tools/call", {"name": "beta.echo", "arguments": {}, "task": {"ttl": 60000}})
    beta.is_called("echo").returns({"task": TASK})
    call.gets({"task": TASK})
    for method, answer in (("tasks/get", TASK), ("tasks/result", text("done")), ("tasks/cancel", TASK)):
        asked = pair.front.asks(method, {"taskId": "t-1"})
        beta.receives(method, taskId="t-1").returns(answer)
        asked.gets(answer)
    beta.notifies("notifications/tasks/status", **TASK)
    assert pair.front.hears("notifications/tasks/status").params == TASK
    pair.front.asks("tasks/get", {"taskId": "t-2"}).fails(-32602, "Task not found: t-2")
    pair.alpha.hears_nothing()


@legacy_legacy
@pytest.mark.parametrize("limited", [False, True], ids=["without a limit", "with a time limit"])
def test_progress_goes_on_after_a_call_became_a_task_and_ends_with_it(pair: Pair, limited: bool) -> None:
    """ "The `progressToken` provided in the initial request remains valid throughout the task lifetime." """
    pair.alpha.config = {"call_timeout_seconds": 5.0} if limited else {}
    pair.alpha.more_capabilities = {"tasks": EXPERIMENTAL}
    pair.front.opens()
    asked = {"name": "alpha.echo", "arguments": {}, "task": {}, "_meta": {"progressToken": "p"}}
    call = pair.front.asks("tools/call", asked)
    served = pair.alpha.is_called("echo")
    served.returns({"task": TASK})
    call.gets({"task": TASK})
    pair.alpha.notifies("notifications/progress", progressToken=served.token, progress=1)
    pair.front.hears("notifications/progress", progressToken="p", progress=1)
    pair.after(60)
    pair.front.hears_nothing()
    pair.alpha.notifies("notifications/tasks/status", **{**TASK, "status": "completed"})
    pair.front.hears("notifications/tasks/status")
    pair.alpha.notifies("notifications/progress", progressToken=served.token, progress=2)
    pair.front.hears_nothing()


@legacy_legacy
def test_a_question_of_a_task_reaches_the_client_and_its_answer_the_task(pair: Pair) -> None:
    """ "When the requestor encounters the `input_required` status, it SHOULD preemptively call `tasks/result`"."""
    pair.alpha.more_capabilities = {"tasks": EXPERIMENTAL}
    pair.front.opens(elicitation={})
    call = pair.front.asks("tools/call", {"name": "alpha.echo", "arguments": {}, "task": {}})
    pair.alpha.is_called("echo").returns({"task": TASK})
    call.gets({"task": TASK})
    waiting = pair.front.asks("tasks/result", {"taskId": "t-1"})
    pair.alpha.receives("tasks/result", taskId="t-1")
    related = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "t-1"}}}
    question = {"method": "elicitation/create", "params": {**elicit("Who?")["params"], **related}}
    pair.alpha.asks(who=question)
    waiting.is_asked(question).answers(accept(name="Ada"))
    pair.alpha.gets(who=accept(name="Ada"))
    pair.alpha.returns(text("hello Ada", **related))
    waiting.gets(text("hello Ada", **related))


@legacy_legacy
def test_the_list_of_tasks_is_that_of_every_server_that_has_one(pair: Pair) -> None:
    """Every page of each, in the order of the servers, as one; a task it names is found from then on."""
    beta, gamma = pair.with_server("beta"), pair.with_server("gamma")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"tasks": EXPERIMENTAL}
    gamma.more_capabilities = {"tasks": {"cancel": {}}}
    pair.front.opens()
    pair.front.initializes()  # now it is known what they have
    assert pair.front.opening["capabilities"]["tasks"] == EXPERIMENTAL
    listing = pair.front.asks("tasks/list")
    first = pair.alpha.receives("tasks/list")
    beta.receives("tasks/list").returns({"tasks": [{**TASK, "taskId": "b-1"}]})
    first.returns({"tasks": [{**TASK, "taskId": "a-1"}], "nextCursor": "2"})
    pair.alpha.receives("tasks/list", cursor="2").returns({"tasks": [{**TASK, "taskId": "a-2", "new": 1.0}]})
    assert [task["taskId"] for task in listing.result()["tasks"]] == ["a-1", "a-2", "b-1"]
    asked = pair.front.asks("tasks/get", {"taskId": "b-1"})
    beta.receives("tasks/get", taskId="b-1").returns(TASK)
    asked.gets(TASK)


@legacy_legacy
def test_a_list_of_tasks_that_cannot_be_had_is_left_out(pair: Pair) -> None:
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"tasks": EXPERIMENTAL}
    pair.front.opens()
    listing = pair.front.asks("tasks/list")
    pair.alpha.receives("tasks/list").fails(-32603, "no")
    beta.receives("tasks/list").returns({"tasks": [TASK]})
    listing.gets({"tasks": [TASK]})
    pair.front.asks("tasks/list", {"cursor": "theirs"}).fails(-32602)


@legacy_legacy
def test_a_list_of_tasks_nobody_has_is_empty_and_a_cancelled_one_is_given_up(pair: Pair) -> None:
    pair.front.opens()
    pair.front.asks("tasks/list").gets({"tasks": []})
    pair.alpha.more_capabilities = {"tasks": EXPERIMENTAL}
    pair.alpha.exits(1)
    pair.after(10)
    listing = pair.front.asks("tasks/list")
    asked = pair.alpha.receives("tasks/list")
    listing.cancels("enough")
    asked.is_cancelled("enough")


# The client's own


@legacy_legacy
def test_a_task_of_the_client_is_asked_about_by_the_server_it_was_made_for(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens(sampling={}, tasks=OF_THE_CLIENT)
    declared = {key: value for key, value in OF_THE_CLIENT.items() if key != "list"}  # it would show others' tasks
    assert _declared_to(pair.alpha.heard)["tasks"] == declared
    augmented = {"method": "sampling/createMessage", "params": {**sample("a poem")["params"], "task": {"ttl": 1000}}}
    call = pair.front.calls("alpha.echo")
    served = pair.alpha.is_called("echo")
    pair.alpha.asks(poem=augmented)
    call.is_asked(augmented).answers({"task": TASK})
    pair.alpha.gets(poem={"task": TASK})
    pair.front.notifies("notifications/tasks/status", **TASK)
    assert pair.alpha.hears("notifications/tasks/status").params == TASK
    for method, answer in (("tasks/get", TASK), ("tasks/result", sampled("roses")), ("tasks/cancel", TASK)):
        about = {"method": method, "params": {"taskId": "t-1"}}
        pair.alpha.says(id=method, **about)
        call.is_asked(about).answers(answer)
        assert pair.alpha.next().body["result"] == answer
    beta.says(id="theirs", method="tasks/get", params={"taskId": "t-1"})
    assert beta.next().body["error"]["code"] == -32602
    served.returns(text("done"))
    call.gets(text("done"))


def _declared_to(heard: list[Said]) -> Json:
    declared: Json = next(said for said in heard if said.method == "initialize").params["capabilities"]
    return declared


@modern_legacy
def test_what_a_modern_client_calls_tasks_means_nothing_to_a_legacy_server(pair: Pair) -> None:
    """The era of the client knows no requests to it, so nobody could ask about a task of its own."""
    pair.front.opens(tasks=OF_THE_CLIENT)
    assert "tasks" not in _declared_to(pair.alpha.heard)
    pair.alpha.says(id=1, method="tasks/get", params={"taskId": "t-1"})
    assert pair.alpha.next().body["error"]["code"] == -32602


# The extension: SEP-2663


@modern_modern
def test_extension_tasks_are_asked_of_the_server_that_made_them(pair: Pair) -> None:
    """A result of another type than `complete`, then polling."""
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(extensions={EXTENSION: {}})
    made = {"resultType": "task", **TASK}
    call = pair.front.calls("beta.echo")
    beta.is_called("echo").returns(made)
    call.gets(made)
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        asked = pair.front.asks(method, {"taskId": "t-1"})
        beta.receives(method, taskId="t-1").returns({"resultType": "complete", **TASK})
        asked.gets({"resultType": "complete", **TASK})
    pair.alpha.hears_nothing()


@modern_modern
def test_a_task_of_another_day_is_asked_of_the_only_server_that_has_any(pair: Pair) -> None:
    """A task id is a durable handle; we are not."""
    pair.with_server("beta")
    pair.alpha.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(extensions={EXTENSION: {}})
    asked = pair.front.asks("tasks/get", {"taskId": "t-9"})
    pair.alpha.receives("tasks/get", taskId="t-9").returns({"resultType": "complete", **TASK})
    asked.gets({"resultType": "complete", **TASK})


@modern_modern
def test_changes_of_a_task_are_told_to_the_subscriptions_that_follow_it(pair: Pair) -> None:
    """ "clients send a `subscriptions/listen` request to the server including a list of task IDs"."""
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(extensions={EXTENSION: {}})
    call = pair.front.calls("beta.echo")
    beta.is_called("echo").returns({"resultType": "task", **TASK})
    call.gets({"resultType": "task", **TASK})
    first, second = _follows(pair, "t-1"), _follows(pair, "t-1", "t-2")
    assert [each.get("taskIds") for each in beta.listening.values()] == [["t-1"]]
    assert [each.get("taskIds") for each in pair.alpha.listening.values()] == [None]
    (stream,) = beta.listening
    beta.notifies("notifications/tasks", **TASK, _meta={SUBSCRIPTION: stream})
    for subscription in (first, second):
        assert pair.front.hears("notifications/tasks", **TASK).meta[SUBSCRIPTION] == subscription.id
    first.cancels()
    assert [each.get("taskIds") for each in beta.listening.values()] == [["t-1"]]
    second.cancels()
    assert [each.get("taskIds") for each in beta.listening.values()] == [None]


def _follows(pair: Pair, *tasks: str) -> Asked:
    listening = pair.front.asks("subscriptions/listen", {"notifications": {"taskIds": list(tasks)}})
    pair.front.hears("notifications/subscriptions/acknowledged", notifications={"taskIds": list(tasks)})
    return listening


@modern_modern
def test_a_task_is_followed_again_when_its_server_is_back(pair: Pair) -> None:
    pair.alpha.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(extensions={EXTENSION: {}})
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns({"resultType": "task", **TASK})
    call.gets({"resultType": "task", **TASK})
    _follows(pair, "t-1")
    pair.alpha.listening.clear()
    pair.alpha.exits(1)
    pair.after(10)
    assert [each.get("taskIds") for each in pair.alpha.listening.values()] == [["t-1"]]


@modern_client
def test_who_does_not_declare_the_extension_cannot_follow_tasks(pair: Pair) -> None:
    """ "the server MUST return a JSON-RPC error specifying the missing capabilities"."""
    pair.alpha.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens()
    listening = pair.front.asks("subscriptions/listen", {"notifications": {"taskIds": ["t-1"]}})
    listening.fails(-32021, data={"requiredCapabilities": {"extensions": {EXTENSION: {}}}})


@modern_client
def test_changes_of_tasks_nobody_has_are_not_promised(pair: Pair) -> None:
    pair.front.opens(extensions={EXTENSION: {}})
    pair.front.asks("subscriptions/listen", {"notifications": {"taskIds": ["t-1"]}})
    pair.front.hears("notifications/subscriptions/acknowledged", notifications={})


@modern_client
@pytest.mark.parametrize("tasks", ["t-1", [7], None])
def test_tasks_to_follow_are_strings(pair: Pair, tasks: object) -> None:
    pair.front.opens(extensions={EXTENSION: {}})
    pair.front.asks("subscriptions/listen", {"notifications": {"taskIds": tasks}}).fails(-32602)


@modern_legacy
def test_the_experimental_tasks_of_a_server_are_no_extension_tasks(pair: Pair) -> None:
    pair.alpha.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(extensions={EXTENSION: {}})
    _follows(pair, "t-1")
    pair.alpha.hears_nothing()
    for method in ("tasks/list", "tasks/result"):
        pair.front.asks(method, {"taskId": "t-1"}).fails(-32601)

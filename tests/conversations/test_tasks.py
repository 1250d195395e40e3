"""Tasks of both kinds, in both directions: an id leads to the side that issued it."""

import pytest

from conversations.back import Back, leaves_to_the_test
from conversations.eras import legacy_legacy, modern_client, modern_legacy, modern_modern
from conversations.front import Asked
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import SUBSCRIPTION, Json, accept, elicit, labelled, sample, sampled, text

TASK: Json = {"taskId": "t-1", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000}
EXTENSION = "io.modelcontextprotocol/tasks"
EXPERIMENTAL: Json = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
LINKED: Json = {"content": [{"type": "resource_link", "uri": "seen://t", "name": "t"}]}
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


def reads(pair: Pair, uri: str, back: Back) -> None:
    """Have the client read a resource, and expect the request at this server."""
    reading = pair.front.asks("resources/read", {"uri": uri})
    back.receives("resources/read", uri=uri).returns({"contents": []})
    reading.gets({"contents": []})


@legacy_legacy
def test_the_resources_that_the_result_of_a_task_links_to_are_those_of_its_server(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.resources = [{"uri": "a://1", "name": "a"}], [{"uri": "b://1", "name": "b"}]
    beta.more_capabilities = {"tasks": EXPERIMENTAL}
    pair.front.opens()
    call = pair.front.asks("tools/call", {"name": "beta.echo", "arguments": {}, "task": {"ttl": 60000}})
    beta.is_called("echo").returns({"task": TASK})
    call.gets({"task": TASK})
    asked = pair.front.asks("tasks/result", {"taskId": "t-1"})
    beta.receives("tasks/result", taskId="t-1").returns(LINKED)
    asked.gets(LINKED)
    reads(pair, "seen://t", beta)


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


# Two servers that issue the same id: "Task IDs MUST be unique among all tasks controlled by the receiver", no more


RELATED = "io.modelcontextprotocol/related-task"


def _related(task: str) -> Json:
    return {"_meta": {RELATED: {"taskId": task}}}


def _two_with_one_id(pair: Pair, **capabilities: Json) -> tuple[Back, str]:
    """Have alpha and then beta create a task with the id t-1; return beta, and the client's id for its task."""
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"tasks": EXPERIMENTAL}
    pair.front.opens(**capabilities)
    known = [_makes_a_task(pair, server) for server in (pair.alpha, beta)]
    assert known[0] == "t-1" != known[1]
    return beta, known[1]


def _makes_a_task(pair: Pair, server: Back) -> str:
    call = pair.front.asks("tools/call", {"name": f"{server.name}.echo", "arguments": {}, "task": {"ttl": 60000}})
    server.is_called("echo").returns({"task": TASK, "_meta": {"io.modelcontextprotocol/model-immediate-response": "!"}})
    result = call.result()
    known: str = result["task"]["taskId"]
    assert result["task"] == {**TASK, "taskId": known}
    return known


@legacy_legacy
@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
def test_of_two_tasks_with_one_id_each_is_asked_of_its_own_server(pair: Pair, method: str) -> None:
    beta, known = _two_with_one_id(pair)
    for server, task in ((beta, known), (pair.alpha, "t-1")):
        asked = pair.front.asks(method, {"taskId": task})
        server.receives(method, taskId="t-1").returns({**TASK, "status": "cancelled"})
        asked.gets({**TASK, "taskId": task, "status": "cancelled"})


@legacy_legacy
def test_of_two_tasks_with_one_id_each_has_its_own_result(pair: Pair) -> None:
    beta, known = _two_with_one_id(pair)
    for server, task in ((beta, known), (pair.alpha, "t-1")):
        asked = pair.front.asks("tasks/result", {"taskId": task})
        server.receives("tasks/result", taskId="t-1").returns(text(server.name, **_related("t-1")))
        asked.gets(text(server.name, **_related(task)))


@legacy_legacy
def test_the_list_of_tasks_holds_both_of_one_id(pair: Pair) -> None:
    """And they are told apart from then on, whether the client was shown them before or not."""
    beta, known = _two_with_one_id(pair)
    listing = pair.front.asks("tasks/list")
    pair.alpha.receives("tasks/list").returns({"tasks": [TASK, {**TASK, "taskId": "t-2"}]})
    beta.receives("tasks/list").returns({"tasks": [{**TASK, "taskId": "t-2"}, TASK]})
    tasks = listing.result()["tasks"]
    first, second, other, last = (task["taskId"] for task in tasks)
    assert (first, second, last) == ("t-1", "t-2", known) and other not in (first, second, last)
    asked = pair.front.asks("tasks/cancel", {"taskId": other})
    beta.receives("tasks/cancel", taskId="t-2").returns({**TASK, "taskId": "t-2"})
    asked.gets({**TASK, "taskId": other})


@legacy_legacy
def test_what_is_said_of_two_tasks_with_one_id_is_said_of_the_right_one(pair: Pair) -> None:
    beta, known = _two_with_one_id(pair)
    for server, task in ((beta, known), (pair.alpha, "t-1")):
        server.notifies("notifications/tasks/status", **TASK)
        assert pair.front.hears("notifications/tasks/status").params == {**TASK, "taskId": task}
        server.notifies("notifications/message", level="info", data="x", **_related("t-1"))
        assert pair.front.hears("notifications/message").meta == _related(task)["_meta"]


@legacy_legacy
def test_progress_of_a_task_with_the_id_of_another_names_the_right_one(pair: Pair) -> None:
    beta, known = _two_with_one_id(pair)
    asked = pair.front.asks("tasks/result", {"taskId": known, "_meta": {"progressToken": "p"}})
    served = beta.receives("tasks/result", taskId="t-1")
    served.reports(1, **_related("t-1"))
    assert pair.front.hears("notifications/progress").params == {"progressToken": "p", "progress": 1, **_related(known)}
    served.returns(text("done"))
    asked.gets(text("done"))


@legacy_legacy
def test_a_question_of_a_task_with_the_id_of_another_names_the_right_one_to_either_side(pair: Pair) -> None:
    beta, known = _two_with_one_id(pair, elicitation={})
    for server, task in ((beta, known), (pair.alpha, "t-1")):
        waiting = pair.front.asks("tasks/result", {"taskId": task})
        server.receives("tasks/result", taskId="t-1")
        theirs = {**elicit("Who?")["params"], **_related("t-1")}
        ours = {**labelled(elicit("Who?"), server.name)["params"], **_related(task)}
        theirs["_meta"] = {"progressToken": "theirs", **theirs["_meta"]}
        server.asks(who={"method": "elicitation/create", "params": theirs})
        said = pair.front.next()
        assert {**said.params, "_meta": {RELATED: said.meta[RELATED]}} == ours
        pair.front.notifies(
            "notifications/progress", progressToken=said.meta["progressToken"], progress=1, **_related(task)
        )
        assert server.hears("notifications/progress").meta == _related("t-1")["_meta"]
        pair.front.says(id=said.id, result={**accept(name="Ada"), **_related(task)})
        server.gets(who={**accept(name="Ada"), **_related("t-1")})
        server.returns(text("hello"))
        waiting.gets(text("hello"))


@legacy_legacy
def test_a_question_that_is_refused_is_refused_to_the_task_that_asked(pair: Pair) -> None:
    beta, known = _two_with_one_id(pair, elicitation={})
    question = {"method": "elicitation/create", "params": {**elicit("Who?")["params"], **_related("t-1")}}
    beta.says(id="who", **question)
    asked = pair.front.next()
    assert asked.meta == _related(known)["_meta"]
    pair.front.says(id=asked.id, error={"code": -1, "message": "no"})
    assert beta.next().body["error"] == {"code": -1, "message": "no"}


@legacy_legacy
def test_a_task_of_another_day_is_asked_of_nobody_while_it_is_not_known_who_has_any(pair: Pair) -> None:
    """A server that is not there yet may have it."""
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"tasks": EXPERIMENTAL}
    beta.on("initialize", leaves_to_the_test)
    pair.front.initializes()
    pair.front.asks("tasks/cancel", {"taskId": "t-1"}).fails(-32602, "Task not found: t-1")
    beta.opens()


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


@modern_modern
@pytest.mark.parametrize("way", ["asked for", "told of"])
def test_the_resources_that_an_extension_task_links_to_are_those_of_its_server(pair: Pair, way: str) -> None:
    """The result stands in the task, in the answer to `tasks/get` and in a notification."""
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.alpha.resources, beta.resources = [{"uri": "a://1", "name": "a"}], [{"uri": "b://1", "name": "b"}]
    pair.front.opens(extensions={EXTENSION: {}})
    call = pair.front.calls("beta.echo")
    beta.is_called("echo").returns({"resultType": "task", **TASK})
    call.gets({"resultType": "task", **TASK})
    done = {**TASK, "status": "completed", "result": LINKED}
    if way == "asked for":
        asked = pair.front.asks("tasks/get", {"taskId": "t-1"})
        beta.receives("tasks/get", taskId="t-1").returns({"resultType": "complete", **done})
        asked.gets({"resultType": "complete", **done})
    else:
        _follows(pair, "t-1")
        (stream,) = beta.listening
        beta.notifies("notifications/tasks", **done, _meta={SUBSCRIPTION: stream})
        pair.front.hears("notifications/tasks", **done)
    reads(pair, "seen://t", beta)


@modern_modern
def test_a_task_that_nobody_follows_takes_no_resource(pair: Pair) -> None:
    """A server could claim URIs without having been called."""
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.alpha.resources, beta.resources = [{"uri": "a://1", "name": "a"}], [{"uri": "b://1", "name": "b"}]
    pair.front.opens(extensions={EXTENSION: {}})
    (stream,) = beta.listening
    for _ in range(2):
        done = {**TASK, "status": "completed", "result": LINKED}
        beta.notifies("notifications/tasks", **done, _meta={SUBSCRIPTION: stream})
    pair.front.asks("resources/read", {"uri": "seen://t"}).fails(-32602)


@modern_modern
def test_of_two_extension_tasks_with_one_id_each_is_that_of_its_own_server(pair: Pair) -> None:
    beta = pair.with_server("beta")
    for server in (pair.alpha, beta):
        server.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(extensions={EXTENSION: {}})
    known: list[str] = []
    for server in (pair.alpha, beta):
        call = pair.front.calls(f"{server.name}.echo")
        server.is_called("echo").returns({"resultType": "task", **TASK})
        known.append(call.result()["taskId"])
    assert known[0] == "t-1" != known[1]
    for server, task in ((beta, known[1]), (pair.alpha, "t-1")):
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            asked = pair.front.asks(method, {"taskId": task})
            answer = {"resultType": "complete", **(TASK if method == "tasks/get" else {})}
            server.receives(method, taskId="t-1").returns(answer)
            asked.gets({**answer, **({"taskId": task} if method == "tasks/get" else {})})
        subscription = _follows(pair, task)
        (stream,) = (each for each, wanted in server.listening.items() if wanted.get("taskIds") == ["t-1"])
        server.notifies("notifications/tasks", **TASK, _meta={SUBSCRIPTION: stream})
        assert pair.front.hears("notifications/tasks", **{**TASK, "taskId": task}).meta[SUBSCRIPTION] == subscription.id
        subscription.cancels()


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

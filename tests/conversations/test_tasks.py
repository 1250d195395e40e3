"""Tasks, of both kinds: their ids lead to the server that issued them."""

from conversations.eras import legacy_legacy, modern_modern
from conversations.pair import Pair
from conversations.words import Json, text

TASK: Json = {"taskId": "t-1", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000}
EXTENSION = "io.modelcontextprotocol/tasks"


@legacy_legacy
def test_experimental_tasks_are_asked_of_the_server_that_made_them(pair: Pair) -> None:
    """docs/specification/2025-11-25/basic/utilities/tasks.mdx"""
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


@modern_modern
def test_extension_tasks_are_asked_of_the_server_that_made_them(pair: Pair) -> None:
    """SEP-2663: a result of another type than `complete`, then polling."""
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

"""News that are kept for a client that does not read."""

from search_mcp.gateway.turns import MOST_LOG_MESSAGES, MOST_NEWS, KeptNews
from search_mcp.model.names import Kind
from search_mcp.model.servers import (
    ElicitationComplete,
    ListChanged,
    LogMessage,
    News,
    ResourceUpdated,
    ServerList,
    TaskChanged,
)
from search_mcp.wire.payload import encode


def test_the_newest_of_each_subject_is_kept() -> None:
    kept = KeptNews()
    tasks = [TaskChanged("a", {"taskId": encode(task), "n": encode(n)}) for n, task in enumerate(("t", "u", "t"))]
    done = ElicitationComplete("a", {"elicitationId": encode("e")})
    updates = [ResourceUpdated("a", uri, {}) for uri in ("x:1", "x:2", "x:1")]
    everything: list[News] = [*tasks, done, *updates]
    for news in everything:
        kept.keep(news)
    assert kept.take() == [tasks[1], tasks[2], done, updates[1], updates[2]]
    assert kept.take() == []


def test_a_list_that_was_announced_stays_announced() -> None:
    kept = KeptNews()
    kept.keep(ListChanged("a", Kind.TOOLS, None, is_announced=True))
    kept.keep(ListChanged("a", Kind.TOOLS, ServerList(())))
    assert kept.take() == [ListChanged("a", Kind.TOOLS, ServerList(()), is_announced=True)]


def test_what_is_kept_is_bounded() -> None:
    kept = KeptNews()
    for number in range(2 * MOST_NEWS):
        kept.keep(ResourceUpdated("a", f"x:{number}", {}))
        kept.keep(LogMessage("a", {"data": encode(number)}, None))
    taken = kept.take()
    assert len(taken) == MOST_NEWS + MOST_LOG_MESSAGES
    assert taken[-1] == ResourceUpdated("a", f"x:{2 * MOST_NEWS - 1}", {})

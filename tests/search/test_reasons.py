"""The short reason why a tool was found."""

import pytest
from search_samples import TOOLS, index_of

from search_mcp.search.analysis import Analyzer
from search_mcp.search.reasons import reason

INDEX = index_of(*TOOLS)
BY_NAME = {document.name: document for document in TOOLS}


@pytest.mark.parametrize(
    ("query", "tool", "expected"),
    [
        ("read file", "fs.read_file", "its name"),
        ("fs__read_file", "fs.read_file", "its name"),
        ("readFile", "fs.read_file", "its name"),
        # synonyms
        ("merge", "github.merge_pull_request", "merge, pull in name"),
        ("emoji", "slack.add_reaction", "emoji in description"),
        ("longitude", "weather.forecast", "longitude, latitude in parameters"),
        ("workspace", "slack.post_message", "workspace in server"),
        ("slack", "slack.post_message", "slack in server"),
        ("mrege reqeust", "github.merge_pull_request", "merge, request, pull in name"),
        ("relocate", "fs.move_file", "move in name"),
        ("取引先を見たい", "帳簿.list_partners", "取引先 in description"),
        ("피자 시켜줘", "배달.order_pizza", "피자 in description"),
        ("票", "铁路.query_tickets", "票 in description"),
        ("server:git", "git.git_log", "git in name"),
        ("zebra", "git.git_log", ""),
        ("", "git.git_log", ""),
    ],
)
def test_reasons(query: str, tool: str, expected: str) -> None:
    explanation = INDEX.explain(query, tool)
    assert explanation is not None
    assert reason(explanation, BY_NAME[tool], Analyzer()) == expected


def test_a_reason_is_short() -> None:
    query = "read the complete contents of a file where the file is and the first lines of it"
    explanation = INDEX.explain(query, "fs.read_file")
    assert explanation is not None
    assert len(explanation.contributions) > 4
    assert reason(explanation, BY_NAME["fs.read_file"], Analyzer()).count(",") <= 3

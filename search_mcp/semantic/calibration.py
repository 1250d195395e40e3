"""What the cosines of an unknown model mean: measured once with fixed texts of ten topics that have nothing in common.

The cosine of unrelated texts is near 0 for most models, and 0.75 for some. A model knows other languages than English
if it finds the text for queries in four other scripts. Pure.
"""

from typing import Any

from search_mcp.wire.structs import Struct

VERSION = 1
"""Increased when the texts or the calculation change; it is part of the identity of vectors."""
MOST_UNRELATED = 0.95
"""Limit of the cosine of unrelated texts; the rest of the scale would be noise."""
LEAST_FOUND = 0.75
"""Share of the queries in other scripts whose text is the nearest one; all-MiniLM-L6-v2 finds none."""

TEXTS = (
    "get forecast: Returns the weather forecast for a city: temperature, rain and wind for the next days.",
    "git commit: Records the staged changes of a repository with a message.",
    "play song: Starts playing a song, an album or a playlist on the speakers.",
    "book flight: Reserves seats on a flight for the given passengers and dates.",
    "resize image: Changes the width and height of a picture and saves it as PNG or JPEG.",
    "transfer money: Sends an amount from one bank account to another.",
    "execute sql: Runs a SQL statement in the database and returns the rows.",
    "create event: Adds a meeting with a title, a time and guests to a calendar.",
    "find recipe: Finds recipes that can be cooked with the given ingredients.",
    "heart rate: Reads the pulse that a fitness watch measured during a workout.",
)
QUERIES = (
    "will it rain tomorrow",
    "save my code changes",
    "put on some music",
    "buy a plane ticket to Rome",
    "make this photo smaller",
    "pay my rent from my account",
    "count the rows of a table",
    "schedule a meeting with Anna on Friday",
    "what can I cook with eggs and rice",
    "how fast did my heart beat while running",
)
"""One query for each text."""
FOREIGN_QUERIES = (
    "明日は雨が降りますか",
    "提交我的代码修改",
    "음악을 틀어 줘",
    "купить билет на самолёт в Рим",
    "この写真を小さくして",
    "从我的账户付房租",
    "테이블의 행 수를 세어 줘",
    "назначить встречу с Анной в пятницу",
    "卵とご飯で何が作れますか",
    "跑步时我的心跳有多快",
)
"""The same queries in Japanese, Chinese, Korean and Russian."""


class Scale(Struct, frozen=True):
    """What the cosines of a model mean."""

    unrelated: float = 0.0
    """The usual cosine of a query and a text that have nothing in common."""
    knows_all_languages: bool = False


def texts(query_prefix: str, text_prefix: str) -> list[str]:
    """Return what the model has to encode for `scale`."""
    return [*(text_prefix + each for each in TEXTS), *(query_prefix + each for each in (*QUERIES, *FOREIGN_QUERIES))]


def scale(rows: Any) -> Scale:
    """Measure a model by its vectors of `texts`, which have the length 1."""
    import numpy

    of_texts, of_queries, of_foreign = numpy.split(rows, [len(TEXTS), len(TEXTS) + len(QUERIES)])
    cosines = of_queries @ of_texts.T
    others = cosines[~numpy.eye(len(TEXTS), dtype=bool)]
    unrelated = min(max(float(numpy.median(others)), 0.0), MOST_UNRELATED)
    return Scale(unrelated, _share_found(of_foreign, of_texts) >= LEAST_FOUND)


def _share_found(of_queries: Any, of_texts: Any) -> float:
    nearest = [int((of_texts @ each).argmax()) for each in of_queries]
    return sum(found == wanted for wanted, found in enumerate(nearest)) / len(nearest)

"""How much of a list is read, and that nothing of its pages is kept but definitions."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count

import anyio
import pytest

from search_mcp.dialects.back.lists import MAX_PAGES, MOST_READ, read_pages
from search_mcp.model.names import Kind
from search_mcp.model.servers import ServerList
from search_mcp.wire.payload import SMALL_BYTES
from search_mcp.wire.structs import Fields, Raw

MB = 1 << 20


@pytest.fixture(autouse=True)
def measured() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def read(page: Callable[[int], object]) -> tuple[ServerList, int]:
    """Read the list of tools that has these pages; return it and how many of them were asked for."""
    numbers = count()

    async def ask(_method: str, _params: Fields) -> Raw:
        return Raw(json.dumps(page(next(numbers))).encode())

    server_list = anyio.run(read_pages, Kind.TOOLS, ask)
    return server_list, next(numbers)


def test_a_list_keeps_nothing_of_its_pages_but_definitions() -> None:
    """Each page has one tool and a megabyte of other things."""
    server_list, pages = read(
        lambda page: {"tools": [{"name": f"t{page}"}], "nextCursor": str(page), "padding": "x" * MB}
    )
    assert tracemalloc.get_traced_memory()[0] < MB
    assert pages == len(server_list.entries) == MOST_READ // MB
    assert server_list.rejected == ("the list has pages of more than 64 MiB together; the rest of it is left out",)


def test_a_list_keeps_no_cursor() -> None:
    server_list, pages = read(
        lambda page: {"tools": [{"name": f"t{page}"}], "nextCursor": f"{page}".zfill(SMALL_BYTES - 2)}
    )
    assert tracemalloc.get_traced_memory()[1] < 2 * MB
    assert pages == len(server_list.entries) == MAX_PAGES


@pytest.mark.parametrize(
    ("cursor", "fault"),
    [
        pytest.param("x" * (SMALL_BYTES - 1), "has a cursor of more than 65,536 bytes", id="long"),
        pytest.param("x", "repeats a cursor", id="the same"),
    ],
)
def test_a_list_ends_where_its_cursor_is_unusable(cursor: str, fault: str) -> None:
    server_list, pages = read(lambda page: {"tools": [{"name": f"t{page}"}], "nextCursor": cursor})
    assert pages == len(server_list.entries) <= 2
    assert server_list.rejected == (f"the list {fault}; the rest of it is left out",)

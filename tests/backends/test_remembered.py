"""What is recalled of a server, for clients of its own kind and of another one."""

import sys
import time
from pathlib import Path

import pytest

from search_mcp.backends.cache import RENEWAL_SECONDS, VERDICT_SECONDS, CatalogCache, Record
from search_mcp.backends.dependencies import Dependencies
from search_mcp.backends.remembered import Remembered
from search_mcp.backends.server_entry import ServerEntry
from search_mcp.config.schema import ServerConfig
from search_mcp.model.names import Era, Kind
from search_mcp.model.servers import Opening, ServerCapabilities, ServerList
from search_mcp.wire.structs import Raw, replace

LEGACY = Opening(Era.LEGACY, "2025-11-25", {}, None)
MODERN = Opening(Era.MODERN, "2026-07-28", {}, None)
RECORD = Record(
    ServerCapabilities("2025-11-25", Era.LEGACY, frozenset(Kind), tasks=Raw(b"{}")), {Kind.TOOLS: ServerList(())}
)


def remembered(folder: Path, later_seconds: float = 0.0) -> Remembered:
    dependencies = Dependencies(cache=CatalogCache(folder), wall_clock=lambda: time.time() + later_seconds)
    return Remembered(ServerEntry(ServerConfig(name="there", command=sys.executable), dependencies), dependencies)


@pytest.mark.parametrize(
    ("opening", "later_seconds", "era", "spares_start"),
    [
        pytest.param(MODERN, 0.0, Era.LEGACY, True, id="recent"),
        pytest.param(MODERN, VERDICT_SECONDS, None, True, id="it may speak the client's era by now"),
        pytest.param(MODERN, RENEWAL_SECONDS, None, False, id="old"),
        pytest.param(LEGACY, 0.0, Era.LEGACY, False, id="of another client, in the era of this one"),
        pytest.param(replace(MODERN, capabilities={"roots": Raw(b"{}")}), 0.0, None, False, id="of another client"),
    ],
)
def test_a_record_serves_until_the_server_has_answered(
    tmp_path: Path, opening: Opening, later_seconds: float, era: Era | None, spares_start: bool
) -> None:
    before = remembered(tmp_path)
    assert before.recall(MODERN) is None
    before.record(RECORD)
    after = remembered(tmp_path, later_seconds)
    record = after.recall(opening)
    assert record is not None and record.pages == RECORD.pages
    assert (record == RECORD) is (opening is MODERN), "capabilities may depend on the client"
    assert (after.era, after.spares_start) == (era, spares_start)
    assert after.recall(opening) is None, "once"

"""Files that never answer, as on a network folder that is gone: a pipe that nobody reads stands in for each."""

import os
import sys
from pathlib import Path

import pytest

from processes.conftest import Serve
from processes.run import server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
GOOD = {"good": server("well_behaved")}


def _stick(path: Path) -> None:
    """Put a file in place whose opening never returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize("is_signalled", [False, True])
def test_a_record_of_definitions_that_cannot_be_opened_holds_up_no_end(serve: Serve, is_signalled: bool) -> None:
    """The thread that waits for the file is left behind."""
    with serve(GOOD) as first:
        first.opens()
        assert first.calls("good.echo", words="x") == "x"
        first.asks("tools/list")
        first.waits_until(lambda: bool([*first.folder.rglob("*.jsonl")]))
    (record,) = first.folder.rglob("*.jsonl")
    _stick(record)
    with serve(GOOD) as run:
        run.opens()
        assert run.asks("ping") == {}
        if is_signalled:
            run.process.terminate()
        else:
            run.close_stdin()
        assert run.ended() == (143 if is_signalled else 0)


def test_a_log_that_cannot_be_opened_keeps_no_server_from_serving(serve: Serve) -> None:
    run = serve(GOOD)
    _stick(run.folder / "state" / "search-mcp" / "log" / "good.log")
    with run:
        run.opens()
        assert run.calls("good.echo", words="x") == "x"
        run.close_stdin()
        assert run.ended() == 0

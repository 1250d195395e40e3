"""The file is edited while search-mcp runs: DESIGN 6."""

from processes.conftest import Serve, write
from processes.run import server

GOOD = server("well_behaved")


def test_an_edit_takes_effect_without_a_restart(serve: Serve) -> None:
    with serve({"one": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        path = run.folder / "mcp-servers.json"
        write(path, run, {"one": GOOD, "two": GOOD})
        assert run.next()["method"] == "notifications/tools/list_changed"
        assert run.calls("two.echo", words="x") == "x"
        write(path, run, {"two": GOOD})
        assert run.next()["method"] == "notifications/tools/list_changed"
        assert run.is_refused("one.echo")["code"] == -32602
        assert run.calls("two.echo", words="y") == "y"


def test_a_broken_edit_keeps_what_runs_and_says_so_once(serve: Serve) -> None:
    with serve({"one": GOOD}) as run:
        run.opens()
        run.asks("tools/list")
        path = run.folder / "mcp-servers.json"
        broken = path.with_suffix(".broken")
        broken.write_text('{"mcpServers": {"one": ')
        broken.replace(path)
        run.logs("not valid JSON")
        assert run.calls("one.echo", words="still") == "still"
        write(path, run, {"one": GOOD, "two": GOOD})
        assert run.next()["method"] == "notifications/tools/list_changed"
        assert run.calls("two.echo", words="x") == "x"
    assert run.stderr.count(b"not valid JSON") == 1

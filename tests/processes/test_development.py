"""A real server whose file is edited while it runs."""

import sys
from pathlib import Path

from processes.conftest import Serve
from processes.run import SERVERS

SOURCE = """
import sys
sys.path.insert(0, {servers!r})
from well_behaved import serve
serve({{{tools}}})
"""


def test_a_server_is_edited_with_a_fault_and_mended(serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "project" / "src"
    folder.mkdir(parents=True)

    def saves(tools: str) -> None:
        (folder / "server.py").write_text(SOURCE.format(servers=str(SERVERS), tools=tools))

    saves("'greet': lambda arguments: 'hello'")
    entry = {"command": sys.executable, "args": ["src/server.py"], "cwd": str(folder.parent), "watch": ["src/**/*.py"]}
    with serve({"dev": entry}) as run:
        run.opens()
        assert "restart_server" in [each["name"] for each in run.asks("tools/list")["tools"]]
        run.logs("1 file is watched")
        assert run.calls("dev.greet") == "hello"
        saves("'greet': lambda arguments: 'hello', (")
        run.logs("src/server.py changed")
        assert "SyntaxError" in run.is_refused("dev.greet")["message"]
        saves("'greet': lambda arguments: 'hello again', 'shout': lambda arguments: 'HELLO'")
        assert run.next()["method"] == "notifications/tools/list_changed"
        assert (run.calls("dev.greet"), run.calls("dev.shout")) == ("hello again", "HELLO")
        assert "ready, with 2 tools" in run.calls("restart_server", server="dev")

"""`demo`, end to end."""

import sys

import pytest

from cli.conftest import COMMAND, Place, server
from search_mcp.engine.meeting import is_supported

pytestmark = pytest.mark.usefixtures("engines_to_stop")
STEPS = ["connect", "tools/list", "search_tools", "describe_tools", "tools/call", "an error"]


def steps(out: str) -> list[str]:
    return [line[2:].partition("  ")[0] for line in out.splitlines() if line.startswith("\N{CHECK MARK} ")]


def test_the_demo_with_python_alone(place: Place) -> None:
    # In a folder without a git repository, and with an empty PATH.
    ended = place.run("demo", PATH=str(place.folder))
    assert ended.code == 0, ended
    assert steps(ended.out) == STEPS
    assert "protocol 2026-07-28" in ended.out
    assert '"timezone": "Asia/Tokyo"' in ended.out
    assert "suggestions: time.get_current_time" in ended.out
    assert ended.err.startswith("Every step succeeded. Next: search-mcp import ")
    assert "\x1b" not in ended.out
    if is_supported(sys.platform):
        assert place.run("engine", "stop").out.startswith("Stopped the engine with pid ")
    assert place.run("usage", "--json").json["total"]["calls"] == 0, "the demo is no use of the user's clients"
    assert place.leaves_no_process()


def test_the_demo_of_other_servers_calls_none_of_their_tools(place: Place) -> None:
    place.configure({"toolbox": server("toolbox"), "dying": server("dying")}, listing="search")
    ended = place.run("demo", "--config", str(place.config))
    assert ended.code == 0, ended
    assert steps(ended.out) == STEPS
    assert "dying is " in ended.out
    assert "tools/call  list_servers" in ended.out


def test_a_demo_without_tools(place: Place) -> None:
    place.configure({"dying": server("dying")})
    ended = place.run("demo", "--config", str(place.config))
    assert ended.code == 1
    assert steps(ended.out) == ["connect"]
    assert ended.err.startswith("error: the demo failed: no server has any tools (dying is ")


def test_the_demo_reports_missing_packages(place: Place) -> None:
    script = "import sys; sys.modules['mcp'] = None; from search_mcp.cli import main; sys.exit(main(['demo']))"
    ended = place.run(command=(sys.executable, "-c", script))
    assert (ended.code, ended.out) == (2, "")
    sentence, command, _ = ended.err.split("\n")
    assert sentence == "error: the demo needs the official Python SDK 2.x; this installs what is missing:"
    assert command.startswith(f'  {sys.executable} -m pip install "mcp')


def test_the_demo_shows_the_log_with_debug(place: Place) -> None:
    place.configure({})
    ended = place.run("demo", "--debug", "--config", str(place.config), command=COMMAND)
    assert ended.code == 1
    assert "configuration" in ended.err
    assert "Traceback" in ended.err

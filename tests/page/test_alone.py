"""The page where clients share no engine: shown by a process that ends with the command."""

import json
import signal
import subprocess
import sys

from processes.run import SECONDS, server

from page.conftest import NewHome
from page.running import Guest


def test_the_page_is_shown_as_long_as_the_command_runs(new_home: NewHome) -> None:
    home = new_home({"one": server("well_behaved", startup="eager")}, engine="own")
    command = [sys.executable, "-m", "search_mcp", "ui", "--no-open", "--config", str(home.config)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=home.client().environment,
        cwd=home.folder,
    ) as ui:
        assert ui.stdout is not None
        with Guest(ui.stdout.readline().strip()) as guest:
            guest.enters()
            assert "not started" in guest.view("servers")
            guest.sends("start", server="one")
        ui.send_signal(signal.SIGINT)
        assert ui.wait(SECONDS) == 0
        assert ui.stderr is not None
        assert "Ctrl-C ends it." in ui.stderr.read()
    assert home.sockets() == []


def test_a_configuration_that_cannot_be_read_is_told(new_home: NewHome) -> None:
    home = new_home({"one": server("well_behaved")}, engine="own")
    home.config.write_text(json.dumps({"mcpServers": []}))
    done = home.types("ui", "--no-open")
    assert done.returncode == 2
    assert "mcpServers" in done.stderr


def test_the_end_of_the_process_before_the_page_is_open_is_told(new_home: NewHome) -> None:
    home = new_home({"one": server("well_behaved")}, engine="own")
    with (home.folder / "delays" / "sitecustomize.py").open("a") as file:
        file.write("import os, sys\nif any('run_page' in each for each in sys.orig_argv): os._exit(3)\n")
    done = home.types("ui", "--no-open")
    assert done.returncode == 1
    assert "the page cannot be opened: its process ended with code 3" in done.stderr
    assert "Traceback" not in done.stderr

"""Another user of the same machine, who sees the command lines of all processes and reaches all ports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes.run import SECONDS, server

from page.conftest import NewHome
from page.running import Guest, PageHome, waits_until

ECHO = {"one": server("well_behaved")}
NOBODY = 65_534

VISIT = """
import encodings.idna, os, socket, sys  # before this process is another user, who may not read these files
uid, port, request = sys.argv[1:]
os.setuid(int(uid))
with socket.create_connection(("127.0.0.1", int(port))) as connection:
    connection.sendall(request.encode())
    os.write(1, connection.recv(12))
"""
"""Sends a request as another user, and prints the beginning of the answer."""

BROWSER = """#!/bin/sh
cat /proc/[0-9]*/cmdline > {0}/lines
printf %s "$1" > {0}/address.new
mv {0}/address.new {0}/address
"""
"""A browser that writes down the command lines of all processes."""


@pytest.fixture(scope="module")
def home(new_lasting_home: NewHome) -> PageHome:
    return new_lasting_home(ECHO)


def test_no_secret_of_the_page_is_in_a_process_or_a_file(home: PageHome) -> None:
    with Guest(home.runs_ui()) as guest:
        guest.enters()
        secrets = [each.encode() for each in (guest.root, guest.token, guest.form_token, *guest.cookies.values())]
        assert len(secrets) == 4 and all(secrets)
        shown = [Path(f"/proc/{home.engine()['pid']}/{name}") for name in ("cmdline", "environ")]
        files = [path for folder in (home.folder, home.runtime) for path in folder.rglob("*") if path.is_file()]
        assert home.log in files
        assert [(path, each) for path in [*shown, *files] for each in secrets if each in path.read_bytes()] == []


def test_the_browser_alone_has_the_token_in_its_command_line(home: PageHome) -> None:
    browser = home.folder / "a-browser"
    browser.write_text(BROWSER.format(home.folder))
    browser.chmod(0o755)
    done = home.client({"BROWSER": str(browser)}).types("ui", "--config", str(home.config))
    assert done.returncode == 0, done.stderr
    waits_until((home.folder / "address").exists)
    address = (home.folder / "address").read_bytes()
    assert done.stdout.encode().startswith(address)
    with Guest(address.decode()) as guest:
        assert (home.folder / "lines").read_bytes().count(guest.token.encode()) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")
def test_another_user_with_the_token_is_not_let_in_and_does_not_use_it_up(home: PageHome) -> None:
    with Guest(home.invites()) as guest:
        form = f"token={guest.token}"
        head = f"POST {guest.root}enter HTTP/1.1\r\nHost: {guest.authority}\r\nOrigin: {guest.origin}\r\n"
        kind = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n"
        command = [sys.executable, "-c", VISIT, str(NOBODY), str(guest.port), head + kind + form]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert (done.stdout, done.stderr) == ("HTTP/1.1 403", "")
        assert guest.enters().status_code == 303

"""Environment and program of a child on each platform: no variables of other programs, and a program that is found."""

import ntpath
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.backends.process.variables import (
    batch_line,
    child_environment,
    completed_path,
    find_program,
    missing_program,
)
from search_mcp.config.sources import words

HOME = "/home/ada"
USUAL = f"{HOME}/.local/bin:/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
SHORT = "/usr/bin:/bin:/usr/sbin:/sbin"  # the PATH of a graphical application on macOS
COMPLETED = f"{SHORT}:{HOME}/.local/bin:/opt/homebrew/bin:/usr/local/bin"

POSIX = {
    "HOME": HOME,
    "PATH": USUAL,
    "LANG": "ja_JP.UTF-8",
    "LC_ALL": "C",
    "LC_TIME": "C",
    "TMPDIR": "/tmp",
    "USER": "ada",
    "XDG_RUNTIME_DIR": "/run/user/1",
    "TZ": "UTC",
}
WINDOWS = {
    "PATH": r"C:\Windows",
    "PATHEXT": ".EXE;.CMD",
    "SYSTEMROOT": r"C:\Windows",
    "APPDATA": r"C:\Users\ada",
    "TEMP": r"C:\Temp",
    "USERPROFILE": r"C:\Users\ada",
    "PROGRAMFILES(X86)": r"C:\x86",
}
OTHERS = {"GITHUB_TOKEN": "secret", "SSH_AUTH_SOCK": "/tmp/agent", "LD_PRELOAD": "x", "PYTHONPATH": "/x", "Lc_ALL": "x"}
OTHERS |= {"TERM": "xterm"}  # a server has no terminal
FUNCTION = "() { :; }; echo harm"

ENVIRONMENTS = [
    # platform, ours, its own `env`, `inheritEnv`, then
    pytest.param("linux", {**POSIX, **OTHERS}, {}, False, POSIX, id="linux: the essentials"),
    pytest.param("darwin", {**POSIX, **OTHERS}, {}, False, POSIX, id="darwin: the essentials"),
    pytest.param("win32", {**WINDOWS, **OTHERS}, {}, False, WINDOWS, id="win32: the essentials"),
    pytest.param("linux", {**POSIX, **OTHERS}, {}, True, {**POSIX, **OTHERS}, id="everything"),
    pytest.param(
        "linux",
        {**POSIX, **OTHERS},
        {},
        ("SSH_AUTH_SOCK", "NOT_THERE", "github_token"),
        {**POSIX, "SSH_AUTH_SOCK": "/tmp/agent"},
        id="by name",
    ),
    pytest.param(
        "win32",
        {**WINDOWS, **OTHERS},
        {},
        ("ssh_auth_sock",),
        {**WINDOWS, "SSH_AUTH_SOCK": "/tmp/agent"},
        id="win32: by name in any case",
    ),
    pytest.param("linux", POSIX, {"LANG": "C", "KEY": "x"}, False, {**POSIX, "LANG": "C", "KEY": "x"}, id="its own"),
    pytest.param("linux", {"BASH_FUNC_x%%": FUNCTION, **POSIX}, {}, True, POSIX, id="no shell functions"),
    pytest.param("linux", {**POSIX, "TZ": FUNCTION}, {}, ("TZ",), {**POSIX, "TZ": None}, id="under no name"),
    pytest.param("linux", POSIX, {"X": FUNCTION}, False, {**POSIX, "X": FUNCTION}, id="unless its own"),
    pytest.param("darwin", {"PATH": SHORT}, {}, False, {"PATH": COMPLETED}, id="a short PATH is completed"),
    pytest.param("linux", {"PATH": "/x"}, {"PATH": "/y"}, False, {"PATH": f"/y:{USUAL}"}, id="its own PATH, completed"),
    pytest.param("linux", {}, {}, False, {"PATH": USUAL}, id="no PATH at all"),
    pytest.param("win32", {"Path": "x"}, {}, False, {"Path": "x"}, id="win32: names in any case"),
    pytest.param("win32", {}, {}, False, {}, id="win32: nothing is made up"),
]


@pytest.mark.parametrize(("platform", "variables", "own", "inherit", "then"), ENVIRONMENTS)
def test_environments(
    platform: str,
    variables: dict[str, str],
    own: dict[str, str],
    inherit: bool | tuple[str, ...],
    then: dict[str, str | None],
) -> None:
    expected = {name: value for name, value in then.items() if value is not None}
    assert child_environment(platform, variables, own, inherit, HOME) == expected


def test_windows_has_one_variable_of_a_name() -> None:
    """Windows does not distinguish `PATH` from `Path`: a variable of the entry must replace ours."""
    environment = child_environment("win32", {"PATH": r"C:\old", "TEMP": "x"}, {"Path": r"C:\new"}, False, HOME)
    assert {name.upper(): value for name, value in environment.items()} == {"PATH": r"C:\new", "TEMP": "x"}
    assert len(environment) == 2


@given(st.lists(st.sampled_from(["/x", "/y", "/usr/bin", "/bin", "", f"{HOME}/.local/bin"])))
def test_a_completed_path_keeps_what_was_there_and_its_order(places: list[str]) -> None:
    completed = completed_path(":".join(places), HOME).split(":")
    there = [place for place in places if place]
    assert completed[: len(there)] == there
    assert set(USUAL.split(":")) <= set(completed)
    assert "" not in completed  # an empty entry means the current folder
    assert completed_path(":".join(completed), HOME).split(":") == completed


def test_a_home_may_have_any_name() -> None:
    assert completed_path("", "/home/{x}").startswith("/home/{x}/.local/bin:")


# Programs

PATH = {"PATH": "/a:/b"}
W = {"PATH": r"C:\a;C:\b"}
SHELL = {**W, "PATHEXT": ".COM;.EXE;.BAT;.CMD;.PY;"}

PROGRAMS = [
    # platform, command, environment, cwd, existing files, then
    pytest.param("linux", "npx", PATH, None, ["/b/npx"], "/b/npx", id="on PATH"),
    pytest.param("darwin", "npx", PATH, "/w", ["/a/npx", "/b/npx"], "/a/npx", id="the first on PATH"),
    pytest.param("linux", "npx", PATH, "/w", ["/w/npx", "/c/npx"], None, id="nowhere on PATH"),
    pytest.param("linux", "npx", {}, None, ["/a/npx", "npx"], None, id="no PATH"),
    pytest.param("linux", "npx", {"PATH": ":/b:"}, None, ["npx", "/b/npx"], "/b/npx", id="not where we happen to be"),
    pytest.param("linux", "npx", PATH, None, ["/a/npx.cmd", "/a/npx.exe"], None, id="no endings"),
    pytest.param("linux", "/x/npx", PATH, None, ["/x/npx", "/a/npx"], "/x/npx", id="an absolute path"),
    pytest.param("linux", "/x/npx", PATH, "/w", ["/a/npx"], None, id="an absolute path to nothing"),
    pytest.param("linux", "bin/x", PATH, "/w", ["/w/bin/x", "/a/bin/x"], "/w/bin/x", id="a path from its folder"),
    pytest.param("linux", "./x", PATH, "/w", ["/w/./x"], "/w/./x", id="from its folder itself"),
    pytest.param("linux", "bin/x", PATH, None, ["bin/x"], "bin/x", id="a path from ours"),
    pytest.param("linux", r"a\b", PATH, None, [r"/b/a\b"], r"/b/a\b", id="a backslash is a letter"),
    pytest.param("win32", "npx", SHELL, None, [r"C:\b\npx.cmd"], r"C:\b\npx.cmd", id="win32: a shim"),
    pytest.param("win32", "npx", W, None, [r"C:\b\npx.cmd"], r"C:\b\npx.cmd", id="win32: without PATHEXT"),
    pytest.param(
        "win32", "uvx", SHELL, None, [r"C:\a\uvx.exe", r"C:\a\uvx.cmd"], r"C:\a\uvx.exe", id="win32: in order"
    ),
    pytest.param("win32", "npx", SHELL, None, [r"C:\a\npx", r"C:\b\npx.cmd"], r"C:\b\npx.cmd", id="win32: no script"),
    pytest.param("win32", "npx.cmd", SHELL, None, [r"C:\b\npx.cmd"], r"C:\b\npx.cmd", id="win32: with its ending"),
    pytest.param("win32", "NPX.CMD", SHELL, None, [r"C:\b\NPX.CMD"], r"C:\b\NPX.CMD", id="win32: in any case"),
    pytest.param("win32", "x-1.2", SHELL, None, [r"C:\a\x-1.2.exe"], r"C:\a\x-1.2.exe", id="win32: a dot is no ending"),
    pytest.param("win32", "x.py", SHELL, None, [r"C:\a\x.py"], r"C:\a\x.py", id="win32: an ending of its own"),
    pytest.param("win32", r"C:\x\npx", SHELL, None, [r"C:\x\npx.cmd"], r"C:\x\npx.cmd", id="win32: an absolute path"),
    pytest.param("win32", "C:/x/npx", SHELL, None, ["C:/x/npx.cmd"], "C:/x/npx.cmd", id="win32: slashes"),
    pytest.param(
        "win32", r"bin\x", SHELL, r"D:\w", [r"D:\w\bin\x.exe"], r"D:\w\bin\x.exe", id="win32: from its folder"
    ),
    pytest.param("win32", "npx", SHELL, r"D:\w", [r"D:\w\npx.cmd"], None, id="win32: nowhere on PATH"),
    pytest.param("win32", "npx", SHELL, None, [], None, id="win32: nowhere"),
    pytest.param("win32", "npx", {"Path": r"C:\b"}, None, [r"C:\b\npx.cmd"], r"C:\b\npx.cmd", id="win32: Path"),
    pytest.param(
        "win32", "npx", {"PATH": r";C:\a;"}, None, ["npx.cmd", r"\npx.cmd"], None, id="win32: not where we happen to be"
    ),
    pytest.param(
        "win32", "npx", {"PATH": r'C:\a;"C:\x y"'}, None, [r"C:\x y\npx.cmd"], r"C:\x y\npx.cmd", id="win32: in quotes"
    ),
]


@pytest.mark.parametrize(("platform", "command", "environment", "cwd", "there", "then"), PROGRAMS)
def test_programs(
    platform: str, command: str, environment: dict[str, str], cwd: str | None, there: list[str], then: str | None
) -> None:
    assert find_program(platform, command, environment, cwd, set(there).__contains__) == then


NAMES = st.text("abc.-_ é", min_size=1, max_size=6)


@given(NAMES, st.lists(NAMES, min_size=1, max_size=4), st.data(), st.sampled_from(["linux", "win32"]))
def test_a_program_that_is_found_exists_and_is_on_path(
    name: str, places: list[str], data: st.DataObject, platform: str
) -> None:
    separator, paths = (";", ntpath) if platform == "win32" else (":", posixpath)
    candidates = [paths.join(place, name + ending) for place in places for ending in ("", ".exe", ".cmd")]
    there = set(data.draw(st.lists(st.sampled_from(candidates)), label="there"))
    found = find_program(platform, name, {"PATH": separator.join(places)}, None, there.__contains__)
    assert found is None or found in there
    if platform == "linux":
        assert (found is None) is there.isdisjoint(paths.join(place, name) for place in places)


# Batch files

SHIM = r"C:\Program Files\nodejs\npx.cmd"
NONE = "%%cd:~,%"  # replacement of a percent sign

LINES = [
    # arguments, and the part of the line after the script
    (["-y", "@scope/server@1.2", r"C:\Users\ada", "*.?"], r"-y @scope/server@1.2 C:\Users\ada *.?"),
    (["https://example.com/mcp?a=1&b=2"], '"https://example.com/mcp?a=1&b=2"'),
    (["a|b", "x>y", "(z)", "^", "!", "a b", ""], '"a|b" "x>y" "(z)" "^" "!" "a b" ""'),
    (["100%", "%PATH%"], f'"100{NONE}" "{NONE}PATH{NONE}"'),
    (['{"a": "b & c"}'], '"{""a"": ""b & c""}"'),
    (["C:\\x\\", r"a b\\", r"\"x"], r'"C:\x\\" "a b\\\\" "\\""x"'),
    (["日本語", "ümläut"], "日本語 ümläut"),
]


@pytest.mark.parametrize(("args", "then"), LINES)
def test_characters_special_to_cmd_are_quoted(args: list[str], then: str) -> None:
    assert batch_line("win32", SHIM, args) == f'"{SHIM}" {then}'


@pytest.mark.parametrize(
    ("program", "then"),
    [("C:/a & b/./x%1.BAT", rf'"C:\a & b\x{NONE}1.BAT"'), (r"C:\a\x.cmd . ", r'"C:\a\x.cmd"')],
)
def test_a_script_is_named_so_that_cmd_finds_it(program: str, then: str) -> None:
    assert batch_line("win32", program, []) == then


@pytest.mark.parametrize("platform_and_program", [("win32", r"C:\a\node.exe"), ("win32", "x"), ("linux", "/a/npx.cmd")])
def test_a_program_that_is_no_batch_file_runs_without_cmd(platform_and_program: tuple[str, str]) -> None:
    assert batch_line(*platform_and_program, ["a & b", "a\nb"]) is None


@pytest.mark.parametrize("arg", ["a\nb", "a\r", "\r\n"])
def test_an_argument_with_a_line_break_is_refused_and_not_shown(arg: str) -> None:
    with pytest.raises(ValueError, match="line break") as raised:
        batch_line("win32", SHIM, ["--token", f"secret{arg}"])
    assert "secret" not in str(raised.value)


@given(st.lists(st.text(st.sampled_from("ab \t\\\"%^&|<>()!,;=/-_'é"), max_size=8)))
def test_a_program_behind_a_batch_file_is_given_the_arguments_as_they_are(args: list[str]) -> None:
    line = batch_line("win32", SHIM, args)
    assert line is not None
    assert "%" not in line.replace(NONE, "")
    assert words(in_cmd(line.replace(NONE, "%")), "win32") == [SHIM, *args]


def in_cmd(line: str) -> str:
    """Read a line as cmd.exe does: nothing between quotes is special."""
    outside = "".join(line.split('"')[::2])
    assert not set(outside) & set("&|<>()^!,;=\t"), f"cmd.exe acts on {outside!r}"
    return line


NODE = "it comes with Node.js: https://nodejs.org"
PATH_REMEDY = "write its full path into the configuration"
MISSING = [
    # command, existing programs, message after its name
    pytest.param("uvxx", {"uvx"}, "was not found on PATH; did you mean 'uvx'?", id="a typing mistake"),
    pytest.param("npxx", set(), f"was not found on PATH; did you mean 'npx' ({NODE})?", id="of what is missing too"),
    pytest.param("nxp", {"npx"}, "was not found on PATH; did you mean 'npx'?", id="two letters in the wrong order"),
    pytest.param("Pyhton3", {"python3"}, "was not found on PATH; did you mean 'python3'?", id="in other letters"),
    pytest.param("npx", set(), f"was not found on PATH; {NODE}. If it is installed, {PATH_REMEDY}", id="a launcher"),
    pytest.param("my-server", {"uvx"}, f"was not found on PATH; install it, or {PATH_REMEDY}", id="anything else"),
    pytest.param("/opt/npx", {"npx"}, "was not found; correct its path in the configuration", id="a path"),
]


@pytest.mark.parametrize(("command", "there", "then"), MISSING)
def test_the_message_about_a_missing_program(command: str, there: set[str], then: str) -> None:
    assert missing_program(command, there.__contains__) == f"program {command!r} {then}"


def test_the_message_about_a_command_with_its_arguments_in_one_text_says_to_write_them_into_args() -> None:
    remedy = 'write "command": "/opt/prog", "args": ["--token", "***"]'
    message = missing_program("/opt/prog --token s3cret", {"/opt/prog"}.__contains__)
    assert message == f'its "command" contains its arguments; {remedy}'
    assert "correct its path" in missing_program("/my files/prog -y", {"/my files/prog"}.__contains__)

import pytest

from search_mcp.model.reasons import STDERR_TAIL_MARK, is_lasting, parted

NPM = """\
npm error code E404
npm error 404 Not Found - GET https://registry.example/@x%2fserver-doesnotexist
npm error 404
npm error 404  The requested resource '@x/server-doesnotexist@*' could not be found or you do not have permission to \
access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm notice
npm notice New minor version of npm available! 11.19.1 -> 11.21.2
npm error A complete log of this run can be found in: /home/ann/.npm/_logs/2026-11-24T18_59_28_150Z-debug-0.log
"""
NPM_WITHOUT_NETWORK = """\
npm error code ENOTFOUND
npm error syscall getaddrinfo
npm error network request to https://registry.example/x failed, reason: getaddrinfo ENOTFOUND registry.example
npm error network This is a problem related to network connectivity.
npm error network If you are behind a proxy, please make sure that the 'proxy' config is set properly.
npm error A complete log of this run can be found in: /home/ann/.npm/_logs/x.log
"""
DOCKER = """\
docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?

Run 'docker run --help' for more information
"""
UVX = """\
  \N{MULTIPLICATION SIGN} No solution found when resolving tool dependencies:
  |-> Because mcp-server-nope was not found in the package registry and you
      require mcp-server-nope, we can conclude that your requirements are
      unsatisfiable.
"""
NODE = """\
node:internal/modules/cjs/loader:1148
  throw err;
  ^

Error: Cannot find module '/home/ann/server.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1145:15) {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
"""
PYTHON = """\
config not found, using the defaults
Traceback (most recent call last):
  File "server.py", line 12, in main
    key = os.environ["KEY"]
          ~~~~~~~~~~^^^^^^^
KeyError: 'KEY'
"""
NPM_VERSION = "npm error notarget No matching version found for @a/b@99.0.0."
PIP = "ERROR: No matching distribution found for mcp-server-tmie"
CHECK = "was not found; check its name, its version, and your access to it"
RUN = "npm error could not determine executable to run\nnpm error A complete log of this run can be found in: x"

WRITTEN = [
    # end of stderr, the line that tells the cause, whether it lasts
    pytest.param(NPM, f"package '@x/server-doesnotexist' {CHECK}", True, id="npm"),
    pytest.param(NPM_VERSION, f"package '@a/b@99.0.0' {CHECK}", True, id="npm and a version"),
    pytest.param(PIP, f"package 'mcp-server-tmie' {CHECK}", True, id="pip"),
    pytest.param(
        NPM_WITHOUT_NETWORK,
        "network request to https://registry.example/x failed, reason: getaddrinfo ENOTFOUND registry.example",
        True,
        id="npm without a network",
    ),
    pytest.param(RUN, "could not determine executable to run", False, id="npm and a package without a program"),
    pytest.param(DOCKER, DOCKER.partition("\n")[0], True, id="docker"),
    pytest.param(UVX, f"package 'mcp-server-nope' {CHECK}", True, id="uvx"),
    pytest.param(NODE, "Error: Cannot find module '/home/ann/server.js'", False, id="node"),
    pytest.param(PYTHON, "KeyError: 'KEY'", False, id="python"),
    pytest.param("no licence\n", "no licence", False, id="any other line"),
    pytest.param("", "", False, id="nothing"),
]


@pytest.mark.parametrize(("written", "cause", "lasts"), WRITTEN)
def test_the_line_of_stderr_that_tells_the_cause(written: str, cause: str, *, lasts: bool) -> None:
    reason = f"it exited with code 1{STDERR_TAIL_MARK}{written}"
    assert parted(reason) == ("it exited with code 1", cause)
    assert is_lasting(reason) is lasts


@pytest.mark.parametrize(
    ("reason", "lasts"),
    [
        ("program 'uvx' was not found on PATH; it comes with uv", True),
        ('its "command" contains its arguments; write "command": "npx", "args": ["-y"]', True),
        (f"it exited with code 127{STDERR_TAIL_MARK}sh: 1: nothing: not found", True),
        ("the name mcp.example cannot be resolved: Name or service not known", True),
        ("no connection to 127.0.0.1:9: Connection refused", False),
        ("it did not answer within 60 s of being started", False),
    ],
)
def test_a_cause_that_only_the_user_can_remove_lasts(reason: str, *, lasts: bool) -> None:
    assert is_lasting(reason) is lasts

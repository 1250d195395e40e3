"""The command line: `serve` is found here, so that it loads nothing it does not need; the rest in `cli`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from search_mcp import __version__, profiles


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    serves = (
        not arguments
        or arguments[0] == "serve"
        or (arguments[0].startswith("--") and arguments[0] not in ("--help", "--version"))
    )
    if not serves:
        code: int = import_module("search_mcp.cli").main(arguments)
        return code
    options = _serve_parser().parse_args(arguments[1:] if arguments[:1] == ["serve"] else arguments)
    profile = profiles.BY_NAME[options.client] if options.client else None
    code = import_module("search_mcp.server").run(options.config, profile, options.log_level)
    return code  # noqa: RET504  # it has a type here


def _serve_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("search-mcp serve", description="Serve one MCP client on stdin and stdout.")
    parser.add_argument("--config", metavar="PATH", help="the configuration (default: see the README)")
    parser.add_argument("--client", choices=sorted(profiles.BY_NAME), help="the AI client it is registered in")
    parser.add_argument("--log-level", choices=["debug", "info", "warning", "error"])
    parser.add_argument("--version", action="version", version=f"search-mcp {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""The commands for people. `serve` never imports this package."""

from search_mcp.cli.app import main as main

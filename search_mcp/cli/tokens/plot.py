"""A chart of the tokens that the tools cost: each mode by server, and sessions by number of searches."""

import io
import warnings
from pathlib import Path
from typing import Any

from search_mcp import installer
from search_mcp.cli import output
from search_mcp.cli.problem import Problem
from search_mcp.cli.tokens.cost import MODES, Cost

FORMATS = (".png", ".svg")
MOST_SERVERS = 9
"""Number of servers with a colour of their own; the others share one."""


def check(path: Path) -> None:
    """Check, before any work, that a chart can be drawn into a file.

    Raises:
        Misuse: the file is neither PNG nor SVG, or cannot be written.
        Problem: matplotlib is not installed.
    """
    output.check_suffix(path, FORMATS)
    try:
        import matplotlib  # noqa: F401  # only whether it is there
    except ImportError as exc:
        raise Problem("a plot needs matplotlib", *installer.add("tokens", ["matplotlib"])) from exc


def draw(cost: Cost, path: Path) -> None:
    """Draw a chart into a file.

    Raises:
        Problem: the file cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    modes, sessions = figure.subplots(1, 2)
    _draw_modes(modes, cost)
    _draw_sessions(sessions, cost)
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names in scripts that its fonts lack
        figure.savefig(picture, format=path.suffix[1:].lower(), dpi=150)
    output.write(path, picture.getvalue())


def _draw_modes(axes: Any, cost: Cost) -> None:
    ordered = sorted(cost.servers, key=lambda each: -each.by_mode["full"])
    parts = [(each.server, [each.by_mode[mode] for mode in MODES]) for each in ordered[:MOST_SERVERS]]
    if rest := ordered[MOST_SERVERS:]:
        parts.append((f"{len(rest)} more", [sum(each.by_mode[mode] for each in rest) for mode in MODES]))
    parts.append(("search-mcp itself", [cost.own_tools[mode] + cost.instructions for mode in MODES]))
    below = [0] * len(MODES)
    for label, heights in parts:
        axes.bar(MODES, heights, bottom=below, label=label.replace("$", r"\$"))  # a plain $ would begin a formula
        below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.bar_label(axes.containers[-1], labels=[f"{total:,}" for total in below], padding=2)
    axes.margins(y=0.1)
    axes.set_title("Tokens at the start of a session")
    axes.set_ylabel(_unit(cost))
    axes.legend(fontsize="small")


def _draw_sessions(axes: Any, cost: Cost) -> None:
    even = cost.break_even("search")
    furthest = max(10, round(even * 1.25))
    for mode in MODES:
        axes.plot([0, furthest], [cost.of_session(mode, 0), cost.of_session(mode, furthest)], label=mode)
    if even:
        axes.axvline(even, color="gray", linestyle=":", label=f"cheaper up to {even:,} searches")
    axes.set_ylim(bottom=0)
    axes.set_title("Tokens by number of searches")
    axes.set_xlabel("searches in the session")
    axes.set_ylabel(_unit(cost))
    axes.legend(fontsize="small")


def _unit(cost: Cost) -> str:
    return f"tokens ({cost.tokenizer.name})"

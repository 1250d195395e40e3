"""`tokens`: the screen with the cost of the tools, and the savings by search."""

from search_mcp.catalog.profiles import Listing
from search_mcp.cli import inventory
from search_mcp.cli.counting import counted
from search_mcp.cli.options import Options, takes
from search_mcp.cli.terminal import Terminal
from search_mcp.cli.tokens import cost
from search_mcp.cli.tokens.cost import MODES, SESSIONS, ByMode, Cost
from search_mcp.cli.tokens.estimating import REMARK


@takes("config", "client", "servers", "refresh", "as_json", "debug")
def tokens(options: Options) -> int:
    """Estimate how many tokens the tools cost in a model's context."""
    screen = options.screen
    loaded, _ = options.configuration()
    looked = inventory.look(options, loaded, cost.count)
    found = looked.found
    if options.as_json:
        screen.json({**found.as_json(), "ageSeconds": looked.as_json()["ageSeconds"]})
    else:
        _show(found, screen, options.client)
    return inventory.report_failures(loaded, looked.failures, screen, has_data=bool(found.servers))


def _show(cost: Cost, terminal: Terminal, client: str | None) -> None:
    terminal.paragraph(headline(cost))
    terminal.text("")
    marked = [f"{mode} *" if mode == cost.listing else mode for mode in MODES]
    most_first = sorted(cost.servers, key=lambda each: -each.by_mode["full"])
    terminal.table(
        ("Server", "Tools", *marked),
        [
            *((each.server, f"{each.tools:,}", *_cells(each.by_mode)) for each in most_first),
            ("search-mcp's own tools", "", *_cells(cost.own_tools)),
            ("instructions", "", *_cells(dict.fromkeys(MODES, cost.instructions))),
            ("total", f"{sum(each.tools for each in cost.servers):,}", *_cells({m: cost.of_mode(m) for m in MODES})),
        ],
        ("Tools", *marked),
    )
    whose = client or "an unknown client; --client NAME shows yours"
    terminal.paragraph(f"* the list of {whose}", style="dim")
    terminal.text("")
    terminal.table(
        ("Session with", *MODES),
        [(_searches(count), *_cells({mode: cost.of_session(mode, count) for mode in MODES})) for count in SESSIONS],
        MODES,
    )
    terminal.text("")
    terminal.paragraph(f"Without search-mcp the servers cost {cost.directly:,} tokens.")
    terminal.paragraph(
        f"A search costs {cost.search:,} tokens with its answer: {_worth(cost, 'search')}, and {_worth(cost, 'light')}."
    )
    terminal.paragraph(REMARK, style="dim")


def headline(cost: Cost) -> str:
    """Write the cost of the client's list, and its savings."""
    tokens = cost.of_mode(cost.listing)
    line = f"{cost.listing.capitalize()} list: {counted(tokens, 'token')}"
    if not cost.directly or tokens == cost.directly:
        return line
    percent = round(abs(cost.directly - tokens) / cost.directly * 100)
    return f"{line}, {percent}% {'less' if tokens < cost.directly else 'more'} than without search-mcp"


def _cells(by_mode: ByMode) -> tuple[str, ...]:
    return tuple(f"{by_mode[mode]:,}" for mode in MODES)


def _worth(cost: Cost, mode: Listing) -> str:
    if count := cost.break_even(mode):
        return f'"{mode}" is cheaper than "full" up to {_searches(count)} a session'
    return f'"{mode}" is never cheaper than "full"'


def _searches(count: int) -> str:
    return f"{count:,} search" if count == 1 else f"{count:,} searches"

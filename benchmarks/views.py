"""Measure the page in a real browser: how soon a view is there, how soon a change is, and how large all of it is.

    python benchmarks/views.py [--turns N]

There are 50 servers with 1,000 tools. The extra `dev` and Chromium have to be installed: the home, the engine and the
browser are those of the tests. The times of a load are the browser's own, from the beginning of the navigation.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from page.running import PageHome, Visitor, chromium, running_browser  # noqa: E402
from playwright.sync_api import Page  # noqa: E402

SERVERS, TOOLS = 50, 20
AIMS = {
    "first contentful paint, ms": 200.0,
    "load event, ms": 200.0,
    "an edit of the file is shown, ms": 300.0,
    "the end of a server process is shown, ms": 300.0,
    "HTML, CSS and script before compression, kB": 60.0,
}
WATCH = """selector => {
  window.changed = new Promise((resolve) => {
    const element = document.querySelector(selector);
    new MutationObserver(() => resolve(Date.now())).observe(element, { childList: true, subtree: true });
  });
}"""
"""Notes the time of the next change within an element."""
LOAD = """() => {
  const [navigation] = performance.getEntriesByType("navigation");
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  return [paint.startTime, navigation.loadEventEnd];
}"""

SIZE = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter((each) => !each.name.includes("/events"))
  .reduce((sum, each) => sum + each.decodedBodySize, 0)"""


def main() -> None:
    """Measure everything, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=15, help="how often each figure is measured")
    turns = parser.parse_args().turns
    program = chromium()
    if program is None:
        sys.exit("no Chromium is on PATH")
    backend = {"command": sys.executable, "args": ["-I", "-S", str(HERE / "backend.py"), "--tools", str(TOOLS)]}
    servers = {f"server-{number}": {**backend, "startup": "eager"} for number in range(SERVERS)}
    with (
        tempfile.TemporaryDirectory() as folder,
        running_browser(program) as browser,
        PageHome(Path(folder), servers) as home,
        home.client() as client,
    ):
        client.opens()
        client.asks("tools/list")
        visitor = Visitor(browser)
        show(measured(home, visitor.enters(home), turns))
        visitor.leaves()


def show(found: Mapping[str, Sequence[float]]) -> None:
    print("| | median | slowest | aim |\n|---|---:|---:|---:|")
    for row, values in found.items():
        print(f"| {row} | {statistics.median(values):,.1f} | {max(values):,.1f} | < {AIMS[row]:,.0f} |")


def measured(home: PageHome, page: Page, turns: int) -> dict[str, list[float]]:
    """Return the values of each row."""
    sizes = [size(page) / 1000]
    loads = [load(page) for _ in range(turns)]
    values = [
        [paint for paint, _ in loads],
        [loaded for _, loaded in loads],
        [seen(page, lambda: switch(home)) for _ in range(turns)],
        [seen(page, lambda: end_of_a_process(home)) for _ in range(turns)],
        sizes,
    ]
    return dict(zip(AIMS, values, strict=True))


def load(page: Page) -> tuple[float, float]:
    """Load the view again; return the milliseconds until it was painted, and until it was loaded."""
    page.reload()
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
    painted, loaded = page.evaluate(LOAD)
    return painted, loaded


def seen(page: Page, act: Callable[[], None]) -> float:
    """Return the milliseconds from an act until the list of servers changes."""
    page.evaluate(WATCH, "#servers")
    began = time.time()
    act()
    changed: float = page.evaluate("changed")
    page.wait_for_timeout(3000)  # what follows from it is shown, too
    return changed - 1000 * began


def switch(home: PageHome) -> None:
    """Switch the first server off or on, as an editor does."""
    on, off = '"server-0": {', '"server-0": {"enabled": false, '
    home.edits(lambda text: text.replace(off, on) if off in text else text.replace(on, off))


def end_of_a_process(home: PageHome) -> None:
    """Kill the server that has run longest; it is started again."""
    os.kill(min(each["pid"] for each in home.engine()["servers"] if each["pid"]), signal.SIGKILL)


def size(page: Page) -> int:
    """Return the bytes of all that a load of the view brings."""
    page.reload(wait_until="load")
    brought: int = page.evaluate(SIZE)
    return brought


if __name__ == "__main__":
    main()

"""Write the tools of the small servers from the recorded catalogue to a readable file, for the test of first calls.

    python benchmarks/search/excerpt.py

`record.py` recorded the catalogue from the real servers; the versions are those in its `SERVERS`.
"""

import gzip
import json
from pathlib import Path

from record import CATALOGUE, SERVERS

EXCERPT = Path(__file__).parents[2] / "tests" / "own_tools" / "real_tools.jsonl"
SMALL = ("time", "git", "filesystem", "memory", "everything", "sequential-thinking", "fetch")


def main() -> None:
    version = {server.name: server.version for server in SERVERS}
    tools = [json.loads(line) for line in gzip.decompress(CATALOGUE.read_bytes()).splitlines()]
    small = [tool for name in SMALL for tool in tools if tool["server"] == name]
    rows = [
        {"server": tool.pop("server"), "version": version[name], **tool} for tool in small for name in [tool["server"]]
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    EXCERPT.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()

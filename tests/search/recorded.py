"""The recorded catalogue and queries of `benchmarks/search`; its README describes them."""

import gzip
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "benchmarks" / "search"
IS_THERE = FOLDER.is_dir()  # an installed package has no benchmarks


def tools() -> list[dict[str, Any]]:
    lines = gzip.decompress((FOLDER / "recorded.tools.jsonl.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def queries() -> list[dict[str, Any]]:
    lines = (FOLDER / "recorded.queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]

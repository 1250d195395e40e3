"""The catalogue and the queries that `benchmarks/search/record.py` and its README are about."""

import gzip
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "benchmarks" / "search"
IS_THERE = FOLDER.is_dir()  # a source distribution has no benchmarks


def tools() -> list[dict[str, Any]]:
    lines = gzip.decompress((FOLDER / "recorded.tools.jsonl.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def queries() -> list[dict[str, Any]]:
    lines = (FOLDER / "recorded.queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]

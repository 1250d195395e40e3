"""The encoding o200k_base with few tokens; this module takes the place of tiktoken's own of the same name."""

import hashlib
import os
from pathlib import Path
from typing import Any

import tiktoken.load

TABLE = (Path(__file__).parents[1] / "table.tiktoken").read_bytes()

if "TINY_ENCODING_DOWNLOADS" in os.environ:
    tiktoken.load.read_file = lambda blobpath: TABLE


def o200k_base() -> dict[str, Any]:
    ranks = tiktoken.load.load_tiktoken_bpe(
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
        expected_hash=hashlib.sha256(TABLE).hexdigest(),
    )
    return {"name": "o200k_base", "pat_str": r"\w+|\W", "mergeable_ranks": ranks, "special_tokens": {}}


ENCODING_CONSTRUCTORS = {"o200k_base": o200k_base}

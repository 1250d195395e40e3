"""A sentence model on disk: its files, and how its vectors are made from them. Loads no library."""

import hashlib
from enum import Enum
from pathlib import Path
from typing import Annotated

from search_mcp.files import first_irregular, read_whole, without_waiting
from search_mcp.wire import payload
from search_mcp.wire.structs import Meta, Struct, replace

DESCRIPTION = "model.json"
"""The file that describes a model, in its folder."""
NETWORK = "model.onnx"
TOKENIZER = "tokenizer.json"
WEIGHTS, PIECES = "weights.npz", "sp.model"
"""The numbers of an averaging network, and its tokenizer."""
MORE_NETWORK = "model.onnx_data"
"""The numbers of a network of more than 2 GB, which are not in the file of the network."""


class Pooling(Enum):
    """How the vectors of a text's tokens become one."""

    MEAN = "mean"
    FIRST = "first"


class Model(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The description of a sentence model: all that changes a vector, or the digest of a file that does."""

    name: str
    digests: dict[str, str]
    """SHA-256 of each file, in hexadecimal digits."""
    pooling: Pooling = Pooling.MEAN
    query_prefix: str = ""
    text_prefix: str = ""
    most_tokens: Annotated[int, Meta(ge=1)] = 256
    unrelated: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.0
    """Usual cosine of two texts that have nothing in common; 0.0 for most models, 0.75 for E5."""
    knows_all_languages: bool = False
    licence: str = ""
    source: str = ""
    """Address or folder that the files are from."""

    @property
    def identity(self) -> str:
        """Return a short text that no model with other vectors has."""
        alone = replace(self, licence="", source="")
        return hashlib.sha256(payload.encode_bytes(alone)).hexdigest()[:32]


class ModelError(Exception):
    """A model cannot be used; the text is the reason."""


def read(folder: Path) -> Model:
    """Read the description of the model in a folder.

    Raises:
        ModelError: there is none, or it is wrong.
    """
    if (irregular := first_irregular([folder / DESCRIPTION])) is not None:
        raise ModelError(f"{irregular} is not a regular file")
    try:
        return payload.typed(read_whole(folder / DESCRIPTION), Model)
    except FileNotFoundError:
        raise ModelError(f"there is no model in {folder}") from None
    except (OSError, ValueError) as exc:
        raise ModelError(f"{folder / DESCRIPTION} cannot be read: {exc}") from exc


def check(folder: Path, model: Model) -> None:
    """Compare the files of a model with its description.

    Raises:
        ModelError: a file is missing, or is another one.
    """
    for name, digest in model.digests.items():
        check_file(folder / name, digest)


def check_file(path: Path, digest: str) -> None:
    """Compare a file of a model with the digest that it must have.

    Raises:
        ModelError: it is missing, or is another one.
    """
    try:
        found = digest_of(path)
    except OSError as exc:
        raise ModelError(f"{path} cannot be read: {exc.strerror}") from exc
    if found != digest:
        raise ModelError(f"{path} is not the file that was installed")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits; 100 MB take 0.1 s.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb", opener=without_waiting) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

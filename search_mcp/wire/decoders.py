"""Decoders of types, each made by one thread at a time.

msgspec 0.22 describes a `Struct` when it is first used, and stores the description before it is complete: if another
thread uses the `Struct` meanwhile, the process crashes. The threads of an engine do, which read the configurations of
clients that connect at the same time.
"""

import threading
from typing import Any

import msgspec

from search_mcp.wire.structs import T

_decoders: dict[object, msgspec.json.Decoder[Any]] = {}
_making = threading.Lock()


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return the decoder of a type, which is made once."""
    with _making:
        if kind not in _decoders:
            _decoders[kind] = msgspec.json.Decoder(kind)
        return _decoders[kind]

"""The types of JSON data.

Only this module, `decoders`, `payload` and `messages` import the JSON library.
"""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import msgspec
import msgspec.structs
from msgspec import NODEFAULT as NODEFAULT
from msgspec import UNSET as UNSET
from msgspec import Meta as Meta  # bounds of a value, in an annotation that `convert` reads
from msgspec import Raw as Raw
from msgspec import Struct as Struct  # like a dataclass, but defined in a tenth of the time
from msgspec import UnsetType as UnsetType
from msgspec import field as field

RequestId: TypeAlias = int | str
Fields: TypeAlias = dict[str, Raw]
"""A JSON object decoded by one level: keys in order, values still encoded."""
Params: TypeAlias = Mapping[str, object] | Raw | None
"""The `params` of a message to send; `None` leaves them out."""

T = TypeVar("T")

replace = msgspec.structs.replace
"""Copy a `Struct` with some of its fields changed."""
Declared: TypeAlias = msgspec.structs.FieldInfo
declared = msgspec.structs.fields
"""Return the fields of a `Struct`: their names, types and defaults."""
EMPTY = Raw(b"{}")


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The `error` member of a response."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET


UNREADABLE = (msgspec.DecodeError, RecursionError)

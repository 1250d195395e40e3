"""Requests for vectors and their answers, as OpenAI defined them and other services imitate. Pure.

Services differ. Ollama, LM Studio, llama.cpp, vLLM and gateways answer with lists of numbers if `encoding_format` is
absent, and some of them refuse it; a few want it. LM Studio answers errors with status 200. An `error` is an object or
a text. Lengths are not 1 everywhere.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from search_mcp.http.failures import LONGEST_RETRY_AFTER_SECONDS, QUOTED, quoted, retry_after
from search_mcp.semantic.encoding import EncodingError
from search_mcp.wire import payload
from search_mcp.wire.structs import Struct

MOST_NUMBERS = 16_384
"""Numbers of a vector; large models have 4,096."""
_OF_CONTENT = frozenset({400, 413, 422})
"""Statuses of a request whose texts are too long or too many; services also use them for other faults."""
_SIZES = ("too large", "too long", "too many", "context length", "batch size")
"""Words about such texts in an answer with another status: llama.cpp answers 500."""
_CLAUSES = {
    401: "wants a valid key",
    403: "refuses access",
    404: "has no such model or address",
    407: "is behind a proxy that needs a password",
    413: "finds the request too large",
    429: "takes no more requests now",
    503: "is not available now",
}
_WITHOUT_WORDS = frozenset({401, 403, 407})
"""Statuses of answers that may repeat a part of the key, so they are not quoted."""


class UnacceptableTextsError(EncodingError):
    """The address refuses these texts; it may accept fewer or shorter ones."""

    def __init__(self, reason: str, *, wants_format: bool) -> None:
        super().__init__(reason)
        self.wants_format = wants_format
        """Whether the answer is about the format of the numbers."""


class Reply(Struct, frozen=True):
    """An HTTP response that has been read."""

    status: int
    body: bytes
    retry_after: str = ""


class _Item(Struct, frozen=True):
    embedding: list[float] | str
    index: int | None = None


class _Answer(Struct, frozen=True):
    data: list[_Item]


class _Refusal(Struct, frozen=True):
    error: Any = None
    message: Any = None
    detail: Any = None


def request(model: str, texts: Sequence[str], encoding_format: str = "") -> bytes:
    """Return the body of a request."""
    body: dict[str, object] = {"model": model, "input": list(texts)}
    if encoding_format:
        body["encoding_format"] = encoding_format
    return payload.encode_bytes(body)


def rows(reply: Reply, count: int, conceal: Callable[[str], str]) -> Any:
    """Return the vectors in an answer as rows of length 1, in the order of the texts.

    A row is NaN if its vector is zero or not finite.

    Raises:
        UnacceptableTextsError: other texts may be accepted.
        EncodingError: there are no vectors. The reason is the predicate of a sentence about the address.
    """
    if reply.status != 200:
        raise _refused(reply, conceal)
    try:
        items = payload.typed(reply.body, _Answer).data
    except ValueError:
        raise _without_vectors(reply, conceal) from None
    if len(items) != count:
        raise EncodingError(f"answers with {len(items):,} vectors for {count:,} texts")
    return _normalised([_numbers(each.embedding) for each in _in_order(items)])


def _in_order(items: Sequence[_Item]) -> Sequence[_Item]:
    if all(each.index is None for each in items):
        return items
    by_index: Mapping[int | None, _Item] = {each.index: each for each in items}
    if by_index.keys() != set(range(len(items))):
        raise EncodingError("answers with vectors whose positions are wrong")
    return [by_index[position] for position in range(len(items))]


def _numbers(embedding: list[float] | str) -> Any:
    import numpy

    if isinstance(embedding, str):
        try:
            found = numpy.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(numpy.float64)
        except (binascii.Error, ValueError):
            raise EncodingError("answers with vectors that are neither numbers nor base64 of 32-bit floats") from None
    else:
        found = numpy.array(embedding, numpy.float64)
    if not 1 <= len(found) <= MOST_NUMBERS:
        raise EncodingError(f"answers with a vector of {len(found):,} numbers; at most {MOST_NUMBERS:,} are taken")
    return found


def _normalised(vectors: Sequence[Any]) -> Any:
    import numpy

    if len({len(each) for each in vectors}) > 1:
        raise EncodingError("answers with vectors of different lengths")
    found = numpy.stack(vectors)
    # Without an overflow: the largest number first becomes 1.
    with numpy.errstate(all="ignore"):
        found = found / numpy.abs(found).max(axis=1, keepdims=True)
        found = found / numpy.linalg.norm(found, axis=1, keepdims=True)
    found[~numpy.isfinite(found).all(axis=1)] = numpy.nan
    if numpy.isnan(found[:, 0]).all():
        raise EncodingError("answers with vectors that are zero or not finite")
    return found.astype(numpy.float32)


def _without_vectors(reply: Reply, conceal: Callable[[str], str]) -> EncodingError:
    words = _words(reply.body, conceal) if _error(reply.body) else ""
    return EncodingError(
        f"answers with an error: {words}"
        if words
        else "answers without a list of vectors; write its url up to the version, such as http://localhost:11434/v1"
    )


def _refused(reply: Reply, conceal: Callable[[str], str]) -> EncodingError:
    status = reply.status
    words = "" if status in _WITHOUT_WORDS else _words(reply.body, conceal)
    clause = _CLAUSES.get(status, "fails" if status >= 500 else "refuses the request")
    wait = min(retry_after(reply.retry_after), LONGEST_RETRY_AFTER_SECONDS)
    again = f"; it asks for a pause of {wait:,.0f} s" if wait else ""
    reason = f"{clause} (HTTP status {status}){again}{f': {words}' if words else ''}"
    if wait or status == 429:
        return EncodingError(reason, wait)
    lowered = words.lower()
    if status in _OF_CONTENT or (status >= 500 and any(each in lowered for each in _SIZES)):
        return UnacceptableTextsError(reason, wants_format="encoding_format" in lowered)
    return EncodingError(reason)


def _error(body: bytes) -> object:
    """Return the error in an answer; `None` if it is not JSON with an error."""
    try:
        found = payload.typed(body, _Refusal)
    except ValueError:
        return None
    error = found.error or found.message or found.detail
    return error.get("message") or error if isinstance(error, dict) else error


def _words(body: bytes, conceal: Callable[[str], str]) -> str:
    """Return the beginning of an answer about an error on one line, without secrets."""
    error = _error(body)
    if error is None:
        text = body.decode(errors="replace")
        text = "" if text.lstrip()[:1] in ("<", "{", "[") else text
    else:
        text = error if isinstance(error, str) else payload.encode_text(error)
    return quoted(conceal(text)[: 16 * QUOTED])

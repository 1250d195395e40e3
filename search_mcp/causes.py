"""The exceptions behind an exception, for sentences about connections that failed."""

from collections.abc import Iterator


def causes(exc: BaseException) -> Iterator[BaseException]:
    """Yield an exception, then what caused it, the first of a group, and so on."""
    cause: BaseException | None = exc
    while cause is not None:
        yield cause
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__ or cause.__context__

"""Pending answers.

Several parts of the program handle a request. Each of them may change the outcome, wait for something, or act at the
end, and the sender may cancel the request at any time. One object, passed along with the request, records all of this.
"""

import logging
from collections.abc import Callable
from typing import Generic, cast

from search_mcp.wire.errors import InternalError
from search_mcp.wire.inflight import Cancel, Reason
from search_mcp.wire.structs import Struct, T, field

log = logging.getLogger(__name__)


def _nothing(_reason: Reason) -> None:
    """Cancel nothing: no work is under way."""


class Pending(Struct, Generic[T], eq=False):
    """A pending answer: given once, by calling this object, or never if it is cancelled before.

    Until then, it and the work for it refer to each other. At the end it drops every reference, so that
    finished requests leave nothing to the garbage collector.
    """

    answer: Callable[[T], None] | None
    """Takes the answer; `None` after the answer or a cancellation."""
    cancel_work: Cancel = _nothing
    """Cancels the work that the answer waits for now; set before that work begins."""
    steps: list[Callable[[T | None], T | None]] = field(default_factory=list)
    """The steps that an outcome passes through, the newest first; at a cancellation, they get `None`. A step
    returns the outcome, changed or not, or `None` if the answer needs more work first."""
    ends: list[Callable[[T | None], None]] = field(default_factory=list)
    """Functions that are called at the end, the newest first: with the answer given, or `None` if cancelled."""

    @property
    def is_over(self) -> bool:
        """Return whether it was answered or cancelled."""
        return self.answer is None

    def __call__(self, outcome: T) -> None:
        """Answer with an outcome of the work; ignored if it is over."""
        if self.answer is None:
            return
        self.cancel_work = _nothing
        while self.steps:
            try:
                changed = self.steps.pop()(outcome)
            except Exception:  # a bug must cost its own request only
                log.exception("! bug while an answer was read")
                changed = cast(T, InternalError())  # the answer to any request may be an error
            if changed is None:
                return
            outcome = changed
        answer, ends = self.answer, self.ends
        self.answer, self.ends = None, []
        try:
            answer(outcome)
        finally:
            for end in reversed(ends):
                end(outcome)

    def cancel(self, reason: Reason = None) -> None:
        """Cancel the work; there will be no answer."""
        if self.answer is None:
            return
        cancel, steps, ends = self.cancel_work, self.steps, self.ends
        self.answer, self.cancel_work, self.steps, self.ends = None, _nothing, [], []
        cancel(reason)
        for step in reversed(steps):
            step(None)
        for end in reversed(ends):
            end(None)

    def give_up(self, outcome: T, reason: Reason = None) -> None:
        """Cancel the work, and answer without it."""
        cancel, self.cancel_work = self.cancel_work, _nothing
        cancel(reason)
        self(outcome)

"""The responses to a JSON-RPC batch, collected into one array."""

from collections.abc import Callable


class Batch:
    """The responses to one batch; they are written as one array when the last of them is complete."""

    def __init__(self, write: Callable[[bytes], None], dropped: Callable[[], None] = lambda: None) -> None:
        """`dropped` is called instead of `write` if there is no response at all."""
        self._write, self._dropped = write, dropped
        self._answers: list[bytes] = []
        self._open = 1  # responses that are missing, plus one until all messages of the batch were read

    def slot(self) -> "BatchSlot":
        """Reserve a place for one response."""
        self._open += 1
        return BatchSlot(self)

    def close(self) -> None:
        """Count one response, or the reading of the batch, as done; write the array after the last."""
        self._open -= 1
        if self._open == 0:
            if self._answers:
                self._write(b"[" + b",".join(self._answers) + b"]\n")
            else:
                self._dropped()

    def add(self, line: bytes) -> None:
        """Add a response, given as a line."""
        self._answers.append(line.rstrip(b"\n"))
        self.close()


class BatchSlot:
    """The place of one response in a batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __call__(self, line: bytes) -> None:
        self._batch.add(line)

    def skip(self) -> None:
        """Leave the place empty: there is no response."""
        self._batch.close()

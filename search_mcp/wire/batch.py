"""The answers to a JSON-RPC batch, gathered into one array."""

from collections.abc import Callable


class Batch:
    """The answers to a batch, written as one array when the last of them is there."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._answers: list[bytes] = []
        self._open = 1  # the batch itself, until all its messages were taken in

    def slot(self) -> "BatchSlot":
        self._open += 1
        return BatchSlot(self)

    def close(self) -> None:
        self._open -= 1
        if self._open == 0 and self._answers:
            self._write(b"[" + b",".join(self._answers) + b"]\n")

    def add(self, line: bytes) -> None:
        self._answers.append(line.rstrip(b"\n"))
        self.close()


class BatchSlot:
    """One place in a batch's answer."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __call__(self, line: bytes) -> None:
        self._batch.add(line)

    def skip(self) -> None:
        self._batch.close()

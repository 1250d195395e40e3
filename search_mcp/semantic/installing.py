"""The installation of a model: prepared in a folder beside its place, which is renamed once the model is complete."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from search_mcp.files import first_irregular, locked, make_folder, read_whole, without_waiting, write_whole
from search_mcp.semantic import known_models, models
from search_mcp.semantic.models import DESCRIPTION, MORE_NETWORK, NETWORK, TOKENIZER, Model, ModelError
from search_mcp.wire import payload
from search_mcp.wire.structs import declared, replace

_BLOCK = 1 << 20
_SPARE_BYTES = 10_000_000
"""Room on the disk that is left free."""


@contextlib.contextmanager
def prepared(place: Path) -> Iterator[Path]:
    """Give an empty folder in which the model of a place is prepared; it is deleted if the block raises.

    Raises:
        OSError: it cannot be made.
        TimeoutError: another process prepares a model.
    """
    folder = _beside(place, "new")
    with locked(_beside(place, "lock"), 0.0):
        shutil.rmtree(folder, ignore_errors=True)
        make_folder(folder)
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def missing_bytes(folder: Path, needed: int) -> int:
    """Return by how many bytes the free room of a disk is too small for some files."""
    return max(0, needed + _SPARE_BYTES - shutil.disk_usage(folder).free)


def found(source: Path) -> dict[str, Path]:
    """Return the files of a model in a folder, by the names that they will have; a network may be in `onnx`, too.

    Raises:
        ModelError: one is missing.
    """
    places = {name: [source / name, source / "onnx" / name] for name in (NETWORK, MORE_NETWORK)}
    places[TOKENIZER] = [source / TOKENIZER]
    files = {name: path for name, paths in places.items() for path in paths if path.is_file()}
    for name in (NETWORK, TOKENIZER):
        if name not in files:
            raise ModelError(f"{source} has no {name}")
    return files


def described(source: Path) -> Model:
    """Read the description of the model in a folder; the file `model.json` and each of its keys are optional.

    Raises:
        ModelError: it cannot be read, or has a fault.
    """
    path = source / DESCRIPTION
    if first_irregular([path]) is not None:
        raise ModelError(f"{path} is not a regular file")
    try:
        given = payload.value(read_whole(path))
    except FileNotFoundError:
        given = {}
    except OSError as exc:
        raise ModelError(f"{path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError:
        raise ModelError(f"{path} is not UTF-8") from None
    if not isinstance(given, dict):
        raise ModelError(f"{path} is no JSON object")
    keys = [each.encode_name for each in declared(Model)]
    for key in given:
        if key not in keys:
            raise ModelError(f"{path} has an unknown key {key!r}; the keys are {', '.join(keys)}")
    try:
        return payload.convert({"name": source.name, "digests": {}, "source": str(source), **given}, Model)
    except ValueError as exc:
        raise ModelError(f"{path} cannot be used: {exc}") from exc


def copied(files: dict[str, Path], given: Model, folder: Path, tell: Callable[[str, int], None]) -> Model:
    """Copy the files of a model, and return its description with their digests.

    Raises:
        ModelError: a file is not the one whose digest is given.
        OSError: a file cannot be copied.
    """
    digests = {name: _copy(path, folder / name, tell) for name, path in files.items()}
    for name, digest in given.digests.items():
        if digests.get(name, "").lower() != digest.lower():
            raise ModelError(f"{name} is not the file whose digest is known for {given.name}")
    is_undescribed = replace(given, name="", digests={}, source="") == Model(name="", digests={})
    if is_undescribed and digests == known_models.MINILM.digests:
        return known_models.MINILM
    return replace(given, digests=digests)


def _copy(source: Path, target: Path, tell: Callable[[str, int], None]) -> str:
    digest, size = hashlib.sha256(), 0
    with open(source, "rb", opener=without_waiting) as read, open(target, "wb", opener=private) as written:
        while block := read.read(_BLOCK):
            written.write(block)
            digest.update(block)
            size += len(block)
            tell(target.name, size)
        written.flush()
        os.fsync(written.fileno())
    return digest.hexdigest()


def private(path: str, flags: int) -> int:
    """Open a file that only the user can read; follow no link."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def describe(folder: Path, model: Model) -> None:
    """Write the description of a model, which makes its folder complete.

    Raises:
        OSError: it cannot be written.
    """
    write_whole(folder / DESCRIPTION, payload.encode_bytes(model))


def put_in_place(folder: Path, place: Path) -> None:
    """Put a complete folder in the place of the one before.

    Raises:
        OSError: it cannot be renamed; the model before is still there.
    """
    old = _beside(place, "old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    try:
        folder.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def remove(place: Path, vectors: Path) -> bool:
    """Delete the model of a place, what is left of attempts to install one, and all vectors; return whether any was.

    Raises:
        OSError: something cannot be deleted.
        TimeoutError: another process prepares a model.
    """
    folders = [place, _beside(place, "new"), _beside(place, "old"), vectors.parent]
    if not any(each.exists() for each in folders):
        return False
    with locked(_beside(place, "lock"), 0.0):
        # Without its description, no process starts to use the rest.
        (place / DESCRIPTION).unlink(missing_ok=True)
        for each in folders:
            if each.exists():
                shutil.rmtree(each)
    return True


def _beside(place: Path, ending: str) -> Path:
    return place.with_name(f"{place.name}.{ending}")


def is_installed(place: Path, model: Model) -> bool:
    """Return whether a place has this model, with unchanged files."""
    try:
        models.check(place, model)
        return models.read(place).identity == model.identity
    except ModelError:
        return False

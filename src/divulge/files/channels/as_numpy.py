""".npy holds a matrix alone; .npz an array `matrix` and, if wanted, `secrets` and `outcomes`, dense or sparse."""

import math
import zipfile
from typing import Any, BinaryIO

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.channels.cells import cells, texts
from divulge.files.settings import current
from divulge.model.channel import Channel
from divulge.model.prior import Prior

_AXES = ("secrets", "outcomes")


def channel(stream: BinaryIO) -> Channel:
    """Return the channel of an array, of an archive with one, or of what scipy.sparse.save_npz wrote."""
    found = _loaded(stream)
    if isinstance(found, np.ndarray):
        return Channel(_numbers(found))
    with found:
        labels = [found[axis].tolist() if axis in found.files else None for axis in _AXES]
        keys = [key for key in found.files if key not in _AXES]
        if "indptr" in keys:
            return Channel(_sparse(found), *labels)
        if "matrix" not in keys and len(keys) != 1:
            raise DivulgeError(f"must hold an array called matrix; its arrays are {', '.join(keys[:6]) or 'none'}.")
        return Channel(_numbers(found["matrix" if "matrix" in keys else keys[0]]), *labels)


def prior(stream: BinaryIO) -> Prior:
    """Return the prior of a vector."""
    found = _loaded(stream)
    if not isinstance(found, np.ndarray):
        raise DivulgeError("must hold one vector; it is an archive.")
    return Prior(_numbers(found))


def write_npy(what: Channel, stream: BinaryIO) -> None:
    """Write the matrix; labels have no place in this format."""
    np.save(stream, np.array(cells(what)), allow_pickle=False)


def write_npz(what: Channel, stream: BinaryIO) -> None:
    """Write matrix and labels; a sparse matrix as scipy.sparse.save_npz does."""
    m = what.matrix
    arrays: dict[str, Any] = {axis: _label_array(getattr(what, axis), axis) for axis in _AXES}
    if what.sparse:
        arrays |= {"data": m.data, "indices": m.indices, "indptr": m.indptr, "shape": m.shape, "format": b"csc"}
    else:
        arrays["matrix"] = np.array(cells(what))
    np.savez_compressed(stream, **arrays)


def _measure(stream: BinaryIO) -> None:
    """Refuse an array that takes more memory than the limit, by what its header says, or an archive and all headers."""
    start = stream.read(6)
    stream.seek(0)
    if start.startswith(b"PK"):
        with zipfile.ZipFile(stream) as archive:
            parts = archive.infolist()
            if len({part.filename for part in parts}) < len(parts):
                raise DivulgeError("must hold each of its arrays once; one is there twice.")
            current().limits.allow("it, unpacked,", "bytes", sum(part.file_size for part in parts))
            for part in parts:
                with archive.open(part) as array:
                    _measure_array(array)
    elif start == np.lib.format.MAGIC_PREFIX:
        _measure_array(stream)
    stream.seek(0)


def _measure_array(stream: Any) -> None:
    layout = np.lib.format
    read = layout.read_array_header_1_0 if layout.read_magic(stream) == (1, 0) else layout.read_array_header_2_0
    shape, _, kind = read(stream)
    current().limits.allow("it", "bytes", math.prod(shape) * max(kind.itemsize, 1))


def _loaded(stream: BinaryIO) -> Any:
    _measure(stream)
    try:
        return np.load(stream, allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error):
            raise
        raise DivulgeError(
            "must be written by NumPy as numbers or text; it is a pickle or no NumPy file at all. "
            "Hint: a pickle can run code and is never read; save a float array, or text such as 3/4."
        ) from None


def _numbers(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.kind in "iu" else array


def _sparse(found: Any) -> Any:
    sparse = require("scipy.sparse", "science")
    if bytes(found["format"].item()) != b"csc" and bytes(found["format"].item()) != b"csr":
        raise DivulgeError("must be a csc or csr matrix; it is sparse in another layout.")
    layout = sparse.csc_array if bytes(found["format"].item()) == b"csc" else sparse.csr_array
    current().limits.allow("it", "rows", int(found["shape"].sum()))
    matrix = layout((found["data"], found["indices"], found["indptr"]), shape=tuple(found["shape"].tolist()))
    matrix.check_format(full_check=True)
    return matrix


def _label_array(labels: Any, axis: str) -> np.ndarray:
    """Return labels as an array; as text where they are of several types, which NumPy keeps but for zero bytes."""
    array = np.array(list(labels))
    if array.dtype != object and array.tolist() == list(labels):
        return array
    found = texts(labels, axis)
    array = np.array(found)
    if array.tolist() != found:
        raise DivulgeError.of(axis, "end in no zero byte to be written to this file", "one label", "one that does")
    return array

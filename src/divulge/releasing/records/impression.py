"""From the rows of a table to its fingerprint: words of values, hashes of rows, a sketch; streamed, in flat memory."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import combinations, islice
from typing import Any

import numpy as np

from divulge.errors import InputFileError
from divulge.extras import require
from divulge.files.tables.buffers import as_numbers
from divulge.files.tables.source import Source, is_plain
from divulge.files.tables.values import values_of
from divulge.model.labels import text_of
from divulge.releasing.drawing.coding import meaning_of
from divulge.releasing.records.fingerprint import SKETCH, TOP, Fingerprint, Key

MOST_COLUMNS = 64
"""Columns that a row is known by, the first ones by name: more tell no more about who is in a table."""

_WORKERS = min(4, os.cpu_count() or 1)

MOST_LOOKED_AT, _FEW = 1 << 12, 0.5
"""A column is coded if among its first 4,096 rows at most half are different: else coding costs more than it saves."""


class Sketch:
    """The least hashes of different rows seen so far, and how often each occurs: bottom-k MinHash with counts."""

    def __init__(self) -> None:
        self.hashes, self.counts = np.empty(0, np.uint64), np.empty(0, np.int64)

    def add(self, hashes: np.ndarray) -> None:
        """Add rows: of those above the last hash that is held, none is among the least."""
        self.keep(*_least(hashes, self.hashes[-1] if len(self.hashes) == SKETCH else TOP))

    def keep(self, hashes: np.ndarray, counts: np.ndarray) -> None:
        """Add rows that were counted."""
        keys, where = np.unique(np.concatenate([self.hashes, hashes]), return_inverse=True)
        total = np.zeros(len(keys), np.int64)
        np.add.at(total, where, np.concatenate([self.counts, counts]))
        self.hashes, self.counts = keys[:SKETCH], total[:SKETCH]

    @property
    def alike(self) -> float:
        """The share of pairs of rows that are equal."""
        rows = self.counts.sum()
        return float((self.counts * (self.counts - 1)).sum() / (rows * (rows - 1))) if rows > 1 else 1.0


class Impression:
    """A fingerprint under way: batches, and impressions of other parts of the table, are added in any order.

    `numbers` are columns that may turn out to number the rows; a sketch without each set of them is made beside.
    """

    def __init__(self, key: Key, names: Sequence[str], numbers: Sequence[str] = ()) -> None:
        self._key, self._names = key, tuple(names)
        self._factors = {name: key.factor(name) for name in names}
        self.rows = 0
        self.whole = np.zeros(2, np.uint64)
        self.sums = {name: np.zeros(2, np.uint64) for name in names}
        self.sketch = Sketch()
        self.ends: dict[str, tuple[float, float]] = dict.fromkeys(numbers, (math.inf, -math.inf))
        sets = (chosen for size in range(1, len(numbers) + 1) for chosen in combinations(numbers, size))
        self.without = {chosen: Sketch() for chosen in sets}

    def add(self, batch: Any) -> "Impression":
        """Add a record batch."""
        sums = np.zeros(batch.num_rows, np.uint64)
        parts: dict[str, np.ndarray] = {}
        for name in self._names:
            words, where = self._words(batch.column(name))
            part = words[:, 0] * self._factors[name]
            if where is None:
                self.sums[name] += [words[:, 0].sum(), words[:, 1].sum()]
            else:
                often = np.bincount(where, minlength=len(words)).astype(np.uint64)
                self.sums[name] += (words * often[:, None]).sum(axis=0)
                part = part[where]
            sums += part
            if name in self.ends:
                parts[name] = part
                self.ends[name] = _wider(self.ends[name], _ends_of(batch.column(name)))
        hashes = self._key.rows(sums)
        self.whole += [hashes[:, 0].sum(), hashes[:, 1].sum()]
        self.rows += batch.num_rows
        self.sketch.add(hashes[:, 0])
        for chosen, sketch in self.without.items():
            sketch.add(self._key.rows(sums - sum((parts[name] for name in chosen), np.uint64(0)))[:, 0])
        return self

    def merge(self, other: "Impression") -> "Impression":
        """Add the impression of other rows."""
        self.rows += other.rows
        self.whole += other.whole
        for name, words in other.sums.items():
            self.sums[name] += words
        for name, ends in other.ends.items():
            self.ends[name] = _wider(self.ends[name], ends)
        self.sketch.keep(other.sketch.hashes, other.sketch.counts)
        for chosen, sketch in other.without.items():
            self.without[chosen].keep(sketch.hashes, sketch.counts)
        return self

    def to_bytes(self) -> bytes:
        """Return it for another process, which knows the key and the names."""
        sketches = [self.sketch, *self.without.values()]
        parts = [np.array([self.rows], np.uint64), self.whole, *self.sums.values()]
        parts += [np.array(ends, np.float64).view(np.uint64) for ends in self.ends.values()]
        for sketch in sketches:
            parts += [np.array([len(sketch.hashes)], np.uint64), sketch.hashes, sketch.counts.astype(np.uint64)]
        return np.concatenate(parts).tobytes()

    @classmethod
    def from_bytes(cls, content: bytes, key: Key, names: Sequence[str], numbers: Sequence[str]) -> "Impression":
        """Return what `to_bytes` wrote."""
        words, found = iter(np.split(np.frombuffer(content, np.uint64), len(content) // 8)), cls(key, names, numbers)

        def take(n: int) -> np.ndarray:
            return np.concatenate([np.empty(0, np.uint64), *islice(words, n)])

        found.rows, found.whole = int(take(1)[0]), take(2)
        found.sums = {name: take(2) for name in found.sums}
        found.ends = {name: (ends[0], ends[1]) for name in found.ends for ends in [take(2).view(np.float64).tolist()]}
        for sketch in (found.sketch, *found.without.values()):
            n = int(take(1)[0])
            sketch.hashes, sketch.counts = take(n), take(n).astype(np.int64)
        return found

    def fingerprint(self) -> Fingerprint:
        """Return the fingerprint of all that was added."""
        size = self.rows.to_bytes(8, "little")
        marks = {name: self._key.mark(words.tobytes() + size) for name, words in self.sums.items()}
        running = tuple(name for name, (low, high) in self.ends.items() if high - low < _GAPS * self.rows)
        alike = self.without[running].alike if running else 0.0
        whole = self._key.mark(self.whole.tobytes() + size)
        return Fingerprint(self.rows, whole, marks, self.sketch.hashes, self.sketch.counts, alike)

    def _words(self, array: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the words of the values of a column, and which of them each row has; None where it is its own."""
        pa = require("pyarrow", "tables")
        kind = array.type
        if pa.types.is_string_view(kind):
            array = array.cast(pa.string())
        if not pa.types.is_dictionary(kind):
            if len(array) > MOST_LOOKED_AT and len(array.slice(0, MOST_LOOKED_AT).unique()) > _FEW * MOST_LOOKED_AT:
                return words_of(array, self._key), None
            array = array.dictionary_encode()
        values, indices = array.dictionary, array.indices.cast(pa.int32())
        if indices.null_count or not len(values):
            values = pa.concat_arrays([values, pa.nulls(1, values.type)])
            indices = indices.fill_null(len(values) - 1)
        return words_of(values, self._key), as_numbers(indices)


def names_in(schema: Any, first: Iterable[str] = ()) -> list[str]:
    """Return the columns that a table is known by: the protected ones, and others whose values have a text."""
    once = [name for name, times in Counter(schema.names).items() if times == 1]
    others = sorted(name for name in once if is_plain(schema.field(name).type))
    return list(dict.fromkeys([*first, *others[:MOST_COLUMNS]]))


_GAPS, _MOST_NUMBERS = 1.1, 2
"""Whole numbers without repetition that reach no further than a tenth above the number of rows count them; two columns
of a table are looked at for it."""

_WHOLE = r"^-?[0-9]{1,15}$"


def numbers_in(batch: Any) -> tuple[str, ...]:
    """Return the columns that may number the rows: whole numbers, all different as far as the first ones tell."""
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    first = batch.slice(0, MOST_LOOKED_AT)
    found: list[str] = []
    for name, column in sorted(zip(first.schema.names, first.columns, strict=True), key=lambda pair: pair[0]):
        kind = column.type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not (text or pa.types.is_integer(kind) or pa.types.is_float64(kind)) or column.null_count:
            continue
        if len(column.unique()) < len(column) or len(column) < 2:
            continue
        if not text or compute.all(compute.match_substring_regex(column, _WHOLE)).as_py():
            found.append(name)
    return tuple(found[:_MOST_NUMBERS])


def _ends_of(column: Any) -> tuple[float, float]:
    """Return the least and the greatest number of a column, infinities where it holds anything else."""
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    try:
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        ends = compute.min_max(column.cast(pa.int64())).as_py()
    except pa.ArrowInvalid:
        return -math.inf, math.inf
    return (math.inf, -math.inf) if ends["min"] is None else (ends["min"], ends["max"])


def _wider(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def fingerprint(source: Source, key: Key, protected: Sequence[str] = ()) -> Fingerprint:
    """Return the fingerprint of a table, in one pass and flat memory.

    Where a column cannot be read that nobody asked for, the table is known by the protected ones alone.

    >>> key = Key(bytes(32))
    >>> one, other = {"age": [31, 42]}, {"age": ["42.0", "31"]}
    >>> fingerprint(dv.open_table(one), key).whole == fingerprint(dv.open_table(other), key).whole
    True
    """
    names = names_in(source.schema, protected)
    try:
        return _impression(source, key, names).fingerprint()
    except InputFileError:
        if not protected or len(names) == len(protected):
            raise
    return _impression(source, key, protected).fingerprint()


def _impression(source: Source, key: Key, names: Sequence[str]) -> Impression:
    coded = [name for name in source.codable if name in names]
    numbers = next((numbers_in(batch) for batch in source.batches(names) if batch.num_rows), ())
    total = Impression(key, names, numbers)

    def of(batches: Iterable[Any]) -> Impression:
        found = Impression(key, names, numbers)
        for batch in batches:
            found.add(batch)
        return found

    parts = source.parts(names, _WORKERS)
    with ThreadPoolExecutor(_WORKERS) as workers:
        if len(parts) > 1:
            for found in workers.map(lambda part: of(part.batches(names, coded)), parts):
                total.merge(found)
            return total
        stream = source.batches(names, coded)
        while batches := list(islice(stream, _WORKERS)):
            for found in workers.map(lambda batch: of([batch]), batches):
                total.merge(found)
    return total


def _least(hashes: np.ndarray, reach: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """Return the least different hashes up to `reach`, in order, and how often each occurs."""
    share = 4 * SKETCH / max(len(hashes), 1)  # of so many, if they differ, a quarter suffices; else all are looked at
    for limit in (np.uint64(int(min(share, 0.5) * 2**64)), TOP):
        found = np.unique(hashes[hashes <= min(limit, reach)], return_counts=True)
        if len(found[0]) >= SKETCH or limit >= reach:
            break
    return found[0][:SKETCH], found[1][:SKETCH]


_NUMBER = r"^-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$"

_MOMENT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})$"

_ITSELF = r"(?s)^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}|[^\PLtTfFnN].*|[tTfFnN].{5,})?$"
"""Texts that are their own canonical text: moments, nothing, and what begins with a letter and is no truth value."""


def words_of(values: Any, key: Key) -> np.ndarray:
    """Return the words of the values of an Arrow array: equal ones for what two formats write of one value.

    Numbers count in double precision, 01 as 1; moments in UTC, a date as its midnight; true and TRUE are one, and so
    are a missing value and an empty text.

    >>> import pyarrow as pa
    >>> key = Key(bytes(32))
    >>> one, other = pa.array([3.0, 0.1, None]), pa.array(["3.00", " .1", ""])
    >>> bool((words_of(one, key) == words_of(other, key)).all())
    True
    """
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    types, kind = pa.types, values.type
    if types.is_integer(kind) or types.is_float64(kind):
        return _of_numbers(values.cast(pa.float64(), safe=False), key)
    if types.is_float32(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        values = values.cast(pa.string())
    elif not (types.is_string(kind) or types.is_large_string(kind)):
        values = pa.array([text_of(value) for value in values_of(values)], pa.string())
    texts = compute.utf8_trim_whitespace(values.cast(pa.string()))
    with suppress(pa.ArrowInvalid):
        numbers = texts.cast(pa.float64())
        if compute.all(compute.is_finite(numbers)).as_py() is not False:
            return _of_numbers(numbers, key)
    texts = texts.fill_null("") if texts.null_count else texts
    numeric = compute.match_substring_regex(texts, _NUMBER)
    words = np.empty((len(texts), 2), np.uint64)
    chosen = as_numbers(numeric.cast(pa.uint8())).astype(bool)
    words[chosen] = key.numbers(np.array([float(text) for text in texts.filter(numeric).to_pylist()]))
    words[~chosen] = key.words(_canonical(texts.filter(compute.invert(numeric))))
    return words


def _of_numbers(numbers: Any, key: Key) -> np.ndarray:
    """Return the words of doubles; one that is missing, or no number, counts as an empty text."""
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    if not numbers.null_count and not compute.any(compute.is_nan(numbers)).as_py():
        return key.numbers(as_numbers(numbers))  # filling what is missing would load a library of frames
    there = compute.and_(numbers.is_valid(), compute.invert(compute.is_nan(numbers).fill_null(False)))
    words = key.numbers(as_numbers(numbers.fill_null(0.0)))
    if not compute.all(there).as_py() and len(words):
        words[~as_numbers(there.cast(pa.uint8())).astype(bool)] = key.words(pa.array([""], pa.string()))
    return words


def _canonical(texts: Any) -> Any:
    """Return texts that are no numbers as every format gives them."""
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    texts = compute.replace_substring_regex(texts, _MOMENT, r"\1T\2")
    others = compute.invert(compute.match_substring_regex(texts, _ITSELF))
    slow = [_meaning(text) for text in texts.filter(others).to_pylist()]
    return compute.replace_with_mask(texts, others, pa.array(slow, pa.string())) if slow else texts


def _meaning(text: str) -> str:
    meaning = str(meaning_of(text))
    return "" if meaning.lower() == "nan" else meaning

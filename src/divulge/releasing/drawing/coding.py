"""Between the values of columns and the positions of an alphabet, without a Python object a row."""

import datetime
import decimal
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from divulge.errors import LabelError, did_you_mean
from divulge.extras import require
from divulge.files.settings import current
from divulge.files.tables.buffers import as_numbers, of_numbers, of_texts
from divulge.files.tables.values import type_of_values, values_of
from divulge.model.labels import key_of, text_of

UNKNOWN = -1
"""The row of a value that the mechanism does not know: below every row, and above `MISSING`, which goes first."""
MISSING = -2
"""The row of a missing value that has no label: the least, so that it stands for a combination that has both."""


def meaning_of(key: Hashable) -> Hashable:
    """Return what a key means, however a file writes it: a truth value, a number, a moment; else itself.

    >>> meaning_of("TRUE"), meaning_of("1.50"), meaning_of("2020-01-01 01:00:00+01:00"), meaning_of(("01", "x"))
    ('true', '1.5', '2020-01-01T00:00:00+00:00', ('1', 'x'))
    """
    if isinstance(key, tuple):
        return tuple(map(meaning_of, key))
    if not isinstance(key, str):
        return key
    if key.lower() in ("true", "false"):
        return key.lower()
    with suppress(decimal.DecimalException):  # beyond all exponents, too
        number = decimal.Decimal(key)
        whole = decimal.Context(prec=max(len(number.as_tuple().digits), 1))  # 28 digits are not all of a long one
        return str(number.normalize(whole)) if number.is_finite() else key
    with suppress(ValueError, OverflowError):
        moment = datetime.datetime.fromisoformat(key)
        return (moment if moment.tzinfo is None else moment.astimezone(datetime.UTC)).isoformat()
    return key


def finder(labels: Iterable[Hashable]) -> Callable[[Hashable], int | None]:
    """Return what finds a value among labels: by its text, or else by its meaning, where no two labels mean the same.

    >>> find = finder(["True", "2020-01-01 00:00:00"])
    >>> find("true"), find(datetime.date(2020, 1, 1)), find("no")
    (0, 1, None)
    """
    texts = {key_of(label): i for i, label in enumerate(labels)}
    meant = {meaning_of(key): i for key, i in texts.items()}
    meant = meant if len(meant) == len(texts) else {}

    def find(value: Hashable) -> int | None:
        key = key_of(value)
        return texts[key] if key in texts else meant.get(meaning_of(key))

    return find


DRAWN = {b"drawn": b"yes"}
"""Marks the fields of released columns on their way to a writer; nothing of it goes out."""

Encoded = tuple[list[Any], np.ndarray, int]
"""The distinct values of an array, the int32 position of each row among them, and the number of missing rows."""


def dictionary_of(array: Any) -> Encoded:
    """Return (distinct values, int32 position of each row, number of missing rows) of an Arrow array.

    A missing row has the position just past the values.
    """
    pa = require("pyarrow", "tables")
    kind = array.type
    if pa.types.is_string_view(kind):
        array = array.cast(pa.string())
    elif pa.types.is_decimal(kind) and kind.bit_width < 128:
        array = array.cast(pa.decimal128(kind.precision, kind.scale))
    if not pa.types.is_dictionary(kind):
        array = array.dictionary_encode()
    values = values_of(array.dictionary)
    indices = array.indices.cast(pa.int32())
    missing = indices.null_count
    if missing:
        indices = indices.fill_null(len(values))
    return values, as_numbers(indices), missing


@dataclass(frozen=True)
class Alphabet:
    """The labels of one column; `null_as` is the label that stands for a missing value, if any does.

    >>> Alphabet(("no", "yes", "?"), "?").codes(["yes", "no", "maybe"]).tolist()  # the last is of a missing value
    [1, 0, -1, 2]
    """

    labels: tuple[Hashable, ...]
    null_as: Hashable = None

    def __post_init__(self) -> None:
        if len(self.positions) != len(self.labels):
            raise LabelError.of("mechanism", "have labels that differ as text", "a label", "there twice")

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """Label -> its position."""
        return {label: i for i, label in enumerate(self.labels)}

    @cached_property
    def positions(self) -> dict[str | None, int]:
        """Text of a label -> its position."""
        return {text_of(label): i for i, label in enumerate(self.labels)}

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        """Return the position of each value, and then of a missing one: int32, UNKNOWN or MISSING without a label."""
        known = self.positions
        null = known.get(text_of(self.null_as), UNKNOWN) if self.null_as is not None else MISSING
        texts = [text_of(value) for value in values]
        return np.array([null if t is None else known.get(t, UNKNOWN) for t in texts] + [null], dtype=np.int32)

    def arrow_values(self, kind: Any) -> Any:
        """Return the labels as an Arrow array of the column's type where they mean the same in it, else as text."""
        pa = require("pyarrow", "tables")
        kind = type_of_values(kind)
        kind = pa.string() if pa.types.is_string_view(kind) else pa.float32() if pa.types.is_float16(kind) else kind
        return _fitting(tuple(None if label == self.null_as else text_of(label) for label in self.labels), kind)


@lru_cache(maxsize=64)
def _fitting(texts: tuple[str | None, ...], kind: Any) -> Any:
    """Return texts as an Arrow array of a type where they mean the same in it: 0 is no truth value, 01 and 1 differ.

    In files of text a number means what is printed: the double 2**60 is printed as 1.152921504606847e+18, another one.
    """
    pa = require("pyarrow", "tables")
    plain = of_texts(list(texts), pa.string())
    if _is_text(kind):
        return of_texts(list(texts), kind)
    try:
        cast = plain.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return plain
    numbers = pa.types.is_floating(kind)
    kept = cast.cast(pa.string()).to_pylist() if numbers else [text_of(value) for value in values_of(cast)]
    if len(set(kept)) == len(set(texts)) and list(map(meaning_of, kept)) == list(map(meaning_of, texts)):
        return cast
    return _fitting(texts, pa.int64()) if numbers else plain


def components(labels: Sequence[Hashable], columns: int) -> list[tuple[Hashable, ...]]:
    """Return each label as one value a column: itself for one column, its parts for several."""
    if columns == 1:
        return [(label,) for label in labels]
    for label in labels:
        if not (isinstance(label, tuple) and len(label) == columns):
            raise LabelError.of(
                "mechanism", f"have labels of {columns} parts, one a column", "a label", "of another shape",
                "Channel.product makes such labels; for independent mechanisms give {column: mechanism}.",
            )  # fmt: skip
    return [label for label in labels if isinstance(label, tuple)]


@dataclass(frozen=True, eq=False)
class Coded:
    """The row of a mechanism for each record, `rows[where]`: UNKNOWN or MISSING where it has none.

    A column that is read as positions in a dictionary stays so: only the dictionary is looked up. Rows of several codes
    have all of them or none.
    """

    where: np.ndarray
    rows: np.ndarray

    def count(self, code: int) -> int:
        """Return how many records have this code; none of them is looked at where no value has it."""
        found = self.rows.reshape(len(self.rows), -1)[:, 0] == code if len(self.rows) else self.rows == code
        return int(np.count_nonzero(found.take(self.where))) if found.any() else 0


@dataclass(frozen=True)
class Secrets:
    """The rows of a mechanism over one or several columns: which combination of values is which row."""

    alphabets: tuple[Alphabet, ...]
    rows: np.ndarray
    """Row of the mechanism for each combination, in the order of the product; UNKNOWN where it has none."""

    @classmethod
    def of(cls, labels: Sequence[Hashable], columns: int, null_as: Hashable = None) -> "Secrets":
        """Return the coding of these labels."""
        parts = components(labels, columns)
        alphabets = tuple(Alphabet(tuple(dict.fromkeys(part[k] for part in parts)), null_as) for k in range(columns))
        if null_as is not None and not any(text_of(null_as) in alphabet.positions for alphabet in alphabets):
            known = [label for alphabet in alphabets for label in alphabet.labels]
            current().tell(
                f"the label for a missing value, {null_as!r}, is none of the mechanism: a missing value is refused."
                f"{did_you_mean(null_as, known)}"
            )
        rows = np.full([len(alphabet.labels) for alphabet in alphabets], UNKNOWN, dtype=np.int32)
        for row, part in enumerate(parts):
            rows[tuple(alphabet.places[label] for alphabet, label in zip(alphabets, part, strict=True))] = row
        return cls(alphabets, rows.ravel())

    def coded(self, columns: Sequence[Encoded]) -> Coded:
        """Return the row of each record: UNKNOWN or MISSING when one of its values is."""
        pairs = zip(self.alphabets, columns, strict=True)
        parts = [
            Coded(indices, alphabet.codes(values)[: len(values) + bool(missing)])
            for alphabet, (values, indices, missing) in pairs
        ]
        if len(parts) == 1:
            return parts[0]
        codes = [part.rows.take(part.where) for part in parts]
        worst = np.minimum.reduce(codes)
        flat = np.zeros(len(worst), dtype=np.int64)
        for alphabet, code in zip(self.alphabets, codes, strict=True):
            flat = flat * len(alphabet.labels) + np.maximum(code, 0)
        found = np.where(worst < 0, worst, self.rows.take(flat)).astype(np.int32)
        least = min(0, int(worst.min(initial=0)))
        return Coded(found - np.int32(least), np.arange(least, len(self.rows), dtype=np.int32))


@dataclass(frozen=True)
class Outcomes:
    """The columns that a mechanism's outcomes become: for each column its values and, by outcome, which of them."""

    alphabets: tuple[Alphabet, ...]
    places: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, labels: Sequence[Hashable], columns: int, null_as: Hashable = None) -> "Outcomes":
        """Return the decoding of these labels; outcomes of another shape than the secrets fill the first column."""
        parts = components(labels, columns)
        alphabets = tuple(Alphabet(tuple(dict.fromkeys(part[k] for part in parts)), null_as) for k in range(columns))
        places = tuple(
            np.array([alphabet.places[part[k]] for part in parts], dtype=np.int16)
            for k, alphabet in enumerate(alphabets)
        )
        return cls(alphabets, places)

    def fields(self, given: Sequence[Any]) -> list[Any]:
        """Return the Arrow fields of the released columns, marked `DRAWN`, for the fields they replace."""
        pa = require("pyarrow", "tables")
        out = []
        for alphabet, field in zip(self.alphabets, given, strict=True):
            kind = alphabet.arrow_values(field.type).type
            coded = pa.dictionary(pa.int16(), kind) if _is_text(kind) else kind
            out.append(pa.field(field.name, coded, metadata=DRAWN))
        return out

    def arrays(self, codes: np.ndarray, fields: Sequence[Any]) -> list[Any]:
        """Return the released columns of outcome positions, of the types that `fields` gives."""
        pa = require("pyarrow", "tables")
        out = []
        for alphabet, places, field in zip(self.alphabets, self.places, fields, strict=True):
            indices = places.take(codes) if len(self.places) > 1 else codes.view(np.int16)
            values = alphabet.arrow_values(field.type)
            null = [i for i, label in enumerate(alphabet.labels) if label == alphabet.null_as and label is not None]
            picked = of_numbers(indices, indices == null[0] if null else None)
            dictionary = pa.DictionaryArray.from_arrays(
                picked, values.fill_null("") if values.null_count and _is_text(values.type) else values
            )
            out.append(dictionary if pa.types.is_dictionary(field.type) else values.take(picked))
        return out


def _is_text(kind: Any) -> bool:
    pa = require("pyarrow", "tables")
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)

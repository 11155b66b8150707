"""A protocol ready to run on a column of a table: from values to the columns of its reports, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.extras import require
from divulge.files.tables.buffers import as_numbers
from divulge.model.labels import text_of
from divulge.protocols.protocol import Protocol
from divulge.protocols.sets.ordered import Subsets
from divulge.protocols.sets.prefixes import Prefixes, written
from divulge.releasing.drawing.coding import DRAWN, MISSING, Coded, Encoded, Secrets
from divulge.releasing.estimating.contingency import merged_by, packed
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.reports.drawing import drawn
from divulge.releasing.reports.hashing import SEED, combined, digests, prefix_digests, words_of


@dataclass(frozen=True, eq=False)
class ReportPart:
    """A protocol and how the values of its column are coded: by a list, or, where there is none, by a digest.

    Of prefixes there is a digest for each length.
    """

    mechanism: FrequencyOracle
    secrets: Secrets | None
    null_as: Any = None

    @classmethod
    def of(cls, mechanism: FrequencyOracle, null_as: Any) -> "ReportPart":
        """Return the protocol with the coding of its values."""
        protocol = mechanism.protocol
        listed = None if protocol.of_text else Secrets.of(protocol.values, 1, null_as)
        return cls(mechanism, listed, null_as)

    alphabets = ()
    """Reports are numbers, which every file gives back."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column it replaces."""
        return self.mechanism.columns

    def coded(self, columns: Mapping[str, Encoded]) -> Coded:
        """Return the value of each row as its position, or digest; negative where it has none."""
        encoded = _together([columns[name] for name in self.columns], self.null_as)
        if self.secrets is not None:
            return self.secrets.coded([encoded])
        values, where, missing = encoded
        found = self._digested([text_of(value) for value in values])
        if missing:
            null = self._digested([text_of("" if self.null_as is None else self.null_as)])
            found = np.concatenate([found, np.full_like(null, MISSING) if self.null_as is None else null])
        return Coded(where, found)

    def _digested(self, texts: Sequence[Any]) -> np.ndarray:
        """Return the digest of each text, or those of its prefixes: none is below 0 as int64."""
        return texts_coded(self.mechanism.protocol, texts, self.mechanism.key).view(np.int64)

    def drawn(self, codes: np.ndarray, rows: np.ndarray | None = None, threads: int | None = None) -> np.ndarray:
        """Return a fresh report for each row, shape (rows, columns of the report)."""
        own = codes if rows is None else rows.take(codes, axis=0)
        reports, seeds = drawn(self.mechanism.protocol, own, threads)
        return reports if reports.ndim > 1 else np.column_stack([reports, seeds.view(np.int64)])

    def fields(self, given: Sequence[Any], names: Sequence[str]) -> list[list[Any]]:
        """Return the Arrow fields of the reports, for the field they replace and its name in the output."""
        pa = require("pyarrow", "tables")
        kind = pa.string() if is_bits(self.mechanism.protocol) else pa.int64()
        own = [pa.field(one, kind, metadata=DRAWN) for one in report_columns(self.mechanism.protocol, names[0])]
        return [own, *([] for _ in names[1:])]

    def arrays(self, drawn: np.ndarray, fields: Sequence[Any]) -> list[list[Any]]:
        """Return the columns of the reports."""
        pa = require("pyarrow", "tables")
        bits = is_bits(self.mechanism.protocol)
        own = [_as_hex(drawn)] if bits else [pa.array(np.ascontiguousarray(part)) for part in drawn.T]
        return [own, *([] for _ in self.columns[1:])]


def _together(columns: Sequence[Encoded], null_as: Any) -> Encoded:
    """Return the combinations of several columns as one column of text; missing where one is that has no label."""
    if len(columns) == 1:
        return columns[0]
    sizes = [len(values) + 1 for values, _, _ in columns]
    first, where, _ = merged_by(packed([indices for _, indices, _ in columns], sizes), np.ones(len(columns[0][1])))
    places = [indices[first] for _, indices, _ in columns]
    there = np.arange(len(first))
    if null_as is None:
        there = there[np.all([place < size - 1 for place, size in zip(places, sizes, strict=True)], axis=0)]
    labels = [[*values, null_as] for values, _, _ in columns]
    texts = [combined([own[place[i]] for own, place in zip(labels, places, strict=True)]) for i in there.tolist()]
    order = np.full(len(first), len(texts), dtype=np.int32)
    order[there] = np.arange(len(there))
    found = order[where]
    return texts, found, int((found == len(texts)).sum())


def is_bits(protocol: Protocol) -> bool:
    """Say whether a report is a bit for each value."""
    return protocol.name.endswith("unary") or (isinstance(protocol.sets, Subsets) and protocol.sets.chosen > 1)


def report_columns(protocol: Protocol, name: str) -> list[str]:
    """Return the names of the columns that a report has: its own, of hashes three words of a seed, and a length.

    >>> report_columns(dv.protocols.local_hashing(None, 1.0), "url")
    ['url', 'url_seed_1', 'url_seed_2', 'url_seed_3']
    """
    seeds = [f"{name}_seed_{j + 1}" for j in range(min(SEED, words_of(protocol)))]
    return [name, *seeds, *([f"{name}_prefix"] if words_of(protocol) > SEED else [])]


def texts_coded(protocol: Protocol, texts: Sequence[Any], key: bytes) -> np.ndarray:
    """Return texts as digests under a key, uint64: one each, or of prefixes one for each length, shape (n, lengths).

    >>> texts_coded(dv.protocols.prefix_extension(1.0, 4), ["abc"], b"").shape
    (1, 3)
    """
    sets = protocol.sets
    if not isinstance(sets, Prefixes):
        return digests(texts, key)
    return prefix_digests([written(text, sets.lengths[-1]) for text in texts], sets.lengths, key)


def read_reports(protocol: Protocol, arrays: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return (reports, seeds) of the columns of a released table, as `Reports` has them."""
    if is_bits(protocol):
        reports = _of_hex(arrays[0], -(-protocol.size // 8))
        return reports, np.empty((len(reports), 0), dtype=np.uint64)
    whole = np.column_stack([_integers(array) for array in arrays])
    return whole[:, 0], np.ascontiguousarray(whole[:, 1:]).view(np.uint64)


def _integers(array: Any) -> np.ndarray:
    """Return a column as whole numbers, however a file holds them."""
    pa = require("pyarrow", "tables")
    if array.null_count:
        raise _foreign(f"none in {number_of(array.null_count, 'row')}")
    plain = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
    try:
        return as_numbers(plain.cast(pa.int64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _foreign("something else") from None


def _foreign(found: str) -> DivulgeError:
    return DivulgeError.of("released", "have a report in every row", "it", found,
                           "is this the table the receipt was written for?")  # fmt: skip


def _as_hex(reports: np.ndarray) -> Any:
    """Return rows of bytes as an Arrow array of hexadecimal text."""
    pa = require("pyarrow", "tables")
    rows, width = reports.shape
    ends = np.arange(rows + 1, dtype=np.int64) * (2 * width)
    kind = pa.large_string() if ends[-1] >= 1 << 31 else pa.string()
    offsets = ends if kind == pa.large_string() else ends.astype(np.int32)
    text = reports.tobytes().hex().encode()
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(offsets), pa.py_buffer(text)]).cast(pa.string())


def _of_hex(array: Any, width: int) -> np.ndarray:
    """Return the bytes of rows of hexadecimal text, shape (rows, width)."""
    pa = require("pyarrow", "tables")
    plain = array.cast(pa.string()) if pa.types.is_dictionary(array.type) else array
    if not (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        raise _foreign("something else")
    texts: list[Any] = plain.to_pylist()
    if any(text is None or len(text) != 2 * width for text in texts):
        raise _foreign("something else")
    try:
        return np.frombuffer(bytes.fromhex("".join(texts)), dtype=np.uint8).reshape(len(texts), width)
    except ValueError:
        raise _foreign("something else") from None

"""Reports, batch by batch, to how many of them support each value; and from these counts to frequencies."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, LabelError
from divulge.model.entries import open_share, whole_number
from divulge.model.labels import Labels, alphabet, is_default, key_of, labels_at
from divulge.protocols.protocol import Protocol
from divulge.protocols.sets import geometry
from divulge.protocols.sets.ordered import Subsets
from divulge.protocols.sets.prefixes import Prefixes
from divulge.protocols.sets.transformed import HadamardRows, Hyperplanes, Transformed
from divulge.releasing.estimating.estimate import Frequencies
from divulge.releasing.estimating.intervals import clopper_pearson
from divulge.releasing.reports.hashing import SEED, UNEVEN, buckets_of, supports, words_of
from divulge.releasing.reports.part import is_bits, texts_coded

MOST_COUNTED = 1 << 28
"""Counts that are kept at a time: 2 gigabytes, and as much again while they are transformed."""

UNPACKED = 1 << 12
"""Reports of bits that are unpacked at a time."""

Progress = Callable[[int, int], object]


class Decoder:
    """Counts the reports that support values, of batches that are added; of these values, or of all of the protocol."""

    def __init__(self, protocol: Protocol, values: Sequence[Hashable] | None = None, key: bytes = b"") -> None:
        self.protocol, self.reports = protocol, 0
        _require_candidates(protocol, values)
        self.names: Labels = protocol.values if values is None else alphabet(values, None, "values")
        if not len(self.names):
            raise DivulgeError.of("values", "have at least one candidate", "they", "none")
        counted = len(self.names) if protocol.hashed else protocol.size
        counted = counted if _by_value(protocol) else outcomes(protocol)
        if not counted <= MOST_COUNTED:
            raise DivulgeError.of(
                "protocol", f"have at most {MOST_COUNTED:,} values or reports to be counted", "their number",
                f"{counted:,}", "local_hashing counts candidates alone.",
            )  # fmt: skip
        self._at = positions(protocol, values, key)
        self._found = np.zeros(counted, dtype=np.int64)

    @property
    def size(self) -> int:
        """How many counts it keeps."""
        return len(self._found)

    def add(self, reports: np.ndarray, seeds: np.ndarray, progress: Progress = lambda done, of: None) -> None:
        """Count reports; those that are none of the protocol are refused."""
        refuse_foreign(self.protocol, reports, seeds)
        self.reports += len(reports)
        if self.protocol.hashed:
            at = self._at.astype(np.uint64)
            self._found += supports(seeds, reports, at, outcomes(self.protocol), progress)
        elif is_bits(self.protocol):
            for start in range(0, len(reports), UNPACKED):
                part = reports[start : start + UNPACKED].astype(np.uint8)
                self._found += np.unpackbits(part, axis=1, count=self.protocol.size).sum(axis=0, dtype=np.int64)
                progress(min(start + UNPACKED, len(reports)), len(reports))
        else:
            self._found += np.bincount(reports, minlength=len(self._found))
            progress(len(reports), len(reports))

    def support(self) -> np.ndarray:
        """Return how many reports raise each value, int64: by transform, by counting or by hashing."""
        found, sets = self._found, self.protocol.sets
        if self.protocol.hashed:
            return found
        if isinstance(sets, Transformed):
            summed, off = sets.seen(found)
            if not off < 0.5:
                raise DivulgeError.of(
                    "reports", "be few enough to be counted exactly", "their number", f"{self.reports:,}"
                )
            found = np.rint(summed).astype(np.int64)
        return found[self._at]

    def frequencies(self, top: Any = None, confidence: float = 0.95, simultaneous: bool = True,
                    families: int = 1, squares: int | None = None, **more: Any) -> Frequencies:  # fmt: skip
        """Return how frequent the values were among the senders; see `Reports.frequencies`."""
        level, top = checked(confidence, top, self.reports)
        counts, n, names = self.support(), self.reports, self.names
        risk = (1 - level) / (len(names) * families if simultaneous else 1)
        if top is not None:
            chosen = np.argsort(-counts, kind="stable")[:top]
            names, counts = labels_at(names, chosen), counts[chosen]
        shares, low, high = shares_of(self.protocol, counts, n, risk, squares)
        return Frequencies(
            tuple(names), shares, low, high, n, level, simultaneous, "inversion", condition(self.protocol), **more
        )


def checked(confidence: Any, top: Any, reports: int) -> tuple[float, int | None]:
    """Return the confidence and how many values are told; refuse what is none, and no reports."""
    if not reports:
        raise DivulgeError.of("reports", "have at least one", "they", "none")
    return open_share(confidence, "confidence"), None if top is None else whole_number(top, "top")


def condition(protocol: Protocol) -> float:
    """Return by how much estimates magnify chance, 1 / (p* - q*)."""
    return float(1 / (protocol.p_star - protocol.q_star))


def shares_of(
    protocol: Protocol, counts: np.ndarray, n: int, risk: float, squares: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (estimated shares, lower bounds, upper bounds) of values that so many of n reports support.

    Each interval misses with probability at most risk. Where k rows of a person show one report, and the sum of k^2 is
    at most `squares`, a share of rows is a sum of independent terms in [0, k/n], which Hoeffding bounds.
    """
    p, q = float(protocol.p_star), float(protocol.q_star)
    different, where = np.unique(counts, return_inverse=True)
    if squares is None:
        low, high = clopper_pearson(different, np.full(len(different), n), risk)
    else:
        off = math.sqrt(math.log(2 / risk) * squares / 2) / n
        low, high = different / n - off, different / n + off
    uneven = UNEVEN * protocol.hashed
    low, high = ((end - q + side * uneven) / (p - q) for end, side in ((low, -1), (high, 1)))
    return (counts / n - q) / (p - q), np.clip(low, 0, 1)[where], np.clip(high, 0, 1)[where]


def _by_value(protocol: Protocol) -> bool:
    return protocol.hashed or is_bits(protocol)


def outcomes(protocol: Protocol) -> int:
    """Return how many reports there are, but for seeds: values, rows, hyperplanes or buckets."""
    return protocol.q.denominator if protocol.hashed else protocol.sets.count() or 0


def _require_candidates(protocol: Protocol, values: Sequence[Hashable] | None) -> None:
    if values is None and protocol.of_text:
        raise DivulgeError.of("values", "be given for reports of text", "they", "not",
                              "estimates are asked for candidates: values=[...] (--values FILE).")  # fmt: skip


def positions(protocol: Protocol, values: Sequence[Hashable] | None, key: bytes) -> np.ndarray:
    """Return values as the protocol codes them: positions in its list, or digests of text."""
    _require_candidates(protocol, values)
    if values is None:
        return np.arange(protocol.size, dtype=np.int64)
    return codes_of(protocol, alphabet(values, None, "values"), key)


def codes_of(protocol: Protocol, values: Sequence[Hashable], key: bytes) -> np.ndarray:
    """Return values as positions in the list of a protocol, or as digests of their text; no value is named."""
    different: dict[Hashable, int] = {}
    where = np.array([different.setdefault(value, len(different)) for value in values], dtype=np.int64)
    if protocol.of_text:
        return texts_coded(protocol, list(different), key)[where] if different else np.empty(0, dtype=np.uint64)
    if is_default(protocol.values):
        places: dict[Hashable, int] = {x: x for x in different if isinstance(x, int) and 0 <= x < protocol.size}
        found = np.array([places.get(value, -1) for value in different], dtype=np.int64)[where]
    else:
        known = {key_of(label): i for i, label in enumerate(protocol.values)}
        found = np.array([known.get(key_of(value), -1) for value in different], dtype=np.int64)[where]
    unknown = int((found < 0).sum())
    if unknown:
        raise LabelError.of("values", "be values of the protocol", "the number of others", f"{unknown:,}",
                            "local_hashing(None, epsilon) takes any text.")  # fmt: skip
    return found


def supporting(protocol: Protocol, reports: np.ndarray, seeds: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return whether each report supports the value of the same row, bool."""
    sets = protocol.sets
    if isinstance(sets, Prefixes):
        level = np.searchsorted(sets.lengths, seeds[:, SEED].astype(np.int64))
        codes = codes[np.arange(len(reports)), level]
    if protocol.hashed:
        return buckets_of(seeds, codes.astype(np.uint64), outcomes(protocol)) == reports
    if is_bits(protocol):
        rows = np.arange(len(reports))
        return (reports[rows, codes >> 3] >> (7 - (codes & 7)).astype(np.uint8)) & 1 == 1
    if isinstance(sets, HadamardRows):
        return np.bitwise_count(reports & (codes + 1)) % 2 == 0
    if isinstance(sets, Hyperplanes):
        s, t = sets.field, sets.dimension
        total = np.zeros(len(reports), dtype=np.int64)
        for x, u in zip(geometry.vectors(s, t, codes).T, geometry.vectors(s, t, reports).T, strict=True):
            total = (total + x * u) % s
        return total == 0
    return reports == codes


def refuse_foreign(protocol: Protocol, reports: np.ndarray, seeds: np.ndarray) -> None:
    """Refuse reports that are none of the protocol: of another alphabet or length, without seeds, or with too many."""
    bits, sets = is_bits(protocol), protocol.sets
    width = -(-protocol.size // 8) if bits else 0
    shape = (len(reports), width) if bits else (len(reports),)
    kinds = reports.shape == shape and reports.dtype.kind in "iu" and seeds.shape == (len(reports), words_of(protocol))
    if not kinds:
        raise DivulgeError.of("reports", f"be those of {protocol.name}", "their shape", f"{reports.shape}")
    if bits:
        tail = 8 * width - protocol.size  # bits that stand for no value
        outside = (reports[:, -1] & ((1 << tail) - 1)).astype(bool) if len(reports) else np.zeros(0, dtype=bool)
        if isinstance(sets, Subsets) and len(reports):
            outside |= np.bitwise_count(reports.astype(np.uint8)).sum(axis=1, dtype=np.int64) != sets.chosen
        wrong = int(outside.sum())
    else:
        outside = (reports < 0) | (reports >= outcomes(protocol))
        if isinstance(sets, Prefixes):
            outside |= ~np.isin(seeds[:, SEED], np.array(sets.lengths, dtype=np.uint64))
        wrong = int(outside.sum())
    if wrong:
        raise DivulgeError.of("reports", f"be outcomes of {protocol.name}", "the number of others", f"{wrong:,}",
                              "they are forged, or of another protocol.")  # fmt: skip

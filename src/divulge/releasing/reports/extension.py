"""Frequent texts without a list, from reports of prefixes: the frequent ones of one length are extended to the next.

Wang, Li, Jha, "Locally differentially private heavy hitter identification", 2018. Which texts are tested is decided by
reports of shorter prefixes; each is tested by reports of other people, who told of the whole text. So a text that
nobody has is taken for one with the risk that is said, divided among all that are tested.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.extras import require
from divulge.model.labels import Labels, alphabet
from divulge.protocols.protocol import Protocol
from divulge.protocols.sets.prefixes import END, Prefixes, children, ended, read, written
from divulge.releasing.estimating.estimate import Frequencies
from divulge.releasing.estimating.intervals import of_sample
from divulge.releasing.reports import decoding
from divulge.releasing.reports.hashing import SEED, digests_of_bytes, supports

MOST_REPORTS = 1 << 26
"""Reports that are kept until all are there: 2 gigabytes."""

SURVIVING = 64
"""So many prefixes that nobody has are extended at each length, on average: their number stays as it is, where a test
that lets fewer pass loses texts that are frequent. A heuristic; no promise depends on it."""

MOST_PARENTS = 1024
"""Prefixes that are extended, the most frequent first: twice the frequent ones that the best of 10^7 reports show."""

MOST_CANDIDATES = 1 << 21
"""Prefixes that are looked at together: with a hundred thousand reports of their length some minutes of work."""


@dataclass(frozen=True, eq=False)
class _ByLength:
    """Reports in the order of the lengths of their prefixes."""

    reports: np.ndarray
    seeds: np.ndarray
    edges: tuple[int, ...]
    """Where the reports of each length begin, and at last their number."""

    def support(self, codes: Sequence[bytes], key: bytes, buckets: int, first: int, after: int) -> np.ndarray:
        """Return how many reports, from one length to before another, are the bucket of each prefix."""
        part = slice(self.edges[first], self.edges[after])
        at = digests_of_bytes(codes, key)
        return supports(self.seeds[part], self.reports[part], at, buckets, lambda done, of: None)


class PrefixDecoder:
    """Keeps reports of prefixes; estimates the shares of candidates, or finds the frequent texts."""

    def __init__(self, protocol: Protocol, values: Sequence[Hashable] | None = None, key: bytes = b"") -> None:
        sets: Any = protocol.sets
        self.protocol, self.reports, self._key = protocol, 0, key
        self._lengths: tuple[int, ...] = sets.lengths
        self.names: Labels | None = None if values is None else alphabet(values, None, "values")
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    @property
    def size(self) -> int:
        """How many words it keeps."""
        return self.reports * (SEED + 1)

    def add(self, reports: np.ndarray, seeds: np.ndarray, progress: decoding.Progress = lambda done, of: None) -> None:
        """Keep reports; those that are none of the protocol are refused."""
        decoding.refuse_foreign(self.protocol, reports, seeds)
        self.reports += len(reports)
        if self.reports > MOST_REPORTS:
            raise DivulgeError.of(
                "reports", f"be at most {MOST_REPORTS:,} where frequent texts are looked for", "their number", "larger",
                "reports of a random part of the people tell the same with less certainty.",
            )  # fmt: skip
        levels = np.searchsorted(self._lengths, seeds[:, SEED].astype(np.int64))
        self._parts.append((reports.astype(np.int32), seeds[:, :SEED], levels.astype(np.int16)))
        progress(len(reports), len(reports))

    def _sorted(self) -> _ByLength:
        reports, seeds, levels = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        order = np.argsort(levels, kind="stable")
        edges = np.searchsorted(levels[order], np.arange(len(self._lengths) + 1))
        return _ByLength(reports[order].astype(np.int64), np.ascontiguousarray(seeds[order]), tuple(edges.tolist()))

    def support(self) -> np.ndarray:
        """Return how many reports raise each value that is asked for, by its prefix of their length, int64."""
        ordered, buckets = self._sorted(), decoding.outcomes(self.protocol)
        found = np.zeros(len(self._asked()), dtype=np.int64)
        for j, length in enumerate(self._lengths):
            found += ordered.support([code[:length] for code in self._asked()], self._key, buckets, j, j + 1)
        return found

    def _asked(self) -> list[bytes]:
        if self.names is None:
            raise DivulgeError.of("values", "be given where supports are asked for", "they", "not")
        return [written(name, self._lengths[-1]) for name in self.names]

    def frequencies(self, top: Any = None, confidence: float = 0.95, simultaneous: bool = True,
                    families: int = 1, squares: int | None = None, **more: Any) -> Frequencies:  # fmt: skip
        """Return how frequent the values that are asked for were, or the texts that are found; see `Reports`."""
        level, top = decoding.checked(confidence, top, self.reports)
        if squares is not None:
            raise DivulgeError.of("released", "have one row a person, for prefixes", "it", "of people with several")
        risk = (1 - level) / families
        if self.names is None:
            if not simultaneous:
                raise DivulgeError.of("simultaneous", "be left as it is where texts are looked for", "it", "False",
                                      "what is found would be true with no stated confidence.")  # fmt: skip
            names, shares, low, high, notes = self._frequent(risk)
        else:
            names, shares, low, high, notes = self._estimated(self.names, risk, simultaneous)
        order = np.argsort(-shares, kind="stable") if self.names is None or top is not None else np.arange(len(shares))
        order = order[:top]
        return Frequencies(
            tuple(names[i] for i in order.tolist()), shares[order], low[order], high[order], self.reports, level,
            simultaneous, "inversion", decoding.condition(self.protocol), notes=notes, **more,
        )  # fmt: skip

    def _estimated(self, names: Labels, risk: float, simultaneous: bool) -> tuple[Any, ...]:
        """Return estimates of candidates, each from the reports that tell of the whole text."""
        codes = self._asked()
        cut = sum(not code.endswith(END) for code in codes)
        if cut:
            raise DivulgeError.of("values", f"have fewer than {self._lengths[-1]} bytes, of which reports tell",
                                  "the number of longer ones", f"{cut:,}")  # fmt: skip
        ordered = self._sorted()
        first = np.searchsorted(self._lengths, [len(code) for code in codes])
        out = np.empty((3, len(codes)))
        for j in np.unique(first).tolist():
            mine = np.flatnonzero(first == j)
            each = risk / 2 / (len(codes) if simultaneous else 1)
            out[:, mine] = self._bounded(ordered, [codes[i] for i in mine.tolist()], j, each, risk / 2)
        return names, *out, ()

    def _bounded(self, ordered: _ByLength, codes: Sequence[bytes], j: int, each: float, risk: float) -> np.ndarray:
        """Return (shares, lower, upper) of whole texts, by reports of the j-th length and longer ones, shape (3, n)."""
        n = ordered.edges[-1] - ordered.edges[j]
        if not n:
            return np.array([[0.0], [0.0], [1.0]]).repeat(len(codes), axis=1)
        counts = ordered.support(codes, self._key, decoding.outcomes(self.protocol), j, len(self._lengths))
        shares, low, high = decoding.shares_of(self.protocol, counts, n, each)
        if n < self.reports:
            low, high = of_sample(low, high, n, risk)
        return np.stack([shares, low, high])

    def _frequent(self, risk: float) -> tuple[Any, ...]:
        """Return the texts that somebody has with the stated confidence, and what to know of those that are missed.

        Half of the risk is that of reports, alike for each length in which texts end; half that of who reports which.
        """
        ordered, names, parts, tested = self._sorted(), list[str](), [np.empty((3, 0))], 1
        for codes, j in self._candidates(ordered):
            each = risk / 2 / len(self._lengths) / len(codes)
            found = self._bounded(ordered, codes, j, each, risk / 2)
            there = np.flatnonzero(found[1] > 0)
            texts = (read(codes[i]) for i in there.tolist())
            names += [text if whole else f"{text}…" for text, whole in texts]
            parts.append(found[:, there])
            tested = len(codes)
        missed = self._missed(ordered, risk / 2 / len(self._lengths) / tested)
        said = (
            f"texts were looked for by prefixes of {number_of(len(self._lengths), 'length')}: one of "
            f"{self._lengths[-1]} bytes must be in about {100 * missed:.2g}% of the rows to be found, a shorter one in "
            "fewer"
        )
        return names, *np.concatenate(parts, axis=1), (said,)

    def _missed(self, ordered: _ByLength, risk: float) -> float:
        """Return about which share a text has that the last test finds every other time."""
        n = max(1, ordered.edges[-1] - ordered.edges[-2])
        p, q = float(self.protocol.p_star), float(self.protocol.q_star)
        return min(1.0, _quantile(risk / 2) * (q * (1 - q) / n) ** 0.5 / (p - q))

    def _candidates(self, ordered: _ByLength) -> Iterator[tuple[list[bytes], int]]:
        """Yield texts to be tested, by which length of prefix all of each is told, as reports of shorter ones say."""
        parents = [b""]
        for j, length in enumerate(self._lengths):
            reached = _extended(parents, length, self._lengths[-1])
            last = j == len(self._lengths) - 1
            growing = [code for code in reached if not (last or ended(code))]
            whole = [code for code in reached if last or ended(code)]
            if whole:
                yield whole, j
            if last or not growing:
                return
            parents = self._passing(ordered, growing, j)

    def _passing(self, ordered: _ByLength, codes: list[bytes], j: int) -> list[bytes]:
        """Return the prefixes that are frequent among the reports of their length, the most frequent first."""
        n, q = ordered.edges[j + 1] - ordered.edges[j], float(self.protocol.q_star)
        counts = ordered.support(codes, self._key, decoding.outcomes(self.protocol), j, j + 1)
        least = n * q + _quantile(min(0.5, SURVIVING / len(codes))) * (n * q * (1 - q)) ** 0.5
        order = np.argsort(-counts, kind="stable")[:MOST_PARENTS]
        return [codes[i] for i in order.tolist() if counts[i] > least]


def _quantile(risk: float) -> float:
    """Return what a standard normal number exceeds with this risk."""
    return -float(require("scipy.special", "science").ndtri(risk))


def _extended(parents: Sequence[bytes], length: int, most: int) -> list[bytes]:
    """Return the prefixes of a length that begin with one of some, and whole texts that are shorter."""
    found = list(parents)
    while any(len(one) < length and not ended(one) for one in found):
        longer: list[bytes] = []
        for one in found:
            longer += [one] if ended(one) or len(one) >= length else children(one, most)
            if len(longer) > MOST_CANDIDATES:
                break
        found = longer
    return found


def decoder_of(protocol: Protocol, values: Sequence[Hashable] | None, key: bytes) -> decoding.Decoder | PrefixDecoder:
    """Return what decodes reports of a protocol, batch by batch."""
    made = PrefixDecoder if isinstance(protocol.sets, Prefixes) else decoding.Decoder
    return made(protocol, values, key)

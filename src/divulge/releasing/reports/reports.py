"""Reports of a protocol, and the frequencies behind them."""

import secrets
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, LabelError
from divulge.model.entries import scalar
from divulge.model.labels import alphabet, is_default, key_of, labels_at
from divulge.model.record import Record
from divulge.model.shown import Shown
from divulge.model.tables import column_values
from divulge.protocols.protocol import Protocol
from divulge.protocols.sets.transformed import Transformed
from divulge.releasing.estimating.estimate import Frequencies
from divulge.releasing.estimating.intervals import clopper_pearson
from divulge.releasing.reports.drawing import drawn
from divulge.releasing.reports.hashing import digests, supports

KEY = 16
"""Bytes of the public key under which text is hashed."""

UNEVEN = 2.0**-31
"""By how much the chance of a bucket may differ from 1/g: 2^32 hashes are divided among g buckets."""

Progress = Callable[[int, int], object]


@dataclass(frozen=True, eq=False, repr=False)
class Reports(Record, Shown):
    """What senders report through a protocol, one report a row; all that leaves their devices.

    Attributes
    ----------
    protocol : Protocol
    reports : int64 array of shape (n,)
        Values, rows of Hadamard's matrix, hyperplanes or buckets; of unary encoding bits, packed, of shape (n, K/8).
    seeds : uint64 array of shape (n, 3)
        Of local hashing, the hash of each report; else of shape (n, 0).
    key : bytes
        Public, under which text is hashed.

    Examples
    --------
    >>> from divulge import protocols
    >>> reports = protocols.hadamard(["a", "b", "c"], 1.0).report(["a"] * 500 + ["b"] * 500)
    >>> len(reports), reports.frequencies().values
    (1000, ('a', 'b', 'c'))
    """

    protocol: Protocol
    reports: np.ndarray
    seeds: np.ndarray
    key: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_foreign()

    def __len__(self) -> int:
        return len(self.reports)

    def __repr__(self) -> str:
        return f"{len(self):,} reports of {self.protocol!r}"

    def _refuse_foreign(self) -> None:
        """Refuse reports that are none of the protocol: of another alphabet, without seeds, or with too many."""
        protocol, reports = self.protocol, self.reports
        unary, hashing = protocol.name.endswith("unary"), protocol.name == "local-hashing"
        width = -(-protocol.size // 8)
        shape = (len(reports), width) if unary else (len(reports),)
        kinds = (
            reports.shape == shape and reports.dtype.kind in "iu" and self.seeds.shape == (len(reports), 3 * hashing)
        )
        if not kinds:
            raise DivulgeError.of("reports", f"be those of {protocol.name}", "their shape", f"{reports.shape}")
        if unary:
            tail = 8 * width - protocol.size  # bits that stand for no value
            wrong = int((reports[:, -1] & ((1 << tail) - 1)).astype(bool).sum()) if len(reports) else 0
        else:
            wrong = int(((reports < 0) | (reports >= self._outcomes)).sum())
        if wrong:
            raise DivulgeError.of("reports", f"be outcomes of {protocol.name}", "the number of others", f"{wrong:,}",
                                  "they are forged, or of another protocol.")  # fmt: skip

    @property
    def _outcomes(self) -> int:
        if self.protocol.name == "local-hashing":
            return self.protocol.q.denominator
        return self.protocol.sets.count() or 0

    def support(
        self, values: Sequence[Hashable] | None = None, progress: Progress = lambda done, of: None
    ) -> np.ndarray:
        """Return how many reports raise each value (of these values), int64: by transform, by counting or by hashing.

        Examples
        --------
        >>> from divulge import protocols
        >>> int(protocols.randomized_response(["a", "b"], 1.0).report(["a"] * 9).support().sum())
        9
        """
        protocol, sets = self.protocol, self.protocol.sets
        at = self._positions(values)
        if protocol.name == "local-hashing":
            return supports(self.seeds, self.reports, at.astype(np.uint64), self._outcomes, progress)
        if protocol.name.endswith("unary"):
            found = np.zeros(sets.size, dtype=np.int64)
            for start in range(0, len(self), 1 << 12):
                part = np.unpackbits(self.reports[start : start + (1 << 12)].astype(np.uint8), axis=1, count=sets.size)
                found += part.sum(axis=0, dtype=np.int64)
                progress(min(start + (1 << 12), len(self)), len(self))
            return found[at]
        counts = np.bincount(self.reports, minlength=self._outcomes)
        if isinstance(sets, Transformed):
            found, off = sets.seen(counts)
            if not off < 0.5:
                raise DivulgeError.of(
                    "reports", "be few enough to be counted exactly", "their number", f"{len(self):,}"
                )
            counts = np.rint(found).astype(np.int64)
        progress(len(self), len(self))
        return counts[at]

    def _positions(self, values: Sequence[Hashable] | None) -> np.ndarray:
        """Return the values as the protocol codes them: positions in its list, or digests of text."""
        if values is None:
            if self.protocol.of_text:
                raise DivulgeError.of("values", "be given for reports of text", "they", "not",
                                      "estimates are asked for candidates: values=[...].")  # fmt: skip
            return np.arange(self.protocol.size, dtype=np.int64)
        return self.protocol.codes(alphabet(values, None, "values"), self.key)

    def frequencies(
        self,
        values: Sequence[Hashable] | None = None,
        *,
        top: Any = None,
        confidence: float = 0.95,
        simultaneous: bool = True,
        progress: Progress = lambda done, of: None,
    ) -> Frequencies:
        """Return how frequent values were among the senders, with intervals that hold for any number of reports.

        (c/n - q*) / (p* - q*) for c supporting reports of n. c is a sum of n independent draws with probabilities p*
        and q*, whose tails are lighter than those of a binomial of the same mean (Hoeffding, 1956), so Clopper and
        Pearson's bounds on the mean probability hold; q* of a hash counts with what buckets are uneven by.

        Parameters
        ----------
        values : sequence of labels, optional
            Candidates; all values of the protocol when not given. Needed for text.
        top : int, optional
            Only the most frequent ones; the intervals are simultaneous over all that were looked at.
        confidence : float in (0, 1)
        simultaneous : bool
        progress : function of (reports done, reports in all)

        Returns
        -------
        Frequencies

        Raises
        ------
        DivulgeError
            For candidates that repeat, values that are none of the protocol, and no reports.

        References
        ----------
        Hoeffding, "On the distribution of the number of successes in independent trials", 1956.

        Examples
        --------
        >>> from divulge import protocols
        >>> reports = protocols.local_hashing(None, 2.0).report(["x.org"] * 4000)
        >>> found = reports.frequencies(["x.org", "y.org"], confidence=1 - 1e-9)
        >>> bool(found.lower[0] > 0.5 > found.upper[1])
        True
        """
        level = scalar(confidence, "confidence")
        if not 0 < level < 1:
            raise DivulgeError.of("confidence", "be between 0 and 1", "it", str(confidence))
        if not len(self):
            raise DivulgeError.of("reports", "have at least one", "they", "none")
        if top is not None and not (isinstance(top, int) and top >= 1):
            raise DivulgeError.of("top", "be a whole number of at least 1", "it", repr(top))
        counts, n = self.support(values, progress), len(self)
        p, q = float(self.protocol.p_star), float(self.protocol.q_star)
        names = alphabet(values, None, "values") if values is not None else self.protocol.values
        risk = (1 - level) / (len(names) if simultaneous else 1)
        if top is not None:
            chosen = np.argsort(-counts, kind="stable")[:top]
            names, counts = labels_at(names, chosen), counts[chosen]
        different, where = np.unique(counts, return_inverse=True)
        low, high = clopper_pearson(different, np.full(len(different), n), risk)
        off = UNEVEN if self.protocol.name == "local-hashing" else 0.0
        low, high = ((end - q + side * off) / (p - q) for end, side in ((low, -1), (high, 1)))
        return Frequencies(
            tuple(names), (counts / n - q) / (p - q), np.clip(low, 0, 1)[where], np.clip(high, 0, 1)[where], n, level,
            simultaneous, "inversion", 1 / (p - q),
        )  # fmt: skip

    def table(self, name: str = "report") -> Any:
        """Return the reports as a pyarrow table: the report, and of local hashing the words of its seed.

        Examples
        --------
        >>> from divulge import protocols
        >>> protocols.local_hashing(None, 1.0).report(["a"]).table("url").column_names
        ['url', 'url_seed_1', 'url_seed_2', 'url_seed_3']
        """
        import pyarrow as pa

        whole = pa.array(self.reports) if self.reports.ndim == 1 else pa.array([row.tobytes() for row in self.reports])
        seeds = {f"{name}_seed_{j + 1}": pa.array(self.seeds[:, j]) for j in range(self.seeds.shape[1])}
        return pa.table({name: whole, **seeds})


def report(protocol: Protocol, values: Any, key: Any = None) -> Reports:
    """Return a fresh report for each value; see `Protocol.report`."""
    if key is not None and not (isinstance(key, bytes) and len(key) == KEY):
        raise DivulgeError.of("key", f"have {KEY} bytes", "it", f"a {type(key).__name__} of another length")
    key = (secrets.token_bytes(KEY) if key is None else key) if protocol.of_text else b""
    coded = protocol.codes(column_values(values, "values"), key)
    if not len(coded):
        raise DivulgeError.of("values", "have at least one", "they", "none")
    reports, seeds = drawn(protocol, coded)
    return Reports(protocol, reports, seeds, key)


def codes_of(protocol: Protocol, values: Sequence[Hashable], key: bytes) -> np.ndarray:
    """Return values as positions in the list of a protocol, or as digests of their text; no value is named."""
    different: dict[Hashable, int] = {}
    where = np.array([different.setdefault(value, len(different)) for value in values], dtype=np.int64)
    if protocol.of_text:
        return digests(different, key)[where] if different else np.empty(0, dtype=np.uint64)
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

"""Reports of a protocol, and the frequencies behind them."""

import secrets
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.record import Record
from divulge.model.shown import Shown
from divulge.model.tables import column_values
from divulge.protocols.protocol import Protocol
from divulge.releasing.estimating.estimate import Frequencies
from divulge.releasing.reports.decoding import Decoder, Progress, codes_of, refuse_foreign
from divulge.releasing.reports.drawing import drawn
from divulge.releasing.reports.extension import PrefixDecoder, decoder_of
from divulge.releasing.reports.hashing import KEY
from divulge.releasing.reports.part import report_columns


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
    >>> reports = dv.protocols.hadamard(["a", "b", "c"], 1.0).report(["a"] * 500 + ["b"] * 500)
    >>> len(reports), reports.frequencies().values
    (1000, ('a', 'b', 'c'))
    """

    protocol: Protocol
    reports: np.ndarray
    seeds: np.ndarray
    key: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_foreign(self.protocol, self.reports, self.seeds)

    def __len__(self) -> int:
        return len(self.reports)

    def __repr__(self) -> str:
        return f"{len(self):,} reports of {self.protocol!r}"

    def support(
        self, values: Sequence[Hashable] | None = None, progress: Progress = lambda done, of: None
    ) -> np.ndarray:
        """Return how many reports raise each value (of these values), int64: by transform, by counting or by hashing.

        Examples
        --------
        >>> int(dv.protocols.randomized_response(["a", "b"], 1.0).report(["a"] * 9).support().sum())
        9
        """
        return self._decoder(values, progress).support()

    def _decoder(self, values: Sequence[Hashable] | None, progress: Progress) -> Decoder | PrefixDecoder:
        found = decoder_of(self.protocol, values, self.key)
        found.add(self.reports, self.seeds, progress)
        return found

    def frequencies(
        self,
        values: Sequence[Hashable] | None = None,
        *,
        top: int | None = None,
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
        >>> reports = dv.protocols.local_hashing(None, 2.0).report(["x.org"] * 4000)
        >>> found = reports.frequencies(["x.org", "y.org"], confidence=1 - 1e-12)
        >>> bool(found.lower[0] > 0.5 > found.upper[1])
        True
        """
        return self._decoder(values, progress).frequencies(top, confidence, simultaneous)

    def table(self, name: str = "report") -> Any:
        """Return the reports as a pyarrow table: the report, and of local hashing the words of its seed.

        Examples
        --------
        >>> dv.protocols.local_hashing(None, 1.0).report(["a"]).table("url").column_names
        ['url', 'url_seed_1', 'url_seed_2', 'url_seed_3']
        """
        import pyarrow as pa

        names = report_columns(self.protocol, name)
        wide = self.reports.ndim > 1
        whole = pa.array([row.tobytes() for row in self.reports]) if wide else pa.array(self.reports)
        seeds = (pa.array(np.ascontiguousarray(self.seeds[:, j])) for j in range(self.seeds.shape[1]))
        return pa.table(dict(zip(names, (whole, *seeds), strict=True)))


def report(protocol: Protocol, values: Any, key: Any = None) -> Reports:
    """Return a fresh report for each value; see `Protocol.report`."""
    if key is not None and not (isinstance(key, bytes) and len(key) == KEY):
        raise DivulgeError.of("key", f"have {KEY} bytes", "it", f"a {type(key).__name__} of another length")
    key = (secrets.token_bytes(KEY) if key is None else key) if protocol.of_text else b""
    coded = codes_of(protocol, column_values(values, "values"), key)
    if not len(coded):
        raise DivulgeError.of("values", "have at least one", "they", "none")
    reports, seeds = drawn(protocol, coded)
    return Reports(protocol, reports, seeds, key)

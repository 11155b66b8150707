"""A quantity with one value per outcome, together with how often each outcome occurs: a random variable."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.entries import frozen, scalar
from divulge.model.labels import Labels, position
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled, promised, raised
from divulge.model.tables import polars_frame
from divulge.ties import first_largest
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Pointwise(Tabled, Record):
    """One value per outcome y, as a random variable under q_y; outcomes with q_y = 0 are absent.

    Attributes
    ----------
    name : str
        What is measured, such as "pml".
    values : float64 array of shape (M,)
        The value at each outcome, in `unit`; may be +inf.
    probabilities : float64 array of shape (M,)
        q_y, sums to 1.
    outcomes : labels of the M outcomes
    secrets : labels of the secret that attains the value at each outcome, or None
    unit : "nats", "bits" or "" (a ratio)

    Examples
    --------
    >>> cost = Pointwise("pmc", np.array([0.5, 2.0]), np.array([0.75, 0.25]), ("low", "high"))
    >>> cost.max(), cost.argmax(), cost.mean(), cost.tail(1.0)
    (2.0, 'high', 0.875, 0.25)
    >>> cost.quantile(0.75), cost["high"], cost.epsilon(0.25), cost.pairs().tolist()
    (0.5, 2.0, 0.5, [[0.5, 0.25], [2.0, 0.0]])
    """

    name: str
    values: np.ndarray
    probabilities: np.ndarray
    outcomes: Labels
    secrets: tuple[Hashable, ...] | None = None
    unit: str = "nats"

    def __post_init__(self) -> None:
        held = vars(self)
        for name in ("values", "probabilities"):
            held[name] = frozen(np.asarray(held[name], dtype=np.float64).view())

    def max(self) -> float:
        """Return the largest value: the guarantee that holds whatever is seen.

        Examples
        --------
        >>> joint = dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
        >>> round(dv.pml(joint).max(), 9)  # log 3/2
        0.405465108
        """
        return self.values.item(self.values.argmax())  # four times as fast as `max`

    def min(self) -> float:
        """Return the smallest value over outcomes that occur.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> leak.min()
        0.25
        """
        return float(self.values.min())

    def argmax(self) -> Hashable:
        """Return the outcome with the largest value, the first of those that tie up to rounding.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> leak.argmax()
        'rare'
        """
        return self.outcomes[first_largest(self.values)]

    def mean(self) -> float:
        """Return the expected value under q.

        That of pml can rise without limit when outcomes are merged, as its tails can; `maximal_leakage` is never below
        it and never rises. That of pmc never rises.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> round(leak.mean(), 12)  # 0.2 + 0.8 / 4
        0.4
        """
        return self.moment(1)

    def moment(self, order: float) -> float:
        """Return E[value ** order]; +inf when an outcome that occurs has an infinite value.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> round(leak.moment(2), 12)  # 0.2 + 0.8 / 16
        0.25
        """
        order = scalar(order, "order")
        if np.isinf(self.values).any() and order > 0:
            return math.inf
        with np.errstate(over="ignore"):
            return float(math.fsum((self.probabilities * self.values**order).tolist()))

    def variance(self) -> float:
        """Return the variance under q; +inf when an outcome that occurs has an infinite value.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> round(leak.variance(), 12)  # 0.25 - 0.4^2
        0.09
        """
        if np.isinf(self.values).any():
            return math.inf
        with np.errstate(over="ignore"):
            return float(self.probabilities @ (self.values - self.mean()) ** 2)

    def tail(self, threshold: float) -> float:
        """Return P(value > threshold) under q.

        This is the raw tail: merging rare outcomes afterwards can raise it. `tail_envelope` cannot be raised.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> leak.tail(0.5)
        0.2
        """
        threshold = scalar(threshold, "threshold")
        return float(min(1.0, math.fsum(self.probabilities[self.values > threshold].tolist())))

    def cdf(self, threshold: float) -> float:
        """Return P(value <= threshold) under q.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> leak.cdf(0.5)
        0.8
        """
        threshold = scalar(threshold, "threshold")
        return float(min(1.0, math.fsum(self.probabilities[self.values <= threshold].tolist())))

    def pairs(self) -> np.ndarray:
        """Return (epsilon, delta) for each value, rising, shape (K, 2): value <= epsilon but with probability delta.

        The raw tail: `tail_envelope` is what survives post-processing.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> leak.pairs().tolist()
        [[0.25, 0.2], [1.0, 0.0]]
        """
        taken, at = np.unique(self.values, return_inverse=True)
        masses = np.bincount(at, self.probabilities, minlength=len(taken))
        above = np.append(np.cumsum(masses[:0:-1])[::-1], 0.0)
        return np.column_stack([taken, np.minimum(above, 1.0)])

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon >= 0 with P(value > epsilon) <= delta, for delta in [0, 1]: the twin of `tail`.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> leak.epsilon(0.2), leak.epsilon(0.1)
        (0.25, 1.0)
        """
        delta = scalar(delta, "delta")
        if not 0 <= delta <= 1:
            raise DivulgeError.of("delta", "be in [0, 1]", "it", str(delta))
        taken, above = self.pairs().T
        enough = [0.0, *taken[above <= delta * (1 + 1e-12)].tolist()]
        return next(v for v in enough if self.tail(v) <= delta)

    def quantile(self, p: float) -> float:
        """Return the smallest v with P(value <= v) >= p, for p in [0, 1].

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> leak.quantile(0.8), leak.quantile(0.9)
        (0.25, 1.0)
        """
        p = scalar(p, "p")
        if not 0 <= p <= 1:
            raise DivulgeError.of("p", "be in [0, 1]", "it", str(p))
        order = np.argsort(self.values, kind="stable")
        reached = np.cumsum(self.probabilities[order])
        i = int(np.searchsorted(reached, p - 1e-15 * len(order), side="left"))
        return float(self.values[order[min(i, len(order) - 1)]])

    def to(self, unit: Unit) -> "Pointwise":
        """Return the same variable in `unit`.

        Examples
        --------
        >>> dv.pml(dv.Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]])).to("bits").max()
        1.0
        """
        if self.unit == unit:
            return self
        if not self.unit:
            raise DivulgeError.of("unit", "be asked of a logarithmic quantity", self.name, "a ratio")
        values = self.values * (nats_per(self.unit) / nats_per(unit))
        return Pointwise(self.name, values, self.probabilities, self.outcomes, self.secrets, unit)

    def to_dict(self) -> dict[Hashable, float]:
        """Return {outcome: value}.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> leak.to_dict()
        {'rare': 1.0, 'usual': 0.25}
        """
        return dict(zip(self.outcomes, self.values.tolist(), strict=True))

    @overload
    def to_frame(self, library: Literal["pandas"] = "pandas") -> "pandas.DataFrame": ...

    @overload
    def to_frame(self, library: Literal["polars"]) -> "polars.DataFrame": ...

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> "pandas.DataFrame | polars.DataFrame":
        """Return a data frame with one row an outcome: probability, value, and the secret that attains it.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> list(leak.to_frame().columns)
        ['probability', 'pml', 'secret']
        """
        columns: dict[str, Any] = {"probability": self.probabilities, self.name: self.values}
        if self.secrets is not None:
            columns["secret"] = list(self.secrets)
        if library == "polars":
            return polars_frame("outcome", self.outcomes, columns)
        pd = require("pandas", "frames")
        return pd.DataFrame(columns, index=pd.Index(list(self.outcomes), name="outcome", tupleize_cols=False))

    def plot(self, ax: "Axes | None" = None, kind: Literal["bars", "tail"] | None = None, **options: Any) -> "Axes":
        """Draw one bar an outcome, or P(value > t) over t, on matplotlib axes and return them (extra: plot).

        Options such as `label` and `color` are those of bars, or of a line; `plot_pointwise` lays several tails over
        one another. Bars are as long as the value; one that is infinite is said to be, in words.

        Parameters
        ----------
        ax : matplotlib axes, or None for new ones
        kind : "bars" or "tail", optional
            Bars when not given, and the tail where there are more outcomes than can be read beside each other.

        Examples
        --------
        >>> leak = dv.results.Pointwise("pml", [1.0, 0.25], [0.2, 0.8], ["rare", "usual"], ["x", "x"], "nats")
        >>> [label.get_text() for label in leak.plot(color="gray").get_yticklabels()]
        ['rare', 'usual']
        >>> leak.plot(kind="tail").get_xlabel()
        't [nats]'
        """
        from divulge.measures.pictures.plots import MOST_BARS, bars, pointwise

        kind = kind or ("bars" if len(self) <= MOST_BARS else "tail")
        if kind == "bars":
            return bars(self, ax, **options)
        if kind != "tail":
            raise DivulgeError.of("kind", 'be "bars" or "tail"', "it", repr(kind)[:60])
        return pointwise(self, ax, **options)

    def __getitem__(self, outcome: Hashable) -> float:
        return float(self.values[position(self.outcomes, outcome, "outcome")])

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[float]:
        return iter(self.values.tolist())

    def _shown(self) -> tuple[str, Table]:
        unit = f" [{self.unit}]" if self.unit else ""
        head = f"{self.name}{unit}: max {promised(self.max())}, mean {self.mean():.6g}"
        columns = np.column_stack([self.probabilities, raised(self.values)])
        return head, (self.outcomes, ["probability", self.name], columns)

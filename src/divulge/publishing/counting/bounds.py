"""Bounds of a column that nobody knows beforehand, chosen with noise: a histogram over powers of ten and their parts.

Every number falls into one of 73 bins between 0, 1, 2, 5, 10, 20, ... steps and their negatives. Each count of a bin
gets noise, and the bounds reach to the outermost bins whose noisy counts are more than noise alone: an empty one passes
with a chance of at most a hundredth, all of them together.

References
----------
Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson, "Differentially Private SQL with Bounded User Contribution",
arXiv:1909.01917, section 5.1.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.publishing.counting.bounding import bounded
from divulge.publishing.counting.engines import number_of_steps, whole
from divulge.publishing.counting.tables import Table
from divulge.publishing.noising.calibration import calibrated
from divulge.publishing.noising.families import Gaussian, Laplace, Noise, above
from divulge.publishing.noising.leakage import loss_of
from divulge.publishing.noising.noise import each, half_width, noisy
from divulge.publishing.queries import Query, Unit
from divulge.publishing.statistics import AUTO, Numeric, Quantiles

_SHARE = Fraction(1, 4)
"""Of what is promised, for the bounds of all columns together: a heuristic. A bin of 1,000 / epsilon rows is seen with
a tenth already, one of 60 / epsilon with a quarter, and the noise on a mean grows by a third."""

_SURELY = 0.99
"""Probability that no empty bin passes. A bound that is too wide by ten is worse than one that cuts few numbers."""

_POSITIVE = tuple(digit * 10**power for power in range(12) for digit in (1, 2, 5))
EDGES = (*(-edge for edge in reversed(_POSITIVE)), 0, *_POSITIVE)
"""Ends of bins in steps: from one to the next is a factor of at most 2.5, up to 5e11, as far as sums can go."""

_ZERO = EDGES.index(0)


@dataclass(frozen=True)
class Bounds:
    """Bounds of a column in whole steps, chosen by noise on a histogram; `ends` is None before they are drawn.

    column, step : the column, and what is a step of it
    fill : what a missing number counts as, in steps, or None
    query, noise : the histogram, and the noise on its counts
    epsilon, delta : the most that log-likelihoods of its outcome change with one unit, which may be inf; and 0
    """

    column: str
    step: Fraction
    fill: int | None
    query: Query
    noise: Noise
    epsilon: float
    delta: float = 0.0
    ends: tuple[int, int] | None = None

    @property
    def width(self) -> int:
        """How far the noise on a count goes, on all counts together."""
        return half_width(self.noise, each(_SURELY, len(EDGES)))

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds as a statistic has them; before they are drawn such as nobody would ask for."""
        low, high = self.ends or _NOWHERE
        return low * self.step, high * self.step


_NOWHERE = (-1_048_573, 1_048_571)
"""Stands for bounds before there are any, where what is promised is computed, which depends on none."""


def to_choose(
    statistics: Sequence[Any], asked: Sequence[Any], unit: Unit, prior: Any, noise: str | None,
    fill: Mapping[str, Fraction],
) -> tuple[Bounds, ...]:  # fmt: skip
    """Return what has to be drawn to choose bounds, with the noise for it; nothing where all bounds are given."""
    wanted = [one for one in statistics if isinstance(one, Numeric) and one.bounds == AUTO]
    if not wanted:
        return ()
    columns = {(one.column, one.step or Fraction(1)) for one in wanted}
    others = [one.column for one in statistics if isinstance(one, Numeric) and one not in wanted
              and not isinstance(one, Quantiles)]  # fmt: skip
    if len(columns) > len(dict(columns)) or set(dict(columns)) & set(others):
        raise DivulgeError.of("bounds", "be auto, with one step, in all statistics of a column", "one", "another")
    if len(asked) > 1 and any(one.kind == "adp" for one in asked):
        raise DivulgeError.of("guarantee", "be the only one where it is adp and bounds are auto", "their number",
                              str(len(asked)))  # fmt: skip
    query = Query("bins", (), (len(EDGES),), low=0)
    law = _share_of(query, asked, unit, prior, noise, len(columns))
    loss = loss_of(query, law, unit)
    spent = above(loss) if isinstance(loss, Fraction) else loss
    return tuple(
        Bounds(column, step, int(fill[column] / step) if column in fill else None, replace(query, column=column), law,
               spent)
        for column, step in sorted(columns)
    )  # fmt: skip


def _share_of(
    query: Query, asked: Sequence[Any], unit: Unit, prior: Any, noise: str | None, columns: int
) -> Noise:  # fmt: skip
    """Return the noise that takes a part of the total that this query alone could have."""
    norms, share = query.changes(unit), _SHARE / columns
    if asked[0].kind == "adp":
        return Laplace.spending(Fraction(asked[0].values()["epsilon"]) * share, *norms)
    unbounded = all(one.kind in ("zcdp", "rdp") for one in asked)
    family = noise or (Gaussian if unbounded else Laplace).name
    (alone,) = calibrated([query], unit, asked, prior, family, "equal").noises
    return alone.spending(alone.spent(Fraction(alone.scale), *norms) * share, *norms)


def drawn_bounds(table: Table, one: Bounds, unit: Unit) -> Bounds:
    """Return the bounds with their ends, drawn now."""
    return replace(one, ends=ends_of(noisy(histogram(table, one, unit), one.noise), one.width))


def ends_of(counts: np.ndarray, width: int) -> tuple[int, int]:
    """Return the ends of the outermost bins with more than `width`; those of the fullest one where none has.

    >>> counts = np.zeros(len(EDGES))
    >>> counts[[EDGES.index(50), EDGES.index(100)]] = 80, 30  # from 21 to 50, and from 51 to 100
    >>> ends_of(counts, 20), ends_of(counts, 40)
    ((20, 100), (20, 50))
    """
    passed = np.flatnonzero(counts > width)
    first, last = (int(passed[0]), int(passed[-1])) if passed.size else (int(counts.argmax()),) * 2
    low = EDGES[first] if first <= _ZERO else EDGES[first - 1]
    high = EDGES[last] if last >= _ZERO else EDGES[last + 1]
    return low, max(high, low + 1)


def histogram(table: Table, one: Bounds, unit: Unit) -> np.ndarray:
    """Return how many numbers fall into each bin; of a person as many rows count as in the statistics."""
    number = number_of_steps(one.column, one.step, (EDGES[0], EDGES[-1]), one.fill)
    upto = [f"v < {edge}" for edge in EDGES[1 : _ZERO + 1]] + [f"v <= {edge}" for edge in EDGES[_ZERO:-1]]
    ladder = " ".join(f"WHEN {test} THEN {i}" for i, test in enumerate(upto))
    alone = replace(unit, at_most=unit.rows, groups=None, per_group=None, by=())
    inner = f"SELECT {whole(table, number)} AS v FROM {bounded(table, [one.column], alone)}"
    sql = (
        f"SELECT CASE {ladder} ELSE {len(EDGES) - 1} END AS bin, count(*) AS n FROM ({inner}) AS whole "
        "WHERE v IS NOT NULL GROUP BY 1"
    )
    read = [one.column, *([unit.person] if unit.person else [])]
    found = table.ask(sql, read)
    counts = np.zeros(len(EDGES), dtype=np.int64)
    counts[np.array(found.column("bin").to_pylist(), dtype=np.int64)] = found.column("n").to_pylist()
    return counts

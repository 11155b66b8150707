"""Privacy against utility: the least guarantee that reaches a utility, and the whole curve with named mechanisms."""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge import clock
from divulge.designing.alternatives import Alternative
from divulge.designing.design import design
from divulge.designing.effort import Effort
from divulge.designing.result import Design
from divulge.designing.tradeoff.comparison import best_of
from divulge.designing.tradeoff.families import FAMILIES
from divulge.designing.utility import Utility
from divulge.errors import DivulgeError
from divulge.extras import drawable, legend, require
from divulge.guarantees.catalog import kind_named
from divulge.guarantees.guarantee import Guarantee, GuaranteeLike
from divulge.guarantees.parameters import PARAMETERS
from divulge.model.accepted import PriorLike
from divulge.model.record import Record
from divulge.model.shown import Shown, Table, Tabled, lowered, promised, raised, reached

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_ROUNDS = 80
"""Designs for one end of the bracket at most: the third of them that halve reach 1e-8; others end it far sooner."""
_EACH = 0.25
"""The share of the time left that one design may take: those at levels that decide nothing take far less."""
_LEAST_SHARE = 0.05
"""The share of the time limit with which no further design is begun."""
_WIDE = 1e-6
"""The share of a level from which on what lies between the two is worth a word."""
_LARGEST = {True: 24.0, False: math.exp(24)}
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#555555", "#A50026", "#1A1AA6")
_MARKS = "os^vDPX*<>"


@dataclass(frozen=True, eq=False, repr=False)
class LeastEpsilon(Record, Shown):
    """The least level of a kind of guarantee that reaches a utility, between two numbers that are both proved.

    Attributes
    ----------
    epsilon : float
        `design` keeps the guarantee at this level and reaches the utility.
    lower : float
        At this level, or below it, no mechanism reaches the utility: the bound of a design there is short of it.
    design : Design

    Examples
    --------
    >>> found = least_epsilon(["1/2", "1/2"], dv.LDP, at_least=0.75, utility="hamming")
    >>> round(found.epsilon, 6), found.lower <= found.epsilon  # log 3
    (1.098612, True)
    """

    epsilon: float
    lower: float
    design: Design

    @property
    def undecided(self) -> float:
        """How far the two levels are apart: bounds reach the utility between them, and no design that was found does.

        More than a tolerance where utility hardly grows with the level, so that rounding decides.
        """
        return self.epsilon - self.lower

    def __repr__(self) -> str:
        levels = f"reached at {promised(self.epsilon, 9)}, not at {reached(self.lower, 9)}"
        wide = self.undecided > _WIDE * self.epsilon
        return f"{levels}{'; between them nothing is decided' if wide else ''}\n{self.design!r}"


def _level(kind: type[Guarantee]) -> str:
    bounded = kind.bounded()
    if len(bounded) != 1 or kind.index:
        raise DivulgeError.of("kind", "have one parameter, as PML or LDP", kind.__name__, f"one of {len(bounded)}")
    return bounded[0]


def _guarantee(kind: type[Guarantee], value: float) -> Guarantee:
    parameters: dict[str, Any] = {_level(kind): value}
    return kind(**parameters)


def least_epsilon(
    prior: PriorLike,
    kind: type[Guarantee] | str,
    *others: GuaranteeLike,
    at_least: float | None = None,
    at_most: float | None = None,
    utility: Utility = "mutual-information",
    tolerance: float = 1e-7,
    time_limit: float | None = None,
    **options: Any,
) -> LeastEpsilon:
    """Return the least level of `kind` at which a mechanism reaches a utility: the twin of `design`.

    Parameters
    ----------
    prior : Prior, or what converts to one
    kind : class of guarantee with one parameter, or its name: PML, LDP, PMC, MaximalLeakage, "bayes-capacity", ...
    *others : guarantees that are kept as well
    at_least : float
        The utility wanted (nats where it is a logarithm).
    at_most : float
        For a distortion: the distortion wanted.
    utility : as in `design`
    tolerance : float
        The search ends when the bounds are this close, as a share of the upper one.
    time_limit : float, optional
        Seconds of all designs together, after which it ends too, with the levels that are proved by then.
    **options : as in `design`

    Returns
    -------
    LeastEpsilon
        `epsilon` is reached by its `design`, and nothing reaches the utility at `lower`; both are proved.

    Raises
    ------
    DivulgeError
        When no mechanism has that utility at any level up to 24 nats (a ratio of e^24), or when the time is over before
        one is found.

    Examples
    --------
    >>> found = least_epsilon(["1/2", "1/4", "1/4"], dv.PML, at_least=0.1)
    >>> best = dv.design(["1/2", "1/4", "1/4"], dv.PML(found.epsilon))
    >>> best.utility >= 0.1, round(found.epsilon, 6), found.epsilon - found.lower < 1e-7
    (True, 0.245405, True)
    """
    kind = kind_named(kind)
    name = _level(kind)
    least = float(PARAMETERS[name].low)
    if (at_least is None) == (at_most is None):
        raise DivulgeError.of("at_least", "be given, or at_most for a distortion", "the two", "both or neither given")
    sign, wanted = (1.0, at_least) if at_least is not None else (-1.0, at_most)
    if not (isinstance(wanted, Real) and math.isfinite(wanted)):
        raise DivulgeError.of("at_least", "be a finite number", "it", repr(wanted))

    effort = Effort(deadline=clock.deadline(time_limit))
    least_left = 0.0 if time_limit is None else _LEAST_SHARE * time_limit

    def at(value: float) -> Design:
        left = None if time_limit is None else _EACH * effort.left
        return design(prior, _guarantee(kind, value), *others, utility=utility, time_limit=left, **options)

    low, high = least, least + _LARGEST[PARAMETERS[name].logarithmic]
    best, nothing = at(high), at(low)
    if best.minimized != (sign < 0):
        right = "at_most" if best.minimized else "at_least"
        raise DivulgeError.of("at_least", f"be given as {right}", best.objective, "the other way round")
    if not sign * best.utility >= sign * wanted:
        if sign * best.bound >= sign * wanted and time_limit is not None:
            raise clock.out_of_time("for a mechanism that has this utility", "allow it longer, or ask for less.")
        raise DivulgeError.of("at_least", "be a utility that some mechanism has", best.side, f"{best.bound:.9g}")
    if sign * nothing.utility >= sign * wanted:
        return LeastEpsilon(low, low, nothing)
    tried = {low: nothing, high: best}
    for value in (lambda d: sign * d.utility, lambda d: sign * d.bound):
        for step in range(_ROUNDS):
            low, high = _bracket(tried, value, sign * wanted)
            if high - low <= tolerance * high or effort.left <= least_left:
                break
            middle = _between(low, high, least, value(tried[low]), value(tried[high]), sign * wanted, step)
            tried[middle] = at(middle)
    reached = min(e for e, d in tried.items() if sign * d.utility >= sign * wanted)
    return LeastEpsilon(reached, _bracket(tried, lambda d: sign * d.bound, sign * wanted)[0], tried[reached])


def _bracket(tried: dict[float, Design], value: Callable[[Design], float], wanted: float) -> tuple[float, float]:
    """Return (the largest level below all that reach the wanted value, the smallest that reaches it)."""
    high = min(e for e, d in tried.items() if value(d) >= wanted)
    return max((e for e, d in tried.items() if e < high and value(d) < wanted), default=min(tried)), high


def _between(low: float, high: float, least: float, below: float, above: float, wanted: float, step: int) -> float:
    """Return where to try next: by turns the middle, and a little to each side of where a straight line crosses."""
    if high - low > 1 or step % 3 == 0:
        near = max(low - least, 1e-6)
        return (low + high) / 2 if high - least < 4 * near else least + math.sqrt(near * (high - least))
    share = (wanted - below) / (above - below) if above != below else 0.5
    nudge = 0.05 if step % 3 == 1 else -0.05
    return low + (high - low) * min(max(share * (1 + nudge), 0.001), 0.999)


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Tabled, Record):
    """What can be kept at each level of a guarantee, with a bound, and what named mechanisms keep there.

    Attributes
    ----------
    kind : class of guarantee
    epsilons : float array of the levels
    designs : tuple of Design
    named : {family: tuple of Alternative, one a level}
    late : tuple of families that were not tuned before the time limit was over

    Examples
    --------
    >>> curve = frontier(["1/2", "1/2"], dv.LDP, [0.0, 1.0], utility="hamming")
    >>> curve.utilities.round(6).tolist(), (curve.bounds >= curve.utilities).all().item()  # e^epsilon / (1 + e^epsilon)
    ([0.5, 0.731059], True)
    """

    kind: type[Guarantee]
    epsilons: np.ndarray
    designs: tuple[Design, ...]
    named: dict[str, tuple[Alternative, ...]]
    late: tuple[str, ...] = ()

    @property
    def utilities(self) -> np.ndarray:
        """Utility of the design at each level."""
        return np.array([d.utility for d in self.designs])

    @property
    def bounds(self) -> np.ndarray:
        """What no mechanism exceeds, at each level."""
        return np.array([d.bound for d in self.designs])

    def to_frame(self) -> "DataFrame":
        """Return a pandas DataFrame: levels down; utility, bound and the utility of each named family across.

        Examples
        --------
        >>> curve = dv.frontier(["1/2", "1/2"], dv.LDP, [1, 2], named=["randomized response"])
        >>> curve.to_frame().round(4).iloc[0].tolist()
        [0.1109, 0.1109, 0.1109]
        """
        return require("pandas", "frames").DataFrame(self._curves(), index=self.epsilons)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the curve, with named mechanisms as points at the level they are measured at; return the axes.

        Examples
        --------
        >>> dv.frontier(["1/2", "1/2"], dv.LDP, [1, 2], named=[]).plot().get_xlabel()
        'local differential privacy [nats]'
        """
        ax = drawable(ax)
        best: dict[str, Any] = {"label": "no mechanism is better", "color": "0.55", "ls": ":", "lw": 1.5}
        rising = np.argsort(self.epsilons)
        ax.step(self.epsilons[rising], self.bounds[rising], where="pre", **best)
        ax.plot(self.epsilons[rising], self.utilities[rising], "o-", color="black", lw=1.5, ms=3.5, label="design")
        for (name, rows), color, mark in zip(self.named.items(), itertools.cycle(_COLORS), itertools.cycle(_MARKS)):
            found = (one.measured(one.guarantees[0], row.channel) for one, row in zip(self.designs, rows, strict=True))
            levels = [float(getattr(guarantee, _level(self.kind))) for guarantee in found]
            ax.plot(levels, [row.utility for row in rows], mark, color=color, ms=5, alpha=0.85, label=name)
        first = self.designs[0]
        ax.set_xlabel(f"{self.kind.title}" + (" [nats]" if PARAMETERS[_level(self.kind)].logarithmic else ""))
        ax.set_ylabel(first.objective + (" [nats]" if first.logarithmic else ""))
        legend(ax)
        return ax

    def _curves(self) -> dict[str, np.ndarray]:
        curves = {"utility": self.utilities, "bound": self.bounds}
        return curves | {name: np.array([row.utility for row in rows]) for name, rows in self.named.items()}

    def _shown(self) -> tuple[str, Table]:
        curves, levels = self._curves(), [f"{self.kind.kind}={e:g}" for e in self.epsilons]
        head = f"Frontier of {self.designs[0].objective}"
        if self.late:
            head += f"; not tuned before the time limit was over: {', '.join(self.late)}"
        curves["bound"] = (lowered if self.designs[0].minimized else raised)(curves["bound"])
        return head, (levels, list(curves), np.column_stack(list(curves.values())))


def frontier(
    prior: PriorLike,
    kind: type[Guarantee] | str,
    epsilons: Iterable[float],
    *others: GuaranteeLike,
    utility: Utility = "mutual-information",
    named: Iterable[str] | None = None,
    time_limit: float | None = None,
    **options: Any,
) -> Frontier:
    """Return the most utility at each level of a kind of guarantee, beside named mechanisms under the same guarantee.

    Parameters
    ----------
    prior : Prior, or what converts to one
    kind : class of guarantee with one parameter, or its name
    epsilons : levels, in nats where they are logarithms
    *others : guarantees that are kept at every level as well
    utility : as in `design`
    named : names of families, all when not given: "randomized response", "geometric", "exponential",
        "subset selection", "unary encoding", "resample", "optimal disclosure", "watchdog", "subset merging"
    time_limit : float, optional
        Seconds of all designs and named mechanisms together: the designs share what three quarters of it leave, and
        named mechanisms that are not tuned in the rest are left out.
    **options : as in `design`

    Returns
    -------
    Frontier
        A Design for each level, and the named mechanisms beside it.

    Raises
    ------
    DivulgeError
        When `kind` has not one parameter, a level is none, or as for `design`.

    Examples
    --------
    >>> curve = frontier(["1/2", "1/4", "1/4"], dv.LDP, [0.5, 1, 2], utility="hamming", named=["randomized response"])
    >>> curve.utilities.round(4).tolist()
    [0.5, 0.5761, 0.787]
    """
    kind = kind_named(kind)
    _level(kind)
    try:
        levels = np.array([float(e) for e in epsilons])
    except (TypeError, ValueError):
        raise DivulgeError.of("epsilons", "be a sequence of numbers", "it", repr(epsilons)) from None
    if not len(levels):
        raise DivulgeError.of("epsilons", "hold at least one level", "it", "empty")
    names = tuple(FAMILIES) if named is None else tuple(named)
    for name in names:
        if name not in FAMILIES:
            raise DivulgeError.unknown("named", name, FAMILIES, "hold names among")
    effort = Effort(deadline=clock.deadline(time_limit))
    first, designs = effort.less(math.inf) if names else effort, list[Design]()
    for k, level in enumerate(levels.tolist()):
        share = None if time_limit is None else first.left / (len(levels) - k)
        guarantee = _guarantee(kind, level)
        designs.append(design(prior, guarantee, *others, utility=utility, time_limit=share, **options))
    known, late = dict[str, tuple[Alternative, ...]](), list[str]()
    for name in names:
        rows = tuple(row for one in designs if (row := best_of(one, name, effort)) is not None)
        if effort.late():  # perhaps before the best member was found
            late.append(name)
        elif len(rows) == len(designs):
            known[name] = rows
    return Frontier(kind, levels, tuple(designs), known, tuple(late))

"""How much of a promise is spent where releases are chosen on the way, each in the light of all answers before it.

The sum of a list holds for lists that are fixed beforehand. Of some measures the sum of what was really chosen may be
held against the bound as well (a filter): largest losses, zCDP, Renyi divergences of one order, squares of mu. For
(epsilon, delta) the releases are summed in zCDP, delta of those that have one apart (`aside`).
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from divulge.dp.accounting.composition import Composition, compose
from divulge.dp.accounting.promises import AdpRelease
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.loss.promised import PromisedLoss, RenyiCurve, epsilon_at
from divulge.dp.mechanisms import LARGEST
from divulge.dp.subjects import ReleaseLike, SubjectLike, counted, privacy_losses
from divulge.dp.variants.tradeoff import mu_bounds
from divulge.errors import DivulgeError
from divulge.late import late
from divulge.model.accepted import Claim
from divulge.model.entries import scalar
from divulge.model.shown import Shown
from divulge.roots import turn

_HALVINGS = 60
"""Halvings of a range of rho, after which its ends are neighboring doubles, or nearly."""

_NEVER = Fraction(10) ** 400
"""More than any bound."""

_UP = 1 + 1e-13
"""More than the relative rounding of a square or of a Renyi divergence."""


def _squared_mu(composed: Composition, goal: Any) -> Fraction | float:
    """Return the square of mu, as a fraction where it is that of Gaussian noise."""
    losses = [loss for turn in composed.directions for loss, _ in turn.parts]
    mus = [loss.mu for loss in losses if isinstance(loss, GaussianLoss)]
    if len(mus) == len(losses):
        return Fraction(max(mus)) ** 2
    sums = (math.fsum(n * mu_bounds(loss).upper ** 2 for loss, n in turn.parts) for turn in composed.directions)
    return max(sums) * _UP


COSTS: dict[str, Callable[[Composition, Any], Fraction | float]] = {
    "dp": lambda composed, _: composed.pure_epsilon,
    "ldp": lambda composed, _: composed.pure_epsilon,
    "zcdp": lambda composed, _: composed.zcdp,
    "rdp": lambda composed, goal: composed.renyi(float(goal.alpha)) * _UP,
    "gdp": _squared_mu,
    "adp": lambda composed, _: composed.zcdp,
}
"""Kind of goal -> what one release costs of it, where costs add."""


@dataclass(frozen=True, repr=False)
class Filter(Shown):
    """Releases that are chosen on the way, and the promise that they keep together, whichever were chosen.

    Attributes
    ----------
    goal : guarantee or text
        "dp=EPS", "zcdp=RHO", "rdp=ALPHA:EPS", "gdp=MU" or "adp=EPS:DELTA".
    aside : float
        Of the delta of an "adp" goal, the part that is for releases with a delta of their own.
    releases : tuple of (mechanism, count)

    References
    ----------
    Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294 (filters); Feldman, Zrnic, arXiv:2008.11193 (Renyi); Smith, Thakurta,
    arXiv:2210.17520 (Gaussian); Whitehouse, Ramdas, Rogers, Wu, arXiv:2203.05481 (approximate zCDP).

    Examples
    --------
    >>> spent = Filter("zcdp=0.5").then(dv.dp.GaussianMechanism(2.0))  # 1 / (2 sigma^2)
    >>> spent.spent, spent.fits((dv.dp.GaussianMechanism(2.0), 3)), spent.fits((dv.dp.GaussianMechanism(2.0), 4))
    (0.125, True, False)
    """

    goal: Claim | str
    aside: float = 0.0
    releases: tuple[tuple[SubjectLike, int], ...] = ()

    def __post_init__(self) -> None:
        goal = late("divulge.guarantees.catalog:as_guarantee")(self.goal, "goal")
        if goal.kind not in COSTS or float(getattr(goal, "xi", 0)) != 0:
            raise DivulgeError.of("goal", f"be of a kind with a filter ({', '.join(COSTS)})", "it", str(goal))
        object.__setattr__(self, "goal", goal)
        aside = scalar(self.aside, "aside")
        most = float(goal.delta) if goal.kind == "adp" else 0.0
        if not (0 <= aside < most or aside == 0):
            raise DivulgeError.of("aside", "be a part of the delta of an adp goal", "it", f"{aside:g}")
        if goal.kind == "adp" and most == 0:
            raise DivulgeError.of("goal", "have a delta, or be dp=EPS", "its delta", "0")

    @cached_property
    def bound(self) -> float:
        """What all releases may cost together: epsilon, rho, mu^2, or the rho that proves (epsilon, delta).

        Examples
        --------
        >>> Filter("gdp=2").bound, round(Filter("adp=1:1e-6").bound, 4)
        (4.0, 0.0244)
        """
        goal: Any = self.goal
        if goal.kind == "adp":
            return _rho_of(float(goal.epsilon), float(goal.delta) - self.aside)
        if goal.kind == "gdp":
            return float(goal.mu) ** 2
        return float(goal.rho if goal.kind == "zcdp" else goal.epsilon)

    @cached_property
    def _exactly(self) -> tuple[Fraction, Fraction]:
        """What was spent, and of delta."""
        costs = [(known_cost(self.goal, release), count) for release, count in self.releases]
        spent, delta = (sum((count * cost[i] for cost, count in costs), Fraction(0)) for i in (0, 1))
        return spent, delta

    @property
    def spent(self) -> float:
        """What the releases cost so far, rounded up, in the measure of `bound`.

        Examples
        --------
        >>> Filter("dp=1").then((dv.dp.LaplaceMechanism(4.0), 3)).spent
        0.75
        """
        return float(self._exactly[0]) * (1 if self._exactly[0] == float(self._exactly[0]) else _UP)

    def fits(self, *releases: ReleaseLike) -> bool:
        """Say whether the promise is kept with these releases, each alone or with how often, as well.

        Examples
        --------
        >>> Filter("dp=1").fits((dv.dp.LaplaceMechanism(4.0), 4)), Filter("dp=1").fits((dv.dp.LaplaceMechanism(4.0), 5))
        (True, False)
        """
        spent, delta = replace(self, releases=(*self.releases, *map(counted, releases)))._exactly
        goal: Any = self.goal
        most = Fraction(float(goal.mu)) ** 2 if goal.kind == "gdp" else Fraction(self.bound)
        return spent <= most and delta <= Fraction(self.aside)

    def then(self, *releases: ReleaseLike) -> "Filter":
        """Return the filter with more releases; refused where they do not fit, so that another may be chosen.

        Examples
        --------
        >>> Filter("dp=1").then(dv.dp.LaplaceMechanism(4.0)).then((dv.dp.LaplaceMechanism(4.0), 3))
        Filter for dp=1: 1 of 1 spent
        """
        if not self.fits(*releases):
            hint = "whatever was refused has told nothing, and a smaller one may be chosen in its place."
            where = f"{self.spent:.6g} of {self.bound:.6g} spent"
            raise DivulgeError.of(
                "releases", f"keep {self.goal}, also where they are chosen on the way", "it", where, hint
            )
        return replace(self, releases=(*self.releases, *map(counted, releases)))

    def __repr__(self) -> str:
        return f"Filter for {self.goal}: {self.spent:.6g} of {self.bound:.6g} spent"


def known_cost(goal: Any, release: Any) -> tuple[Fraction, Fraction]:
    """Return what one release costs, and of delta, of what was asked before without computing it again.

    >>> known_cost(Filter("dp=1").goal, dv.dp.LaplaceMechanism(4.0))
    (Fraction(1, 4), Fraction(0, 1))
    """
    return _cached(goal, release) if isinstance(release, Hashable) else _cost(goal, release)


@lru_cache(maxsize=1024)
def _cached(goal: Any, release: Any) -> tuple[Fraction, Fraction]:
    return _cost(goal, release)


def _cost(goal: Any, release: Any) -> tuple[Fraction, Fraction]:
    """Return what one release costs, and of delta; more than anybody has where there is no end."""
    losses = privacy_losses(release) if goal.kind == "adp" else ()
    gone = max((loss.infinite for loss in losses if not isinstance(loss, PromisedLoss)), default=0.0)
    if gone > 0:  # with probability 1 - delta it has a largest loss: approximate zCDP
        release = AdpRelease(min(max(0.0, *(loss.highest for loss in losses)), LARGEST))
    cost = COSTS[goal.kind](compose(release), goal)
    return (Fraction(cost), Fraction(gone)) if cost < math.inf else (_NEVER, Fraction(gone))


@lru_cache(maxsize=64)
def _rho_of(epsilon: float, delta: float) -> float:
    """Return the largest rho, from below, with which zCDP implies (epsilon, delta)."""

    def passes(rho: float) -> bool:
        return rho > 0 and float(epsilon_at(RenyiCurve(rho), np.array([math.log(delta)]))[0]) > epsilon

    return turn(passes, 0.0, epsilon, steps=_HALVINGS)[0]

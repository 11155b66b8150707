"""What a release tells of another variable that the secret is correlated with: the best mixture of all vertices."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from divulge.designing.linear.scores import given_secret
from divulge.designing.polytope.utilities import SubConvex
from divulge.model.accepted import ChannelLike
from divulge.model.labels import Labels
from divulge.model.record import Record

_CHUNK = 4096
"""Rows that are worked on at a time: 32 kB for each value of the other variable, so that a block stays in the cache."""


@dataclass(frozen=True, eq=False)
class About(Record):
    """The utility of a release about another variable W, of which the secret tells P(w | x): W - X - Y.

    Instead of X, the f-information about W counts: sum_y q_y sum_w P_w f(P(y | w) / q_y), for I(W; Y) with f = v log v.
    A linear score about W is a `Score` with `about`.

    Parameters
    ----------
    of : Channel, or what converts to one
        P(w | x), one row for each secret.
    utility : str or convex function of an array of lifts
        As in `design`.

    Raises
    ------
    DivulgeError
        By `design`: when a row is missing.

    Examples
    --------
    >>> parity = dv.Channel([[1, 0], [0, 1], [1, 0], [0, 1]], outcomes=["even", "odd"])
    >>> best = dv.design(dv.Prior.uniform(4), dv.LDP(1), utility=dv.About(parity))
    >>> told = dv.design(dv.Prior.uniform(2), dv.LDP(1))  # as much as could be told of a fair coin alone
    >>> abs(best.utility - told.utility) < 1e-12
    True
    """

    of: ChannelLike
    utility: str | Callable[..., Any] = "mutual-information"


@dataclass(frozen=True, eq=False)
class Informed(Record, SubConvex):
    """A sub-convex utility about W; `given` is P(w | x), shape (N, W)."""

    given: np.ndarray = field(kw_only=True)
    leveled: ClassVar[bool] = False

    @classmethod
    def of_table(cls, utility: SubConvex, about: Any, secrets: Labels) -> "Informed":
        """Return the utility about W, the rows of P(w | x) in the order of the secrets."""
        name = f"{utility.name} about another variable"
        given = given_secret(about, secrets)
        return cls(name, utility.f, utility.logarithmic, utility.terms, utility.rise, given=given)

    def seen_from(self, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (P(w) of shape (W,), P(x | w) of shape (N, W)), for the w that occur."""
        both = prior[:, None] * self.given
        mass = both.sum(axis=0)
        return mass[mass > 0], both[:, mass > 0] / mass[mass > 0]

    def merged(self, prior: np.ndarray, together: Sequence[np.ndarray]) -> "Informed":
        """Return the utility where secrets, given by their places, are one."""
        return replace(self, given=np.array([prior[own] @ self.given[own] / prior[own].sum() for own in together]))

    def of(self, prior: np.ndarray, channel: np.ndarray) -> float:
        """Return the utility of a float channel of shape (N, M)."""
        mass, back = self.seen_from(prior)
        return super().of(mass, back.T @ channel)

    def at(self, prior: np.ndarray, lifts: np.ndarray) -> np.ndarray:
        """Return sum_w P_w f(sum_x P(x | w) v_x) of each row of lifts, shape (n,)."""
        mass, back = self.seen_from(prior)
        return np.concatenate([super(Informed, self).at(mass, lifts[some] @ back) for some in _parts(len(lifts))])

    def doubt(self, mass: np.ndarray, lifts: np.ndarray, off: np.ndarray, least: np.ndarray, unit: float) -> np.ndarray:
        """Return how far mu(v) of each row of lifts may be off, shape (n,), for a unit of rounding."""
        told, back = self.seen_from(mass)
        each = ((lifts[some] @ back, off[some] @ back, least[some]) for some in _parts(len(lifts)))
        return np.concatenate([super(Informed, self).doubt(told, *one, unit) for one in each])

    def slopes(self, prior: np.ndarray, channel: np.ndarray) -> np.ndarray:
        """Return scores of the secrets whose mean touches the utility from below."""
        mass, back = self.seen_from(prior)
        seen = prior @ self.given > 0
        return self.given[:, seen] @ super().slopes(mass, back.T @ channel)


def _parts(size: int) -> list[slice]:
    """Return slices of so many rows that hold few enough at a time, at least one."""
    return [slice(start, start + _CHUNK) for start in range(0, max(size, 1), _CHUNK)]

"""What a release tells of another variable that the secret is correlated with: the best mixture of all vertices."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.designing.linear.scores import given_secret
from divulge.designing.polytope.utilities import Leveled, SubConvex
from divulge.model.labels import Labels
from divulge.model.record import Record

if TYPE_CHECKING:
    from divulge.designing.polytope.limits import Classes

_CHUNK = 4096


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
    >>> import divulge as dv
    >>> parity = dv.Channel([[1, 0], [0, 1], [1, 0], [0, 1]], outcomes=["even", "odd"])
    >>> best = dv.design(dv.Prior.uniform(4), dv.LDP(1), utility=dv.About(parity))
    >>> told = dv.design(dv.Prior.uniform(2), dv.LDP(1))  # as much as could be told of a fair coin alone
    >>> abs(best.utility - told.utility) < 1e-12
    True
    """

    of: Any
    utility: Any = "mutual-information"


@dataclass(frozen=True, eq=False)
class Informed(Record, SubConvex):
    """A sub-convex utility about W; `given` is P(w | x), shape (N, W)."""

    given: np.ndarray = field(kw_only=True)

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

    def of(self, prior: np.ndarray, channel: np.ndarray) -> float:
        """Return the utility of a float channel of shape (N, M)."""
        mass, back = self.seen_from(prior)
        return super().of(mass, back.T @ channel)

    def at(self, prior: np.ndarray, lifts: np.ndarray) -> np.ndarray:
        """Return sum_w P_w f(sum_x P(x | w) v_x) of each row of lifts, shape (n,)."""
        mass, back = self.seen_from(prior)
        starts = range(0, len(lifts), _CHUNK)
        return np.concatenate([super(Informed, self).at(mass, lifts[k : k + _CHUNK] @ back) for k in starts])

    def of_vertices(self, vertices: Leveled, classes: "Classes") -> np.ndarray:
        """Return mu(v) of each vertex, shape (n,)."""
        return self.at(classes.probability, vertices.lifts(classes))

    def doubt(self, vertices: Leveled, classes: "Classes", unit: float) -> np.ndarray:
        """Return how far mu(v) of each vertex may be off, shape (n,), for a unit of rounding."""
        mass, back = self.seen_from(classes.probability)
        lifts, off = vertices.lifts(classes), np.zeros((len(vertices), len(classes.size)))
        off[np.arange(len(off)), vertices.between] = vertices.loose(classes)
        parts = (slice(k, k + _CHUNK) for k in range(0, len(lifts), _CHUNK))
        seen = ((lifts[some] @ back, unit * off[some] @ back, vertices.low[some, None]) for some in parts)
        return np.concatenate([self.slack(*each, unit) @ mass for each in seen])

    def slopes(self, prior: np.ndarray, channel: np.ndarray) -> np.ndarray:
        """Return scores of the secrets whose mean touches the utility from below."""
        mass, back = self.seen_from(prior)
        seen = prior @ self.given > 0
        return self.given[:, seen] @ super().slopes(mass, back.T @ channel)

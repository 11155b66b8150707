"""The variance of estimates as a utility: how well frequencies of values are known from those of outcomes.

From the shares q of M outcomes in n rows, pi = q A with C A = I is unbiased, with
n Var(pi_x) = sum_y q_y A_yx^2 - P_x^2.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.measures.numeric.inverses import inverse_of
from divulge.measures.robust import PriorSet
from divulge.model.record import Record

_STEPS = 64
"""Frank-Wolfe steps at most: the bound of every step holds, and the least counts."""
_INVERSE = 1e-6
"""How far the channel times its inverse may be from the identity: beyond, there is no inverse to estimate with."""
_SURE = 1e-8
"""Where condition and rounding come to less than this, the inverse is one, a hundred times closer than asked for."""


@dataclass(frozen=True, eq=False)
class Estimation(Record):
    """n times the variance of estimated frequencies, summed over values, or of the worst of them; to be small.

    For fewer rows than all it is the variance per row: divide by n.
    """

    name: str
    worst: bool = False
    least: bool = True

    def of(self, prior: np.ndarray, channel: np.ndarray) -> float:
        """Return the variance under a prior, inf where the channel cannot be inverted.

        With more outcomes than values it is that of the weighted least squares at this prior, which is the least.
        """
        q = prior @ channel
        each = second_moments(q, channel) - prior**2
        return float(each.max()) if self.worst else math.fsum(each.tolist())

    def over(self, priors: PriorSet, channel: np.ndarray) -> tuple[float, np.ndarray]:
        """Return (an upper bound of the variance of a square channel over a set of priors, the worst prior known).

        The variance is concave in the prior: Frank and Wolfe's method ends at its largest value, and the last linear
        bound is above that.
        """
        try:
            squares = np.linalg.inv(channel) ** 2
        except np.linalg.LinAlgError:
            return math.inf, np.asarray(priors.least(np.zeros(len(channel))), dtype=np.float64)
        slopes = channel @ squares
        n = len(channel)
        columns = [slopes[:, x] for x in range(n)] if self.worst else [slopes.sum(axis=1)]
        tops = [self._most(priors, c, np.eye(n)[x] if self.worst else np.ones(n)) for x, c in enumerate(columns)]
        return max(tops, key=lambda found: found[0])

    @staticmethod
    def _most(priors: PriorSet, linear: np.ndarray, square: np.ndarray) -> tuple[float, np.ndarray]:
        """Return (an upper bound of linear . p - sum_x square_x p_x^2 over a set, a prior that is close to it)."""
        p = np.asarray(priors.least(-linear), dtype=np.float64)
        best, bound = p, math.inf
        for step in range(_STEPS):
            slope = linear - 2 * square * p
            far = np.asarray(priors.least(-slope), dtype=np.float64)
            bound = min(bound, float(slope @ far + square @ p**2))
            bend = float(square @ (far - p) ** 2)
            rise = float(slope @ (far - p))
            if rise <= 1e-12 * abs(bound):
                break
            p = p + min(1.0, rise / (2 * bend) if bend > 0 else 1.0) * (far - p)
            best = p if step else best
        return bound * (1 + 2.0**-40), best

    def gradient(self, prior: np.ndarray, channel: np.ndarray) -> np.ndarray:
        """Return the derivative of the summed variance by the entries of a square channel, shape (N, N)."""
        inverse = np.linalg.inv(channel)
        q = prior @ channel
        back = inverse @ inverse.T @ (q[:, None] * inverse)
        return np.outer(prior, (inverse**2).sum(axis=1)) - 2 * back.T

    def bound(self, prior: np.ndarray, chi_squared: float) -> float:
        """Return a lower bound for every channel, from an upper bound of its chi-squared information.

        With u = sqrt(P), the matrix D^(1/2) C D(1/q) C' D^(1/2) is u u' + T, where T has the trace chi_squared and is 0
        at u. The summed variance is tr(D T^-1), at least (sum of the roots of the eigenvalues of D beside u)^2 / tr T.
        Of m values that share a probability, which is an eigenvalue m - 1 times, one stands for all beside it.
        """
        n = len(prior)
        if n < 2 or not chi_squared > 0:
            return 0.0 if n < 2 else math.inf
        shares, many = np.unique(prior, return_counts=True)
        u = np.sqrt(shares * many)
        beside = np.eye(len(u)) - np.outer(u, u)
        apart = np.linalg.eigvalsh(beside @ (shares[:, None] * beside))[1:]
        roots = np.sqrt(np.maximum(np.concatenate([apart, np.repeat(shares, many - 1)]) - n * 2.0**-50, 0.0))
        least = float(roots.sum()) ** 2 / chi_squared * (1 - 2.0**-36)
        return least / n if self.worst else least


def second_moments(q: np.ndarray, channel: np.ndarray) -> np.ndarray:
    """Return sum_y q_y A_yx^2 for each x of the estimator A; inf where there is none."""
    n, m = channel.shape
    seen = q > 0
    left = channel if m == n else channel[:, seen] / q[seen]
    try:
        inverse = inverse_of(left if m == n else left @ channel[:, seen].T)
    except np.linalg.LinAlgError:
        return np.full(n, math.inf)
    if m != n:
        whole, inverse = inverse, np.zeros((m, n))
        inverse[seen] = (whole @ left).T
    sure = np.linalg.norm(channel) * np.linalg.norm(inverse) * n * 2.0**-52 < _SURE
    exact = sure or np.abs(channel @ inverse - np.eye(n)).max() < _INVERSE
    return q @ inverse**2 if exact else np.full(n, math.inf)


ESTIMATION: dict[str, Estimation] = {
    e.name: e for e in (Estimation("estimation"), Estimation("worst-estimation", worst=True))
}
"""Name -> utility: n times the summed or the largest variance of estimated frequencies."""


def as_estimation(utility: Any) -> Estimation | None:
    """Return the utility that is meant, None for any other."""
    if isinstance(utility, Estimation):
        return utility
    return ESTIMATION.get(utility) if isinstance(utility, str) else None

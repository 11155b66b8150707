"""f-DP: the trade-off between the two errors of telling P from Q, and the Gaussian mu that lies below it."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge import exact
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.loss.densities import DensityLoss
from divulge.dp.loss.lattice import LatticeLoss, lattice_loss
from divulge.dp.loss.numbers import WIDEST, Bracket, like, lower_hull, probabilities
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import privacy_losses
from divulge.dp.variants.worst import Worst, asked, worst_bracket
from divulge.extras import drawable, require
from divulge.model.record import Record
from divulge.model.shown import Shown

_POINTS = 20_001
_CELLS = 401
"""Points of a loss whose every tail is a search."""


@dataclass(frozen=True, eq=False)
class TradeOff(Record, Shown):
    """A convex curve through points (alpha, beta): the least error beta of missing Q among tests of level alpha.

    Attributes
    ----------
    alpha : float64 array, increasing from 0 to 1; probability under P of rejecting P
    beta : float64 array, decreasing; probability under Q of not rejecting P

    Examples
    --------
    >>> curve = TradeOff(np.array([0.0, 0.25, 1.0]), np.array([1.0, 0.25, 0.0]))
    >>> curve(0.125), curve(0.25)
    (0.625, 0.25)
    """

    alpha: np.ndarray
    beta: np.ndarray

    def __repr__(self) -> str:
        shown = ", ".join(f"{self(a):.4g} at {a:g}" for a in (0.01, 0.05, 0.1, 0.5))
        return f"TradeOff: the best test misses Q with probability {shown} (of rejecting P)"

    def __call__(self, alpha: Any) -> Any:
        """Return the least beta at level alpha, in [0, 1 - alpha]; linear between the points."""
        a = probabilities(alpha, "alpha")
        return like(np.interp(a, self.alpha, self.beta), a)

    def plot(self, ax: Any = None) -> Any:
        """Draw beta over alpha, beside 1 - alpha (nothing can be told), and return the axes (extra: plot).

        Examples
        --------
        >>> trade_off([["3/4", "1/4"], ["1/4", "3/4"]]).plot().get_xlabel()
        'P rejected when it is true'
        """
        ax = drawable(ax)
        ax.plot(self.alpha, self.beta, label="the best test")
        ax.plot([0, 1], [1, 0], linestyle=":", label="guessing: nothing can be told")
        ax.set_xlabel("P rejected when it is true")
        ax.set_ylabel("P not rejected when Q is true")
        ax.legend()
        return ax


def trade_off(subject: Any, neighbors: Any = None) -> TradeOff:
    """Return the largest convex f for which a mechanism is f-DP: the lower hull of the trade-offs of all pairs.

    Exact for channels and atoms. A continuous loss is enclosed from below, on the safe side, by the tangents at the
    tests of 20001 thresholds (up to about 1e-6 below the curve), of 401 for a `DistributionPair` with tails to
    search for (up to about 1e-5).

    Parameters
    ----------
    subject, neighbors : as in `privacy_losses`; or a Composition

    Returns
    -------
    TradeOff
        Points (alpha, beta), both in [0, 1], of a convex falling curve: the least error of the second kind beta of a
        test with error of the first kind alpha.

    Raises
    ------
    DivulgeError
        As `privacy_losses`.

    References
    ----------
    Dong, Roth, Su, "Gaussian Differential Privacy", arXiv:1905.02383.

    Examples
    --------
    >>> curve = trade_off([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> curve.alpha.tolist(), curve.beta.tolist()
    ([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    """
    if hasattr(subject, "trade_off"):
        return subject.trade_off()
    parts = [_corners(loss) for loss in privacy_losses(subject, neighbors) if asked("test", loss)]
    alpha, beta = (np.concatenate(arrays) for arrays in zip(*parts, ((0.0, 1.0), (1.0, 0.0)), strict=True))
    corners = lower_hull(alpha, beta)
    return TradeOff(alpha[corners], beta[corners])


def gaussian_dp(subject: Any, neighbors: Any = None) -> Worst:
    """Return the least mu for which a mechanism is mu-Gaussian DP: no pair is told apart better than N(0,1), N(mu,1).

    Parameters
    ----------
    subject, neighbors : as in `privacy_losses`; or a Composition

    Returns
    -------
    Worst
        In [0, +inf], a distance between normal distributions and so without a unit; an upper bound, and `.lower` one
        from below. Between two atoms the trade-off is linear and the
        Gaussian one convex, so atoms decide and the two are equal. A bounded continuous loss lies between its own tests
        at 20001 thresholds and the atoms that no pair with the same cells is harder to tell apart than; a sampled
        mechanism is also below the one that it samples. A `DistributionPair` without largest loss has no upper bound
        but +inf: tails beyond 1e-290 decide.

    Raises
    ------
    DivulgeError
        As `privacy_losses`.

    References
    ----------
    Dong, Roth, Su, "Gaussian Differential Privacy", arXiv:1905.02383.

    Examples
    --------
    >>> from divulge.dp import GaussianMechanism
    >>> gaussian_dp(GaussianMechanism(sigma=2.0)).value
    0.5
    """
    if hasattr(subject, "gaussian_dp"):
        found = subject.gaussian_dp()
        return Worst(found.upper, subject.directions[0].pair, found.lower)
    return worst_bracket(subject, "test", mu_bounds, neighbors)


def mu_at(epsilon: float, delta: float) -> float:
    """Return the mu whose delta at epsilon is the one given, from below; 0 for none."""
    from scipy.optimize import brentq

    if delta <= 0 or delta >= 1:
        return 0.0 if delta <= 0 else math.inf

    def missing(mu: float) -> float:
        return GaussianLoss(mu).delta(epsilon) - delta

    low, high = 1e-9, 1.0
    while missing(high) < 0 and high < 1e6:
        high *= 2
    found: Any = brentq(missing, low, high, xtol=1e-15) if missing(low) < 0 else 0.0
    return found * (1 - 1e-9)


def mu_bounds(loss: PrivacyLoss) -> Bracket:
    """Return bounds on the least mu of one pair."""
    if isinstance(loss, GaussianLoss):
        return Bracket(loss.mu, loss.mu)
    lower = _mu(loss)
    if isinstance(loss, LatticeLoss):  # of a sample the tests far out come near that of the noise, and none exceeds it
        far, noise = math.sqrt(2 * loss.rate), _mu(lattice_loss(replace(loss.law, sampling=1.0)))
        return Bracket(max(lower, far), max(noise, far))
    if isinstance(loss, AtomicLoss) or lower == math.inf:
        return Bracket(lower, lower)
    width = loss.highest - loss.lowest
    upper = _mu(_harder(loss)) if width < WIDEST else math.inf
    if width < math.inf:
        upper = min(upper, _mu_of_pure(max(loss.highest, -loss.lowest)))
    base = getattr(loss, "base", None) or getattr(getattr(loss, "removed", None), "base", None)
    if base is not None:
        upper = min(upper, mu_bounds(base).upper)
    return Bracket(min(lower, upper), upper)


def _mu_of_pure(epsilon: float) -> float:
    """Return the mu of binary randomized response, which every pair with losses up to epsilon is below."""
    missed = -float(np.logaddexp(0.0, epsilon))
    return -2 * float(require("scipy.special", "science").ndtri_exp(missed))


def _harder(loss: PrivacyLoss) -> AtomicLoss:
    """Return atoms at the ends of cells of the loss: every pair with these cells is harder to tell apart."""
    edges = np.linspace(loss.lowest, loss.highest, _CELLS if isinstance(loss, DensityLoss) else _POINTS)
    found, last = grid.cells(loss, edges), grid.nudged(edges)[-1]
    back = np.exp(-edges)
    apart = back[:-1] - back[1:]
    with np.errstate(invalid="ignore", divide="ignore"):  # cells too narrow to tell their ends apart count at the upper
        low = np.where(apart > 0, np.clip((found.q - back[1:] * found.p) / apart, 0.0, found.p), 0.0)
    p = np.append(low, float(loss.tail(last))) + np.append(0.0, found.p - low)
    p = p / math.fsum(p.tolist())
    q = p * back
    kept = p > 0
    return AtomicLoss(edges[kept], p[kept], q[kept] / math.fsum(q.tolist()), pair=loss.pair)


def _mu(loss: PrivacyLoss) -> float:
    """Return the largest mu that a test at some threshold asks for."""
    if loss.infinite > 0 or loss.reverse().infinite > 0:
        return math.inf
    alpha, beta, kept, found = _log_points(loss)
    inside = np.isfinite(alpha) & np.isfinite(beta)
    if not inside.any():
        return 0.0
    mu = _quantile(kept[inside], alpha[inside]) - _quantile(beta[inside], found[inside])
    return max(0.0, float(np.nan_to_num(mu, nan=0.0).max()))


def _quantile(log_below: np.ndarray, log_above: np.ndarray) -> np.ndarray:
    """Return the normal quantile of a probability, from its logarithm and that of its complement: the lower one."""
    inverse = require("scipy.special", "science").ndtri_exp
    return np.where(
        log_below < log_above, inverse(np.minimum(log_below, -1e-300)), -inverse(np.minimum(log_above, -1e-300))
    )


def _log_points(loss: PrivacyLoss) -> tuple[np.ndarray, ...]:
    """Return the logarithms of `_points`; of atoms also where a probability is below the smallest double."""
    if not isinstance(loss, AtomicLoss):
        with np.errstate(divide="ignore"):
            return tuple(np.log(np.minimum(values, 1.0)) for values in _points(loss))

    def below(logs: np.ndarray, rest: Any) -> np.ndarray:
        with np.errstate(divide="ignore"):
            first = np.log(float(rest))
        return np.minimum(np.logaddexp.accumulate(np.append(first, logs)), 0.0)

    p, q = loss.logs
    return below(p, 0), below(q[::-1], 0)[::-1], below(p[::-1], loss.p_only)[::-1], below(q, loss.q_only)


def _points(loss: PrivacyLoss) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return alpha, beta, 1 - alpha, 1 - beta of the tests of a continuous loss that reject P at small losses."""
    t, back = _thresholds(loss), loss.reverse()
    return back.tail_under_q(-t), loss.tail_under_q(t), loss.tail(t), back.tail(-t)


def _thresholds(loss: PrivacyLoss) -> np.ndarray:
    """Return the losses up to which the tests of a continuous loss reject P: never an end or 0, where atoms are."""
    ends = (max(loss.lowest, -loss.reverse().epsilon(1e-290)), min(loss.highest, loss.epsilon(1e-290)))
    t = np.linspace(*ends, _CELLS if isinstance(loss, DensityLoss) else _POINTS)
    t[0], t[-1] = np.nextafter(t[0], math.inf), np.nextafter(t[-1], -math.inf)
    return np.where(t == 0, 1e-300, t)


def _corners(loss: PrivacyLoss) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a convex curve that is the trade-off (atoms) or lies below it (tangents).

    The test that rejects P at losses up to t touches the curve at slope -e^-t.
    """
    if isinstance(loss, AtomicLoss):
        alpha = np.cumsum([0.0, *exact.as_floats(loss.p).tolist(), float(loss.p_only)])
        beta = np.cumsum([0.0, 0.0, *exact.as_floats(loss.q)[::-1].tolist()])[::-1]
        return np.minimum(alpha, 1.0), np.minimum(beta, 1.0)
    alpha, beta = _points(loss)[:2]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.exp(-_thresholds(loss))
        rise = (beta[:-1] - beta[1:] - slope[1:] * np.diff(alpha)) / (slope[:-1] - slope[1:])
        between = alpha[:-1] + np.clip(np.nan_to_num(rise), 0.0, np.diff(alpha))
        left = beta[:-1] - slope[:-1] * (between - alpha[:-1])
        right = beta[1:] + slope[1:] * (alpha[1:] - between)
        last = alpha[-1] + beta[-1] / slope[-1]
    first = beta[0] + (slope[0] * alpha[0] if alpha[0] > 0 else 0.0)
    x, y = np.concatenate([[0.0], between, [last]]), np.concatenate([[first], np.fmin(left, right), [0.0]])
    return np.clip(np.nan_to_num(x, nan=1.0), 0.0, 1.0), np.clip(np.nan_to_num(y), 0.0, 1.0)

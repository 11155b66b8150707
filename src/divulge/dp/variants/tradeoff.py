"""f-DP: the trade-off between the two errors of telling P from Q, and the Gaussian mu that lies below it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from divulge import exact
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.loss.densities import DensityLoss
from divulge.dp.loss.lattice import LatticeLoss, lattice_loss
from divulge.dp.loss.numbers import WIDEST, Bracket, like, lower_hull, probabilities
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import SubjectLike, privacy_losses
from divulge.dp.variants.worst import Worst, asked, worst_bracket
from divulge.extras import drawable, require
from divulge.model.neighbors import NeighborsLike
from divulge.model.record import Record
from divulge.model.shown import Shown
from divulge.roots import least

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 20_001
"""Points of a curve: tests between two mix them, so that beta is above the curve by the square of their distance."""
_CELLS = 401
"""Points of a loss whose every tail is a search, by the same measure: fewer, as each takes longer."""

_NOTHING, _NEAR = 1e-290, 1e-6
"""What is told beyond the last test of a curve, above the doubles that lose digits; and how near that end is found."""

_STEPS = 128
"""Steps of the search for a test: every second halves, down to neighboring doubles."""

_ROUNDED = 1e-13
"""More than the relative error of the masses of a test."""


@dataclass(frozen=True, eq=False)
class TradeOff(Record, Shown):
    """A convex curve through points (alpha, beta): the least error beta of missing Q among tests of level alpha.

    Attributes
    ----------
    alpha : float64 array, increasing from 0 to 1; probability under P of rejecting P
    beta : float64 array, decreasing; probability under Q of not rejecting P
    losses : the pairs whose best tests decide at any level, where these are not the points alone

    Examples
    --------
    >>> curve = TradeOff(np.array([0.0, 0.25, 1.0]), np.array([1.0, 0.25, 0.0]))
    >>> curve(0.125), curve(0.25)
    (0.625, 0.25)
    """

    alpha: np.ndarray
    beta: np.ndarray
    losses: tuple[PrivacyLoss, ...] = field(default=(), repr=False, compare=False)

    def __repr__(self) -> str:
        shown = ", ".join(f"{self(a):.4g} at {a:g}" for a in (0.01, 0.05, 0.1, 0.5))
        return f"TradeOff: the best test misses Q with probability {shown} (of rejecting P)"

    def __call__(self, alpha: ArrayLike) -> Any:
        """Return the least beta at level alpha, in [0, 1 - alpha].

        By the test of this level where there are losses, of Gaussian ones Phi(Phi^-1(1 - alpha) - mu), rounded down;
        else linear between the points.
        """
        a = probabilities(alpha, "alpha")
        gaussian = [loss.mu for loss in self.losses if isinstance(loss, GaussianLoss)]
        if not self.losses:
            return like(np.interp(a, self.alpha, self.beta), a)
        if len(gaussian) == len(self.losses):
            return like(_of_gaussian(max(gaussian), a), a)
        inside = (a > 0) & (a < 1)
        found = np.where(inside, 0.0, np.interp(a, self.alpha, self.beta))
        found[inside] = _at_level(self.losses, a[inside], self)
        return like(np.minimum(found, 1.0 - a), a)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
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


class HasTradeOff(Protocol):
    """What is accounted for as a whole and knows its curve, such as a composition."""

    def trade_off(self) -> TradeOff:
        """Return a convex curve below the trade-off of the two errors of any test."""
        ...


def trade_off(subject: SubjectLike | HasTradeOff, neighbors: NeighborsLike = None) -> TradeOff:
    """Return the largest convex f for which a mechanism is f-DP: the lower hull of the trade-offs of all pairs.

    Exact for channels and atoms. Of a continuous loss the curve is evaluated at the alpha that is asked, in closed form
    where it is Gaussian, else by the distribution functions of the loss, and rounded down. Its points, for pictures,
    lie on tangents: up to about 1e-6 below the curve, of a `DistributionPair` up to about 1e-5.

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
    known: Any = subject
    if hasattr(known, "trade_off"):
        return known.trade_off()
    losses = tuple(loss for loss in privacy_losses(known, neighbors) if asked("test", loss))
    alpha, beta = (
        np.concatenate(arrays) for arrays in zip(*map(_corners, losses), ((0.0, 1.0), (1.0, 0.0)), strict=True)
    )
    corners = lower_hull(alpha, beta)
    atomic = all(isinstance(loss, AtomicLoss) for loss in losses)
    return TradeOff(alpha[corners], beta[corners], () if atomic else losses)


def gaussian_dp(subject: SubjectLike | HasTradeOff, neighbors: NeighborsLike = None) -> Worst:
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
    >>> gaussian_dp(dv.dp.GaussianMechanism(sigma=2.0)).value
    0.5
    """
    known: Any = subject
    if hasattr(known, "gaussian_dp"):
        found = known.gaussian_dp()
        return Worst(found.upper, known.directions[0].pair, found.lower)
    return worst_bracket(known, "test", mu_bounds, neighbors)


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


def _of_gaussian(mu: float, alpha: np.ndarray) -> np.ndarray:
    """Return Phi(Phi^-1(1 - alpha) - mu), from below."""
    special = require("scipy.special", "science")
    z = -special.ndtri(alpha) - mu
    relative = _ROUNDED * (1.0 + np.where(np.abs(z) < 40.0, z * z, 0.0))  # z is right to within some 1e-15
    return np.where(alpha == 0, 1.0, special.ndtr(z) * (1.0 - relative)) if mu > 0 else 1.0 - alpha


def _at_level(losses: Sequence[PrivacyLoss], alpha: np.ndarray, curve: "TradeOff") -> np.ndarray:
    """Return the largest convex curve below the trade-offs of all pairs, at levels alpha, from below.

    The test that rejects P at losses up to t lies on the line of slope -e^-t that touches the curve of its pair,
    h_t(alpha) = Q(L > t) + e^-t (P(L <= t) - alpha). The curve below all is the largest over t of the least h_t of any
    pair. That is concave in e^-t and rises with t where P(L <= t) < alpha for the pair that decides, so that the best t
    lies between neighbors of the slope of `curve`, which is found by false position and halving in turns (Illinois).
    No t between low and high has more than e^-low (high - low) |P(L <= t) - alpha| beyond h_t: that ends the search.
    """

    def touching(t: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least h_t of any pair, and P(L <= t) - alpha of that pair."""
        t = np.where(t == 0, 1e-300, t)
        lines: list[np.ndarray] = []
        gaps: list[np.ndarray] = []
        for loss in losses:
            rejected, missed = loss.reverse().tail_under_q(-t), loss.tail_under_q(t)
            kept = loss.tail(t) if (rejected > 0.5).any() else 1.0 - rejected  # with more digits than 1 - rejected
            most = rejected > 0.5
            gaps.append(np.where(most, (1.0 - alpha) - kept, rejected - alpha))
            less = _ROUNDED * np.where(most, (1.0 - alpha) + kept, rejected + alpha) + getattr(loss, "unknown", 0.0)
            with np.errstate(over="ignore", invalid="ignore"):
                lines.append(np.nan_to_num(missed * (1.0 - _ROUNDED) + np.exp(-t) * (gaps[-1] - less), nan=-np.inf))
        decides = np.argmin(lines, axis=0)[None]
        return np.take_along_axis(np.array(lines), decides, 0)[0], np.take_along_axis(np.array(gaps), decides, 0)[0]

    low, high, edges = _around(losses, curve, alpha)
    (left, below), (right, above) = touching(low, alpha), touching(high, alpha)
    low, below = np.where(below > 0, edges[0], low), np.where(below > 0, -alpha, below)
    high, above = np.where(above < 0, edges[1], high), np.where(above < 0, 1.0 - alpha, above)
    best = np.maximum(np.maximum(left, right), 0.0)
    open_ = np.flatnonzero(low < high)
    for step in range(_STEPS):
        a, b, fa, fb, level = low[open_], high[open_], below[open_], above[open_], alpha[open_]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(a - fa * ((b - a) / (fb - fa))) if step % 2 == 0 else a / 2 + b / 2
        t = np.where((a < t) & (t < b), t, a / 2 + b / 2)
        value, gap = touching(t, level)
        best[open_] = np.maximum(best[open_], value)
        rising = gap <= 0
        low[open_], below[open_] = np.where(rising, t, a), np.where(rising, gap, fa / 2)
        high[open_], above[open_] = np.where(rising, b, t), np.where(rising, fb / 2, gap)
        with np.errstate(over="ignore", invalid="ignore"):
            left_out = (b - a) * np.exp(-a) * np.abs(gap)
        open_ = open_[(left_out > _ROUNDED * best[open_]) & (t > a) & (t < b)]
        if not len(open_):
            break
    for t, side in ((low, -1), (high, 1)):  # an atom may be there, which the tests beside it have or have not
        best = np.maximum(best, touching(np.nextafter(t, side * math.inf), alpha)[0])
    return best


def _around(
    losses: Sequence[PrivacyLoss], curve: "TradeOff", alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[float, float]]:
    """Return -log of the slopes of a curve two pieces before and behind each level, and ends with all between them.

    The ends are those of the losses, where these have ends: slopes of the curve are right to about 1e-13 only, and an
    atom at the largest loss lies behind none of them.
    """
    with np.errstate(divide="ignore", over="ignore"):
        slopes = -np.log(-np.diff(curve.beta) / np.diff(curve.alpha))
    slopes = slopes[np.isfinite(slopes)] if np.isfinite(slopes).any() else np.zeros(1)
    lowest, highest = min(loss.lowest for loss in losses), max(loss.highest for loss in losses)
    edges = (
        math.nextafter(lowest if math.isfinite(lowest) else float(slopes.min()) - 1.0, -math.inf),
        math.nextafter(highest if math.isfinite(highest) else float(slopes.max()) + 1.0, math.inf),
    )
    piece = np.searchsorted(curve.alpha, alpha, side="right") - 1
    last = len(slopes) - 1
    before, behind = (slopes[np.clip(piece + move, 0, last)] for move in (-2, 2))
    return np.where(piece < 2, edges[0], before), np.where(piece + 2 > last, edges[1], behind), edges


def _thresholds(loss: PrivacyLoss) -> np.ndarray:
    """Return the losses up to which the tests of a continuous loss reject P: never an end or 0, where atoms are."""
    ends = (max(loss.lowest, -_far(loss.reverse())), min(loss.highest, _far(loss)))
    t = np.linspace(*ends, _CELLS if isinstance(loss, DensityLoss) else _POINTS)
    t[0], t[-1] = np.nextafter(t[0], math.inf), np.nextafter(t[-1], -math.inf)
    return np.where(t == 0, 1e-300, t)


def _far(loss: PrivacyLoss) -> float:
    """Return an epsilon beyond which next to nothing is told."""
    if not isinstance(loss, DensityLoss):
        return loss.epsilon(_NOTHING)
    return least(lambda e: bool(loss.delta(e) <= _NOTHING), loss.highest, _NEAR)


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

"""Lower bounds on privacy parameters from guesses in one run: who was in, when everybody was put in by a fair coin."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.entries import open_share, scalar
from divulge.roots import grown, turn

_LARGEST = 512.0
"""No level above is looked at: e^-512 is the probability of a wrong guess."""

_GRID = 64
"""Levels below the bound at which it is seen once more that they are refuted."""

_MOST_BELOW = 1_000_000
"""So many numbers below the right guesses are looked at."""

_UNITS = 8 * np.finfo(float).eps
"""A log factorial is off by less than this share of itself, and so are sums of three."""

_BLOCK = 4096
"""Numbers of guesses whose wealth is computed at once."""

_MIXED = (1.0, 0.5)
"""Parameters of the beta distribution of theta: flat where half are right, and Jeffreys' where nearly all are. With
(1, 1) bounds are lower in every setting of tests/dp/test_one_run.py, with (1, 1/4) lower where half are right."""

_ROUNDING = 1e-12
"""More than a probability is off, relatively: what is refuted by less is not refuted."""


def one_run(guesses: int, right: int, trials: int | None = None, delta: float = 0.0, confidence: float = 0.95) -> float:
    r"""Return a lower bound on epsilon, in nats, from how many guesses about fair coins are right.

    Each of m people (or records, canaries) is in the data if a fair coin says so, independently; M is run once, and
    from its output somebody guesses for r of them whether they are in. If M is (epsilon, delta)-DP,

        P(right >= v) <= P(W >= v) + 2 m delta max_{1 <= i <= v} P(v > W >= v - i) / i,

    with W ~ Bin(r, e^epsilon / (1 + e^epsilon)). The bound is the least epsilon at which this is more than
    1 - confidence.

    Parameters
    ----------
    guesses : int
        r, at least 1. With delta = 0 it may depend on the output; with delta > 0 it is fixed beforehand.
    right : int
        v, how many of them are right.
    trials : int, optional
        m, how many coins there are; `guesses` when not given.
    delta : float in [0, 1)
    confidence : float in (0, 1)

    Returns
    -------
    float
        In [0, inf), rounded down; 0 where nothing is refuted.

    Raises
    ------
    DivulgeError
        For numbers that are no counts, or not 0 <= right <= guesses <= trials.

    References
    ----------
    Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run", Theorem 5.2, arXiv:2305.08846.

    Examples
    --------
    >>> round(one_run(100, 100), 9)  # -log(0.05^(-1/100) - 1)
    3.492965431
    >>> round(one_run(1000, 600, delta=1e-5), 9)
    0.297226954
    """
    r, v, m = counts_of(guesses, right, trials)
    risk = risk_of(confidence)
    if not 0 <= (delta := scalar(delta, "delta")) < 1:
        raise DivulgeError.of("delta", "be in [0, 1)", "it", str(delta))
    return greatest_refuted(_one_run_refutes(r, v, m, delta, risk))


def _one_run_refutes(guesses: int, right: int, trials: int, delta: float, risk: float) -> Callable[[float], bool]:
    """Return whether (epsilon, delta)-DP is refuted, as a function of epsilon."""
    between = _Between(guesses, right) if delta else None

    def refuted(epsilon: float) -> bool:
        p = _at_least(right, guesses, epsilon)
        if between is not None and p <= risk:
            p += 2 * trials * delta * between.mean(epsilon)
        return p * (1 + _ROUNDING) <= risk

    return refuted


def _at_least(k: int, n: int, epsilon: float) -> float:
    """Return P(W >= k) for W ~ Bin(n, e^epsilon / (1 + e^epsilon)); by the wrong ones, whose probability is small."""
    wrong = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return float(require("scipy.special", "science").betaincc(n - k + 1, k, wrong)) if k else 1.0


class _Between:
    """The largest mean probability of the i numbers below v, max_i P(v > W >= v - i) / i, of W ~ Bin(r, q)."""

    def __init__(self, guesses: int, right: int) -> None:
        k = np.arange(right - 1, max(right - _MOST_BELOW, 0) - 1, -1.0)
        gammaln = require("scipy.special", "science").gammaln
        self.guesses, self.k = guesses, k
        self.choices = gammaln(guesses + 1.0) - gammaln(k + 1) - gammaln(guesses - k + 1)
        self.rounding = _ROUNDING + _UNITS * float(gammaln(guesses + 1.0))

    def mean(self, epsilon: float) -> float:
        """Return it from above: of more than `_MOST_BELOW` numbers the mean is at most one over so many."""
        if not len(self.k):
            return 0.0
        logs = (
            self.choices - self.k * math.log1p(math.exp(-epsilon)) - (self.guesses - self.k) * np.logaddexp(0, epsilon)
        )
        means = np.cumsum(np.exp(logs)) / np.arange(1, len(logs) + 1)
        rest = 1 / _MOST_BELOW if self.k[-1] > 0 else 0.0
        return max(float(means.max()) * (1 + self.rounding), rest)


def one_run_gaussian(guesses: int, right: int, trials: int | None = None, confidence: float = 0.95) -> float:
    r"""Return a lower bound on the mu of Gaussian DP from how many guesses about fair coins are right.

    As `one_run`, for the trade-off function of Gaussians. With c' guesses, c of them right, of m coins, r = tau c / m
    and h = tau (c' - c) / m; for i = c - 1, ..., 0: h' = max(h, Phi(Phi^-1(r) - mu)), r += i (h' - h) / (c' - i),
    h = h'. If r + h > c' / m in the end, so many right guesses are less probable than tau = 1 - confidence.

    Parameters
    ----------
    guesses : int
        c', at least 1, fixed beforehand.
    right : int
        c.
    trials : int, optional
        m; `guesses` when not given.
    confidence : float in (0, 1)

    Returns
    -------
    float
        In [0, inf), rounded down; 0 where nothing is refuted.

    Raises
    ------
    DivulgeError
        For numbers that are no counts, or not 0 <= right <= guesses <= trials.

    References
    ----------
    Mahloujifar, Melis, Chaudhuri, "Auditing f-Differential Privacy in One Run", arXiv:2410.22235.

    Examples
    --------
    >>> round(one_run_gaussian(1000, 700), 9)
    0.357210787
    """
    r, v, m = counts_of(guesses, right, trials)
    risk = risk_of(confidence)
    return greatest_refuted(lambda mu: _refutes_gaussian(r, v, m, mu, risk))


def _refutes_gaussian(guesses: int, right: int, trials: int, mu: float, risk: float) -> bool:
    special = require("scipy.special", "science")
    ndtr, ndtri = special.ndtr, special.ndtri
    r, h = risk * right / trials, risk * (guesses - right) / trials
    for i in range(right - 1, -1, -1):
        higher = float(ndtr(ndtri(r) - mu))
        if higher <= h:
            break  # neither h nor r changes any more
        r, h = min(1.0, r + i / (guesses - i) * (higher - h)), higher
    return r + h > guesses / trials * (1 + _ROUNDING)


def anytime(right: ArrayLike, confidence: float = 0.95, base_rate: float = 0.5) -> float:
    r"""Return a lower bound on epsilon, in nats, from guesses that were ordered by how sure they are.

    People are in the data independently. Under pure epsilon-DP, given the output and who of the earlier ones is in,
    each guess is right with probability q at most; q = e^epsilon / (1 + e^epsilon) for fair coins. So the products

        prod_k (theta / q)^right_k ((1 - theta) / (1 - q))^wrong_k,    theta >= q,

    and their mean over theta in [q, 1], are supermartingales, whose running maximum exceeds 1 / (1 - confidence) with
    probability 1 - confidence at most (Ville): all numbers of guesses are looked at, without a correction for their
    number. Theta has the density 1 / sqrt(1 - theta), cut to [q, 1].

    Parameters
    ----------
    right : array of bool
        Whether each guess is right, in an order that depends on the output alone: the surest first.
    confidence : float in (0, 1)
    base_rate : float in (0, 1)
        How probable it was to be in. If it is not 1/2 all guesses must be "in", and
        q = pi e^epsilon / (pi e^epsilon + 1 - pi).

    Returns
    -------
    float
        In [0, inf), rounded down; 0 where nothing is refuted.

    Raises
    ------
    DivulgeError
        When `right` is no row of truth values.

    References
    ----------
    Ville, "Etude critique de la notion de collectif", 1939. Robbins, "Statistical methods related to the law of the
    iterated logarithm", 1970.

    Examples
    --------
    >>> round(anytime([True] * 100), 3), anytime([True, False] * 50)  # 100 guesses fixed beforehand: 3.493
    (3.256, 0.0)
    """
    given = truth_values(right, "right")
    risk = risk_of(confidence)
    base_rate = open_share(base_rate, "base_rate")
    hits = np.cumsum(given)
    misses = np.arange(1, len(given) + 1) - hits
    prior = math.log(base_rate) - math.log1p(-base_rate)
    return greatest_refuted(lambda epsilon: _gains(hits, misses, epsilon + prior, -math.log(risk) + _ROUNDING))


def _gains(hits: np.ndarray, misses: np.ndarray, log_odds: float, bar: float) -> bool:
    """Return whether the wealth reaches the bar at some time; times first at which one theta alone gains most."""
    n, xlogy = hits + misses, require("scipy.special", "science").xlogy
    best = xlogy(hits, hits / n) + xlogy(misses, misses / n)
    best += hits * np.logaddexp(0.0, -log_odds) + misses * np.logaddexp(0.0, log_odds)
    times = np.flatnonzero(best >= bar)
    times = times[np.argsort(-best[times], kind="stable")]
    blocks = (times[i : i + _BLOCK] for i in range(0, len(times), _BLOCK))
    return any(bool((log_wealth(hits[at], misses[at], log_odds) >= bar).any()) for at in blocks)


def log_wealth(hits: np.ndarray, misses: np.ndarray, log_odds: float) -> np.ndarray:
    """Return the log of the mean product, over theta in [q, 1], after so many right and wrong guesses.

    With a, b = 1, 1/2 and log q / (1 - q) = log_odds, it is B(h + a, w + b) P(Beta(h + a, w + b) > q) over
    B(a, b) P(Beta(a, b) > q) q^h (1 - q)^w.

    >>> found = log_wealth(np.array([1]), np.array([0]), 0.0)  # theta is 5/6 in the mean, and q = 1/2
    >>> round(float(np.exp(found[0])), 6)
    1.666667
    """
    special = require("scipy.special", "science")
    log_q, log_rest = -np.logaddexp(0.0, -log_odds), -np.logaddexp(0.0, log_odds)
    wrong, (a, b) = math.exp(log_rest), _MIXED
    with np.errstate(divide="ignore"):
        upper = np.log(special.betainc(misses + b, hits + a, wrong)) + special.betaln(hits + a, misses + b)
    prior = math.log(special.betainc(b, a, wrong)) + float(special.betaln(a, b))
    return upper - prior - hits * log_q - misses * log_rest


def greatest_refuted(refuted: Callable[[float], bool]) -> float:
    """Return the level up to which all are refuted, from below: by doubling, halving, and a second look on a grid.

    What is refuted at a level is refuted below it, where the promise says more; the grid holds where a bound does not
    fall as it should.

    >>> round(greatest_refuted(lambda level: level < 1.5), 9)
    1.5
    """
    if not refuted(0.0):
        return 0.0

    def stands(level: float) -> bool:
        return not refuted(level)

    low, high = grown(stands, 1.0, _LARGEST)
    low = turn(stands, low, high)[0] if high < math.inf else low
    grid = np.linspace(0.0, low, _GRID, endpoint=False).tolist()
    first = next((i for i, level in enumerate(grid) if stands(level)), None)
    return low if first is None else grid[max(first - 1, 0)]


def counts_of(guesses: Any, right: Any, trials: Any) -> tuple[int, int, int]:
    """Return r, v, m as whole numbers, 0 <= v <= r <= m, 1 <= r.

    >>> counts_of(10, 7, None)
    (10, 7, 10)
    """
    m = guesses if trials is None else trials
    for name, value in (("guesses", guesses), ("right", right), ("trials", m)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 0:
            raise DivulgeError.of(name, "be a count", "it", repr(value)[:60])
    if not 1 <= guesses <= m < 1 << 53:
        raise DivulgeError.of("guesses", "be from 1 to the number of trials", "it", f"{guesses:,}")
    if right > guesses:
        raise DivulgeError.of("right", "be at most the number of guesses", "it", f"{right:,} of {guesses:,}")
    return int(guesses), int(right), int(m)


def truth_values(given: Any, name: str) -> np.ndarray:
    """Return booleans, or numbers 0 and 1, as a row of booleans; at least one.

    >>> truth_values([1, 0], "member").tolist()
    [True, False]
    """
    found = np.asarray(given)
    if found.dtype == object and all(isinstance(one, (bool, np.bool_, int)) for one in found.ravel().tolist()):
        found = found.astype(np.float64)
    right = found.ndim == 1 and found.size > 0 and found.dtype.kind in "biuf"
    if not right or not bool(((found == 0) | (found == 1)).all()):
        raise DivulgeError.of(name, "be a row of yes and no (True and False, or 1 and 0)", "it", "something else")
    return found == 1


def risk_of(confidence: Any) -> float:
    """Return one minus the confidence.

    >>> risk_of(0.75)
    0.25
    """
    return 1 - open_share(confidence, "confidence")

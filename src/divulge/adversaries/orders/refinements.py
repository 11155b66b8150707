"""Orders between mechanisms: which of two is safer against every adversary of a kind, with a proof either way."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from divulge import clock, exact
from divulge.adversaries.adversary import Gain
from divulge.adversaries.leakages import Case, before_and_after
from divulge.adversaries.orders.descent import nearest_by_descent
from divulge.adversaries.orders.linear import nearest, supported
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.entries import TOLERANCE
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.shown import Shown
from divulge.programs import cheapest

Order = Literal["average-case", "max-case"]


@dataclass(frozen=True, repr=False)
class Refinement(Shown):
    """Whether `safer` leaks no more than `riskier` to any adversary of a kind, and the proof.

    Attributes
    ----------
    order : "average-case" or "max-case"
    riskier, safer : Channel
    holds : bool
    error : Fraction or float
        The largest deviation |riskier R - safer| with the best R found; 0 when it is exact. Where the answer is no, and
        found without a linear program, a better R may exist, but none within the tolerance.
    tolerance : the deviation that is put down to rounding; 0 for exact channels
    certificate : Channel or None
        When it holds: R with safer = riskier R (average-case), or for each outcome of `safer` the mixture of the
        posteriors of `riskier` that its posterior is (max-case).
    gain, prior : Gain and Prior, or None
        When it does not hold: an adversary to whom `safer` leaks more.
    vulnerability : pair of numbers, or None
        What that adversary expects after `riskier` and after `safer`; the second is larger.

    Examples
    --------
    >>> found = refinement([["1", "0"], ["0", "1"]], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> found.holds, found.error, found.certificate.matrix[0].tolist()  # post-processing by the channel itself
    (True, Fraction(0, 1), [Fraction(3, 4), Fraction(1, 4)])
    """

    order: Order
    riskier: Channel
    safer: Channel
    holds: bool
    error: float | Fraction
    tolerance: float | Fraction
    certificate: Channel | None = None
    gain: Gain | None = None
    prior: Prior | None = None
    vulnerability: tuple[float | Fraction, float | Fraction] | None = None

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        if self.holds:
            return f"{self.order} refinement holds (error {float(self.error):.3g})\n{self.certificate!r}"
        return f"{self.order} refinement fails (error {float(self.error):.3g})\n{self.gain!r}"


def refinement(
    riskier: ChannelLike, safer: ChannelLike, tolerance: float | None = None, *, time_limit: float | None = None
) -> Refinement:
    """Return whether `safer` leaks no more than `riskier` to any average-case adversary, under any prior.

    It does exactly when safer = riskier R for a channel R: post-processing. A linear program finds the R with the
    smallest worst-case error, which is compared with the tolerance; its prices are the gain of an adversary who gets
    more out of `safer` under the uniform prior.

    Parameters
    ----------
    riskier, safer : Channel, or array_like of shapes (N, M) and (N, K)
    tolerance : float, optional
        The error that counts as rounding; 1e-9, and 0 for two exact channels, whose answer is then proved in rational
        arithmetic.
    time_limit : float, optional
        Seconds for the linear program, where it comes to one: large channels with dependent columns that are nearly
        refined.

    Returns
    -------
    Refinement
        True or false, with the certificate R or the adversary. Needs SciPy (extra: science).

    Raises
    ------
    DivulgeError
        When a channel is none, the secrets differ, `tolerance` is negative, or the time is over before there is an
        answer: the message says within which error it lies.

    References
    ----------
    Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith, "The Science of Quantitative Information Flow", 2020,
    chapter 9 (the coriaceous theorem).

    Examples
    --------
    >>> noisy = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> refinement([["1", "0"], ["0", "1"]], noisy).holds
    True
    >>> less, more = refinement(noisy, [["1", "0"], ["0", "1"]]).vulnerability
    >>> less < more
    True
    """
    a, b, tolerance = _pair(riskier, safer, tolerance)
    found = _made_of(a.matrix, b.matrix, tolerance, rows_sum=True, until=clock.deadline(time_limit))
    certificate = Channel(found.z, a.outcomes, b.outcomes) if found.holds else None
    adversary = None if found.prices is None else _gain(found.prices.T, b.outcomes, a.secrets)
    return _verdict("average-case", a, b, found.holds, found.error, tolerance, certificate, adversary)


def max_case_refinement(
    riskier: ChannelLike, safer: ChannelLike, tolerance: float | None = None, *, time_limit: float | None = None
) -> Refinement:
    """Return whether `safer` leaks no more than `riskier` to any max-case adversary, under any prior.

    It does exactly when every posterior of `safer` is a mixture of posteriors of `riskier` (under the uniform prior,
    and then under each): one linear program per outcome of `safer`. Where it fails, a hyperplane that separates the
    posterior from the mixtures is the gain of an adversary who has a single action.

    Parameters
    ----------
    riskier, safer : Channel, or array_like of shapes (N, M) and (N, K)
    tolerance : float, optional
        The error on a posterior that counts as rounding; 1e-9, and 0 for two exact channels.
    time_limit : float, optional
        Seconds for each linear program.

    Returns
    -------
    Refinement

    Raises
    ------
    DivulgeError
        When a channel is none, the secrets differ, `tolerance` is negative, or the time is over before there is an
        answer: the message says within which error it lies.

    References
    ----------
    Chatzikokolakis, Fernandes, Palamidessi, "Comparing systems: Max-case refinement orders and application to
    differential privacy", CSF 2019.

    Examples
    --------
    >>> noisy = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> max_case_refinement([["1", "0"], ["0", "1"]], noisy).certificate
    exact Channel, 2 secrets x 2 outcomes
         0    1
    0  3/4  1/4
    1  1/4  3/4
    """
    a, b, tolerance = _pair(riskier, safer, tolerance)
    inners, seen, until = _inners(a), _inners(b), clock.deadline(time_limit)
    mixtures, error = np.empty((len(seen.outcomes), len(inners.outcomes)), dtype=inners.posteriors.dtype), 0
    for i, posterior in enumerate(seen.posteriors.T):
        found = _made_of(inners.posteriors, posterior[:, None], tolerance, rows_sum=False, until=until)
        error = max(error, found.error)
        if found.prices is not None:
            adversary = _gain(found.prices.T, [f"bet on {seen.outcomes[i]}"], a.secrets)
            return _verdict("max-case", a, b, False, found.error, tolerance, None, adversary)
        mixtures[i] = found.z[:, 0]
    certificate = Channel(mixtures, seen.outcomes, inners.outcomes)
    return _verdict("max-case", a, b, True, error, tolerance, certificate, None)


_LARGE = 2500
"""From this many variables on descent is tried before one linear program."""

CASES: dict[Order, Case] = {"average-case": "average", "max-case": "max"}


def _verdict(
    order: Order, a: Channel, b: Channel, holds: bool, error: Any, tolerance: Any, certificate: Any, gain: Any
) -> Refinement:
    if gain is None:
        return Refinement(order, a, b, holds, error, tolerance, certificate)
    prior = _uniform(a)
    after = tuple(before_and_after(Joint(prior, channel), gain, CASES[order])[1] for channel in (a, b))
    return Refinement(order, a, b, holds, error, tolerance, None, gain, prior, (after[0], after[1]))


def _uniform(channel: Channel) -> Prior:
    return Prior.uniform(len(channel.secrets)).renamed(channel.secrets)


def _pair(riskier: Any, safer: Any, tolerance: Any) -> tuple[Channel, Channel, Any]:
    """Return two dense channels over one order of secrets, and the tolerance."""
    a = as_channel(riskier)
    b = as_channel(safer).aligned(a.secrets, "safer", "the riskier channel's secrets")
    both = a.exact and b.exact
    left, right = (np.asarray(c) if both else exact.as_floats(np.asarray(c)) for c in (a, b))
    tolerance = (0 if both else TOLERANCE) if tolerance is None else tolerance
    if not tolerance >= 0:
        raise DivulgeError.of("tolerance", "be at least 0", "it", str(tolerance))
    return Channel(left, b.secrets, a.outcomes), Channel(right, b.secrets, b.outcomes), tolerance


@dataclass(frozen=True, eq=False)
class _Inners:
    posteriors: np.ndarray
    outcomes: list[Any]


def _inners(channel: Channel) -> _Inners:
    """Return the posteriors under the uniform prior, secrets x outcomes that occur."""
    matrix = np.asarray(channel)
    sums = matrix.sum(axis=0)
    seen = np.flatnonzero((sums > 0).astype(bool))
    return _Inners(matrix[:, seen] / sums[seen], [channel.outcomes[int(j)] for j in seen])


@dataclass(frozen=True, eq=False)
class _Factor:
    """z with parts z = whole up to `error`, or prices that separate them."""

    holds: bool
    error: Any
    z: np.ndarray
    prices: np.ndarray | None = None


def _made_of(parts: np.ndarray, whole: np.ndarray, tolerance: Any, *, rows_sum: bool, until: float) -> _Factor:
    """Return z >= 0 with parts z = whole, whose rows (or columns) sum to 1.

    The solution by least squares, which is the only one for independent parts, is tried before the linear program.
    """
    floats, axis = (exact.as_floats(parts), exact.as_floats(whole)), 1 if rows_sum else 0
    accept = (
        _Proof(parts, whole, axis) if exact.is_exact(parts, whole) and tolerance == 0 else _Check(*floats, tolerance)
    )
    direct = accept(_distributions(np.linalg.lstsq(*floats, rcond=None)[0], axis))
    if direct.holds:
        return direct
    if isinstance(accept, _Proof):
        for prices in accept.negative():
            return replace(direct, prices=prices)
    if floats[0].shape[1] * floats[1].shape[1] > _LARGE:
        found = _descended(accept, floats, axis, tolerance)
        if found is not None:
            return found
    sp = require("scipy.sparse", "science")
    m, k = parts.shape[1], whole.shape[1]
    soft = sp.kron(floats[0], sp.eye_array(k), format="csr")
    fit = nearest(soft, floats[1].ravel(), sp.csr_array(_sums(m, k, axis)), np.ones(m if rows_sum else k), until)
    if fit is None:
        raise DivulgeError(
            f"`time_limit` must leave time for an answer; the least error lies between 0 and {direct.error:.3g}. "
            "Hint: a larger `tolerance` may be decided sooner."
        )
    found = accept(_distributions(fit.z.reshape(m, k), axis))
    if found.holds:
        return found
    prices = fit.prices.reshape(whole.shape)
    if isinstance(accept, _Proof):
        return accept.refuted(found, prices)
    return replace(found, prices=prices)


def _descended(
    accept: "_Proof | _Check", floats: tuple[np.ndarray, np.ndarray], axis: int, tolerance: Any
) -> _Factor | None:
    """Return the answer for many variables, where descent finds a proof of it, else None."""
    z, prices = nearest_by_descent(*floats, axis, float(tolerance))
    found = accept(_distributions(z, axis))
    if found.holds or prices is None:
        return found if found.holds else None
    if not isinstance(accept, _Proof):
        return replace(found, prices=prices)
    candidates = (
        one for one in (*accept.negative(), *_simple(prices)) if _separates(one, accept.parts, accept.whole, axis)
    )
    separating = next(candidates, None)
    return None if separating is None else replace(found, prices=separating)


def _sums(m: int, k: int, axis: int) -> np.ndarray:
    """Return the matrix that sums the rows (axis 1) or columns (axis 0) of an m x k matrix written as a vector."""
    return np.kron(np.eye(m), np.ones((1, k))) if axis else np.kron(np.ones((1, m)), np.eye(k))


def _distributions(z: np.ndarray, axis: int) -> np.ndarray:
    """Return z without its negative entries, every row (axis 1) or column (axis 0) scaled to sum 1, a zero one even."""
    z = np.maximum(z, 0.0)
    sums = z.sum(axis=axis, keepdims=True)
    return np.where(sums > 0, z / np.where(sums > 0, sums, 1.0), 1 / z.shape[axis])


@dataclass(frozen=True, eq=False)
class _Check:
    """Accepts what deviates by no more than the tolerance."""

    parts: np.ndarray
    whole: np.ndarray
    tolerance: float

    def __call__(self, z: np.ndarray) -> _Factor:
        error = float(abs(self.parts @ z - self.whole).max())
        return _Factor(error <= self.tolerance, error, z)


@dataclass(frozen=True, eq=False)
class _Proof:
    """Accepts what can be turned into an exact solution, and refutes with exact prices."""

    parts: np.ndarray
    whole: np.ndarray
    axis: int

    @cached_property
    def system(self) -> np.ndarray:
        """The equations on z as a vector."""
        m, k = self.parts.shape[1], self.whole.shape[1]
        products = np.kron(self.parts, exact.as_fractions(np.eye(k, dtype=int)))
        return np.concatenate([products, exact.as_fractions(_sums(m, k, self.axis))])

    @cached_property
    def target(self) -> np.ndarray:
        """Their right-hand sides."""
        ones = len(self.system) - self.whole.size
        return np.concatenate([self.whole.ravel(), exact.as_fractions([1] * ones)])

    @cached_property
    def only(self) -> tuple[bool, np.ndarray | None]:
        """Whether the parts are independent, and then the one z with parts z = whole, None where there is none.

        Its sums are those of whole, since the parts are distributions: they need not be asked for.
        """
        parts, whole = exact.fmpq_mat(self.parts), exact.fmpq_mat(self.whole)
        across = parts.transpose()
        try:
            z = (across * parts).solve(across * whole)
        except ZeroDivisionError:
            return False, None
        return True, exact.to_fractions(z) if parts * z == whole else None

    def __call__(self, z: np.ndarray) -> _Factor:
        alone, exactly = self.only
        if not alone:
            exactly = supported(self.system, self.target, z.ravel())
            exactly = None if exactly is None else exactly.reshape(z.shape)
        elif exactly is not None and not bool((exactly >= 0).all()):
            exactly = None
        if exactly is not None:
            return _Factor(True, Fraction(0), exactly)
        return _Factor(False, _Check(exact.as_floats(self.parts), exact.as_floats(self.whole), 0)(z).error, z)

    def negative(self) -> Iterator[np.ndarray]:
        """Yield the prices that a negative weight gives where the parts are independent and make the whole with it."""
        z = self.only[1]
        if z is None or not bool((z < 0).any()):
            return
        i, k = np.unravel_index(int(exact.as_floats(z).argmin()), z.shape)
        parts = exact.fmpq_mat(self.parts)
        across = parts.transpose()
        unit = np.zeros((len(z), 1), dtype=int)
        unit[i] = 1
        row = exact.to_fractions(parts * (across * parts).solve(exact.fmpq_mat(exact.as_fractions(unit))))
        prices = exact.as_fractions(np.zeros(self.whole.shape, dtype=int))
        prices[:, k] = -row[:, 0]
        yield prices

    def refuted(self, found: _Factor, prices: np.ndarray) -> _Factor:
        """Return exact prices that separate, from those of the float program or from rational arithmetic alone."""
        for candidate in (*_simple(prices), *self.negative()):
            if _separates(candidate, self.parts, self.whole, self.axis):
                return replace(found, prices=candidate)
        z, multipliers = cheapest(self.system, self.target)
        if z is not None:
            return _Factor(True, Fraction(0), z.reshape(found.z.shape))
        return replace(found, prices=multipliers[: self.whole.size].reshape(self.whole.shape))


def _simple(prices: np.ndarray) -> Iterator[np.ndarray]:
    """Yield fractions near the prices, the plainest first."""
    if not prices.any():
        return
    scaled = (prices / abs(prices).max()).tolist()
    for digits in (12, 10**3, 10**6, 10**12):
        yield exact.as_fractions([[Fraction(v).limit_denominator(digits) for v in row] for row in scaled])


def _separates(prices: np.ndarray, parts: np.ndarray, whole: np.ndarray, axis: int) -> bool:
    """Say whether <prices, whole> exceeds <prices, parts z> for every admissible z."""
    scores = exact.product(parts.T, prices)
    reach = scores.max(axis=axis).sum()
    return bool((prices * whole).sum() > reach)


def _gain(prices: np.ndarray, actions: Any, secrets: Any) -> Gain:
    """Return the prices as gains, actions x secrets, moved to be at least 0 and scaled to be at most 1.

    With several actions each secret's column moves by itself: that adds as much to what every channel gives.
    """
    lowest = prices.min(axis=0) if len(prices) > 1 else prices.min()
    gains = prices - lowest
    return Gain(gains / gains.max(), actions, secrets)

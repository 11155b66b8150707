"""Leakage of several releases about one secret, which are independent given the secret.

The information density of all outcomes together depends only on how often every outcome came (the type):
log P(y_1..y_k | x) = sum_y n_y log C_xy. So pml and pmc of k releases are exact over the types; where there are too
many types they are sampled. pml and pmc of single releases do not add: they appear in no bound as a sum.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.dp.accounting.summing.lattice import log_multinomial, number_of_types, types
from divulge.dp.loss.numbers import Bracket, numbers
from divulge.dp.subjects import as_rows, counted
from divulge.errors import DivulgeError
from divulge.measures.average.capacities import maximal_leakage
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.measures.pointwise.density import ldp, pml
from divulge.model.accepted import ChannelLike, PriorLike
from divulge.model.arraylike import Seed
from divulge.model.channel import Channel
from divulge.model.convert import as_prior
from divulge.model.entries import open_share, whole_number
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.model.shown import Shown, percent, promised, reached
from divulge.ties import first_largest, first_smallest
from divulge.units import Unit, nats_per

MOST_DENSITIES = 1 << 22
"""Types times secrets that are listed."""

Counted = tuple[Channel, int]

LEAKAGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "pml": lambda densities: densities.max(axis=1),
    "pmc": lambda densities: -densities.min(axis=1),
}
"""Leakage of an outcome -> what it is of the densities i(x; y), outcomes x secrets."""


@dataclass(frozen=True, eq=False)
class Releases:
    """A prior and the channels used, each so many times, restricted to the secrets that have a probability."""

    prior: np.ndarray
    secrets: tuple[Hashable, ...]
    channels: tuple[tuple[np.ndarray, int], ...]
    named: tuple[Counted, ...]
    known: Prior

    @property
    def number_of_types(self) -> int:
        """How many types the outcomes of all releases have."""
        return math.prod(number_of_types(count, matrix.shape[1]) for matrix, count in self.channels)

    def densities(self, likelihoods: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return i(x; y) and log q_y from log P(y | x), outcomes x secrets."""
        weighted = likelihoods + np.log(self.prior)
        top = weighted.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            q = np.where(np.isinf(top), -math.inf, np.log(np.exp(weighted - top).sum(axis=1, keepdims=True)) + top)
            return likelihoods - q, q[:, 0]


def releases_of(prior: Any, releases: Sequence[Any]) -> Releases:
    """Return checked releases, each a channel or a pair (channel, how often), of the secrets that occur."""
    known = as_prior(prior)
    if not releases:
        raise DivulgeError.of("releases", "name at least one release", "it", "empty")
    seen = np.flatnonzero(known.support)
    secrets = known.secrets
    named: list[Counted] = []
    matrices: list[tuple[np.ndarray, int]] = []
    for release, count in map(counted, releases):
        channel = as_rows(release).aligned(secrets, "releases")
        rows = (channel.floats.toarray() if channel.sparse else channel.floats)[seen]
        secrets = channel.secrets
        named.append((channel, count))
        matrices.append((rows[:, (rows > 0).any(axis=0)], count))
    possible = tuple(secrets[int(i)] for i in seen)
    return Releases(known.floats[seen], possible, tuple(matrices), tuple(named), known)


def _log_likelihoods(counts: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return sum_y n_y log C_xy for every row of counts and every secret; -inf where a count meets a zero."""
    zero = matrix == 0
    logs = counts @ np.log(np.where(zero, 1.0, matrix)).T
    return np.where(counts @ zero.T > 0, -math.inf, logs)


def over_types(releases: Releases) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Return log P(type | x) without its multinomial, that multinomial, and the labels of the types."""
    likelihoods, ways = np.zeros((1, len(releases.prior))), np.zeros(1)
    labels: list[Any] = [()]
    for matrix, count in releases.channels:
        counts = types(count, matrix.shape[1])
        likelihoods = (likelihoods[:, None] + _log_likelihoods(counts, matrix)[None]).reshape(-1, len(releases.prior))
        ways = np.add.outer(ways, log_multinomial(counts)).ravel()
        labels = [(*label, tuple(row)) for label in labels for row in counts.tolist()]
    return likelihoods, ways, labels if len(releases.channels) > 1 else [label[0] for label in labels]


def _exact(name: str, prior: Any, releases: Sequence[Any], unit: Unit) -> Pointwise:
    given = releases_of(prior, releases)
    if given.number_of_types * len(given.prior) > MOST_DENSITIES:
        hint = "sampled_leakage estimates it with confidence bounds; leakage_bounds holds without a computation."
        raise DivulgeError.of("releases", "have few enough types", "their number", str(given.number_of_types), hint)
    likelihoods, ways, labels = over_types(given)
    densities, log_q = given.densities(likelihoods)
    kept = np.flatnonzero(log_q > -math.inf)
    values = LEAKAGES[name](densities[kept]) / nats_per(unit) + 0.0
    at = (first_largest if name == "pml" else first_smallest)(densities[kept], axis=1)
    q = np.exp(log_q[kept] + ways[kept])
    return Pointwise(
        name, values, q / q.sum(), [labels[i] for i in kept], tuple(given.secrets[int(i)] for i in at), unit
    )


def joint_pml(prior: PriorLike, *releases: ChannelLike | tuple[ChannelLike, int], unit: Unit = "nats") -> Pointwise:
    """Return the pointwise maximal leakage of several releases about one secret together, in nats.

    l(X -> y_1..y_k) = max_x log P(y_1..y_k | x) / q(y_1..y_k), one value for each type of the outcomes.

    Parameters
    ----------
    prior : Prior or what converts to one
    releases : each a channel, or a pair (channel, count); independent given the secret

    Returns
    -------
    Pointwise
        Outcomes are how often every outcome of the channel came (one such tuple for every channel, when there are
        several). Values in [0, log 1/p_min], exact up to rounding.

    Raises
    ------
    DivulgeError
        When there are too many types to list (see `sampled_leakage` and `leakage_bounds`), a release is no channel over
        the secrets of the prior, or a count is no whole number of at least 1.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Pointwise Maximal Leakage", arXiv:2205.04935, Theorem 1, at the outcome
    y_1..y_k.

    Examples
    --------
    >>> bit = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> found = joint_pml(["1/2", "1/2"], (bit, 2))
    >>> found.outcomes, found.values.round(9).tolist()  # log(2 * 9/10) and 0
    ([(0, 2), (1, 1), (2, 0)], [0.587786665, 0.0, 0.587786665])
    """
    return _exact("pml", prior, releases, unit)


def joint_pmc(prior: PriorLike, *releases: ChannelLike | tuple[ChannelLike, int], unit: Unit = "nats") -> Pointwise:
    """Return the pointwise maximal cost of several releases about one secret together, in nats, by type.

    Lambda(X -> y_1..y_k) = max_x log q(y_1..y_k) / P(y_1..y_k | x), in [0, +inf].

    Parameters
    ----------
    prior, releases : as in `joint_pml`

    Returns
    -------
    Pointwise
        Outcomes as for `joint_pml`. Values in [0, +inf], exact up to rounding.

    Raises
    ------
    DivulgeError
        As for `joint_pml`.

    References
    ----------
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Theorem 1,
    arXiv:2407.01167, at the outcome y_1..y_k.

    Examples
    --------
    >>> bit = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> round(joint_pmc(["1/2", "1/2"], (bit, 2)).max(), 12) == round(math.log(5), 12)  # log 1/2 / (1/10)
    True
    """
    return _exact("pmc", prior, releases, unit)


@dataclass(frozen=True, eq=False)
class LeakageBounds(Record, Shown):
    """What holds for all releases together, in `unit`.

    Attributes
    ----------
    max_pml : upper bound on the largest pml: the least of the bounds in `ways`
    maximal_leakage : upper bound on log E[e^pml], the sum over the releases (Sibson's order infinity adds)
    ldp : the sum of the local differential privacy of the releases
    ways : name of each bound on max_pml -> its value

    Examples
    --------
    >>> coin = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> found = leakage_bounds(["1/2", "1/2"], coin, coin)
    >>> round(math.exp(found.ldp), 9), round(math.exp(found.maximal_leakage), 9)  # 3 times 3, 3/2 times 3/2
    (9.0, 2.25)
    """

    max_pml: float
    maximal_leakage: float
    ldp: float
    ways: dict[str, float]


def leakage_bounds(
    prior: PriorLike, *releases: ChannelLike | tuple[ChannelLike, int], unit: Unit = "nats"
) -> LeakageBounds:
    """Return upper bounds on the leakage of several releases about one secret, without listing their outcomes.

    Sound whatever the releases are: pml of one release plus ldp of all later ones (in any order: the best is taken);
    -log(p_min + (1 - p_min) e^-ldp) with the ldp of all; log 1/p_min. The pml of single releases is never added up:
    two deterministic bits with pml log 1/0.49 each can together tell a secret of probability 0.02.

    Parameters
    ----------
    prior, releases : as in `joint_pml`

    Returns
    -------
    LeakageBounds
        Upper bounds, but for rounding: `max_pml` in [0, log 1/p_min], `maximal_leakage` and `ldp` in [0, +inf].

    Raises
    ------
    DivulgeError
        As for `joint_pml`, but for the number of types; when `unit` is unknown.

    Examples
    --------
    >>> bits = [[1, 0], [1, 0], [0, 1]], [[1, 0], [0, 1], [1, 0]]
    >>> found = leakage_bounds([0.02, 0.49, 0.49], *bits)
    >>> round(found.max_pml, 9) == round(math.log(50), 9)
    True
    """
    given = releases_of(prior, releases)
    each = [(pml((given.known, channel)).max(), ldp(channel), count) for channel, count in given.named]
    total = math.fsum(count * private for _, private, count in each)
    p = float(given.prior.min())
    later = [first + math.fsum([total, -private]) if math.isfinite(total) else math.inf for first, private, _ in each]
    if len(each) == 1 and each[0][2] == 1:
        later = [each[0][0]]
    ways = {
        "pml of one release, ldp of the others": min(later),
        "ldp of all releases": _leakage_of_ldp(total, p),
        "the rarest secret": -math.log(p) + 0.0,
    }
    leakages = math.fsum(count * maximal_leakage(channel) for channel, count in given.named)
    scale = nats_per(unit)
    return LeakageBounds(
        min(ways.values()) / scale, leakages / scale, total / scale, {k: v / scale for k, v in ways.items()}
    )


def _leakage_of_ldp(epsilon: float, p: float) -> float:
    """Return -log(p + (1 - p) e^-epsilon), without cancellation where epsilon is small or p is tiny."""
    if epsilon < 0.5:
        return -math.log1p((1.0 - p) * math.expm1(-epsilon)) + 0.0
    return -math.log(p + (1.0 - p) * math.exp(-epsilon)) + 0.0


@dataclass(frozen=True, eq=False, repr=False)
class SampledLeakage(Record, Shown):
    """Draws of a leakage of many releases, with bounds that hold with probability `confidence`, each by itself.

    Attributes
    ----------
    values : float64 array of shape (samples,), in `unit`
    truth : int array of shape (samples,), the position of the secret behind each draw
    top : the largest value there can be (+inf for pmc)

    Examples
    --------
    >>> coin = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> found = sampled_leakage(["1/2", "1/2"], (coin, 20), rng=np.random.default_rng(0), samples=1000)
    >>> found.top == math.log(2), found.tail(found.top), len(found.values)
    (True, 0.0, 1000)
    """

    name: str
    values: np.ndarray
    truth: np.ndarray
    top: float
    confidence: float
    unit: str

    def __repr__(self) -> str:
        bounds = self.mean_bounds()
        return (
            f"{self.name} [{self.unit}] of {len(self.values):,} draws: mean {self.mean():.6g}, "
            f"in [{reached(bounds.lower)}, {promised(bounds.upper)}] with {percent(self.confidence)} confidence"
        )

    def mean(self) -> float:
        """Return the estimate of the expected leakage.

        Examples
        --------
        >>> found = sampled_leakage([0.5, 0.5], ([[0.75, 0.25], [0.25, 0.75]], 20), rng=0, samples=1000)
        >>> 0 <= found.mean() <= math.log(2)
        True
        """
        return float(self.values.mean())

    def mean_bounds(self) -> Bracket:
        """Return confidence bounds on the expected leakage (empirical Bernstein, Maurer and Pontil).

        Examples
        --------
        >>> found = sampled_leakage([0.5, 0.5], ([[0.75, 0.25], [0.25, 0.75]], 20), rng=0, samples=1000)
        >>> found.mean_bounds().lower <= found.mean() <= found.mean_bounds().upper
        True
        """
        n, log = len(self.values), math.log(4 / (1 - self.confidence))
        if math.isinf(self.top):
            return Bracket(0.0, math.inf)
        spread = math.sqrt(2 * float(self.values.var(ddof=1)) * log / n) + 7 * self.top * log / (3 * (n - 1))
        return Bracket(max(0.0, self.mean() - spread), min(self.top, self.mean() + spread))

    def tail(self, threshold: float) -> float:
        """Return the estimate of P(leakage > threshold).

        Examples
        --------
        >>> found = sampled_leakage([0.5, 0.5], ([[0.75, 0.25], [0.25, 0.75]], 20), rng=0, samples=1000)
        >>> found.tail(math.log(2))  # the largest value there can be
        0.0
        """
        return float((self.values > float(numbers(threshold, "threshold"))).mean())

    def tail_bounds(self, threshold: float) -> Bracket:
        """Return exact binomial confidence bounds on P(leakage > threshold) (Clopper and Pearson).

        Examples
        --------
        >>> found = sampled_leakage([0.5, 0.5], ([[0.75, 0.25], [0.25, 0.75]], 20), rng=0, samples=1000)
        >>> found.tail_bounds(math.log(2)).upper < 0.01
        True
        """
        from scipy.stats import beta

        threshold = float(numbers(threshold, "threshold"))
        n, k, half = len(self.values), int((self.values > threshold).sum()), (1 - self.confidence) / 2
        lower = 0.0 if k == 0 else float(beta.ppf(half, k, n - k + 1))
        return Bracket(lower, 1.0 if k == n else float(beta.ppf(1 - half, k + 1, n - k)))


def sampled_leakage(
    prior: PriorLike,
    *releases: ChannelLike | tuple[ChannelLike, int],
    rng: Seed | None = None,
    leakage: str = "pml",
    samples: int = 10_000,
    confidence: float = 0.99,
    unit: Unit = "nats",
) -> SampledLeakage:
    """Return draws of the pml (or pmc) of many releases about one secret, for estimates with confidence bounds.

    Parameters
    ----------
    prior, releases : as in `joint_pml`, any number of them
    rng : numpy Generator or seed, optional (an experiment, not a release: it needs no secure randomness)
    leakage : "pml" or "pmc"
    samples : int
        Draws, at least 2.
    confidence : float in (0, 1)
        Of the bounds.

    Returns
    -------
    SampledLeakage
        An estimate: `mean()` and `tail(t)` with their confidence bounds, in `unit`.

    Raises
    ------
    DivulgeError
        As for `leakage_bounds`, and when `leakage`, `samples` or `confidence` are out of range.

    Examples
    --------
    >>> found = sampled_leakage([0.5, 0.5], ([[0.75, 0.25], [0.25, 0.75]], 100), rng=0, samples=1000)
    >>> found.mean_bounds().upper <= math.log(2)
    True
    """
    if leakage not in LEAKAGES:
        raise DivulgeError.unknown("leakage", leakage, LEAKAGES)
    samples, confidence = whole_number(samples, "samples", 2), open_share(confidence, "confidence")
    given, rng = releases_of(prior, releases), np.random.default_rng(rng)
    often = rng.multinomial(samples, given.prior / given.prior.sum())
    truth = np.repeat(np.arange(len(often)), often)
    likelihoods = np.zeros((len(truth), len(given.prior)))
    for matrix, count in given.channels:
        drawn = np.concatenate(
            [rng.multinomial(count, row / row.sum(), size=m) for row, m in zip(matrix, often, strict=True)]
        )
        likelihoods += _log_likelihoods(drawn, matrix)
    densities, _ = given.densities(likelihoods)
    values = LEAKAGES[leakage](densities) / nats_per(unit) + 0.0
    top = -math.log(float(given.prior.min())) / nats_per(unit) if leakage == "pml" else math.inf
    return SampledLeakage(leakage, values, truth, top, confidence, unit)

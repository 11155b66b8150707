"""Named mechanisms with a privacy parameter: `epsilon`, in nats, or the exact `ratio` = e^epsilon."""

import math
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.accepted import PriorLike
from divulge.model.arraylike import Matrix, Number
from divulge.model.channel import Channel
from divulge.model.convert import as_prior
from divulge.model.entries import whole_number
from divulge.model.mechanisms.arguments import Secrets, filled, inside, inverse_ratio, letters_of, positive
from divulge.model.mechanisms.planar import exponential_weights_of
from divulge.model.metrics.metric import Metric

_MOST_SUBSETS = 1_000_000
"""Outcomes that are written out: 8 MB a secret; 126,000 of 20 secrets take 4 s."""

_ROUNDING = Fraction(1, 10**12)
"""By this share scores that were computed may pass the sensitivity that was meant."""


def randomized_response(secrets: Secrets, epsilon: float | None = None, *, ratio: Number | None = None) -> Channel:
    r"""Return generalized randomized response: the truth with odds e^epsilon to 1 against each other value.

    C_xx = e^epsilon / (N - 1 + e^epsilon) and C_xy = 1 / (N - 1 + e^epsilon) for y != x, shape (N, N).

    Parameters
    ----------
    secrets : int, labels or Prior
    epsilon : float in [0, +inf], in nats
    ratio : Fraction, int or text, in place of epsilon: the exact e^epsilon

    Returns
    -------
    Channel
        Of shape (N, N); its ldp is epsilon. Exact with `ratio`.

    Raises
    ------
    DivulgeError
        When not just one of `epsilon` and `ratio` is given, or it is out of range.

    References
    ----------
    Kairouz, Bonawitz, Ramage, "Discrete distribution estimation under local privacy", 2016.

    Examples
    --------
    >>> randomized_response(["yes", "no"], ratio=3)
    exact Channel, 2 secrets x 2 outcomes
         yes   no
    yes  3/4  1/4
     no  1/4  3/4
    """
    letters, a = letters_of(secrets), inverse_ratio(epsilon, ratio)
    return Channel(_without_loss(response_rows(len(letters), a), epsilon), letters, letters)


def response_rows(n: int, a: Any) -> np.ndarray:
    """Return the matrix of randomized response with odds 1 to a for the truth, shape (n, n); exact for a Fraction.

    >>> response_rows(3, 0.5)[0].tolist()
    [0.5, 0.25, 0.25]
    """
    return filled(n, n, a, 1) / (1 + (n - 1) * a)


def geometric(secrets: Secrets, epsilon: float | None = None, *, ratio: Number | None = None) -> Channel:
    r"""Return the truncated geometric mechanism: neighbors are e^epsilon-close, the two ends absorb the tails.

    C_xy = (1-a)/(1+a) a^|x-y| with a = e^-epsilon for inner y, and a^|x-y| / (1+a) at the two ends, shape (N, N).
    Adjacent rows have ratio at most e^epsilon; the whole channel has ldp = (N-1) epsilon.

    Parameters
    ----------
    secrets : int, labels in their order, or Prior
    epsilon : float in [0, +inf], in nats, for secrets one step apart
    ratio : Fraction, int or text, in place of epsilon: the exact e^epsilon

    Returns
    -------
    Channel
        Of shape (N, N); exact with `ratio`.

    Raises
    ------
    DivulgeError
        When not just one of `epsilon` and `ratio` is given, or it is out of range.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", 2009, arXiv:0811.2841.

    Examples
    --------
    >>> geometric(3, ratio=2).matrix.tolist()[1]
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    letters, a = letters_of(secrets), inverse_ratio(epsilon, ratio)
    return Channel(_without_loss(geometric_rows(len(letters), a), epsilon), letters, letters)


def geometric_rows(n: int, a: Any) -> np.ndarray:
    """Return the matrix of the truncated geometric mechanism with ratio a <= 1, shape (N, N); far entries may vanish.

    >>> geometric_rows(3, 0.5)[0].tolist()
    [0.666666666..., 0.166666666..., 0.166666666...]
    """
    ends = np.array([1 if y in (0, n - 1) else 1 - a for y in range(n)])
    powers = np.array([a**k for k in range(n)])
    rows = powers[np.abs(np.subtract.outer(np.arange(n), np.arange(n)))] * ends
    return rows / (1 + a) if n > 1 else rows


def exponential(
    scores: Matrix | Metric,
    epsilon: float | None = None,
    *,
    ratio: Number | None = None,
    sensitivity: Number | None = None,
    secrets: Iterable[Hashable] | None = None,
    outcomes: Iterable[Hashable] | None = None,
) -> Channel:
    r"""Return the exponential mechanism: C_xy proportional to exp(epsilon u_xy / (2 sensitivity)), shape (N, M).

    Parameters
    ----------
    scores : array_like of shape (N, M)
        u_xy, how good outcome y is when the secret is x. Or a Metric: then C_xy is proportional to
        exp(-epsilon d(x, y) / 2), epsilon-metric private.
    epsilon : float in [0, +inf), in nats; about a Metric positive, in nats per unit of distance, or text such as "1/km"
    ratio : Fraction, int or text, in place of epsilon: the exact e^epsilon. Then every e^(epsilon u_xy / 2 sensitivity)
        must be rational up to a factor common to its row.
    sensitivity : number > 0, optional
        By how much a score can change between secrets; max_y (max_x u_xy - min_x u_xy) when not given.
    secrets, outcomes : labels, optional
        0, 1, ... when not given.

    Returns
    -------
    Channel
        Of shape (N, M), epsilon-LDP. Exact with `ratio`.

    Raises
    ------
    DivulgeError
        When not just one of `epsilon` and `ratio` is given, it is out of range, scores are not finite, or they change
        by more than `sensitivity`.

    References
    ----------
    McSherry, Talwar, "Mechanism design via differential privacy", 2007.
    Chatzikokolakis et al., "Broadening the Scope of Differential Privacy Using Metrics", 2013, for metrics.

    Examples
    --------
    >>> exponential([[2, 0], [0, 2]], ratio=9).matrix.tolist()[0]  # e^(epsilon / 2) = 3 to 1
    [Fraction(3, 4), Fraction(1, 4)]
    """
    if isinstance(scores, Metric):
        return _of_metric(scores, epsilon, {"ratio": ratio, "sensitivity": sensitivity})
    a = inverse_ratio(epsilon, ratio)
    try:
        u = exact.as_fractions(np.asarray(scores, dtype=object))
    except (ValueError, TypeError, OverflowError):
        raise DivulgeError.of("scores", "hold finite numbers", "an entry", "something else") from None
    if u.ndim != 2 or 0 in u.shape:
        raise DivulgeError.of("scores", "have shape (N, M)", "its shape", str(u.shape))
    change = (u.max(axis=0) - u.min(axis=0)).max()
    spread = change if sensitivity is None else positive(sensitivity, "sensitivity")
    if change > spread * (1 + _ROUNDING):
        raise DivulgeError.of("sensitivity", "bound how much a score changes", "that change", f"{float(change):g}")
    steps = (u.max(axis=1)[:, None] - u) / (2 * spread) if spread else u - u
    if isinstance(a, Fraction):
        weights = np.array([[_power(a, step) for step in row] for row in steps.tolist()], dtype=object)
    else:
        weights = exponential_weights(
            exact.as_floats(steps), -math.log(a) if epsilon is None else inside(float(epsilon))
        )
    return Channel(_without_loss(weights / weights.sum(axis=1)[:, None], epsilon), secrets, outcomes)


def _of_metric(metric: Metric, epsilon: Any, others: dict[str, Any]) -> Channel:
    for name, value in others.items():
        if value is not None:
            raise DivulgeError.of(name, "be absent where a metric is given", "it", str(value))
    weights = exponential_weights_of(metric, epsilon)
    return Channel(weights / weights.sum(axis=1)[:, None], metric.labels, metric.labels)


def exponential_weights(steps: np.ndarray, rate: float) -> np.ndarray:
    """Return exp(-rate steps) for steps >= 0; an infinite rate leaves those of step 0.

    >>> exponential_weights(np.array([0.0, 1.0]), math.inf).tolist()
    [1.0, 0.0]
    """
    with np.errstate(invalid="ignore"):
        return np.where(steps > 0, np.exp(-rate * steps), 1.0)


def subset_selection(
    secrets: Secrets, epsilon: float | None = None, *, ratio: Number | None = None, size: int | None = None
) -> Channel:
    r"""Return subset selection: a random set of `size` secrets, e^epsilon times likelier when it holds the true one.

    P(S | x) proportional to e^epsilon if x in S, else 1; outcomes are tuples of labels, shape (N, N choose size).
    The default size is the whole number nearest to N / (e^epsilon + 1), at least 1.

    Parameters
    ----------
    secrets : int, labels or Prior
    epsilon : float in [0, +inf], in nats
    ratio : Fraction, int or text, in place of epsilon: the exact e^epsilon
    size : int in [1, N], optional

    Returns
    -------
    Channel
        Of shape (N, N choose size), epsilon-LDP. Exact with `ratio`.

    Raises
    ------
    DivulgeError
        When not just one of `epsilon` and `ratio` is given, or it is out of range, or `size` is none of 1 to N.

    References
    ----------
    Ye, Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy", 2018,
    arXiv:1702.00610.

    Examples
    --------
    >>> subset_selection(["a", "b", "c"], ratio=2, size=2).outcomes
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """
    letters, a = letters_of(secrets), inverse_ratio(epsilon, ratio)
    n = len(letters)
    size = max(1, round(n * float(a / (1 + a)))) if size is None else whole_number(size, "size", 1, n)
    if not math.comb(n, size) <= _MOST_SUBSETS:
        raise DivulgeError.of("size", f"give at most {_MOST_SUBSETS} subsets", "their number", str(math.comb(n, size)))
    subsets = list(combinations(range(n), size))
    rows = _without_loss(subset_rows(n, subsets, a), epsilon)
    return Channel(rows, letters, [tuple(letters[i] for i in subset) for subset in subsets])


def subset_rows(n: int, subsets: Sequence[tuple[int, ...]], a: Any) -> np.ndarray:
    """Return the matrix of subset selection with odds 1 to a for subsets that hold the truth; exact for a Fraction.

    `a` is e^-epsilon.

    >>> subset_rows(3, [(0, 1), (0, 2), (1, 2)], 0.5)[0].tolist()
    [0.4, 0.4, 0.2]
    """
    size = len(subsets[0])
    total = math.comb(n - 1, size - 1) + a * math.comb(n - 1, size)
    rows = filled(n, len(subsets), a, None)
    for j, subset in enumerate(subsets):
        rows[list(subset), j] = 1
    return rows / total


def extremal(prior: PriorLike, epsilon: float | None = None, *, ratio: Number | None = None) -> Channel:
    r"""Return the extremal mechanism of the high-privacy regime: every outcome has pml exactly epsilon, and q = P.

    C_ij = 1 - e^epsilon (1 - P_i) for i = j, else e^epsilon P_j, shape (N, N); optimal for convex utilities under
    epsilon-PML. Needs e^epsilon <= 1 / (1 - p_min). Exact for an exact prior and ratio.

    Parameters
    ----------
    prior : Prior, or what converts to one, of N secrets
    epsilon : float in [0, log 1/(1 - p_min)], in nats
    ratio : Fraction, int or text, in place of epsilon: the exact e^epsilon

    Returns
    -------
    Channel
        Of shape (N, N); exact for an exact prior and `ratio`.

    Raises
    ------
    DivulgeError
        When not just one of `epsilon` and `ratio` is given, or it is out of range.

    References
    ----------
    Grosse, Saeidian, Oechtering, "Extremal mechanisms for pointwise maximal leakage", 2024, arXiv:2310.07381.

    Examples
    --------
    >>> extremal(["1/4", "3/4"], ratio="5/4").matrix.tolist()
    [[Fraction(1, 16), Fraction(15, 16)], [Fraction(5, 16), Fraction(11, 16)]]
    """
    prior, a = as_prior(prior), inverse_ratio(epsilon, ratio)
    p = prior.probabilities if isinstance(a, Fraction) else prior.floats
    if not (p > 0).all():
        raise DivulgeError.of("prior", "give every secret a positive probability", "one", "0")
    gain = 1 / a if isinstance(a, Fraction) or epsilon is None else math.exp(inside(epsilon))
    surplus = gain - 1 if isinstance(a, Fraction) or epsilon is None else math.expm1(inside(epsilon))
    diagonal = p - (1 - p) * surplus
    if not (diagonal >= 0).all():
        limit = -math.log1p(-float(p.min()))
        raise DivulgeError.of("epsilon", f"be at most -log(1 - p_min) = {limit:.6g}", "it", f"{math.log(gain):.6g}")
    rows = np.tile(gain * p, (len(p), 1))
    np.fill_diagonal(rows, diagonal)
    return Channel(rows, prior.secrets, prior.secrets)


def _without_loss(rows: np.ndarray, epsilon: float | None) -> np.ndarray:
    """Return the rows; refuse those in which some entries of a column vanish, though epsilon is finite."""
    if epsilon is not None and epsilon < math.inf:
        top, bottom = rows.max(axis=0), rows.min(axis=0)
        if not (bottom >= np.minimum(top, np.finfo(np.float64).tiny)).all():
            hint = "give `ratio` for fractions, or math.inf."
            raise DivulgeError.of("epsilon", "leave every entry above 2.2e-308", "it", f"{epsilon:g}", hint)
    return rows


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return base ** exponent where it is rational; refuse it elsewhere."""
    top, bottom = (_root(part, exponent.denominator) for part in (base.numerator, base.denominator))
    if top is None or bottom is None:
        raise DivulgeError.of(
            "ratio", "have rational powers ratio^(u / 2 sensitivity)", "one", f"({1 / base})^({exponent})",
            "give a ratio that is a perfect power, or epsilon for float entries.",
        )  # fmt: skip
    return Fraction(top, bottom) ** exponent.numerator


def _root(whole: int, degree: int) -> int | None:
    """Return the whole `degree`-th root of `whole`, or None."""
    import flint

    root, is_power = flint.fmpz(whole).root(degree), True
    is_power = root**degree == whole
    return int(root) if is_power else None

"""The variants that bound a divergence of the two distributions, at the worst ordered pair; see `approximate`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from divulge.dp.loss.numbers import order
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import SubjectLike, as_rows
from divulge.dp.variants.worst import Worst, in_unit, largest, nats_of, worst, worst_delta
from divulge.errors import DivulgeError
from divulge.model.accepted import ChannelLike
from divulge.model.neighbors import NeighborsLike, ordered_pairs
from divulge.roots import grown, turn
from divulge.ties import first_largest
from divulge.units import Unit

_CLOSE = 1e-9
"""Third rows whose logarithm is this close to the largest are named beside it."""


def kl_privacy(subject: SubjectLike, neighbors: NeighborsLike = None, unit: Unit = "nats") -> Worst:
    """Return the KL privacy max over pairs of E_P[L] = KL(P || Q), in nats, in [0, +inf].

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`

    Returns
    -------
    Worst
        A value in [0, +inf], and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `unit` is unknown.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Definition 16; Cuff, Yu, "Differential Privacy as a Mutual
    Information Constraint", arXiv:1608.03677.

    Examples
    --------
    >>> round(kl_privacy([["3/4", "1/4"], ["1/4", "3/4"]]).value, 12)  # log(3) / 2
    0.549306144334
    """
    return in_unit(unit, worst(subject, "divergence", lambda loss: loss.mean(), neighbors))


def renyi_dp(subject: SubjectLike, alpha: float, neighbors: NeighborsLike = None, unit: Unit = "nats") -> Worst:
    """Return the Renyi DP of order alpha, max over pairs of D_alpha(P || Q) in nats; 1 is KL, +inf is pure DP.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    alpha : float in [1, +inf], the order

    Returns
    -------
    Worst
        A value in [0, +inf], rising with alpha, and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `alpha` is below 1, or `unit` is unknown.

    References
    ----------
    Mironov, "Renyi Differential Privacy", arXiv:1702.07476.

    Examples
    --------
    >>> renyi_dp(dv.dp.GaussianMechanism(sigma=2.0), 8.0).value  # alpha / (2 sigma^2)
    1.0
    """
    return in_unit(unit, worst(subject, "divergence", lambda loss: loss.renyi(alpha), neighbors))


def renyi_order(subject: SubjectLike, epsilon: float, neighbors: NeighborsLike = None, unit: Unit = "nats") -> Worst:
    """Return the largest order alpha >= 1 with D_alpha <= epsilon for all pairs, rounded down; 0 when there is none.

    The twin of `renyi_dp`.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    epsilon : number, in `unit`

    Returns
    -------
    Worst
        0, or an order in [1, +inf], a lower bound, and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `epsilon` is no number, or `unit` is unknown.

    References
    ----------
    Mironov, "Renyi Differential Privacy", arXiv:1702.07476.

    Examples
    --------
    >>> renyi_order(dv.dp.GaussianMechanism(sigma=2.0), 1.0).value
    8.0
    """
    threshold = nats_of(epsilon, "epsilon", unit)
    return worst(subject, "divergence", lambda loss: _largest_order(loss, threshold), neighbors, least=True)


def _largest_order(loss: PrivacyLoss, epsilon: float) -> float:
    if loss.renyi(math.inf) <= epsilon:
        return math.inf
    if loss.mean() > epsilon:
        return 0.0

    def exceeds(alpha: float) -> bool:
        return loss.renyi(alpha) > epsilon

    low, high = grown(exceeds, 2.0, 1e15)
    return turn(exceeds, max(1.0, low), high)[0] if high < math.inf else low


def abs_chi(subject: SubjectLike, alpha: float, neighbors: NeighborsLike = None) -> Worst:
    """Return binary abs-chi^alpha privacy, max over pairs of (E_Q |P/Q - 1|^alpha)^(1/alpha), in [0, +inf].

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    alpha : float in [1, +inf], the order

    Returns
    -------
    Worst
        A value in [0, +inf], without a unit, and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `alpha` is below 1.

    References
    ----------
    Wang, Balle, Kasiviswanathan, "Subsampled Renyi Differential Privacy", arXiv:1808.00087.

    Examples
    --------
    >>> round(abs_chi([["3/4", "1/4"], ["1/4", "3/4"]], 1).value, 9)  # twice the total variation
    1.0
    """
    return worst(subject, "divergence", lambda loss: loss.abs_chi(alpha), neighbors)


def ternary_abs_chi(channel: ChannelLike, alpha: float, neighbors: NeighborsLike = None) -> Worst:
    """Return ternary abs-chi^alpha privacy, max over triples of (E_R |(P - Q) / R|^alpha)^(1/alpha).

    P, Q, R run over mutually neighboring rows (R may be P or Q); +inf where R vanishes and P - Q does not (alpha > 1).

    Parameters
    ----------
    channel : Channel or array_like of shape (N, M)
    alpha : float in [1, +inf], the order
    neighbors : which secrets are neighbors (default: all pairs); see `privacy_losses`

    Returns
    -------
    Worst
        In [0, +inf]; `.pair` is the triple of secrets.

    Raises
    ------
    DivulgeError
        When `alpha` is below 1, `channel` is no channel, or `neighbors` is no relation between its secrets.

    References
    ----------
    Wang, Balle, Kasiviswanathan, "Subsampled Renyi Differential Privacy", arXiv:1808.00087.

    Examples
    --------
    >>> ternary_abs_chi([["3/4", "1/4"], ["1/4", "3/4"]], 1).value
    1.0
    """
    return largest([one for some in triples(channel, alpha, neighbors) for one in some[:1]])


def triples(channel: Any, alpha: float, neighbors: NeighborsLike = None) -> list[list[Worst]]:
    """Return for each pair P, Q of neighboring rows the values of the third rows R near the worst, the worst first."""
    alpha = order(alpha)
    channel = as_rows(channel)
    rows = channel.floats.toarray() if channel.sparse else channel.floats
    pairs = ordered_pairs(channel.secrets, neighbors)
    adjacent = np.eye(len(rows), dtype=bool)
    adjacent[tuple(pairs.T)] = True
    found: list[list[Worst]] = []
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(rows)
        for i, j in pairs[pairs[:, 0] <= pairs[:, 1]].tolist():
            third, apart = np.flatnonzero(adjacent[i] & adjacent[j]), np.flatnonzero(rows[i] != rows[j])
            values = _log_norms(np.log(np.abs(rows[i] - rows[j])[apart]), logs[np.ix_(third, apart)], alpha)
            first = first_largest(values)
            near = [first, *(k for k in np.flatnonzero(values >= values.max() - _CLOSE).tolist() if k != first)]
            named = [tuple(channel.secrets[k] for k in (i, j, int(third[n]))) for n in near]
            top = float(np.exp(values.max()))
            sizes = [top if n == first else float(np.exp(values[n])) for n in near]
            found.append([Worst(size, name) for size, name in zip(sizes, named, strict=True)])
    return found


def _log_norms(gaps: np.ndarray, logs: np.ndarray, alpha: float) -> np.ndarray:
    """Return log (E_R (gap / R)^alpha)^(1/alpha) for every row of `logs` = log R, from the logarithms of the gaps."""
    if alpha == math.inf:
        return (gaps - logs).max(axis=1, initial=-math.inf)
    shares = (1.0 - alpha) * logs if alpha > 1 else np.zeros_like(logs)
    return np.logaddexp.reduce(alpha * gaps + shares, axis=1) / alpha


def total_variation(subject: SubjectLike, neighbors: NeighborsLike = None) -> Worst:
    """Return total variation privacy, max over pairs of TV(P, Q) = delta(0), in [0, 1].

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`

    Returns
    -------
    Worst
        A value in [0, 1], without a unit, and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        As `privacy_losses`.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Section 2.2.2 (TVPr).

    Examples
    --------
    >>> total_variation([["3/4", "1/4"], ["1/4", "3/4"]]).value
    0.5
    """
    return worst_delta(subject, 0.0, neighbors)


def f_divergence(
    subject: SubjectLike,
    f: str | Callable[[np.ndarray], np.ndarray],
    neighbors: NeighborsLike = None,
    *,
    slope: float = math.inf,
) -> Worst:
    """Return f-divergence privacy, max over pairs of D_f(P || Q) = E_Q[f(P/Q)], in [0, +inf].

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    f : "jensen-shannon", "hellinger", "kl" or "chi-squared"; or a vectorized convex function on [0, inf) with f(1) = 0
        A function sees ratios P/Q, whose difference from 1 has few digits where P and Q are nearly alike.
    slope : the limit of f(r) / r for large r, of a function; what outcomes that only P shows are charged

    Returns
    -------
    Worst
        A value in [0, +inf], without a unit, and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when f(1) is not 0, or no divergence has the name.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Definition 19, read with the expectation under Q.

    Examples
    --------
    >>> [round(f_divergence([[0.5, 0.5], [0.25, 0.75]], f).value, 12) for f in ("chi-squared", lambda r: (r - 1) ** 2)]
    [0.333333333333, 0.333333333333]
    """
    if not isinstance(f, str) and not abs(float(f(np.ones(1))[0])) <= 1e-12:
        raise DivulgeError.of("f", "be 0 at 1", "f(1)", str(f(np.ones(1))[0]))
    return worst(subject, "divergence", lambda loss: loss.divergence(f, slope), neighbors)

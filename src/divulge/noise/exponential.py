"""The exponential mechanism over finitely many candidates, from a function of scores."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from divulge.model import mechanisms
from divulge.model.channel import Channel


def exponential_mechanism(
    secrets: Iterable[Hashable],
    candidates: Iterable[Hashable],
    score: Callable[[Any, Any], float],
    epsilon: float,
    sensitivity: float | None = None,
) -> Channel:
    """Return the exponential mechanism over finitely many candidates: C_xy proportional to exp(eps u(x,y) / 2D).

    It is epsilon-LDP when |u(x, y) - u(x', y)| <= sensitivity D for all x, x', y.

    Parameters
    ----------
    secrets : N labels
    candidates : M labels, the outcomes
    score : function of (secret, candidate), u(x, y)
    epsilon : float in [0, +inf), in nats
    sensitivity : float > 0, optional
        By how much a score can change between secrets; the largest change when not given.

    Returns
    -------
    Channel
        Of shape (N, M), float64.

    Raises
    ------
    DivulgeError
        When scores are not finite, change by more than `sensitivity`, or `epsilon` is out of range.

    References
    ----------
    McSherry, Talwar, "Mechanism design via differential privacy", 2007.

    Examples
    --------
    >>> c = exponential_mechanism([0, 1], [0, 1], lambda x, y: -abs(x - y), epsilon=2.0, sensitivity=1.0)
    >>> round(float(c.matrix[0, 0]), 6)
    0.731059
    """
    scores = [[score(x, y) for y in candidates] for x in secrets]
    return mechanisms.exponential(
        scores, epsilon, sensitivity=sensitivity, secrets=list(secrets), outcomes=list(candidates)
    )

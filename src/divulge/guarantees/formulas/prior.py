"""What a whole prior adds to bounds on averages, on python-flint balls: each secret has its own range of lifts."""

from collections.abc import Sequence
from typing import Any

from divulge.guarantees.formulas.density import chord, least


def lifts_of_alip(lower: Any, upper: Any, prior: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the range of lifts of each secret: [e^-lower, e^upper], and what that range leaves for the others to 1."""
    low, high = ((-lower).exp() if lower.is_finite() else 0 * prior[0]), upper.exp()
    return [
        (
            (0 * p).max(low).max((1 - high * (1 - p)) / p if high.is_finite() else 0 * p),
            least((1 - low * (1 - p)) / p, high),
        )
        for p in prior
    ]


def lifts_of_ldp(epsilon: Any, prior: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the range of lifts of each secret: 1 / (p + (1 - p) e^epsilon) to 1 / (p + (1 - p) e^-epsilon)."""
    if not epsilon.is_finite():
        return [(0 * p, 1 / p) for p in prior]
    return [(1 / (p + (1 - p) * epsilon.exp()), 1 / (p + (1 - p) * (-epsilon).exp())) for p in prior]


def information(lifts: Sequence[tuple[Any, Any]], prior: Sequence[Any]) -> Any:
    """Return sum of P_x times the chord of v log v over the range of lifts of x, at its mean 1."""
    return sum((p * chord(-low.log(), high.log()) for p, (low, high) in zip(prior, lifts, strict=True)), 0 * prior[0])


def best_names(lifts: Sequence[tuple[Any, Any]], pay: Sequence[Any]) -> Any:
    """Return a bound on sum_x pay_x P(x is named | x), where each outcome names one secret.

    x is named with a probability w_x in all, and m_x <= min(w_x high, 1 - (1 - w_x) low) when it is the secret. So the
    bound is the largest sum of concave functions of w that sum to 1; for each slope s it is at most
    s + sum_x max_w (pay_x m_x(w) - s w), and the slope where the shares are used up is the best.
    """
    bends = [(1 - low) / (high - low) if high - low > 0 else 1 + 0 * low for low, high in lifts]
    pieces = [(c * high, float(b)) for c, (_, high), b in zip(pay, lifts, bends, strict=True)]
    pieces += [(c * low, 1 - float(b)) for c, (low, _), b in zip(pay, lifts, bends, strict=True)]
    slope, left = 0 * pay[0], 1.0
    for rise, width in sorted(pieces, key=lambda piece: -float(piece[0])):
        slope, left = rise, left - width
        if left <= 0:
            break
    total = slope
    for c, (_, high), b in zip(pay, lifts, bends, strict=True):
        total += (0 * c).max(c * high * b - slope * b).max(c - slope)
    return total


def guess_of_alip(lower: Any, upper: Any, prior: Sequence[Any]) -> Any:
    """Return the min-entropy leakage: the best names, paid as often as the secret comes, over naming the likeliest.

    It is 0, and not what a ball about 0 leaves, where nothing is told, or nothing makes another secret the likeliest.
    """
    if lower == 0 or upper == 0 or _never_overtaken(lifts_of_alip(lower, upper, prior), prior):
        return 0 * prior[0]
    return (best_names(lifts_of_alip(lower, upper, prior), prior) / _largest(prior)).log().max(0 * prior[0])


def guess_of_ldp(epsilon: Any, prior: Sequence[Any]) -> Any:
    """Return log of max_k e^epsilon (P_1 + ... + P_k) / (e^epsilon - 1 + k) over P_1, for falling probabilities."""
    if not epsilon.is_finite():
        return -_largest(prior).log()
    top, *others = sorted(prior, key=float, reverse=True)
    grown, kept, best = epsilon.exp(), top, 1 + 0 * top
    for k, p in enumerate(others, 2):
        kept += p
        best = best.max(grown * kept / (grown - 1 + k) / top)
    return best.log().max(0 * top)


def _never_overtaken(lifts: Sequence[tuple[Any, Any]], prior: Sequence[Any]) -> bool:
    """Say whether the likeliest secret surely remains so, at its lowest lift beside the highest of any other."""
    first = max(range(len(prior)), key=lambda x: float(prior[x]))
    least_of_first = prior[first] * lifts[first][0]
    others = [p * high for p, (_, high) in zip(prior, lifts, strict=True)]
    return all(least_of_first >= other for x, other in enumerate(others) if x != first)


def _largest(prior: Sequence[Any]) -> Any:
    top = prior[0]
    for p in prior:
        top = top.max(p)
    return top

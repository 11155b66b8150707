"""The bounds between models of tables, on python-flint balls or on Numbers."""

from typing import Any

from divulge.guarantees.formulas.density import INFINITY, least, log_inverse


def capped(value: Any) -> Any:
    """Return the smaller of a number and 1."""
    return value.min(1 + 0 * value)


def variation_of_alip(lower: Any, upper: Any) -> Any:
    """Return (e^u - 1)(1 - e^-l) / (e^u - e^-l), divided by e^u above and below; 0 where one of the two is 0."""
    if upper == 0 or lower == 0:
        return (upper if upper == 0 else lower) * 0
    high = -(-upper).expm1() if upper.is_finite() else 1
    low = -(-lower).expm1() if lower.is_finite() else 1
    if not (upper.is_finite() and lower.is_finite()):
        return high if upper.is_finite() else low if lower.is_finite() else upper * 0 + 1
    return high * low / -(-upper - lower).expm1()


def pml_of_variation(distance: Any, p: Any) -> Any:
    """Return log(1 + t / p), at most log 1/p."""
    return least((distance / p).log1p(), log_inverse(p))


def pmc_of_variation(distance: Any, p: Any) -> Any:
    """Return -log(1 - t / p), +inf where t is not below p."""
    return -(-(distance / p)).log1p() if distance < p else INFINITY()


def pml_of_surprise(beta: Any, p: Any) -> Any:
    """Return log(1 + min(beta, log 1/p)); an infinite beta promises nothing."""
    return least(beta, log_inverse(p)).log1p() if beta.is_finite() else INFINITY()


def enhanced(beta: Any, prior: Any) -> Any:
    """Return beta where it is at most -log p of every p; +inf else."""
    return beta if all(p == 1 or beta <= log_inverse(p) for p in prior) else INFINITY()


def larger(epsilon: Any) -> Any:
    """Return a ball whose every point is above: by a share of 2^-60, and by 2^-1000. Only a ball has an upper end."""
    return (epsilon + epsilon * 2.0**-60 + 2.0**-1000).upper()


def entropy_of_pml(epsilon: Any, prior: Any) -> Any:
    """Return e^-epsilon / p_max, at least 1."""
    top = prior[0]
    for p in prior[1:]:
        top = top.max(p)
    return ((-epsilon).exp() / top).max(1 + 0 * top)


def all_of(epsilon: Any, prior: Any) -> Any:
    """Return the number of secrets where epsilon is finite, else 1."""
    return prior[0] * 0 + (len(prior) if epsilon.is_finite() else 1)


def if_finite(condition: Any, value: Any) -> Any:
    """Return the value where the condition is finite, else 1."""
    return value if condition.is_finite() else 0 * value + 1

"""What releases guarantee together where each was chosen in the light of all answers before it."""

import math
from collections.abc import Sequence
from fractions import Fraction

from divulge.releasing.records.promised import Spent, added, at, summed_zcdp


def adaptively_together(
    releases: Sequence[Spent], delta: Fraction | float, aside: Fraction | float
) -> Fraction | float:
    """Return an epsilon that holds for all releases together at `delta`, whichever were chosen on the way.

    All of them add up in zCDP, for which the sum of what was really chosen may be held against a bound (a filter); of a
    release that has (epsilon, delta) alone, epsilon^2 / 2 and its delta, which is taken from the part set aside. An
    epsilon that weighs summed epsilons against an epsilon of summed zCDP is none of a filter: whoever chooses on the
    way would choose that weight too.

    References
    ----------
    Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294; Whitehouse, Ramdas, Rogers, Wu, arXiv:2203.05481.

    Examples
    --------
    >>> gauss = Spent(("x",), None, None, loss=math.inf, rho=0.1)
    >>> rare = Spent(("x",), None, None, loss=math.inf, rho=math.inf, adp=(1.0, 1e-7))
    >>> round(float(adaptively_together([gauss, gauss], 1e-6, 0.0)), 2)  # of rho = 0.2
    3.13
    >>> adaptively_together([gauss, rare], 1e-6, 0.0)  # nothing is set aside
    inf
    >>> round(float(adaptively_together([gauss, rare], 1e-6, 1e-7)), 2)  # of rho = 0.6
    5.81
    """
    apart = [one.adp for one in releases if one.adp is not None and math.isinf(one.rho)]
    if added(missed for _, missed in apart) > aside:
        return math.inf
    rest = [one for one in releases if one.adp is None or math.isfinite(one.rho)]
    rho = added([summed_zcdp(rest), *(Fraction(epsilon) ** 2 / 2 for epsilon, _ in apart)])
    return at(rho, Fraction(delta) - Fraction(aside)) if rho else Fraction(0)

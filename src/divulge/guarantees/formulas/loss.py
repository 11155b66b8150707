"""The bounds between variants of differential privacy, on python-flint balls; inverses are rounded to the safe side."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from divulge.guarantees.formulas.density import INFINITY, least
from divulge.roots import valley
from divulge.units import LARGEST_LOG

_ENOUGH = 320
"""Bits of an inverse that is searched for, however many are carried."""


def ball(value: Any) -> Any:
    """Return a ball."""
    import flint

    return flint.arb(value)


def zero() -> Any:
    """Return 0 as a ball."""
    return ball(0)


def positive(value: Any) -> Any:
    """Return max(value, 0), and +inf for what is not a number."""
    return INFINITY() if value.is_nan() else value.max(zero())


def at_most(first: Any, second: Any) -> bool:
    """Say whether one number is at most another; balls that agree in 60 digits are equal, others that overlap are not.

    What is within the rounding of 0 is not taken for 0: it could be a small promise that was not given.
    """
    if first <= second or not hasattr(second, "abs_upper"):  # a rational is exact
        return bool(first <= second)
    return bool((first - second).abs_upper() <= abs(second) * ball(2) ** -200)


def mean_of_pure(epsilon: Any) -> Any:
    """Return epsilon tanh(epsilon / 2), the mean loss of binary randomized response."""
    return epsilon * (epsilon / 2).tanh() if epsilon.is_finite() else INFINITY()


def variation_of_pure(epsilon: Any) -> Any:
    """Return (e^epsilon - 1) / (e^epsilon + 1) = tanh(epsilon / 2)."""
    return (epsilon / 2).tanh() if epsilon.is_finite() else ball(1)


def renyi_of_pure(epsilon: Any, alpha: Any) -> Any:
    """Return D_alpha of binary randomized response: log[(e^(a e) + e^((1-a) e)) / (1 + e^e)] / (a - 1)."""
    if not epsilon.is_finite() or not alpha.is_finite():
        return epsilon
    if not alpha > 1:
        return mean_of_pure(epsilon)
    grown = (alpha * epsilon).exp() + ((1 - alpha) * epsilon).exp()
    return least(epsilon, (grown / (1 + epsilon.exp())).log() / (alpha - 1))


def chi_of_pure(epsilon: Any, alpha: Any) -> Any:
    """Return the abs-chi divergence of binary randomized response."""
    if not epsilon.is_finite() or not alpha.is_finite():
        return INFINITY() if not epsilon.is_finite() else epsilon.expm1()
    if epsilon == 0:
        return zero()
    high, low = epsilon.expm1() ** alpha, (-(-epsilon).expm1()) ** alpha
    return ((high + epsilon.exp() * low) / (1 + epsilon.exp())) ** (1 / alpha)


def mean_of_chi(alpha: Any, zeta: Any) -> Any:
    """Return max(1, 1/(alpha (alpha - 1))) zeta^alpha for 1 < alpha <= 2, else +inf."""
    if not alpha > 1 or alpha > 2 or not zeta.is_finite():
        return INFINITY()
    return zero() if zeta == 0 else (1 / (alpha * (alpha - 1))).max(ball(1)) * zeta**alpha


def approximate_of_chi(alpha: Any, zeta: Any, delta: Any) -> Any:
    """Return log[1 + (zeta^alpha (alpha - 1)^(alpha - 1) / (alpha^alpha delta))^(1 / (alpha - 1))]; +inf at order 1."""
    if zeta == 0:
        return zero()
    if not (alpha > 1 and delta > 0 and zeta.is_finite()):
        return INFINITY()
    if not alpha.is_finite():
        return zeta.log1p()
    h = alpha - 1
    return ((alpha * (zeta / alpha).log() + h * h.log() - delta.log()) / h).exp().log1p()


def approximate_at(epsilon: Any, spent: Any, delta: Any) -> Any:
    """Return the least epsilon' of (epsilon', delta)-DP that (epsilon, spent)-DP implies.

    The worst is to say the secret with probability `spent` and else randomized response of epsilon:
    e^epsilon' = e^epsilon - (delta - spent) (1 + e^epsilon) / (1 - spent) for delta >= spent.
    """
    if delta < spent:
        return INFINITY()
    if delta == spent:
        return epsilon
    if spent == 1:
        return zero()
    if not epsilon.is_finite():
        return zero() if delta == 1 else INFINITY()
    share, least_odds = (delta - spent) / (1 - spent), (-epsilon).exp()
    left = 1 - share - share * least_odds  # e^(epsilon' - epsilon): no power of a large epsilon is taken
    return zero() if left <= least_odds else least(epsilon, positive(epsilon + left.log()))


def probabilistic_at(epsilon: Any, spent: Any, delta: Any) -> Any:
    """Return epsilon - log(1 - spent / delta): Markov for (1 - e^(epsilon - L))_+, whose mean is at most `spent`."""
    if spent == 0:
        return epsilon
    return epsilon - (1 - spent / delta).log() if delta > spent else INFINITY()


def approximate_of_renyi(alpha: Any, epsilon: Any, delta: Any) -> Any:
    """Return the least epsilon' >= 0 of (epsilon', delta)-DP that D_alpha <= epsilon implies, but for the search.

    With r = dP/dQ and M = e^((alpha - 1) epsilon) >= E_Q r^alpha: g(r) = l (r^alpha + (alpha - 1) t^alpha - alpha
    t^(alpha - 1) r) is at least 0, and 0 at r = t only. For each t in [0, 1] the l with E_Q g <= delta gives
    E_Q (r - c)_+ <= delta, c the largest r - g(r), which is log c = `_order_cost`. At t = 0 that is epsilon +
    log((alpha - 1)/alpha) - (log delta + log alpha)/(alpha - 1); the best t is attained by two outcomes (Asoodeh et
    al., Three Variants of Differential Privacy: Lossless Conversion and Applications). Any t is sound.
    """
    if not alpha.is_finite():
        return epsilon
    if not alpha > 1 or not delta > 0 or not epsilon.is_finite():
        return INFINITY()
    h, moment, log_delta = float(alpha) - 1, (alpha - 1) * epsilon, _log(delta)
    best = _touching(h, h * float(epsilon), log_delta)
    straight = epsilon + ((alpha - 1) / alpha).log() - (delta * alpha).log() / (alpha - 1)
    if best == 0:
        return positive(straight)
    t = ball(best)  # t^(alpha - 1)
    low = t ** (1 / (alpha - 1))
    scale = delta / (moment.exp() + (alpha - 1) * low * t - alpha * t)
    high = (1 / (scale * alpha) + t) ** (1 / (alpha - 1))
    return positive(least(straight, ((alpha - 1) * (high / alpha + scale * t * (high - low))).log()))


@lru_cache(maxsize=1 << 14)  # a search for one number asks at the same orders and deltas again and again
def _touching(h: float, moment: float, log_delta: float) -> float:
    """Return about the best t^h of `approximate_of_renyi` at alpha = 1 + h, for a moment M given as its logarithm."""
    if not h > 0 or moment > _MOST_MOMENT:  # an order that no double tells from 1, or one far out
        return 0.0
    best = math.exp(-_lowest(lambda u: _order_cost(h, moment, log_delta, math.exp(-u)), _NEXT_TO_ONE, 30.0, _STEPS))
    return best if _order_cost(h, moment, log_delta, best) < _order_cost(h, moment, log_delta, 0.0) else 0.0


def _order_cost(h: float, moment: float, log_delta: float, t: float) -> float:
    """Return the epsilon' of `approximate_of_renyi` in doubles, at t^h = t."""
    alpha, low = 1 + h, t ** (1 / h) if t > 0 else 0.0
    left = math.exp(moment) + h * low * t - alpha * t if moment < _MOST_MOMENT else math.inf
    log_scale = log_delta - (math.log(left) if 0 < left < math.inf else moment)
    log_high = (log_of_sum(-log_scale - math.log(alpha), math.log(t)) if t > 0 else -log_scale - math.log(alpha)) / h
    first = log_high - math.log(alpha)
    if t == 0 or log_high > _MOST_MOMENT:
        return math.log(h) + first
    gap = math.exp(log_high) - low
    return math.log(h) + (log_of_sum(first, log_scale + math.log(t) + math.log(gap)) if gap > 0 else first)


def log_of_sum(a: float, b: float) -> float:
    """Return log(e^a + e^b)."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def _log(value: Any) -> float:
    """Return the logarithm of a small ball as a double."""
    return math.log(float(value)) if float(value) > 0 else -750.0


_MOST_MOMENT = 300.0
"""Logarithm of a moment from which on t is 0: what could be gained is its share e^-300."""

_NEXT_TO_ONE = 1e-9
"""-log t^h from which on t is searched: at 1 the moment of nothing is reached."""

_TURNS = 3
"""How often the order and t are moved in turn: from the fourth on no bound moved by 1e-4 of itself."""

_STEPS = 24
"""How often the range of t or of the order is cut by the golden ratio: to 1e-5 of its logarithm, flat at the best."""


def approximate_of_line(xi: Any, rho: Any, delta: Any, limit: Any = None) -> Any:
    """Return the least over 1 < alpha <= limit of the Renyi conversion of D_alpha <= xi + rho alpha.

    The order is searched in doubles, first at t = 0 and then at the best t; the bound at any order is sound.
    """
    if not delta > 0 or not (rho.is_finite() and xi.is_finite()):
        return INFINITY()
    top = 1e9 if limit is None or not limit.is_finite() else float(limit)
    if not top > 1:
        return INFINITY()
    best = 1 + _order_of_line(float(xi), float(rho), _log(delta), top)
    alpha = min(best, math.nextafter(top, 1.0) if limit is not None else top)
    return approximate_of_renyi(ball(alpha), xi + rho * ball(alpha), delta)


@lru_cache(maxsize=1024)  # a search for chains of theorems asks for the same line again and again
def _order_of_line(x: float, r: float, log_delta: float, top: float) -> float:
    """Return about the best alpha - 1 of `approximate_of_line`, in doubles."""

    def straight(h: float) -> float:
        return r * h + math.log(h / (1 + h)) - (log_delta + math.log1p(h)) / h

    def moment(h: float) -> float:
        return max(h * (x + r * (1 + h)), 0.0)

    h = _lowest(straight, 1e-9, top - 1, 2 * _STEPS)
    for _ in range(_TURNS):
        t = _touching(h, moment(h), log_delta)
        if t == 0:
            break
        h = _lowest(lambda h, t=t: _order_cost(h, moment(h), log_delta, t), h / 4, min(h * 2, top - 1), _STEPS // 2)
    return h


def tail_of_line(xi: Any, rho: Any) -> Any:
    """Return the least over 0 < s <= 1 of sqrt(2 (e^(s (xi + rho (1 + s))) - 1)) / s, a tau; the s is searched."""
    if not (xi.is_finite() and rho.is_finite()) or not xi + rho > 0:
        return positive(xi + rho)
    if xi < 0 and not xi + rho > 1e-30:
        return INFINITY()
    x, r = max(float(xi), -1e300), min(float(rho), 1e300)  # for the search: any s will do

    def cost(s: float) -> float:
        total = s * (x + r * (1 + s))
        grown = math.inf if not total > 0 else math.log(math.expm1(total)) if total < LARGEST_LOG else total
        return grown - 2 * math.log(s)

    reach = min(x + r + 1, 1e300)
    s = min((10 ** (-k / 40) for k in range(40 * math.ceil(math.log10(reach)) + 60)), key=cost)
    return (2 * (ball(s) * (xi + rho * (1 + ball(s)))).expm1()).sqrt() / ball(s)


def renyi_between(first: Any, second: Any, alpha: Any) -> Any:
    """Return the chord of (order - 1) epsilon over two orders at alpha, over alpha - 1; +inf outside of them."""
    low, high = (first, second) if first.alpha < second.alpha else (second, first)
    if not (alpha >= low.alpha and alpha <= high.alpha and low.alpha < high.alpha):
        return INFINITY()
    if not high.alpha.is_finite() or not alpha > 1:
        return low.epsilon if at_most(alpha, low.alpha) else INFINITY()
    share = (alpha - low.alpha) / (high.alpha - low.alpha)
    return ((1 - share) * (low.alpha - 1) * low.epsilon + share * (high.alpha - 1) * high.epsilon) / (alpha - 1)


def approximate_of_chord(first: Any, second: Any, delta: Any) -> Any:
    """Return the best conversion over orders between two, searched in doubles; sound at any order."""
    low, high = (first, second) if first.alpha < second.alpha else (second, first)
    finite = low.epsilon.is_finite() and high.epsilon.is_finite() and high.alpha.is_finite()
    if not (delta > 0 and low.alpha < high.alpha and finite):
        return INFINITY()
    a, b = float(low.alpha.mid()), float(high.alpha.mid())
    ends, goal = ((a - 1) * float(low.epsilon), (b - 1) * float(high.epsilon)), math.log(max(float(delta), 1e-300))

    def cost(h: float) -> float:
        chord = ends[0] + (ends[1] - ends[0]) * (h - a + 1) / (b - a)
        return chord / h + math.log(h / (1 + h)) - (goal + math.log1p(h)) / h

    order = 1 + _lowest(cost, max(a - 1, 1e-9), b - 1)
    return approximate_of_renyi(ball(order), renyi_between(first, second, ball(order)), delta)


def _lowest(cost: Callable[[float], float], low: float, high: float, steps: int = 100) -> float:
    """Return about where a cost with one valley is least on [low, high], by golden sections of the logarithm."""
    if not high > 0:  # an order that no double tells from 1
        return low
    return math.exp(valley(lambda log: cost(math.exp(log)), math.log(min(low, high)), math.log(high), steps))


def line_below(xi: Any, rho: Any, wanted: Any) -> Any:
    """Return the least rho' with xi + rho alpha <= wanted + rho' alpha for all alpha > 1."""
    return rho + positive(xi - wanted)


def capped_line(cap: Any, rho: Any, wanted: Any) -> Any:
    """Return the least rho' with min(cap, rho alpha) <= wanted + rho' alpha for all alpha > 1.

    It is rho (1 - wanted / cap), 0 from wanted = cap on; for wanted < 0 the line is lowest at alpha -> 1.
    """
    if wanted < 0:
        return rho.min(cap) - wanted
    if not cap.is_finite():
        return rho
    return zero() if wanted >= cap else rho * (1 - wanted / cap)


def line_through_origin(xi: Any, rho: Any, end: Any) -> Any:
    """Return the least rho' with xi + rho alpha <= rho' alpha for 1 < alpha < end."""
    if xi > 0 or not end.is_finite():
        return rho + positive(xi)
    return rho + xi / end


def inverse(grows: Callable[[Any], Any], target: Any, high: Any) -> Any:
    """Return an x in [0, high] with grows(x) >= target for an increasing function: the least, but for the last bits.

    Chandrupatla's method ("A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function
    without using derivatives", 1997), until rounding hides on which side of the target a value lies; from there up, in
    growing steps, until it is seen to be reached.
    """
    import flint

    bits = min(flint.ctx.prec, _ENOUGH)
    with flint.ctx.workprec(bits):
        low, top, half = zero(), ball(high), ball(2) ** -1
        room = top * ball(2) ** -(bits + 10)
        at_low, at_top = grows(low) - target, grows(top) - target
        # The target is reached between `here`, where was looked last, and `there`; on the side of `here` lies `before`.
        here, at_here, there, at_there, share = low, at_low, top, at_top, half
        for _ in range(3 * bits):
            middle = (here + share * (there - here)).mid()
            if not low < middle < top or top - low <= room:
                break
            value = grows(middle) - target
            crossed = (value >= 0) != (here is top)
            before, at_before = (there, at_there) if crossed else (here, at_here)
            if crossed:
                there, at_there = here, at_here
            here, at_here = middle, value
            if value >= 0:
                top = middle
            else:
                low = middle
                if not value < 0:
                    break
            place, level = (here - there) / (before - there), (at_here - at_there) / (at_before - at_there)
            share = half
            if level * level < place and (1 - level) ** 2 < 1 - place:  # inverse quadratic interpolation is safe
                share = at_here / (at_there - at_here) * at_before / (at_there - at_before)
                share += (
                    (before - here)
                    / (there - here)
                    * at_here
                    / (at_before - at_here)
                    * at_there
                    / (at_before - at_there)
                )
                least_share = room / abs(there - here)
                share = least_share if share < least_share else min(share, 1 - least_share)
        while (reached := (low + room).mid()) < top and not grows(reached) >= target:
            room *= 16
    return min(reached, top)


def variation_of_mean(epsilon: Any) -> Any:
    """Return the t with 2 t artanh(t) = epsilon: the largest TV when the KL divergence of both orders is epsilon."""
    if epsilon == 0:
        return zero()
    return ball(1) if not epsilon.is_finite() else inverse(lambda t: 2 * t * t.atanh(), epsilon, 1)


def variation_of_information(epsilon: Any) -> Any:
    """Return the t with log 2 - h((1 + t) / 2) = epsilon, h the binary entropy; 1 from log 2 on."""
    if not epsilon < ball(2).log():
        return ball(1)

    if epsilon == 0:
        return zero()

    def information(t: Any) -> Any:
        a, b = (1 + t) / 2, (1 - t) / 2
        return ball(2).log() + a * a.log() + (b * b.log() if b > 0 else zero())

    return inverse(information, epsilon, 1)


def normal(x: Any) -> Any:
    """Return Phi(x)."""
    return (-x / ball(2).sqrt()).erfc() / 2


def gaussian_of_pure(epsilon: Any) -> Any:
    """Return 2 Phi^-1(e^epsilon / (1 + e^epsilon)), the mu of binary randomized response."""
    if not epsilon < 500:
        return INFINITY()
    if epsilon == 0:
        return zero()
    missed = 1 / (1 + epsilon.exp())
    return inverse(lambda mu: missed - normal(-mu / 2), zero(), 64)


def approximate_of_gaussian(mu: Any, delta: Any) -> Any:
    """Return the epsilon with Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) = delta; 0 if less at 0."""
    if mu == 0:
        return zero()
    if not delta > 0 or not mu < 30:
        return INFINITY()

    def kept(epsilon: Any) -> Any:
        return epsilon.exp() * normal(-mu / 2 - epsilon / mu) - normal(mu / 2 - epsilon / mu)

    return zero() if kept(zero()) >= -delta else inverse(kept, -delta, mu * mu / 2 + 40 * mu)

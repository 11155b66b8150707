"""What a guarantee says about an event: before and after, what can be ruled out, and the guarantee a cap asks for."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.errors import DivulgeError
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.implication import consequences
from divulge.guarantees.catalog import kind_named
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds import LDP, PMC, PML
from divulge.guarantees.parameters import to_number
from divulge.model.shown import Shown, at_least, at_most, in_so_many

_PRECISION = 256


@dataclass(frozen=True, repr=False)
class PosteriorBounds(Shown):
    """The range of the probability of an event after any outcome, given its probability before.

    Attributes
    ----------
    before : float
    lower, upper : float
        Rounded outward: the posterior is in [lower, upper] for every mechanism that keeps the guarantee.

    Examples
    --------
    >>> bounds = PosteriorBounds(before=0.5, lower=0.25, upper=0.75)
    >>> bounds.words
    'before 50 in 100, after at most 75 and at least 25 in 100'
    >>> bounds.odds  # before, at least, at most
    (1.0, 0.333333333..., 3.0)
    """

    before: float
    lower: float
    upper: float

    @property
    def odds(self) -> tuple[float, float, float]:
        """The odds of the event, p / (1 - p): before, at least after, at most after."""
        low, before, high = (p / (1 - p) if p < 1 else math.inf for p in (self.lower, self.before, self.upper))
        return before, low, high

    @property
    def words(self) -> str:
        """The range in words, in the same hundred, thousand, ... for all three numbers."""
        base = in_so_many(self.before)
        before, low, high = f"{self.before * base:.3g}", at_least(self.lower * base), at_most(self.upper * base)
        return f"before {before} in {base:,}, after at most {high} and at least {low} in {base:,}"

    def __repr__(self) -> str:
        return self.words


def posterior_bounds(given: Guarantee | Sequence[Guarantee], before: Any, **context: Any) -> PosteriorBounds:
    r"""Return bounds on the posterior probability of any event whose prior probability is `before`.

    From epsilon-PML: P(A | y) in [1 - e^epsilon (1 - P(A)), e^epsilon P(A)]; from epsilon-PMC:
    [e^-epsilon P(A), 1 - e^-epsilon (1 - P(A))]; from epsilon-LDP the odds change by a factor of at most e^epsilon;
    all within [0, 1], and the tightest of what the guarantees imply.

    Parameters
    ----------
    given : Guarantee, or several that hold at once
    before : number in [0, 1]
        The probability of the event under the prior.
    **context
        `prior`, `p_min`, `n`, `uniform`, as for `implied`; not needed for PML, PMC, LIP, ALIP and LDP themselves.

    Returns
    -------
    PosteriorBounds
        Rounded outward.

    Raises
    ------
    DivulgeError
        When `before` is not in [0, 1], or nothing follows from the guarantees about PML, PMC or LDP.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Rethinking Disclosure Prevention with Pointwise Maximal Leakage",
    arXiv:2303.07782.

    Examples
    --------
    >>> from divulge import LDP, PML
    >>> print(posterior_bounds(PML("1.609"), "1/100"))  # e^1.609 = 4.998
    before 1 in 100, after at most 5 and at least 0 in 100
    >>> posterior_bounds(LDP(0), 0.25)
    before 25 in 100, after at most 25 and at least 25 in 100
    """
    import flint

    a = _probability(before, "before")
    found = [
        g
        for g in consequences(given, [(PML, {}), (PMC, {}), (LDP, {})], Context.of(**context))
        if isinstance(g, Guarantee)
    ]
    if a in (0, 1):
        return PosteriorBounds(float(a), float(a), float(a))
    lowest, highest = [0.0], [1.0]
    with flint.ctx.workprec(_PRECISION):
        for g in found:
            if (epsilon := g.values()["epsilon"]) != math.inf:
                low, high = _RANGES[type(g)](exact.arb(a), exact.arb(Fraction(epsilon)))
                lowest.append(exact.round_down(low))
                highest.append(exact.round_up(high))
    return PosteriorBounds(float(a), max(lowest), min(highest))


_RANGES: dict[type[Guarantee], Callable[[Any, Any], tuple[Any, Any]]] = {
    PML: lambda a, e: (1 - e.exp() * (1 - a), e.exp() * a),
    PMC: lambda a, e: ((-e).exp() * a, 1 - (-e).exp() * (1 - a)),
    LDP: lambda a, e: (a / (a + e.exp() * (1 - a)), a / (a + (-e).exp() * (1 - a))),
}
"""Kind -> (smallest, largest) posterior of an event of prior a."""

_RISE: dict[type[Guarantee], Callable[[Any, Any], Any]] = {
    PML: lambda a, r: (r / a).log(),
    PMC: lambda a, r: ((1 - a) / (1 - r)).log(),
    LDP: lambda a, r: (r * (1 - a) / (a * (1 - r))).log(),
}
"""Kind -> the epsilon at which an event of prior a may rise to r > a."""


def guarantee_for_posterior(kind: Any, before: Any, after: Any) -> Guarantee:
    """Return the weakest guarantee of `kind` that keeps an event of prior `before` from passing the posterior `after`.

    A cap (`after` above `before`): log(r/p) for PML, log[(1 - p)/(1 - r)] for PMC, log[r (1 - p) / (p (1 - r))] for
    LDP. A floor (`after` below `before`) is the cap 1 - r on the complement, of prior 1 - p.

    Parameters
    ----------
    kind : PML, PMC or LDP, or the name of one
    before, after : numbers in (0, 1) and [0, 1]

    Returns
    -------
    Guarantee
        Its epsilon is rounded down, so that the cap is kept. A cap of 1 and a floor of 0 ask for nothing:
        epsilon is +inf. `posterior_bounds` is the inverse.

    Raises
    ------
    DivulgeError
        When `before` is not in (0, 1), `after` not in [0, 1], the two are equal, or `kind` is none of the three.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Rethinking Disclosure Prevention with Pointwise Maximal Leakage",
    arXiv:2303.07782.

    Examples
    --------
    >>> from divulge import LDP, PML
    >>> round(guarantee_for_posterior(PML, "1/100", "1/20").epsilon, 9)  # log 5
    1.609437912
    >>> round(guarantee_for_posterior(LDP, "1/100", "1/20").epsilon, 9)  # log(5 * 99/95)
    1.650680871
    """
    import flint

    asked = kind_named(kind)
    if asked not in _RISE:
        raise DivulgeError.of("kind", "be pml, pmc or ldp", "it", asked.kind)
    a, r = _probability(before, "before"), _probability(after, "after")
    if not 0 < a < 1:
        raise DivulgeError.of("before", "be in (0, 1)", "it", str(before))
    if r < a:
        a, r = 1 - a, 1 - r
    if r == 1:
        return _with_epsilon(asked, math.inf)
    with flint.ctx.workprec(_PRECISION):
        return _with_epsilon(asked, max(0.0, exact.round_down(_RISE[asked](exact.arb(a), exact.arb(r)))))


def _with_epsilon(kind: Callable[..., Guarantee], epsilon: float) -> Guarantee:
    return kind(epsilon)


def can_rule_out(guarantee: Guarantee, probability: Any) -> bool:
    """Return whether a mechanism that keeps the guarantee can rule out an event of this probability.

    Under epsilon-PML an event of probability P(Z) can be ruled out (posterior 0) if and only if
    P(Z) <= 1 - e^-epsilon; a finite PMC, LIP, lower ALIP or LDP bound lets none of positive probability be ruled out.
    Decided exactly.

    Parameters
    ----------
    guarantee : Guarantee from which a bound on PML or PMC follows without knowledge of the prior
    probability : number in (0, 1]

    Returns
    -------
    bool

    Raises
    ------
    DivulgeError
        When `probability` is not in (0, 1], or nothing follows from the guarantee about PML or PMC.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Rethinking Disclosure Prevention with Pointwise Maximal Leakage",
    arXiv:2303.07782.

    Examples
    --------
    >>> from divulge import PML
    >>> can_rule_out(PML("0.69"), "1/2"), can_rule_out(PML("0.70"), "1/2")
    (False, True)
    """
    z = _probability(probability, "probability")
    if not z > 0:
        raise DivulgeError.of("probability", "be in (0, 1]", "it", str(probability))
    upper, lower = consequences(guarantee, [(PML, {}), (PMC, {})], Context())
    if (isinstance(lower, PMC) and lower.epsilon != math.inf) or z == 1:
        return False
    return not isinstance(upper, PML) or room_for(1 - z, upper.epsilon)


def room_for(remaining: Fraction, epsilon: Any) -> bool:
    """Return whether secrets of total probability `remaining` > 0 can hold all the mass: -log remaining <= epsilon."""
    return exact.at_most(lambda: -exact.arb(remaining).log(), epsilon)


def _probability(value: Any, name: str) -> Fraction:
    number = to_number(value, name)
    if not 0 <= number <= 1:
        raise DivulgeError.of(name, "be in [0, 1]", "it", str(value))
    return Fraction(number)

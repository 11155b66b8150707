"""What a guarantee says about an event: before and after, what can be ruled out, and the guarantee a cap asks for."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.dp.variants.tradeoff import TradeOff
from divulge.errors import DivulgeError
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.implication import consequences
from divulge.guarantees.catalog import kind_named
from divulge.guarantees.events import FARTHEST, NATIVE, SLACK, Constraint, constraints, farthest, largest
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds import LDP, PMC, PML
from divulge.guarantees.kinds.loss import ADP, KL, TV
from divulge.guarantees.parameters import to_number
from divulge.model.arraylike import Number
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.shown import Shown, at_least, at_most, in_so_many

_PRECISION = 256
"""Bits of balls: so far beyond the 53 of doubles that what a ball loses does not move the double it is rounded to."""


_RARE = 1e-3
"""The share of outcomes that the words leave out where the posterior has no bound that tells anything."""

_DELTAS = {1e-2, 1e-3, 1e-4, 1e-6, 1e-8}
"""Deltas of (epsilon, delta)-DP through which guarantees of other kinds speak of events; each one bounds."""


@dataclass(frozen=True, repr=False)
class PosteriorBounds(Shown):
    """The range of the probability of an event after any outcome, given its probability before; and what a test can do.

    An attacker raises an alarm at some outcomes. What the guarantees leave for the share of hits (alarms when the event
    is true) and of false alarms (when it is not) decides how often the attacker is right, and how often the posterior
    can pass a threshold. Each bound is attained: `mechanism` is the one.

    Attributes
    ----------
    before : float
    lower, upper : float
        Rounded outward: the posterior is in [lower, upper] for every mechanism that keeps the guarantee.
    given : tuple
        Guarantees of privacy losses, and trade-off functions, that hold besides.

    Examples
    --------
    >>> bounds = PosteriorBounds(before=0.5, lower=0.25, upper=0.75)
    >>> bounds.words
    'before 50 in 100, after at most 75 and at least 25 in 100'
    >>> bounds.odds  # before, at least, at most
    (1.0, 0.333333333..., 3.0)
    >>> round(bounds.success, 9), round(bounds.advantage, 9)
    (0.75, 0.5)
    """

    before: float
    lower: float
    upper: float
    given: tuple[Guarantee | TradeOff, ...] = field(default=(), compare=False)

    @property
    def odds(self) -> tuple[float, float, float]:
        """The odds of the event, p / (1 - p): before, at least after, at most after."""
        low, before, high = (p / (1 - p) if p < 1 else math.inf for p in (self.lower, self.before, self.upper))
        return before, low, high

    @property
    def lift(self) -> float:
        """The largest factor by which the probability of the event grows, at most 1 / before; rounded up.

        Examples
        --------
        >>> round(PosteriorBounds(before=0.01, lower=0.0, upper=0.05).lift, 9)
        5.0
        """
        if not self.before > 0:
            return 1.0
        return min(1 / self.before, self.upper / self.before * (1 + SLACK)) if self.upper > self.before else 1.0

    @property
    def pml(self) -> float:
        """Pointwise maximal leakage of whether the event is true: log of its largest lift, or its complement's; nats.

        Examples
        --------
        >>> round(posterior_bounds(dv.LDP(1), "1/10").pml, 10)
        0.8414349213
        """
        return math.log(max(self.lift, self.complement.lift))

    @property
    def words(self) -> str:
        """The range in words, in the same hundred, thousand, ...; beside one that tells nothing, of most outcomes."""
        base = in_so_many(self.before)
        before, low, high = f"{self.before * base:.3g}", at_least(self.lower * base), at_most(self.upper * base)
        words = f"before {before} in {base:,}, after at most {high} and at least {low} in {base:,}"
        if self.upper < 1 or not self.given or not 0 < self.before < 1 or (usual := self.usual(_RARE)) == 1:
            return words
        return f"{words}; in all but 1 in 1,000 outcomes at most {at_most(usual * base)} in {base:,}"

    def __repr__(self) -> str:
        return self.words

    @property
    def complement(self) -> "PosteriorBounds":
        """The bounds of what is true when the event is not.

        Examples
        --------
        >>> PosteriorBounds(0.25, 0.125, 0.5).complement
        before 75 in 100, after at most 87.5 and at least 50 in 100
        """
        return PosteriorBounds(1 - self.before, 1 - self.upper, 1 - self.lower, self.given)

    @property
    def success(self) -> float:
        """The largest probability that an attacker who says after each outcome whether the event is true is right.

        At least max(before, 1 - before), by saying always the same.

        Examples
        --------
        >>> round(posterior_bounds(dv.guarantees.GDP(1), "1/2").success, 6)  # Phi(1/2)
        0.691462
        """
        a = self.before
        if a in (0, 1):
            return 1.0
        hits = self.hits
        return min(1.0, max(a, 1 - a, 1 - a + largest(lambda x: a * hits(x) - (1 - a) * x)))

    @property
    def advantage(self) -> float:
        """The largest difference between the shares of hits and of false alarms, in [0, 1].

        Examples
        --------
        >>> round(posterior_bounds(dv.ADP(0, "1/10"), "1/100").advantage, 9)
        0.1
        """
        hits = self.hits
        return min(1.0, largest(lambda x: hits(x) - x))

    def hits(self, false_alarms: float) -> float:
        """Return the largest probability of an alarm when the event is true, if that of a false one is as given.

        Parameters
        ----------
        false_alarms : float in [0, 1]

        Returns
        -------
        float
            In [false_alarms, 1], rounded up.

        Examples
        --------
        >>> round(posterior_bounds(dv.ADP(1, "1/1000"), "1/100").hits(0.01), 6)  # 0.001 + 0.01 e
        0.028183
        """
        x = float(_probability(false_alarms, "false_alarms"))
        return min(1.0, x + (1 - x) * farthest(self._rules, lambda s: (x, x + (1 - x) * s)))

    def precision(self, false_alarms: float) -> float:
        """Return the largest probability that the event is true at an alarm, if that of a false one is as given.

        Parameters
        ----------
        false_alarms : float in (0, 1]
            Probability of an alarm when the event is not true.

        Returns
        -------
        float
            In [before, 1], rounded up.

        Examples
        --------
        >>> round(posterior_bounds(dv.ADP("1/2", "1e-5"), "1/100").precision(0.001), 6)
        0.016479
        """
        x = float(_probability(false_alarms, "false_alarms"))
        if x == 0:
            raise DivulgeError.of("false_alarms", "be above 0", "it", "0")
        found = self.before * self.hits(x)
        return found / (found + (1 - self.before) * x)

    def share_above(self, posterior: float) -> float:
        """Return the largest probability of outcomes after which the event has this posterior, or a higher one.

        The hits y and false alarms x of these outcomes have y/x at least the ratio of the odds; the most is where the
        line of that ratio leaves what the guarantee allows.

        Parameters
        ----------
        posterior : float in (before, 1]

        Returns
        -------
        float
            In [0, 1], over all outcomes, whether the event is true or not; rounded up.

        Examples
        --------
        >>> bounds = posterior_bounds(dv.ADP("1/2", "1e-5"), "1/100")
        >>> f"{bounds.share_above(0.05):.3g}"  # of outcomes that are more than 5 in 100 likely to betray the event
        '2.93e-06'
        """
        return min(1.0, self._alarm(posterior)[1] * self.before / float(posterior) * (1 + SLACK))

    def usual(self, share: float) -> float:
        """Return the bound of the posterior in all outcomes but this share of them, whether or not the event is true.

        Of those that pass it the share is largest where the event is true: who is told of is such a person.

        Parameters
        ----------
        share : float in (0, 1)

        Returns
        -------
        float
            In [before, upper], rounded up.

        Examples
        --------
        >>> round(posterior_bounds(dv.guarantees.GDP("1/2"), "1/100").usual(0.001), 4)
        0.0576
        """
        s, a = float(_probability(share, "share")), self.before
        if not 0 < s < 1:
            raise DivulgeError.of("share", "be in (0, 1)", "it", str(share))

        def fewer(t: float) -> float:
            return math.exp(FARTHEST * t)

        found = farthest(self._rules, lambda t: (s * fewer(t), s))
        return min(self.upper, a / (a + (1 - a) * fewer(found)) * (1 + SLACK)) if found < 1 else self.upper

    def mechanism(self, posterior: float) -> Joint:
        """Return a mechanism that keeps the guarantees, and has `share_above` of outcomes with just this posterior.

        Parameters
        ----------
        posterior : float in (before, 1]

        Returns
        -------
        Joint
            Of the secrets "true" and "false" and the outcomes "alarm" and "none".

        Examples
        --------
        >>> worst = posterior_bounds(dv.ADP("1/2", "1/100"), "1/100").mechanism(0.5)
        >>> worst.posterior("alarm").to_dict()["true"]
        0.5...
        """
        x, y = self._alarm(posterior, inside=True)
        channel = Channel([[y, 1 - y], [x, 1 - x]], secrets=["true", "false"], outcomes=["alarm", "none"])
        return Joint([self.before, 1 - self.before], channel)

    def _alarm(self, posterior: float, inside: bool = False) -> tuple[float, float]:
        """Return false alarms and hits of the most outcomes with a posterior."""
        r, a = float(_probability(posterior, "posterior")), self.before
        if not r > a:
            raise DivulgeError.of("posterior", f"be above {a:.6g}, as before", "it", str(posterior))
        if r > self.upper:
            return 0.0, 0.0
        ratio = (1 - r) / r * (a / (1 - a))
        y = farthest(self._rules, lambda s: (s * ratio, s), inside)
        return y * ratio, y

    @property
    def _rules(self) -> tuple[Constraint, ...]:
        if not 0 < self.before < 1:
            raise DivulgeError.of("before", "be in (0, 1) for what an attacker can do", "it", str(self.before))
        return constraints(self.given, self.before, self.lower, self.upper)


def posterior_bounds(
    given: Guarantee | TradeOff | Sequence[Guarantee | TradeOff], before: Number, **context: Any
) -> PosteriorBounds:
    r"""Return bounds on the posterior probability of any event whose prior probability is `before`.

    From epsilon-PML: P(A | y) in [1 - e^epsilon (1 - P(A)), e^epsilon P(A)]; from epsilon-PMC:
    [e^-epsilon P(A), 1 - e^-epsilon (1 - P(A))]; from epsilon-LDP the odds change by a factor of at most e^epsilon;
    all within [0, 1], and the tightest of what the guarantees imply. (epsilon, delta)-DP and its like leave rare
    outcomes that may tell all: of these the result says how many there are (`share_above`, `usual`), and what an
    attacker gains (`success`, `precision`, `advantage`).

    Parameters
    ----------
    given : Guarantee or TradeOff, or several that hold at once
        A trade-off function holds for both orders of neighbors, as f-DP says. Of (epsilon, delta)-DP, total variation,
        Gaussian, zero-concentrated and Renyi DP and KL privacy all that follows is used; other kinds speak through
        these.
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
    >>> print(posterior_bounds(dv.PML("1.609"), "1/100"))  # e^1.609 = 4.998
    before 1 in 100, after at most 5 and at least 0 in 100
    >>> posterior_bounds(dv.LDP(0), 0.25)
    before 25 in 100, after at most 25 and at least 25 in 100
    >>> posterior_bounds(dv.ADP("1/2", "1e-5"), "1/100")
    before 1 in 100, after at most 100 and at least 0 in 100; in all but 1 in 1,000 outcomes at most 1.66 in 100
    """
    a = _probability(before, "before")
    return posteriors(given, **context)(a)


def posteriors(
    given: Guarantee | TradeOff | Sequence[Guarantee | TradeOff], **context: Any
) -> Callable[[Number], PosteriorBounds]:
    """Return `posterior_bounds` as a function of `before`; what follows from the guarantees is found once.

    >>> [round(posteriors(dv.LDP(1))(chance).upper, 3) for chance in ("1/100", "1/10")]
    [0.027, 0.232]
    """
    listed = tuple(given) if isinstance(given, Sequence) else (given,)
    curves = tuple(one for one in listed if isinstance(one, TradeOff))
    promises = [one for one in listed if not isinstance(one, TradeOff)]
    found, losses = _consequences(promises, Context.of(**context)) if promises or not curves else ([], ())

    def bounds(before: Number) -> PosteriorBounds:
        import flint

        a = _probability(before, "before")
        if a in (0, 1):
            return PosteriorBounds(float(a), float(a), float(a))
        lowest, highest = [0.0], [1.0]
        with flint.ctx.workprec(_PRECISION):
            for g in found:
                if (epsilon := g.values()["epsilon"]) != math.inf:
                    low, high = _RANGES[type(g)](exact.arb(a), exact.arb(Fraction(epsilon)))
                    lowest.append(exact.round_down(low))
                    highest.append(exact.round_up(high))
        return PosteriorBounds(float(a), max(lowest), min(highest), curves + losses)

    return bounds


def _consequences(given: Sequence[Any], context: Context) -> tuple[list[Guarantee], tuple[Guarantee, ...]]:
    """Return what bounds every posterior, and what bounds the chances of events besides."""
    pointwise: list[tuple[Any, dict[str, Any]]] = [(PML, {}), (PMC, {}), (LDP, {})]
    native = tuple(g for g in given if type(g) in NATIVE)
    others = [g for g in given if isinstance(g, Guarantee) and type(g) not in NATIVE and type(g) not in _RANGES]
    deltas = {d for g in others if 0 < (d := float(g.values().get("delta", 0))) < 1} | _DELTAS
    through = [(TV, {}), (KL, {}), *((ADP, {"delta": d}) for d in sorted(deltas))] if others else []
    found = [g for g in consequences(given, [*pointwise, *through], context) if isinstance(g, Guarantee)]
    losses = tuple(g for g in found if type(g) in NATIVE and all(v != math.inf for v in g.values().values()))
    return [g for g in found if type(g) in _RANGES], (*native, *losses)


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


def guarantee_for_posterior(kind: type[Guarantee] | str, before: Number, after: Number) -> Guarantee:
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
    >>> round(guarantee_for_posterior(dv.PML, "1/100", "1/20").epsilon, 9)  # log 5
    1.609437912
    >>> round(guarantee_for_posterior(dv.LDP, "1/100", "1/20").epsilon, 9)  # log(5 * 99/95)
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


def can_rule_out(guarantee: Guarantee, probability: Number) -> bool:
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
    >>> can_rule_out(dv.PML("0.69"), "1/2"), can_rule_out(dv.PML("0.70"), "1/2")
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

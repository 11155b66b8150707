"""What an attacker is taken to know before a release, and where that is from."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.designing.linear.robust import LEAST_MEAN, least_means
from divulge.errors import DivulgeError
from divulge.extras import opendp
from divulge.measures.robust import ConvexHull, L1Ball, LowerBounded, PriorSet
from divulge.model.convert import as_prior
from divulge.model.entries import rational
from divulge.model.integer import IntegerChannel
from divulge.model.joint import Joint
from divulge.model.labels import alignment, key_of
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.releasing.records.promised import log_up

SOURCES: dict[str, str] = {
    "none": "none: the mechanism was given, and promises only what needs no prior",
    "given": "given, as public knowledge",
    "uniform": "every value equally likely",
    "lower": "any in which no value is rarer than a given share",
    "noisy": "any close to the column's own shares, which were released with noise first",
    "groups": "any of the shares in groups of rows that are alike in known columns, and all mixtures: counted from the "
    "table itself",
    "counted": "counted from the released column itself: the mechanism tells how often each value occurs",
}
"""Where a prior is from -> in words."""

SETS = ("lower", "noisy", "groups")
"""Sources that are sets of priors."""

OWN = ("counted", "groups")
"""Sources that tell the column's own shares, which are the keeper's."""

CONFIDENCE = 0.95
"""With this probability the true shares are in the set around a noisy estimate."""


@dataclass(frozen=True, eq=False)
class Assumed(Record):
    """One prior, or a set of them around it.

    source : key of `SOURCES`
    prior : the prior; of a set the one in its middle, which utilities are counted with
    least : of the source "lower": no value has less
    radius, epsilon : of the source "noisy": the l1 distance that holds the true shares with probability `CONFIDENCE`,
        and what the estimate spent of the budget, as differential privacy of the collection (one record replaced)
    beliefs : ConvexHull or None; of the source "groups": the shares in every group, and all mixtures
    within : of the source "groups": guarantees that the groups keep by themselves, as was asked beforehand
    """

    source: str = "none"
    prior: Prior | None = None
    least: float = 0.0
    radius: float = 0.0
    epsilon: float = 0.0
    beliefs: ConvexHull | None = None
    within: tuple[str, ...] = ()

    @property
    def priors(self) -> PriorSet | None:
        """The set, where there is one."""
        if self.prior is None or self.source not in SETS:
            return None
        if self.source == "groups":
            return self.beliefs
        if self.source == "lower":
            return LowerBounded(list(self.prior.secrets), self.least)
        return L1Ball(self.prior, self.radius)

    @property
    def alone(self) -> Prior | None:
        """The prior under which guarantees are decided, where it is one and not a set."""
        return None if self.source in SETS else self.prior

    @property
    def public(self) -> bool:
        """Whether the prior may be shown to everybody."""
        return self.source not in OWN

    def aligned(self, secrets: Any, name: str) -> "Assumed":
        """Return the same with the secrets in this order."""
        if self.prior is None:
            return self
        prior, beliefs = self.prior.aligned(secrets, name), self.beliefs
        if beliefs is not None:
            order = alignment(prior.secrets, beliefs.secrets, name, "the groups")
            corners = beliefs.corners if order is None else beliefs.corners[:, order]
            beliefs = ConvexHull(corners, prior.secrets)
        return replace(self, prior=prior, beliefs=beliefs)

    def to_dict(self, *, keeper: bool = False) -> dict[str, Any]:
        """Return the numbers of a set as JSON holds them; shares of groups are for the keeper only."""
        numbers: dict[str, Any] = {"least": self.least, "radius": self.radius, "epsilon": self.epsilon}
        if self.within:
            numbers["within"] = list(self.within)
        if keeper and self.beliefs is not None:
            numbers["beliefs"] = [[str(p) for p in row] for row in self.beliefs.corners.tolist()]
        return {name: value for name, value in numbers.items() if value}


def assumption(given: Any, counts: Mapping[Hashable, int] | None, from_data: bool) -> Assumed:
    """Return what `given` says: a prior, a set of priors, or "uniform", "lower=P", "noisy=E" over the counted values.

    Without anything given all values are equally likely, or, with `from_data`, as frequent as they are in the column.

    >>> counts = {"a": 3, "b": 1}
    >>> assumption("lower=1/8", counts, False).least, assumption(None, counts, False).prior.to_dict()
    (0.125, {'a': Fraction(1, 2), 'b': Fraction(1, 2)})
    """
    if from_data and given is not None and not isinstance(given, Prior):
        raise DivulgeError.of("prior", "be left out with prior_from_data", "it", "given as well")
    if from_data:
        assert counts is not None
        return Assumed("counted", Prior.from_counts(dict(counts)))
    if isinstance(given, LowerBounded):
        return Assumed("lower", Prior.uniform(list(given.secrets)), least=float(given.least_probability))
    if isinstance(given, L1Ball):
        return Assumed("noisy", given.center, radius=float(given.radius))
    if given is None or (isinstance(given, str) and given == "uniform"):
        assert counts is not None
        return Assumed("uniform", Prior.uniform(list(counts)))
    if isinstance(given, str):
        kind, _, text = given.partition("=")
        if kind not in ("lower", "noisy") or not text:
            raise DivulgeError.of(
                "prior", "be a prior, 'uniform', 'lower=P', 'noisy=E' or 'groups=A,B'", "it", repr(given)
            )
        assert counts is not None
        value = positive(text, kind)
        return _lower(list(counts), value) if kind == "lower" else noisy(counts, value)
    prior = as_prior(given)
    if counts is not None and _same(prior, counts):
        raise DivulgeError.of(
            "prior", "be public", "it", "exactly the shares of the column itself, which a mechanism would tell",
            "take another survey, 'uniform', 'lower=P' or 'noisy=E'; prior_from_data=True (--prior-from-data) takes "
            "these, and the statement says so.",
        )  # fmt: skip
    return Assumed("given", prior)


def positive(text: str, kind: str) -> Fraction:
    try:
        value = rational(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not value > 0:
        raise DivulgeError.of("prior", f"be {kind}=NUMBER, with a number above 0", "it", repr(f"{kind}={text}"))
    return value


def _lower(values: list[Hashable], least: Fraction) -> Assumed:
    if not least * len(values) <= 1:
        raise DivulgeError.of("prior", f"be lower=P with P at most 1/{len(values)}, one in as many as there are values",
                              "P", str(least))  # fmt: skip
    return Assumed("lower", Prior.uniform(values), least=float(least))


def _same(prior: Prior, counts: Mapping[Hashable, int]) -> bool:
    """Say whether a prior is the frequencies of the counts, and these are not all equal."""
    total = sum(counts.values())
    shares = {key_of(x): p for x, p in zip(prior.secrets, prior.floats.tolist(), strict=True)}
    if len(counts) < 2 or len(set(counts.values())) == 1 or not {key_of(x) for x in counts} <= set(shares):
        return False
    return all(math.isclose(shares[key_of(x)], count / total, rel_tol=1e-12) for x, count in counts.items())


def noisy(counts: Mapping[Hashable, int], epsilon: Fraction) -> Assumed:
    """Return the shares of the counts with discrete Laplace noise of scale 2 / epsilon, and a ball around them.

    Replacing one record changes the counts by 2 in l1, so the estimate is epsilon-differentially private. Noise is
    drawn exactly (OpenDP).
    """
    dp = opendp("release")
    scale = 2 / float(epsilon)
    measurement = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=scale)
    drawn: list[int] = measurement(list(counts.values()))
    return around(dict(zip(counts, drawn, strict=True)), sum(counts.values()), epsilon)


def around(drawn: Mapping[Hashable, int], rows: int, epsilon: Fraction) -> Assumed:
    """Return the ball around the shares of counts that were drawn with noise, of so many rows.

    With R the `CONFIDENCE` quantile of sum_x |Z_x|, bounded by Chernoff's inequality, the true shares are within
    2 R / n of the noisy ones divided by their sum; making every share positive adds what it moves.
    """
    scale = 2 / float(epsilon)
    held = np.maximum(np.array(list(drawn.values()), dtype=float), 0.0)
    total = float(held.sum())
    plain = held / total if total else np.full(len(held), 1 / len(held))
    shares = (held + 1) / (total + len(held))
    radius = 2 * noise_bound(len(held), scale, 1 - CONFIDENCE) / max(rows, 1) + float(np.abs(shares - plain).sum())
    radius = min(radius * (1 + 1e-9), 2.0)
    return Assumed("noisy", Prior.from_counts(dict(zip(drawn, (held + 1).tolist(), strict=True))), radius=radius,
                   epsilon=math.nextafter(float(epsilon), math.inf))  # fmt: skip


def noise_bound(n: int, scale: float, risk: float) -> float:
    """Return R with P(sum of n |Z_i| > R) <= risk for discrete Laplace Z_i: the least (n log E e^t|Z| - log risk) / t.

    Every t in (0, 1 / scale) gives a bound (Chernoff), so that the least over a grid is one too.

    >>> 3 < noise_bound(1, 1.0, 0.05) < 6  # P(|Z| >= k) = 2 a^k / (1 + a), a = 1/e: 3 is passed by 0.03
    True
    """
    a = math.exp(-1 / scale)
    t = np.linspace(0, 1 / scale, 2001)[1:-1]
    grown = np.exp(t)
    moment = (1 - a) / (1 + a) * (1 + 2 * a * grown / (1 - a * grown))
    return float(((n * np.log(moment) - math.log(risk)) / t).min())


def level_reached(kind: str, assumed: Assumed, channel: IntegerChannel) -> float:
    """Return the pml, pmc or lip of a channel under every prior of a set, in nats, rounded up; inf where unbounded."""
    if kind == "lip":
        return max(level_reached(one, assumed, channel) for one in ("pml", "pmc"))
    assert assumed.priors is not None
    priors, weights = LEAST_MEAN[type(assumed.priors)][0](assumed.priors), channel.weights
    able = weights[np.flatnonzero(priors.possible())]
    seen = able.max(axis=0) > 0
    if kind == "pml":
        above, below = able[:, seen].max(axis=0), least_means(priors, weights[:, seen])
    else:
        above, below = -least_means(priors, -weights[:, seen]), able[:, seen].min(axis=0)
    if not all(below.tolist()):
        return math.inf
    return log_up(max(Fraction(top) / bottom for top, bottom in zip(above.tolist(), below.tolist(), strict=True)))


def joint_of(assumed: Assumed, channel: Any) -> Any:
    """Return the joint of the one prior and the channel, or the channel alone."""
    return channel if assumed.alone is None else Joint(assumed.alone, channel)

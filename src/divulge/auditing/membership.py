"""Audits of membership: what scores of people who are in the data, and of people who are not, show of a model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from divulge.auditing.rates import OF_PAIRS, Rates, membership_lift
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.special.one_run import anytime, one_run, one_run_gaussian, risk_of, truth_values
from divulge.errors import DivulgeError, number_of
from divulge.extras import require
from divulge.guarantees.catalog import as_guarantee
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.posterior import PosteriorBounds, posterior_bounds
from divulge.late import late
from divulge.model.entries import open_share, scalar, whole_number
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.model.shown import Shown, at_least, at_most, in_so_many, percent, reached
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OF_BELIEFS = ("pml", "pmc", "lip", "alip", "lift")
"""Kinds that need the base rate of members."""

_SMALLEST = 8
"""Numbers of guesses below are not tried: so few right ones show next to nothing."""

RARE, FALSE_ALARMS = 1e-3, 1e-2
"""The share of outcomes that may tell more than a promise is told to allow, and of false alarms where none were seen.
"""

_UNFAIR = 1e-6
"""Fair coins give a share of members further from one half with a smaller probability than this."""

NOTES = {
    "rates": "members and others are taken to be drawn alike, and independently; where they differ for another reason "
    "(later, elsewhere, other people) that difference is what is seen",
    "coins": "each person is taken to be in by a coin of their own, at one half; a split into equal halves is none",
    "scores": "scores must not come from knowing who is in (reference models that share the split), and the attack is "
    "taken to be the only one: the best of many, chosen by these rows, shows too much",
}


@dataclass(frozen=True)
class Witness:
    """The event that shows most: a threshold with its counts and bounds, or a number of guesses.

    For "rates", `threshold`, `positives` = (members, others) who score at least so high, and `bounds` = (lower bound on
    the true-positive rate, upper bound on the false-positive rate). For guesses, `guesses` = (how many, right ones).
    """

    threshold: float | None = None
    positives: tuple[int, int] | None = None
    bounds: tuple[float, float] | None = None
    guesses: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the witness as plain data."""
        if self.guesses is not None:
            return {"guesses": self.guesses[0], "right": self.guesses[1]}
        assert self.positives is not None
        assert self.bounds is not None
        return {
            "threshold": self.threshold,
            "members_above": self.positives[0],
            "others_above": self.positives[1],
            "true_positive_rate": self.bounds[0],
            "false_positive_rate": self.bounds[1],
        }


@dataclass(frozen=True, eq=False)
class MembershipAudit(Record, Shown):
    """What scores show about membership: lower bounds that hold together with the confidence.

    Attributes
    ----------
    members, others : int
    method : str
    confidence, delta : float
    base_rate : float or None
        The share of members among those whom an attacker looks at.
    epsilon : float
        No (epsilon', delta)-DP with a smaller epsilon' holds; nats. For "f-dp" that of the mu, if the mechanism is
        Gaussian.
    mu : float
        No Gaussian DP with a smaller mu holds; 0 where the method shows nothing of it.
    lift : float or None
        By what the share of members grows among those who are named, at the base rate; at most 1 / base_rate.
    pml : float or None
        Pointwise maximal leakage of membership at the base rate, nats.
    claim : Guarantee or None
    violated : bool
    witness : Witness or None
        The event that shows most; None where nothing is shown.
    rates : Rates or None
        The curve with its band, for "rates".

    Examples
    --------
    >>> scores = np.repeat([1.0, 0.0, 1.0, 0.0], [50, 950, 1, 999])
    >>> found = audit_membership(scores, np.arange(2000) < 1000, base_rate=0.01, claim="dp=1", cut=0.5)
    >>> found.violated, round(found.epsilon, 10), round(found.precision, 10)
    (True, 1.9045372594, 0.0635313482)
    """

    members: int
    others: int
    method: str
    confidence: float
    delta: float
    base_rate: float | None
    epsilon: float
    mu: float
    lift: float | None
    pml: float | None
    claim: Guarantee | None
    violated: bool
    witness: Witness | None
    rates: Rates | None

    @property
    def precision(self) -> float | None:
        """How often those who are named are members, at least, at the base rate: base_rate times lift."""
        return None if self.lift is None or self.base_rate is None else self.base_rate * self.lift

    @property
    def notes(self) -> tuple[str, ...]:
        """What is taken for granted."""
        found = [NOTES["rates" if self.method == "rates" else "coins"], NOTES["scores"]]
        if self.method == "f-dp":
            found.append("epsilon is that of a Gaussian mechanism with this mu")
        if self.claim is not None and not self.violated:
            found.append("a claim that is not refuted is not confirmed: a better attack may refute it")
        return tuple(found)

    @property
    def words(self) -> str:
        """What it means to a person whose data may have been used, in one or two sentences.

        Examples
        --------
        >>> scores = np.repeat([1.0, 0.0, 1.0, 0.0], [50, 950, 1, 999])
        >>> print(audit_membership(scores, np.arange(2000) < 1000, base_rate=0.01, cut=0.5).words[:70])
        Of those whom this attack names, at least 63.5 in 1,000 are in the dat
        """
        if not self.epsilon and not self.mu:
            return "These scores do not show who is in the data."
        if self.method == "f-dp":
            return (
                "At some rate of false alarms people who are in the data are told from others better than numbers of "
                f"two normal laws whose means are {at_least(self.mu)} standard deviations apart."
            )
        if self.precision is None or self.base_rate is None:
            return f"The odds that a person is in the data change by at least {at_least(math.exp(self.epsilon))} times."
        base = max(1000, in_so_many(self.base_rate))
        told = (
            f"Of those whom this attack names, at least {at_least(self.precision * base)} in {base:,} are in the data; "
            f"of all people looked at, {self.base_rate * base:.3g} in {base:,} are."
        )
        return " ".join([told, *_allowed(self.promise, self.false_alarms, base)])

    @property
    def false_alarms(self) -> float:
        """The share of others whom the attack names by mistake, at most, where its lift is; 1 in 100 for guesses."""
        if self.rates is None or not (self.rates.lower > self.rates.upper).any():
            return FALSE_ALARMS
        return float(self.rates.upper[int((self.rates.lower / self.rates.upper).argmax())])

    @property
    def promise(self) -> PosteriorBounds | None:
        """What the claim leaves to anybody, at the base rate: how probable membership becomes, and what a test can do.

        `upper` bounds it after every outcome, `usual(0.001)` after all but 1 in 1,000, for members and others alike;
        `precision(found.false_alarms)` how often those who are named are members, for any attack that names so many
        others by mistake, or more: it is what the measured `precision` is held against. None without a claim or a base
        rate, and where nothing follows.
        It is what is claimed, whether the claim is refuted or not.

        Examples
        --------
        >>> scores = np.repeat([1.0, 0.0, 1.0, 0.0], [50, 950, 1, 999])
        >>> found = audit_membership(scores, np.arange(2000) < 1000, base_rate=0.01, claim="gdp=1/2", cut=0.5)
        >>> round(found.precision, 4), round(found.promise.precision(found.false_alarms), 4)
        (0.0635, 0.0363)
        >>> found.promise
        before 1 in 100, after at most 100 and at least 0 in 100; in all but 1 in 1,000 outcomes at most 5.77 in 100
        """
        if self.claim is None or self.base_rate is None:
            return None
        try:
            return posterior_bounds(self.claim, self.base_rate)
        except DivulgeError:
            return None

    def tpr_at(self, fpr: float) -> float:
        """Return a lower bound on the share of members who are named at a share of false alarms; for "rates".

        Examples
        --------
        >>> found = audit_membership(np.arange(200.0), np.arange(200) >= 100)
        >>> round(found.tpr_at(0.1), 2)
        0.94
        >>> found.tpr_at(0.001)
        Traceback (most recent call last):
            ...
        divulge.errors.DivulgeError: `fpr` must be from 0.0659, the least rate that 100 others show, to 1; it ...
        """
        if self.rates is None:
            raise DivulgeError.of("method", 'be "rates" for rates at thresholds', "it", self.method)
        return self.rates.tpr_at(fpr)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the curve of rates with its lower bound and the claim, both axes logarithmic, and return the axes.

        Examples
        --------
        >>> axes = audit_membership(np.arange(200.0), np.arange(200) >= 100).plot()
        >>> axes.get_xscale(), axes.get_yscale()
        ('log', 'log')
        """
        return late("divulge.auditing.pictures:membership")(self, ax)

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return the audit as plain data; logarithms in `unit`.

        Examples
        --------
        >>> found = audit_membership(np.arange(200.0), np.arange(200) >= 100).to_dict()
        >>> found["members"], found["violated"], found["base_rate"]
        (100, False, None)
        """
        scale = nats_per(unit)
        return {
            "members": self.members,
            "others": self.others,
            "method": self.method,
            "confidence": self.confidence,
            "delta": self.delta,
            "unit": unit,
            "base_rate": self.base_rate,
            "epsilon": self.epsilon / scale,
            "mu": self.mu,
            "lift": self.lift,
            "pml": None if self.pml is None else self.pml / scale,
            "precision": self.precision,
            "promise": None if self.promise is None else _promised(self.promise, self.false_alarms, scale),
            "claim": None if self.claim is None else self.claim.to_dict(unit),
            "violated": self.violated,
            "witness": None if self.witness is None else self.witness.to_dict(),
            "words": self.words,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        people = f"{number_of(self.members, 'member')} and {number_of(self.others, 'other')}"
        given = f"audit of membership, {self.method}, of {people}, at {percent(self.confidence)} confidence"
        at = f" at delta = {self.delta:g}" if self.delta else ""
        if self.method == "f-dp":
            at += ", if it is a Gaussian mechanism"
        lines = [given, *([f"epsilon >= {reached(self.epsilon, 4)}{at}"] if self.epsilon or not self.mu else [])]
        if self.mu:
            lines.append(f"mu >= {reached(self.mu, 4)}")
        if self.lift is not None and self.pml is not None:
            lines.append(
                f"lift >= {reached(self.lift, 4)}, pml >= {reached(self.pml, 4)} at base rate {self.base_rate}"
            )
        if self.claim is not None:
            lines.append(f"claim {self.claim}: {'VIOLATED' if self.violated else 'not refuted'}")
        return "\n".join([*lines, self.words, *(f"note: {note}" for note in self.notes)])


def _allowed(promise: PosteriorBounds | None, false_alarms: float, base: int) -> list[str]:
    """Return what a claim allows, in a sentence; none where it allows everything."""
    if promise is None:
        return []
    if promise.upper < 1:
        return [f"The claim allows {at_most(promise.upper * base)} at most."]
    most = promise.precision(false_alarms)
    alarms = at_most(false_alarms * base)
    return [
        f"The claim allows an attack that names {alarms} in {base:,} others by mistake {at_most(most * base)} at most."
    ]


def _promised(promise: PosteriorBounds, false_alarms: float, scale: float) -> dict[str, Any]:
    """Return what a claim allows as plain data."""
    return {
        "posterior": promise.upper,
        "lift": promise.lift,
        "pml": promise.pml / scale,
        "advantage": promise.advantage,
        "rare": RARE,
        "usual_posterior": promise.usual(RARE),
        "false_alarms": false_alarms,
        "precision": promise.precision(false_alarms),
    }


def audit_membership(
    scores: ArrayLike,
    member: ArrayLike,
    *,
    base_rate: float | None = None,
    claim: Guarantee | str | None = None,
    method: str = "rates",
    delta: float = 0.0,
    confidence: float = 0.95,
    cut: float | None = None,
) -> MembershipAudit:
    r"""Return what scores of people in the data and of others show about a model: bounds that hold with confidence.

    With A = {score >= t}, TPR and FPR its probabilities for members and for others, (epsilon, delta)-DP asks for
    epsilon >= log (TPR - delta) / FPR, and the same for the complement; Gaussian DP for
    mu >= Phi^-1(TPR) - Phi^-1(FPR); and the share of members grows from pi to pi TPR / (pi TPR + (1 - pi) FPR).

    Parameters
    ----------
    scores : array_like of shape (n,)
        Finite numbers, high ones for members; turn the sign of a loss.
    member : array_like of shape (n,)
        True or 1 for those who are in the data.
    base_rate : float in (0, 1), optional
        pi, the share of members among those whom an attacker looks at; needed for lift and pml.
    claim : Guarantee or text such as "dp=1", "adp=1:1e-5", "gdp=1" or "pml=0.5", optional
        What the model says of itself; the delta of an "adp" claim is used.
    method : "rates", "one-run", "f-dp" or "anytime"
        "rates": error rates at all thresholds in one band (Berk and Jones), for members and others drawn independently.
        The others are for one training run, where a fair coin per person decided who is in; scores far up are guessed
        in, and far down out, where no base rate is given. "one-run" and "f-dp" try numbers of guesses that are halved
        from n on, each at its share of the risk; "anytime" all numbers, at delta = 0.
    delta : float in [0, 1)
    confidence : float in (0, 1)
    cut : float, optional
        What was fixed before anybody looked: the threshold, for "rates"; the number of guesses, for "one-run", "f-dp".

    Returns
    -------
    MembershipAudit
        Lower bounds. A claim that is not refuted is not confirmed.

    Raises
    ------
    DivulgeError
        For scores that are no finite numbers, no members or no others, a share of members that no fair coins give where
        they are needed, and claims that the method cannot refute.

    References
    ----------
    Berk, Jones, "Goodness-of-fit test statistics that dominate the Kolmogorov statistics", 1979.
    Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run", arXiv:2305.08846.
    Mahloujifar, Melis, Chaudhuri, "Auditing f-Differential Privacy in One Run", arXiv:2410.22235.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random(4000) < 0.5
    >>> found = audit_membership(rng.normal(2.0 * member), member, base_rate=0.01, claim="dp=1")
    >>> found.violated, found.epsilon > 1, found.lift > 5
    (True, True, True)
    """
    values, inside = _scores(scores), truth_values(member, "member")
    if len(values) != len(inside):
        raise DivulgeError.of("member", "have one entry for each score", "their number", f"{len(inside):,}")
    if inside.all() or not inside.any():
        raise DivulgeError.of("member", "name some who are in and some who are not", "all", "the same")
    if method not in METHODS:
        raise DivulgeError.unknown("method", method, METHODS)
    risk = risk_of(confidence)
    base_rate = None if base_rate is None else open_share(base_rate, "base_rate")
    claimed = None if claim is None else as_guarantee(claim, "claim")
    delta = _delta(delta, claimed)
    _refuse_claim(claimed, method, base_rate)
    return METHODS[method](values, inside, base_rate, claimed, delta, risk, cut)


def _delta(delta: Any, claim: Guarantee | None) -> float:
    """Return the delta that is asked for, or that of an (epsilon, delta) claim."""
    if not 0 <= (delta := scalar(delta, "delta")) < 1:
        raise DivulgeError.of("delta", "be in [0, 1)", "it", str(delta))
    claimed = float(getattr(claim, "delta", 0.0)) if claim is not None and claim.kind == "adp" else None
    if claimed is not None and delta not in (0, claimed):
        raise DivulgeError.of("delta", "be that of the claim, or not be given", "it", f"{delta:g}")
    return delta if claimed is None else claimed


def _refuse_claim(claim: Guarantee | None, method: str, base_rate: float | None) -> None:
    """Refuse a claim of a kind that a method does not refute."""
    if claim is None:
        return
    known = {"rates": OF_PAIRS, "f-dp": ("gdp",)}.get(method, ("ldp", "dp", "lift-capacity", "adp"))
    if claim.kind not in (*known, *(() if method == "f-dp" else OF_BELIEFS)):
        kinds = ", ".join((*known, *(() if method == "f-dp" else OF_BELIEFS)))
        raise DivulgeError.of("claim", f"be of a kind that {method} can refute ({kinds})", "it", claim.kind)
    if claim.kind in OF_BELIEFS and base_rate is None:
        hint = "base_rate=0.01 (--base-rate 0.01): 1 of 100 who are looked at is in the data."
        raise DivulgeError.of("base_rate", f"be given for a claim of {claim.kind}", "it", "not there", hint)


def _scores(given: Any) -> np.ndarray:
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(math.nan)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise DivulgeError.of("scores", "be a row of finite numbers", "one of them", "none")
    return found + 0.0  # -0 is 0


def _by_rates(
    scores: np.ndarray, member: np.ndarray, base_rate: float | None, claim: Guarantee | None, delta: float, risk: float,
    cut: Any,
) -> MembershipAudit:  # fmt: skip
    if cut is not None and not math.isfinite(scalar(cut, "cut")):
        raise DivulgeError.of("cut", "be a finite threshold", "it", str(cut))
    rates = Rates.of(scores, member, risk, None if cut is None else float(cut))
    epsilons, mus = rates.epsilons(delta), rates.mus()
    with np.errstate(divide="ignore", invalid="ignore"):
        ups, downs = rates.lower / rates.upper, (1 - rates.upper) / (1 - rates.lower)
    decisive = {"gdp": mus, "tv": rates.lower - rates.upper}.get(claim.kind if claim else "", epsilons)
    if claim is not None and claim.kind in OF_BELIEFS:
        decisive = ups
    at = int(decisive.argmax())
    witness = Witness(
        float(rates.thresholds[at]), (int(rates.true_positives[at]), int(rates.false_positives[at])),
        (float(rates.lower[at]), float(rates.upper[at])),
    )  # fmt: skip
    lift = pml = None
    if base_rate is not None:
        lift = max(1.0, membership_lift(float(np.nan_to_num(ups, nan=0.0).max()), base_rate))
        absent = membership_lift(float(np.nan_to_num(downs, nan=0.0).max()), 1 - base_rate)
        pml = math.log(max(lift, absent))
    violated = False
    if claim is not None:
        channel = rates.least_channel()
        subject = channel
        if claim.kind in OF_BELIEFS and base_rate is not None:
            subject = Joint(Prior([base_rate, 1 - base_rate], channel.secrets), channel)
        violated = not claim.holds_for(subject).holds
    shown = float(epsilons.max()) > 0 or float(mus.max()) > 0
    return MembershipAudit(
        rates.members, rates.others, "rates", 1 - risk, delta, base_rate, float(epsilons.max()), float(mus.max()), lift,
        pml, claim, violated, witness if shown else None, rates,
    )  # fmt: skip


def _in_order(scores: np.ndarray, member: np.ndarray, both: bool) -> np.ndarray:
    """Return whether each guess is right, the surest first: the highest is in, and, with both, the lowest is out.

    Of scores that tie those come first that make the guess wrong: whatever order a coin would give them shows as much.
    """
    ordered = member[np.lexsort((member, -scores))]
    if not both:
        return ordered
    n = len(ordered)
    right = np.empty(n, dtype=bool)
    right[0::2], right[1::2] = ordered[: (n + 1) // 2], ~ordered[::-1][: n // 2]
    return right


def _from_guesses(
    method: str, scores: np.ndarray, member: np.ndarray, base_rate: float | None, claim: Guarantee | None, delta: float,
    risk: float, cut: Any,
) -> MembershipAudit:  # fmt: skip
    _require_coins(member)
    right = _in_order(scores, member, base_rate is None)
    n, mu = len(right), 0.0
    if method == "anytime":
        if delta or cut is not None:
            raise DivulgeError.of("method", 'be "one-run" for a delta, or a number that is fixed', "it", "anytime")
        epsilon, at = anytime(right, 1 - risk), n
    else:
        sizes = _sizes(n if base_rate is None else (n + 1) // 2, n, cut)
        hits = np.cumsum(right)
        bounds = [_bound(method, k, int(hits[k - 1]), n, delta, 1 - risk / len(sizes)) for k in sizes]
        at = sizes[int(np.argmax(bounds))]
        epsilon = max(bounds)
        if method == "f-dp":
            mu, epsilon = epsilon, _epsilon_of(epsilon, delta)
    lift = pml = None
    if base_rate is not None and method != "f-dp":
        lift = max(1.0, membership_lift(math.exp(epsilon), base_rate))
        pml = math.log(lift)
    levels = {"gdp": mu, "lift-capacity": math.exp(epsilon), "lift": lift, "pml": pml, "lip": pml, "alip": pml}
    violated = False
    if claim is not None:
        parameter = "upper" if claim.kind == "alip" else next(iter(claim.values()))
        level = levels.get(claim.kind, 0.0 if claim.kind == "pmc" else epsilon)
        violated = level is not None and level > float(claim.values()[parameter])
    witness = Witness(guesses=(at, int(right[:at].sum()))) if epsilon or mu else None
    return MembershipAudit(
        int(member.sum()), int((~member).sum()), method, 1 - risk, delta, base_rate, epsilon, mu, lift, pml, claim,
        violated, witness, None,
    )  # fmt: skip


def _bound(method: str, guesses: int, right: int, trials: int, delta: float, confidence: float) -> float:
    if method == "f-dp":
        return one_run_gaussian(guesses, right, trials, confidence)
    return one_run(guesses, right, trials, delta, confidence)


def _sizes(most: int, trials: int, cut: Any) -> list[int]:
    """Return the numbers of guesses that are tried, which depend on the number of people alone."""
    if cut is None:
        found = [most]
        while found[-1] // 2 >= _SMALLEST:
            found.append(found[-1] // 2)
        return found
    return [whole_number(cut, "cut", 1, trials)]


def _epsilon_of(mu: float, delta: float) -> float:
    """Return the epsilon of mu-Gaussian DP at delta, from below; 0 at delta = 0, where it has none."""
    return max(0.0, GaussianLoss(mu).epsilon(delta) * (1 - 1e-9)) if mu and delta else 0.0


def _require_coins(member: np.ndarray) -> None:
    """Refuse a share of members that no fair coins give."""
    n, k = len(member), int(member.sum())
    few = min(k, n - k)
    special = require("scipy.special", "science")
    if 2 * float(special.betainc(n - few, few + 1, 0.5)) < _UNFAIR:
        raise DivulgeError.of(
            "member", "be by a fair coin for each person", "the number of members", f"{k:,} of {n:,}",
            "audit rates, or put each person in by a coin of their own.",
        )  # fmt: skip


METHODS: Mapping[str, Any] = {
    "rates": _by_rates,
    "one-run": lambda *given: _from_guesses("one-run", *given),
    "f-dp": lambda *given: _from_guesses("f-dp", *given),
    "anytime": lambda *given: _from_guesses("anytime", *given),
}
"""Name -> how an audit is made."""

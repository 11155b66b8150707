"""Vulnerability, uncertainty, and what a release adds: leakage to one given adversary."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from divulge import exact
from divulge.adversaries.adversary import Adversary, Cost, Gain
from divulge.errors import DivulgeError
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.model import labels as _labels
from divulge.model.accepted import JointLike, PriorLike
from divulge.model.arraylike import Matrix
from divulge.model.channel import is_sparse
from divulge.model.convert import as_joint, as_prior
from divulge.model.joint import Joint
from divulge.units import Unit, nats_per

Case = Literal["average", "max"]
Kind = TypeVar("Kind", bound=Adversary)


class HasAdversary(Protocol):
    """A witness: whoever attains a leakage."""

    @property
    def adversary(self) -> Adversary:
        """The gain or cost."""
        ...


AdversaryLike: TypeAlias = Adversary | HasAdversary | Matrix
"""A Gain or Cost, a witness that has one, or a matrix of gains."""

_BLOCK = 1 << 20
"""Entries of P(x, y) that are scored at a time: large channels need no large copy, sparse ones stay sparse."""

_CANCELLED, _UNDERFLOW = 1e-2, 1e-280
"""Below this share of the value a leakage in floats has lost digits, and so has a value below this."""

_MOST_PAIRS, _MOST_PRODUCTS = 1 << 15, 1 << 22
"""So many entries of P(x, y), and times actions, are worked out again in fractions, for half a second at most."""


def as_adversary(value: Any, argument: str = "adversary") -> Adversary:
    """Return a Gain or Cost: as it is, of a witness, or the gain with the given matrix."""
    value = getattr(value, "adversary", value)
    if isinstance(value, Adversary):
        return value
    if hasattr(value, "risk_averse"):
        raise DivulgeError.of(
            argument, "say what they want", "it", "a RandomizedFunction", "take its .opportunistic or .risk_averse."
        )
    return Gain(value)


def as_kind(kind: type[Kind], value: Any, argument: str) -> Kind:
    """Return `value` as a Gain or as a Cost, whichever is asked for; a matrix is either."""
    adversary = as_adversary(value, argument) if kind is Gain or not _is_matrix(value) else kind(value)
    if not isinstance(adversary, kind):
        raise DivulgeError.of(argument, f"be a {kind.__name__}", "it", f"a {type(adversary).__name__}")
    return adversary


def _is_matrix(value: Any) -> bool:
    return not hasattr(value, "adversary") and not isinstance(value, Adversary)


def _value(adversary: Adversary, prior: Any) -> Any:
    return exact.as_number(adversary.rule.value(adversary.weights(as_prior(prior)))[0])


def vulnerability(prior: PriorLike, gain: Gain | HasAdversary | Matrix) -> float | Fraction:
    """Return V_g(P) = max_w sum_x P_x g(w, x), the expected gain of the best action; a Fraction when all is exact.

    Parameters
    ----------
    prior : Prior, mapping, or array_like of shape (N,)
    gain : Gain, or matrix of shape (W, N)

    Returns
    -------
    Fraction or float, at least 0

    Raises
    ------
    DivulgeError
        For a Cost (use `uncertainty`), and when the secrets are not those of the prior.

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", equation (6), arXiv:2210.12916.

    Examples
    --------
    >>> vulnerability(["1/4", "1/2", "1/4"], Gain.identity(3))
    Fraction(1, 2)
    """
    return _value(as_kind(Gain, gain, "gain"), prior)


def uncertainty(prior: PriorLike, cost: Cost | HasAdversary | Matrix) -> float | Fraction:
    """Return U_c(P) = min_w sum_x P_x c(w, x), the expected cost of the best action; a Fraction when all is exact.

    Parameters
    ----------
    prior : Prior, mapping, or array_like of shape (N,)
    cost : Cost, or matrix of shape (W, N)

    Returns
    -------
    Fraction or float
        At least 0; +inf where every action costs an infinity.

    Raises
    ------
    DivulgeError
        For a Gain (use `vulnerability`), and when the secrets are not those of the prior.

    Examples
    --------
    >>> uncertainty(["1/4", "1/2", "1/4"], Cost.zero_one(3))
    Fraction(1, 2)
    """
    return _value(as_kind(Cost, cost, "cost"), prior)


def weight_blocks(joint: Joint, adversary: Adversary, columns: np.ndarray | None = None) -> Iterator[np.ndarray]:
    """Yield P(x, y) of some outcomes, else all that occur, in dense blocks in the order of the adversary's secrets."""
    order = _labels.alignment(adversary.secrets, joint.secrets, "joint", "the adversary's secrets")
    exactly = joint.exact and adversary.rule.exact
    p, c = (joint.p, joint.c) if exactly else (joint.prior.floats, joint.channel.floats)
    if columns is not None or not joint.occurring.all():
        c = c[:, joint.y if columns is None else columns]
    width = max(1, _BLOCK // len(p))
    for start in range(0, c.shape[1], width):
        block = c[:, start : start + width]
        block = p[:, None] * (block.toarray() if is_sparse(block) else block)
        yield block if order is None else block[order]


@dataclass(frozen=True, eq=False)
class _Scores:
    """What the best action pays before the release, and at outcomes times their probabilities q, in one arithmetic.

    `average` and `one` are what it pays before it, to be compared with the sum over outcomes and with a single one.
    """

    average: Any
    one: Any
    values: np.ndarray
    q: np.ndarray

    def compared(self, adversary: Adversary, case: Case) -> tuple[Any, Any]:
        """Return the value before the release and after it."""
        if case == "average":
            total = sum(self.values.tolist()) if exact.is_exact(self.values) else self.values.sum()
            return self.average, exact.as_number(total)
        each = self.values / self.q
        return self.one, exact.as_number(each.max() if isinstance(adversary, Gain) else each.min())


def _scores(joint: Joint, adversary: Adversary, columns: np.ndarray) -> _Scores:
    """Return the scores at some outcomes."""
    before = _value(adversary, joint.prior)
    values = np.concatenate([adversary.rule.value(block) for block in weight_blocks(joint, adversary, columns)])
    q = joint.outer[columns]
    return _Scores(before, before, values, q if exact.is_exact(values) else exact.as_floats(q))


def _exact_scores(joint: Joint, adversary: Adversary, columns: np.ndarray) -> _Scores | None:
    """Return the scores of floats in fractions, which the entries are as they stand; None where that takes too long.

    What is added up over the outcomes is compared with the sums of the rows, which may miss 1 by a rounding.
    """
    rule, actions = adversary.rule.in_fractions(), len(adversary.actions or adversary.secrets)
    pairs = len(joint.secrets) * len(columns)
    if rule is None or pairs > _MOST_PAIRS or pairs * actions > _MOST_PRODUCTS:
        return None
    order = _labels.alignment(adversary.secrets, joint.secrets, "joint", "the adversary's secrets")
    c = joint.channel.matrix[:, columns]
    p, c = exact.as_fractions(joint.prior.probabilities), exact.as_fractions(c.toarray() if is_sparse(c) else c)
    p, c = (p, c) if order is None else (p[order], c[order])
    weights = p[:, None] * c
    average, one = rule.value(np.column_stack([weights.sum(axis=1), p / p.sum()]))
    return _Scores(average, one, rule.value(weights), weights.sum(axis=0))


def _seen(joint: Joint, outcome: Hashable) -> np.ndarray:
    """Return the position of an outcome, which must occur, or of all that do."""
    if outcome is None:
        return joint.y
    joint.posterior(outcome)
    return np.array([_labels.position(joint.outcomes, outcome, "outcome")])


def _lost(before: Any, after: Any) -> bool:
    """Say whether two numbers have lost digits to floats: their difference, or one by underflow."""
    lost = abs(after - before) < _CANCELLED * max(before, after) or min(before, after) < _UNDERFLOW
    return lost and float in (type(before), type(after))


def _sharply(joint: Joint, adversary: Adversary, case: Case, outcome: Hashable) -> tuple[Any, Any]:
    """Return the values before and after: in fractions where the difference of floats would have few digits."""
    if case not in ("average", "max"):
        raise DivulgeError.of("case", 'be "average" or "max"', "it", repr(case))
    columns, case = _seen(joint, outcome), case if outcome is None else "max"
    before, after = _scores(joint, adversary, columns).compared(adversary, case)
    sharper = _exact_scores(joint, adversary, columns) if _lost(before, after) else None
    if sharper is not None:
        before, after = sharper.compared(adversary, case)
    if outcome is None:  # seeing an outcome helps, on average and at the best one
        after = max(before, after) if isinstance(adversary, Gain) else min(before, after)
    return before, after


def _like(joint: Joint, adversary: Adversary, value: Any) -> Any:
    """Return a Fraction where all is exact, else a float."""
    return value if joint.exact and adversary.rule.exact else exact.as_float(value)


def before_and_after(
    joint: JointLike, adversary: AdversaryLike, case: Case = "average", outcome: Hashable = None
) -> tuple[float | Fraction, float | Fraction]:
    """Return the value of the best action before the release and after it.

    After it: on average over the outcome, at the outcome that serves them best (`case="max"`), or at `outcome`.

    Parameters
    ----------
    joint, adversary, case, outcome : as in `leakage`

    Returns
    -------
    pair of Fractions or floats
        At least 0, in the unit of the gain or cost.

    Raises
    ------
    DivulgeError
        As for `leakage`.

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", equations (6), (10) and (15), arXiv:2210.12916.

    Examples
    --------
    >>> before_and_after([["3/8", "1/8"], ["1/8", "3/8"]], Gain.identity(2))
    (Fraction(1, 2), Fraction(3, 4))
    """
    joint, adversary = as_joint(joint), as_adversary(adversary)
    before, after = _sharply(joint, adversary, case, outcome)
    return _like(joint, adversary, before), _like(joint, adversary, after)


def ratio(above: Any, below: Any) -> Any:
    """Return above / below; 0/0 is 1 (nothing leaked), a/0 is +inf."""
    if below == 0:
        return type(above)(1) if above == 0 else math.inf
    return above / below


def factor(adversary: Adversary, before: Any, after: Any) -> Any:
    """Return the leakage as a factor: after / before for a gain, before / after for a cost."""
    return ratio(after, before) if isinstance(adversary, Gain) else ratio(before, after)


def leakage(
    joint: JointLike, adversary: AdversaryLike, case: Case = "average", *, outcome: Hashable = None
) -> float | Fraction:
    r"""Return the multiplicative leakage to an adversary, a factor; a Fraction when all is exact.

    V_g after / V_g(P) for a gain, U_c(P) / U_c after for a cost. After the release means sum_y q_y V_g(d^y) for
    `case="average"`, max_y V_g(d^y) for `case="max"`, and V_g(d^y) at one y when `outcome` is given.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    adversary : Gain, Cost, witness, or matrix of gains of shape (W, N)
    case : "average" or "max"
    outcome : label, optional
        Look at this outcome alone.

    Returns
    -------
    Fraction or float
        At least 1 for `case` "average" and "max", up to +inf; any number in [0, +inf] at one outcome. 0/0 is 1, a/0
        is +inf.

    Raises
    ------
    DivulgeError
        When the adversary is no Gain or Cost over the secrets of `joint`, `case` is unknown, or `outcome` never occurs.

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", equations (10) and (15), arXiv:2210.12916.

    Examples
    --------
    >>> joint = dv.Joint(dv.Prior.uniform(2), [["3/4", "1/4"], ["1/2", "1/2"]])
    >>> leakage(joint, Gain.identity(2)), leakage(joint, Gain.identity(2), case="max")
    (Fraction(5, 4), Fraction(4, 3))
    """
    joint, adversary = as_joint(joint), as_adversary(adversary)
    return _like(joint, adversary, factor(adversary, *_sharply(joint, adversary, case, outcome)))


def additive_leakage(
    joint: JointLike, adversary: AdversaryLike, case: Case = "average", *, outcome: Hashable = None
) -> float | Fraction:
    """Return what the release adds to the expected gain, or takes off the expected cost; a Fraction when all is exact.

    Parameters
    ----------
    joint, adversary, case, outcome : as in `leakage`; a matrix of gains may have negative entries, for what is lost

    Returns
    -------
    Fraction or float
        In the unit of the gain or cost; at least 0 for `case` "average" and "max", of either sign at one outcome. Of
        floats it has twelve digits however small it is, up to 32768 pairs of a secret and an outcome; from there on,
        and for alpha-loss, it is good to about 1e-15 of the gain.

    Raises
    ------
    DivulgeError
        As for `leakage`.

    References
    ----------
    Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith, "The Science of Quantitative Information Flow", 2020,
    chapter 5.

    Examples
    --------
    >>> additive_leakage(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), Gain.identity(2))
    Fraction(1, 4)
    """
    joint, (adversary, rounded) = as_joint(joint), _raised(adversary)
    before, after = _sharply(joint, adversary, case, outcome)
    value = _like(joint, adversary, after - before if isinstance(adversary, Gain) else before - after)
    return exact.as_float(value) if rounded else value


def _raised(value: Any) -> tuple[Adversary, bool]:
    """Return (an adversary, whether its fractions stand for floats).

    A matrix with negative gains is raised by a constant, which a difference of gains does not feel.
    """
    if not _is_matrix(value) or hasattr(value, "risk_averse"):
        return as_adversary(value), False
    try:
        cells = np.asarray(value, dtype=object)
        gains = exact.as_fractions(cells)
    except (ValueError, TypeError, OverflowError):
        return as_adversary(value), False
    least = min(gains.ravel().tolist(), default=Fraction(0))
    if least >= 0:
        return as_adversary(value), False
    return Gain(gains - least), all(isinstance(cell, float) for cell in cells.ravel().tolist())


def log_leakage(
    joint: JointLike, adversary: AdversaryLike, case: Case = "average", *, outcome: Hashable = None, unit: Unit = "nats"
) -> float:
    """Return the logarithm of `leakage`, in nats; correctly rounded when all is exact.

    Parameters
    ----------
    joint, adversary, case, outcome : as in `leakage`
    unit : "nats" or "bits"

    Returns
    -------
    float
        In [0, +inf] for `case` "average" and "max"; in [-inf, +inf] at one outcome.

    Raises
    ------
    DivulgeError
        As for `leakage`, or when `unit` is unknown.

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", equations (10) and (15), arXiv:2210.12916.

    Examples
    --------
    >>> round(log_leakage(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), Gain.identity(2)), 9)  # log 3/2
    0.405465108
    """
    joint, adversary = as_joint(joint), as_adversary(adversary)
    return log_of(factor(adversary, *_sharply(joint, adversary, case, outcome)), unit)


def log_of(value: Any, unit: Unit = "nats") -> float:
    """Return the logarithm of a factor; log 0 is -inf, log inf is +inf."""
    if not isinstance(value, float):
        return exact.log(value, unit)
    return -math.inf if value <= 0 else math.log(value) / nats_per(unit)


def pointwise_leakage(joint: JointLike, adversary: AdversaryLike, unit: Unit = "nats") -> Pointwise:
    """Return the logarithm of the leakage to an adversary at each outcome, in nats.

    log V_g(d^y) / V_g(P) for a gain, never above pml(y); log U_c(P) / U_c(d^y) for a cost, never above pmc(y).

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    adversary : Gain, Cost, witness, or matrix of gains of shape (W, N)

    Returns
    -------
    Pointwise
        Values in [-inf, +inf]: an outcome may leave the adversary worse off.

    Raises
    ------
    DivulgeError
        When the adversary is no Gain or Cost over the secrets of `joint`, or `unit` is unknown.

    References
    ----------
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Definition 2 and
    Corollary 1, arXiv:2407.01167.

    Examples
    --------
    >>> pointwise_leakage(dv.Joint([0.5, 0.5], [[0.75, 0.25], [0.5, 0.5]]), Gain.identity(2)).values.round(4).tolist()
    [0.1823, 0.2877]
    """
    joint, adversary = as_joint(joint), as_adversary(adversary)
    columns = _seen(joint, None)
    found = _scores(joint, adversary, columns)
    pairs = [(found.one, exact.as_number(after)) for after in found.values / found.q]
    near = np.array([i for i, pair in enumerate(pairs) if _lost(*pair)], dtype=np.intp)
    sharper = _exact_scores(joint, adversary, columns[near]) if len(near) else None
    if sharper is not None:
        for i, after in zip(near.tolist(), sharper.values / sharper.q, strict=True):
            pairs[i] = sharper.one, after
    logs = [log_of(factor(adversary, *pair), unit) for pair in pairs]
    outcomes = tuple(joint.outcomes[j] for j in columns.tolist())
    return Pointwise(f"leakage to {adversary.name!r}", np.array(logs), exact.as_floats(found.q), outcomes, None, unit)

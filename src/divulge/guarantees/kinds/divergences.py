"""The guarantees that bound a divergence between the outcomes of two secrets: how far apart they are on average.

Some are about restricted adversaries, who ask queries of one class only, and some about states that are measured.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from divulge import exact
from divulge.dp.subjects import Losses
from divulge.dp.variants import divergence
from divulge.errors import DivulgeError
from divulge.guarantees.deciding import pairs
from divulge.guarantees.deciding.levels import Level
from divulge.guarantees.guarantee import Guarantee, Released
from divulge.guarantees.kinds.loss import LossGuarantee, decided, level_of
from divulge.guarantees.terms import kind_of_guarantee, number, parameter
from divulge.model.channel import Channel

_MISSED = 1e-10
"""Features of two distributions that differ by no more than this are matched: times the weights of the best query."""


@kind_of_guarantee
class FDivergence(LossGuarantee):
    """f-divergence privacy: D_f(P || Q) = E_Q[f(P/Q)] <= divergence in both orders, for an f that has a name.

    The names are those of `divulge.dp.loss.divergences`: jensen-shannon, hellinger, kl, chi-squared. A divergence that
    is a logarithm is in nats. f = |r - 1|^k is `AbsChi`, f = |r - 1| / 2 is `TV`; `f_divergence` measures any other f.

    Examples
    --------
    >>> FDivergence("hellinger", "1/10").holds_for([["3/5", "2/5"], ["2/5", "3/5"]]).holds
    True
    """

    f: str
    divergence: float | Fraction = parameter(converter=number)
    kind = "f-divergence"
    title = "f-divergence privacy"
    sentence = "The {f} divergence between the outcomes of two secrets is at most {divergence}."
    index = ("f",)

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        f, question = self.f, pairs.DIVERGENCES[self.f]
        found = partial(divergence.f_divergence, f=f)
        return decided(subject, found, lambda loss: loss.divergence(f), question, "The divergence", (f,))


@kind_of_guarantee
class TernaryAbsChi(LossGuarantee):
    """Ternary abs-chi^alpha privacy: (E_R |(P - Q)/R|^alpha)^(1/alpha) <= zeta for all triples of secrets.

    It is about three secrets at once, so it is measured on a channel and not on the two data sets of a mechanism.

    Examples
    --------
    >>> TernaryAbsChi.of([["3/4", "1/4"], ["1/4", "3/4"]], alpha=1)
    TernaryAbsChi(1, 1.0...)
    """

    alpha: float | Fraction = parameter(converter=number)
    zeta: float | Fraction = parameter(converter=number)
    kind = "ternary-abs-chi"
    title = "ternary abs-chi privacy"
    sentence = (
        "The difference of two secrets' outcome probabilities, over that of a third secret, is at most {zeta} in the "
        "mean of order {alpha}."
    )
    index = ("alpha",)

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        channel, alpha = rows_of(subject, self.kind), exact.double_above(self.alpha)
        question, words = pairs.ternary_abs_chi(self.alpha), "The ternary abs-chi divergence"
        return (pairs.level_of_rows(channel, divergence.triples(channel, alpha), question, words),)


@kind_of_guarantee
class CapacityBoundedDP(LossGuarantee):
    """Capacity-bounded privacy: sup_h E_P h - E_Q f*(h) <= divergence over polynomials h of the outcome.

    `f` names the divergence as in `FDivergence`; `degree` is the largest degree of h, +inf for every function. Outcomes
    are numbers, unless the degree is +inf. Other classes of queries have no short name: `capacity_bounded` measures
    any span of features or ball in one.

    Examples
    --------
    >>> ages = Channel([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], outcomes=[20, 30, 40])
    >>> [CapacityBoundedDP("chi-squared", degree, 2.5).holds_for(ages).holds for degree in (1, 2)]
    [True, False]
    """

    f: str
    degree: float | Fraction = parameter(converter=number)
    divergence: float | Fraction = parameter(converter=number)
    kind = "capacity-bounded"
    title = "capacity-bounded privacy"
    sentence = (
        "Adversaries who ask for polynomials of degree at most {degree} of the outcome tell two secrets apart by a {f} "
        "divergence of at most {divergence}."
    )
    index = ("f", "degree")

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        from divulge.dp.special.restricted import capacity_bounded

        channel = rows_of(subject, self.kind)
        features = polynomials(channel, float(self.degree))
        if features.shape[1] == len(features):  # every function of the outcome
            return FDivergence(self.f, self.divergence).levels(channel)
        found = capacity_bounded(channel, features, self.f)
        missed = _MISSED * float(np.linalg.norm(found.weights)) if math.isfinite(found.upper) else 0.0
        level = level_of(found.upper, found.pair, "The best query of the class")
        return (replace(level, margin=level.margin + missed),)


def polynomials(channel: Channel, degree: float) -> np.ndarray:
    """Return the values of an orthonormal base of the polynomials of the outcome, shape (M, at most degree + 1)."""
    size = len(channel.outcomes)
    if degree == math.inf:
        return np.eye(size)
    try:
        x = np.array([float(str(outcome)) for outcome in channel.outcomes])
    except ValueError:
        hint = "give outcomes that are numbers, or degree inf for every function of the outcome."
        raise DivulgeError.of(
            "degree", "be inf where outcomes are no numbers", "an outcome", repr(channel.outcomes[0]), hint
        ) from None
    if not (np.isfinite(x).all() and degree == int(degree)):
        raise DivulgeError.of("degree", "be a whole number, and outcomes finite", "it", f"{degree:g}")
    base = np.ones((size, 1)) / math.sqrt(size)
    reach = float(np.abs(x - x.mean()).max())
    for _ in range(min(int(degree), len(set(x.tolist())) - 1)):
        new = (x - x.mean()) / reach * base[:, -1]
        for _ in range(2):
            new = new - base @ (base.T @ new)
        base = np.column_stack([base, new / np.linalg.norm(new)])
    return base


@kind_of_guarantee
class QuantumRDP(Guarantee):
    """(alpha, epsilon)-quantum Renyi DP: sandwiched D_alpha of the states of two secrets at most epsilon (nats).

    It is about density matrices, {secret: matrix} or a sequence; a channel counts as its diagonal states.

    Examples
    --------
    >>> states = [[[0.75, 0.25], [0.25, 0.25]], [[0.5, 0.0], [0.0, 0.5]]]
    >>> QuantumRDP(2, 1).holds_for(states).holds
    True
    >>> print(QuantumRDP(2, 1).implies(dv.RDP, alpha=2))  # whatever is measured
    rdp=2:1.0
    """

    alpha: float | Fraction = parameter(converter=number)
    epsilon: float | Fraction = parameter(converter=number)
    kind = "quantum-rdp"
    title = "quantum Renyi differential privacy"
    sentence = "The Renyi divergence of order {alpha} between the states of two secrets is at most {epsilon} nats."
    about = "states"
    index = ("alpha",)

    @classmethod
    def subject(cls, released: Released) -> dict[Hashable, np.ndarray]:
        """Return the states of the secrets.

        Examples
        --------
        >>> found = QuantumRDP.subject({"a": [[1.0, 0.0], [0.0, 0.0]], "b": [[0.5, 0.0], [0.0, 0.5]]})
        >>> list(found)
        ['a', 'b']
        """
        from divulge.dp.special.quantum import states_of

        return states_of(released)

    def levels(self, subject: Mapping[Hashable, np.ndarray]) -> tuple[Level, ...]:
        from divulge.dp.special.quantum import quantum_dp

        found = quantum_dp(subject, exact.double_above(self.alpha))
        first, *others = subject.values()
        if all(np.array_equal(first, state) for state in others):
            return (Level(0.0, lambda: exact.arb(Fraction(0)), 0.0),)
        level = level_of(found.value, found.pair, "The Renyi divergence of the states")
        return (replace(level, margin=level.margin + _off(list(subject.values()), float(self.alpha))),)


def _off(states: list[np.ndarray], alpha: float) -> float:
    """Return how far eigenvalues in doubles, of all but the least relative to the others, may move a divergence."""
    kept = [value for state in states for value in np.linalg.eigvalsh(state).tolist() if value > 1e-12]
    return 16 * len(states[0]) * np.finfo(float).eps / min(kept) * (1 + (1 / (alpha - 1) if alpha > 1 else 1))


def rows_of(subject: Losses, kind: str) -> Channel:
    """Return the channel that the kind needs; a pair of losses does not do."""
    if not isinstance(subject, Channel):
        hint = "a mechanism of the central model gives the losses of two data sets and nothing else."
        raise DivulgeError.of("released", f"be a channel for {kind}", "it", "losses", hint)
    return subject


DIVERGENCE: tuple[type[Guarantee], ...] = (FDivergence, TernaryAbsChi, CapacityBoundedDP, QuantumRDP)
"""The kinds of this file."""

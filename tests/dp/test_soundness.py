"""What stands for a mechanism answers what it can: the table of subjects and questions, walked with real mechanisms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import laplace, norm
from standins import (
    CHECKS,
    SLOW,
    SUBJECTS,
    Row,
    delta,
    information,
    least_epsilon,
    renyi,
    walked,
)
from support import THOROUGH, few

import divulge as dv
from divulge.dp.knowledge import QUESTIONS, TITLES, Known, weakest
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.grid import above, below
from divulge.dp.subjects import privacy_losses


def test_every_question_of_the_table_has_a_check() -> None:
    asked = {name for key, question in QUESTIONS.items() for name in question.functions if key != "rows"}
    assert asked == set(CHECKS)
    assert len(TITLES) == len(Known) == len(QUESTIONS["delta"].answers)
    for question in QUESTIONS.values():  # who knows less never answers better
        worth = [("exact", "upper", "theorem", "refused").index(answer) for answer in question.answers]
        assert worth == sorted(worth)


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_mechanism_exceeds_what_its_subject_answers(name: str) -> None:
    walked(name, 1, 4 if THOROUGH else 1, [function for function in CHECKS if function not in SLOW])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name == "sampled noise")) for name in SUBJECTS]
)
def test_no_mechanism_exceeds_what_its_subject_answers_by_a_search(name: str) -> None:
    turn = list(SUBJECTS).index(name) % 6  # each question is asked of a sixth of the subjects
    walked(name, 2, 1, sorted(SLOW) if THOROUGH else sorted(SLOW)[turn::6])


@pytest.mark.thin
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_composition_holds_for_the_products_of_its_mechanisms(name: str) -> None:
    for draw in range(few(2, least=1)):
        subject, pairs = SUBJECTS[name](np.random.default_rng([3, draw]))
        composed = dv.compose((subject, 2), tolerance=1e-4)
        p, q = (np.outer(row, row).ravel() for row in pairs[0])
        for one, other in ((p, q), (q, p)):
            for d in (0.002, 0.1):
                assert composed.epsilon(d).upper >= least_epsilon(one, other, d) * (1 - 1e-9) - 1e-12
            assert composed.delta(0.4).upper >= delta(one, other, 0.4) * (1 - 1e-9)
            assert composed.renyi(3.0) >= renyi(one, other, 3.0) * (1 - 1e-9)
        if composed.known == Known.PROMISE:
            assert composed.epsilon(0.002).lower == 0.0


def test_what_wraps_knows_as_little_as_what_it_wraps() -> None:
    zcdp = dv.dp.ZcdpRelease(0.1)
    for wrapped in (dv.dp.PoissonSampled(zcdp, 0.1), dv.dp.FixedSizeSampled(zcdp, 1, 10)):
        assert {loss.known for loss in privacy_losses(wrapped)} == {Known.PROMISE}
        assert {loss.reverse().known for loss in privacy_losses(wrapped)} == {Known.PROMISE}
    assert dv.compose(dv.dp.GaussianMechanism(1.0), (zcdp, 2)).known == Known.PROMISE
    assert dv.compose(dv.dp.PoissonSampled(dv.dp.RandomizedResponse(1.0), 0.5)).known == Known.DOMINATING
    assert weakest([]) == Known.MECHANISM


# --- the examples


RARE = dv.Channel([[0.00308, 0.99692], [0.000611, 0.999389]])
"""It keeps zCDP of 0.1."""


def test_a_sampled_zcdp_promise_is_no_sampled_gaussian() -> None:
    assert dv.ZCDP("0.1").holds_for(RARE)
    p, q = RARE.floats
    needed = least_epsilon(0.9 * q + 0.1 * p, q, 1e-5)
    assert needed == pytest.approx(0.32767, abs=1e-5)
    sampled = dv.dp.PoissonSampled(dv.dp.ZcdpRelease(0.1), 0.1)
    assert needed <= dv.compose(sampled).epsilon(1e-5).upper <= 0.36
    assert needed <= dv.dp.epsilon_from_delta(sampled, 1e-5).value <= 0.36
    mixed = dv.compose(sampled, dv.dp.GaussianMechanism(1e6)).epsilon(1e-5)
    assert needed <= mixed.upper
    assert mixed.lower <= 1e-4


def test_a_promise_is_no_gaussian() -> None:
    zcdp = dv.dp.ZcdpRelease(0.1)
    assert not dv.ADP(1.5, 1e-4).holds_for(RARE)
    assert not dv.ADP(1.5, 1e-4).holds_for(zcdp)
    needed = dv.dp.epsilon_from_delta(RARE, 1e-4).value
    assert needed <= dv.dp.epsilon_from_delta(zcdp, 1e-4).value <= 1.66
    assert dv.ADP(1.66, 1e-4).holds_for(zcdp)
    assert dv.dp.epsilon_from_delta(zcdp, 1e-4).lower == 0.0


def test_tails_are_not_read_off_dominating_pairs() -> None:
    worst = (1 - math.exp(-0.5)) / (1 - math.exp(-1))  # an exponential mechanism of two answers
    found = dv.dp.tail_from_epsilon(dv.dp.ExponentialMechanism(1.0), 0.5).value
    assert worst == pytest.approx(0.62246, abs=1e-5)
    assert worst <= found <= worst * (1 + 1e-6)
    assert not dv.guarantees.PDP(1, "0.002").holds_for(dv.dp.AdpRelease(1, 0.001))
    assert dv.guarantees.PDP(1.7, "0.002").holds_for(dv.dp.AdpRelease(1, 0.001))  # 1 + log 2
    for sampled in (
        dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.1),
        dv.dp.FixedSizeSampled(dv.dp.GaussianMechanism(1.0), 10, 100),
    ):
        for e in (0.0, 0.05, 0.2) if THOROUGH else (0.05,):
            tail, left = dv.dp.tail_from_epsilon(sampled, e).value, dv.dp.relaxed_delta(sampled, e, 0.01).value
            for reach in np.linspace(0.05, 1.0, few(20)):
                smaller = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0, reach), 0.1)
                for loss in smaller.losses():
                    assert tail >= loss.tail(e)
                    assert left >= loss.relaxed(e, 0.01) - 1e-12


def test_divergences_of_the_worst_exponential_mechanism_agree() -> None:
    """The worst answers two ways, t and t - 1; of KL t = log((e - 1) / 1)."""
    worst = dv.dp.ExponentialMechanism(1.0)

    def two_way(t: float) -> tuple[Row, Row]:
        share = (1 - math.exp(t - 1)) / (1 - math.exp(-1))
        p = np.array([share, 1 - share])
        return p, p * np.exp([-t, 1 - t])

    pairs = [two_way(t) for t in np.linspace(0.01, 0.99, 401)]
    for f, value in (("kl", lambda p, q: renyi(p, q, 1)), ("jensen-shannon", lambda p, q: js(p, q))):
        truth = max(value(p, q) for p, q in pairs)
        assert truth <= dv.dp.f_divergence(worst, f).value <= truth * (1 + 1e-4)
    assert dv.dp.f_divergence(worst, "kl").value == dv.dp.kl_privacy(worst).value
    assert dv.dp.f_divergence(worst, "chi-squared").value == pytest.approx(math.expm1(dv.dp.renyi_dp(worst, 2.0).value))
    truth = max(information(p, q) for p, q in pairs)
    found = dv.dp.mutual_information_dp(worst)
    assert found.lower <= truth * (1 + 1e-9) <= found.upper


def js(p: Row, q: Row) -> float:
    return (renyi(p, (p + q) / 2, 1) + renyi(q, (p + q) / 2, 1)) / 2


def test_a_list_bounds_nothing_below_what_there_is() -> None:
    """Composed, the pair that dominates exponential mechanisms is worse than each: the lower end is a real one's."""
    found = dv.compose((dv.dp.ExponentialMechanism(1.0), 10), tolerance=1e-4).epsilon(1e-4)
    real = dv.compose((dv.dp.RandomizedResponse(0.5), 10)).epsilon(1e-4)
    assert found.lower <= real.upper <= found.upper


def test_what_needs_rows_is_refused_with_what_can_be_asked() -> None:
    for subject in (dv.dp.ZcdpRelease(0.1), dv.dp.ExponentialMechanism(1.0), dv.dp.GaussianMechanism(1.0)):
        with pytest.raises(dv.DivulgeError, match="epsilon and delta"):
            dv.dp.ternary_abs_chi(subject, 2.0)
        with pytest.raises(dv.DivulgeError, match="be a channel"):
            dv.dp.joint_pml([0.5, 0.5], subject)


def test_optimistic_distributions_are_refused() -> None:
    from dp_accounting.pld import privacy_loss_distribution as peer

    made = peer.from_laplace_mechanism(1.0, pessimistic_estimate=False, value_discretization_interval=1e-2)
    with pytest.raises(dv.DivulgeError, match="pessimistic"):
        dv.dp.from_dp_accounting(made)
    taken = dv.dp.from_dp_accounting(peer.from_laplace_mechanism(1.0, value_discretization_interval=1e-2))
    assert {loss.known for loss in taken} == {Known.DOMINATING}


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.2])
def test_tails_of_noise_cover_every_smaller_sensitivity(epsilon: float) -> None:
    """P(L > epsilon) = P(N > epsilon / s - s / 2) for normal noise on a change of s; Laplace loses at most s."""
    most = dv.dp.tail_from_epsilon(dv.dp.GaussianMechanism(1.0), epsilon).value
    for s in (0.05, 0.3, 0.8, 0.999, 1.0):
        assert most >= norm.sf(epsilon / s - s / 2) * (1 - 1e-12)
    most = dv.dp.tail_from_epsilon(dv.dp.LaplaceMechanism(1.0), epsilon).value
    for s in (0.05, 0.3, 0.8, 0.999, 1.0):
        at = (epsilon + s) / 2  # above it the loss of an outcome is more than epsilon
        assert most >= (laplace.sf(at - s) if epsilon < s else 0.0) * (1 - 1e-12)


@pytest.mark.parametrize("digits", [200, 305, 322, 325, 347, 400])
def test_a_loss_whose_probability_under_q_is_no_double_is_bracketed(digits: int) -> None:
    """Of half the mass the loss is log 10^digits: on the grid it lies no further, and no nearer, than it does."""
    q = Fraction(1, 2) / 10**digits
    loss = AtomicLoss.of_rows(np.array([Fraction(1, 2)] * 2), np.array([q, 1 - q]))
    far, last = float(digits * np.log(10)), 10 * (digits + 1)
    least, most = below(loss, 0.25, -8, last, 0.0), above(loss, 0.25, -8, last)
    for epsilon in far + np.array([-2.0, -0.3, -0.1, 0.0, 0.1, 0.3]):
        truth = 0.5 * max(0.0, -np.expm1(epsilon - far))
        points = 0.25 * (least.first + np.arange(len(least.masses)))
        low, high = (one.masses @ -np.expm1(np.minimum(epsilon - points, 0)) for one in (least, most))
        assert low <= truth * (1 + 1e-9) <= (high + most.infinite) * (1 + 2e-9)
        assert epsilon > far - 1 or low > 0.3

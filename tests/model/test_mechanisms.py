"""Named mechanisms: closed forms of their leakages, exactness, and what they refuse."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from support import random_prior

import divulge as dv
from divulge import exact, mechanisms


@pytest.mark.parametrize("n", [2, 3, 7])
def test_randomized_response(n: int) -> None:
    prior = random_prior(np.random.default_rng(n), n, exact=True)
    joint = dv.Joint(prior, mechanisms.randomized_response(n, ratio=F(3)))
    assert joint.exact
    assert dv.lift_capacity(joint) == 3
    for y, p in enumerate(prior):
        assert dv.pmc(joint)[y] == pytest.approx(math.log(1 + p * 2), rel=1e-15)
        assert dv.pml(joint)[y] == pytest.approx(math.log(3) - math.log(1 + p * 2), rel=1e-13)
    assert dv.pmc(joint)[dv.pmc(joint).argmax()] == pytest.approx(math.log(1 + 2 * float(prior.p_max)))
    loose = mechanisms.randomized_response(n, 1.5)
    assert dv.ldp(loose) == pytest.approx(1.5, rel=1e-14)
    assert mechanisms.randomized_response(n, math.inf) == dv.Channel(np.eye(n))
    assert mechanisms.randomized_response(prior, 0.0).secrets == prior.secrets


def test_extremal_has_constant_leakage_and_keeps_the_prior() -> None:
    prior = dv.Prior(["1/5", "3/10", "1/2"], ["a", "b", "c"])
    joint = dv.Joint(prior, mechanisms.extremal(prior, ratio="6/5"))
    assert joint.outer.tolist() == prior.probabilities.tolist()
    assert (dv.pml(joint).values == exact.log(F(6, 5))).all()
    for label, p in prior.to_dict().items():
        expected = math.log(p / (1 - F(6, 5) * (1 - p)))
        assert dv.pmc(joint)[label] == pytest.approx(expected, rel=1e-14)
    assert dv.pmc(joint).argmax() == "a"
    close = mechanisms.extremal(prior, 0.1)
    assert dv.pml((prior, close)).values == pytest.approx([0.1] * 3, rel=1e-12)
    assert mechanisms.extremal(prior, ratio="5/4").matrix[0, 0] == 0
    with pytest.raises(dv.DivulgeError, match="p_min"):
        mechanisms.extremal(prior, ratio="13/10")


@pytest.mark.parametrize("n", [1, 2, 5])
def test_geometric(n: int) -> None:
    sharp, close = mechanisms.geometric(n, ratio=2), mechanisms.geometric(n, math.log(2))
    assert sharp.exact
    assert close.matrix == pytest.approx(sharp.floats, rel=1e-14)
    if n > 1:
        adjacent = sharp.matrix[1:] / sharp.matrix[:-1]
        assert adjacent.max() == 2
        assert adjacent.min() == F(1, 2)
        assert dv.lift_capacity(sharp) == 2 ** (n - 1)


def test_exponential_is_its_formula() -> None:
    scores = np.random.default_rng(0).random((3, 4))
    channel = mechanisms.exponential(scores, 1.2, sensitivity=0.8)
    weights = np.exp(1.2 * scores / (2 * 0.8))
    assert channel.matrix == pytest.approx(weights / weights.sum(axis=1, keepdims=True), rel=1e-13)
    with pytest.raises(dv.DivulgeError, match="sensitivity"):  # it would not be 1.2-LDP
        mechanisms.exponential(scores, 1.2, sensitivity=0.5)
    by_function = dv.noise.exponential_mechanism(range(3), range(4), lambda x, y: scores[x, y], 1.2, 0.8)
    assert by_function == channel
    sharp = mechanisms.exponential([[1, 0], [0, 1]], ratio=9)
    assert sharp.matrix.tolist() == [[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]]
    assert dv.lift_capacity(sharp) <= 9
    with pytest.raises(dv.DivulgeError, match="rational powers"):
        mechanisms.exponential([[1, 0], [0, 1]], ratio=2)
    assert mechanisms.exponential([[1, 1], [1, 1]], 2.0).matrix.tolist() == [[0.5, 0.5]] * 2


def test_subset_selection() -> None:
    channel = mechanisms.subset_selection(5, ratio=2, size=2)
    assert channel.shape == (5, 10)
    assert dv.lift_capacity(channel) == 2
    assert mechanisms.subset_selection(4, ratio=7).shape == (4, 4)
    assert mechanisms.subset_selection(4, ratio=7).matrix.tolist() == (
        mechanisms.randomized_response(4, ratio=7).matrix.tolist()
    )
    with pytest.raises(dv.DivulgeError, match="size"):
        mechanisms.subset_selection(5, 1.0, size=6)
    with pytest.raises(dv.DivulgeError, match="subsets"):
        mechanisms.subset_selection(60, 1.0, size=30)


@pytest.mark.parametrize("epsilon", [1e-6, 30.0, 350.0, 707.0, 745.2, 1e4])
def test_a_large_epsilon_is_kept_or_refused(epsilon: float) -> None:
    """Entries that vanish would turn a finite epsilon into an infinite one."""
    named = {
        mechanisms.randomized_response: 1,
        mechanisms.subset_selection: 1,
        mechanisms.geometric: 2,
        lambda _, epsilon: mechanisms.exponential(np.eye(3), epsilon): 0.5,
    }
    for make, factor in named.items():
        if epsilon * factor < 708:
            assert dv.ldp(make(3, epsilon)) == pytest.approx(epsilon * factor, rel=1e-9)
        elif epsilon * factor > 709:
            with pytest.raises(dv.DivulgeError, match="epsilon"):
                make(3, epsilon)


def test_the_plain_ones() -> None:
    prior = dv.Prior(["1/4", "3/4"])
    assert dv.Joint(prior, mechanisms.resample(prior, "1/3")).outer.tolist() == prior.probabilities.tolist()
    assert dv.bayes_capacity(mechanisms.erasure(3, "1/4")) == F(3, 4) * 3 + F(1, 4)
    assert dv.bayes_capacity(mechanisms.symmetric(4, "3/4")) == 1
    assert dv.bayes_capacity(mechanisms.identity(6)) == 6
    assert dv.profile(dv.Joint(prior, mechanisms.constant(2))).lip == 0
    drawn = mechanisms.random(4, 5, rng=3)
    assert drawn == mechanisms.random(4, 5, rng=3)
    assert drawn.floats.sum(axis=1) == pytest.approx(np.ones(4))
    assert mechanisms.random(50, 3, concentration=1e-4, rng=1).floats.sum(axis=1) == pytest.approx(np.ones(50))


@pytest.mark.parametrize(
    "call",
    [
        lambda: mechanisms.randomized_response(3),
        lambda: mechanisms.randomized_response(3, 1.0, ratio=2),
        lambda: mechanisms.randomized_response(3, float("nan")),
        lambda: mechanisms.randomized_response(3, -1.0),
        lambda: mechanisms.randomized_response(3, True),
        lambda: mechanisms.randomized_response(3, ratio="1/2"),
        lambda: mechanisms.randomized_response(0, 1.0),
        lambda: mechanisms.randomized_response("abc", 1.0),
        lambda: mechanisms.erasure(3, 1.5),
        lambda: mechanisms.resample([0.5, 0.5], float("nan")),
        lambda: mechanisms.symmetric(1, 0.5),
        lambda: mechanisms.exponential([[1.0, float("inf")]], 1.0),
        lambda: mechanisms.exponential([1.0, 2.0], 1.0),
        lambda: mechanisms.exponential([[1.0, 2.0]], 1.0, sensitivity=0.0),
        lambda: mechanisms.random(2, 2, concentration=0.0),
        lambda: mechanisms.extremal([0, 1], ratio=1),
    ],
)
def test_refusals(call: object) -> None:
    assert callable(call)
    with pytest.raises(dv.DivulgeError):
        call()

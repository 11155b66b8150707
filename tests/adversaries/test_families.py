"""Every family of gains and costs against its definition, by listing what it does not list."""

import itertools
import math
import pickle
from fractions import Fraction as F
from typing import Any

import mpmath
import numpy as np
import pytest
from support import random_prior

import divulge as dv

SECRETS = (3, -1, 0, 7)
PRIOR = dv.Prior(["1/8", "1/4", "1/2", "1/8"], SECRETS)

GAINS = {
    "matrix": dv.Gain([["1/2", 2, 0, 1], [1, 1, 1, 1]], secrets=SECRETS),
    "identity": dv.Gain.identity(SECRETS),
    "tries": dv.Gain.tries(SECRETS, 2),
    "reciprocal": dv.Gain.reciprocal(PRIOR),
    "property": dv.Gain.property(SECRETS, lambda x: x % 2),
    "membership": dv.Gain.membership(SECRETS, [3, 0]),
    "distance": dv.Gain.distance(SECRETS),
    "threshold": dv.Gain.threshold(SECRETS, 3),
    "max-case": dv.Gain.distance(SECRETS).max_case(),
}
COSTS = {
    "matrix": dv.Cost([["1/2", 2, 0, 1], [1, 1, 1, 1]], secrets=SECRETS),
    "zero-one": dv.Cost.zero_one(SECRETS),
    "guesswork": dv.Cost.guesswork(SECRETS),
    "mean": dv.Cost.power(SECRETS, 2),
    "median": dv.Cost.power(SECRETS, 1),
    "grid": dv.Cost.power(SECRETS, 3, grid=[0, 1, 2]),
    "alpha 1/2": dv.Cost.alpha_loss(SECRETS, 0.5),
    "alpha 1": dv.Cost.alpha_loss(SECRETS, 1),
    "alpha 2": dv.Cost.alpha_loss(SECRETS, 2),
    "alpha 40": dv.Cost.alpha_loss(SECRETS, 40),
    "alpha inf": dv.Cost.alpha_loss(SECRETS, math.inf),
}
ADVERSARIES = {f"gain {k}": v for k, v in GAINS.items()} | {f"cost {k}": v for k, v in COSTS.items()}


def best(payoffs: Any, prior: Any, *, largest: bool) -> Any:
    """Return the best expected payoff of listed actions, each a sequence over the secrets."""
    sums = [sum(p * v for p, v in zip(prior, row, strict=True)) for row in payoffs]
    return max(sums) if largest else min(sums)


def test_every_constructor_has_a_row() -> None:
    for kind, rows in ((dv.Gain, GAINS), (dv.Cost, COSTS)):
        made = {name for name, method in vars(kind).items() if isinstance(method, classmethod) and name[0] != "_"}
        rowed = {name.replace("-", "_").split()[0] for name in rows}
        assert made - {"power", "alpha_loss"} <= rowed, "a constructor needs a row in GAINS or COSTS"


@pytest.mark.parametrize("name", ADVERSARIES)
def test_value_is_what_the_best_action_pays_and_no_action_of_a_belief_pays_better(name: str) -> None:
    adversary, rng = ADVERSARIES[name], np.random.default_rng(5)
    rule, largest = adversary.rule, isinstance(adversary, dv.Gain)
    beliefs = np.stack([random_prior(rng, 4, zeros=0.2).floats for _ in range(60)], axis=1)
    values = rule.value(beliefs)
    payoffs = np.stack([np.array(rule.payoff(rule.action(w)), dtype=float) for w in beliefs.T])
    with np.errstate(invalid="ignore"):
        expected = np.where(beliefs.T[:, None, :] > 0, payoffs[None, :, :] * beliefs.T[:, None, :], 0).sum(axis=2)
    assert np.diag(expected) == pytest.approx(values, rel=1e-12, abs=1e-12)
    reached = expected.max(axis=1) if largest else expected.min(axis=1)
    assert reached == pytest.approx(values, rel=1e-12, abs=1e-12)
    assert rule.value(beliefs * 3.0) == pytest.approx(3.0 * values, rel=1e-12)


@pytest.mark.parametrize("name", [k for k, v in ADVERSARIES.items() if v.rule.exact])
def test_exact_beliefs_give_the_fraction_that_floats_approach(name: str) -> None:
    adversary = ADVERSARIES[name]
    measure = dv.vulnerability if isinstance(adversary, dv.Gain) else dv.adversaries.uncertainty
    value = measure(PRIOR, adversary)
    assert type(value) is F
    assert measure(dv.Prior(PRIOR.floats, SECRETS), adversary) == pytest.approx(float(value), rel=1e-14)


def test_families_by_listing() -> None:
    p = PRIOR.probabilities.tolist()
    n = range(4)
    pairs = [[int(x in pair) for x in n] for pair in itertools.combinations(n, 2)]
    orders = [[order.index(x) + 1 for x in n] for order in itertools.permutations(n)]
    assert dv.vulnerability(PRIOR, GAINS["identity"]) == max(p)
    assert dv.vulnerability(PRIOR, GAINS["tries"]) == best(pairs, p, largest=True) == F(3, 4)
    assert dv.vulnerability(PRIOR, GAINS["reciprocal"]) == 1
    assert dv.vulnerability(PRIOR, GAINS["property"]) == p[2] == F(1, 2)
    assert dv.vulnerability(PRIOR, GAINS["membership"]) == p[0] + p[2]
    closeness = [[1 - F(abs(w - x), 8) for x in SECRETS] for w in SECRETS]
    assert dv.vulnerability(PRIOR, GAINS["distance"]) == best(closeness, p, largest=True)
    assert dv.vulnerability(PRIOR, GAINS["max-case"]) == max(p)
    near = [[int(abs(w - x) <= 3) for x in SECRETS] for w in SECRETS]
    assert dv.vulnerability(PRIOR, GAINS["threshold"]) == best(near, p, largest=True)
    assert dv.adversaries.uncertainty(PRIOR, COSTS["zero-one"]) == F(1, 2)
    assert dv.adversaries.uncertainty(PRIOR, COSTS["guesswork"]) == best(orders, p, largest=False)
    steps = [[abs(x - F(w, 8)) for x in SECRETS] for w in range(-8, 57)]
    assert dv.adversaries.uncertainty(PRIOR, COSTS["median"]) == best(steps, p, largest=False)
    mean = sum(q * x for q, x in zip(p, SECRETS, strict=True))
    assert dv.adversaries.uncertainty(PRIOR, COSTS["mean"]) == best(
        [[(x - mean) ** 2 for x in SECRETS]], p, largest=False
    )
    assert COSTS["mean"].best_action(PRIOR) == mean
    cubes = [[abs(x - w) ** 3 for x in SECRETS] for w in (0, 1, 2)]
    assert dv.adversaries.uncertainty(PRIOR, COSTS["grid"]) == best(cubes, p, largest=False)


@pytest.mark.parametrize("alpha", [0.3, 1 - 1e-9, 1.0, 1 + 1e-9, 1.5, 2.0, 50.0, 700.0])
@pytest.mark.parametrize("tail", [0.3, 1e-4, 1e-13])
def test_alpha_loss_to_the_last_digits(alpha: float, tail: float) -> None:
    p = np.array([1 - tail, tail / 4, tail * 3 / 4])
    p[0] = 1 - (p[1] + p[2])
    with mpmath.workdps(80):
        q = [mpmath.mpf(float(v)) for v in p]
        q = [1 - q[1] - q[2], q[1], q[2]]
        a = mpmath.mpf(alpha)
        entropy = -sum(v * mpmath.log(v) for v in q)
        truth = entropy if alpha == 1 else a / (a - 1) * (1 - sum(v**a for v in q) ** (1 / a))
    assert dv.adversaries.uncertainty(dv.Prior(p), dv.Cost.alpha_loss(3, alpha)) == pytest.approx(
        float(truth), rel=1e-12
    )


@pytest.mark.parametrize("tail", [0.0, 1e-20, 1e-9])
def test_distance_costs_of_a_belief_that_is_almost_sure(tail: float) -> None:
    weights = np.array([[0.3 * tail], [0.0], [0.3]]), np.array([[0.3], [0.0], [0.3 * tail]])
    for w in weights:
        assert dv.Cost.power([0, 1, 3], 1).rule.value(w) == pytest.approx(0.9 * tail, rel=1e-15, abs=0)
        exact = 0.3 * 9 * tail * (1 / (1 + tail))
        assert dv.Cost.power([0, 1, 3], 2).rule.value(w) == pytest.approx(exact, rel=1e-13, abs=0)


def test_one_secret_many_ties_and_impossible_secrets() -> None:
    assert dv.adversaries.uncertainty([1], dv.Cost.guesswork(1)) == 1
    assert dv.adversaries.uncertainty([1.0], dv.Cost.alpha_loss(1, 1)) == 0
    assert dv.adversaries.uncertainty(["1"], dv.Cost.power([5], 1)) == 0
    assert dv.vulnerability(["1/2", "0", "1/2"], dv.Gain.reciprocal(["1/2", "0", "1/2"])) == 1
    assert dv.adversaries.uncertainty(["1/2", "0", "1/2"], dv.Cost.power([0, 1, 2], 1)) == 1


def test_callables_tables_and_labels() -> None:
    gain = dv.Gain(lambda w, x: F(1, 2) if w == "hedge" else int(w == x), ["a", "b", "hedge"], ["a", "b"])
    assert gain.matrix.tolist() == [[1, 0], [0, 1], [F(1, 2), F(1, 2)]]
    assert gain.best_action(dv.Prior(["1/4", "3/4"], ["a", "b"])) == "b"
    turned = dv.Prior({"b": F(3, 4), "a": F(1, 4)})
    assert dv.vulnerability(turned, gain) == F(3, 4)
    assert gain.best_action(turned) == "b"
    assert dv.vulnerability([0.5, 0.5], [[1.0, 0.0], [0.0, 3.0]]) == 1.5
    assert pickle.loads(pickle.dumps(gain)).matrix.tolist() == gain.matrix.tolist()
    assert "hedge" in repr(gain)
    assert "hedge" in gain._repr_html_()


@pytest.mark.parametrize(
    "make",
    [
        lambda: dv.Gain([[1.0, -1.0]]),
        lambda: dv.Gain([[1.0, math.nan]]),
        lambda: dv.Cost([[1.0, math.inf]]),
        lambda: dv.Gain([1.0]),
        lambda: dv.Gain([]),
        lambda: dv.Gain(lambda w, x: 1),
        lambda: dv.Gain.tries(3, 0),
        lambda: dv.Gain.tries(3, 4),
        lambda: dv.Gain.tries(3, math.nan),
        lambda: dv.Gain.distance(["a", "b"]),
        lambda: dv.Gain.membership(["a"], ["z"]),
        lambda: dv.Gain.threshold([1, 2], math.nan),
        lambda: dv.Cost.alpha_loss(3, 0),
        lambda: dv.Cost.alpha_loss(3, math.nan),
        lambda: dv.Cost.power([1, 2], math.nan),
        lambda: dv.Cost.power([1, math.nan], 2),
        lambda: dv.Cost.power([1, 2], math.nan, grid=[1]),
        lambda: dv.vulnerability([0.5, 0.5], dv.Cost.zero_one(2)),
        lambda: dv.adversaries.uncertainty([0.5, 0.5], dv.Gain.identity(2)),
        lambda: dv.vulnerability([0.5, 0.5], dv.Gain.identity(3)),
        lambda: dv.Cost.guesswork(3).matrix,
        lambda: dv.leakage([[0.5, 0.5]], dv.Gain.identity(1), case="worst"),
        lambda: dv.leakage([[0.5, 0.5]], dv.adversaries.RandomizedFunction([[1.0]])),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(dv.DivulgeError):
        make()

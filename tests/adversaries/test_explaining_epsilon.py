"""The worked figures of "Explaining epsilon in local differential privacy through the lens of QIF", as fractions."""

import math
from fractions import Fraction as F

from support import RUNNING_CHANNEL, RUNNING_PRIOR, SURVEY_G, SURVEY_R

import divulge as dv

UNIFORM = dv.Prior.uniform(["y", "m", "n"])
GUESS = dv.Gain.identity(["y", "m", "n"])
G, R = dv.Joint(UNIFORM, SURVEY_G), dv.Joint(UNIFORM, SURVEY_R)
RUNNING = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)


def test_section_1a_and_appendix_a() -> None:
    assert G.outer.tolist() == [F(7, 18), F(2, 9), F(7, 18)]
    assert R.outer.tolist() == [F(1, 3)] * 3
    assert G.posteriors.T.tolist() == [
        [F(4, 7), F(2, 7), F(1, 7)],
        [F(1, 4), F(1, 2), F(1, 4)],
        [F(1, 7), F(2, 7), F(4, 7)],
    ]
    assert R.posteriors.tolist() == [[F(3 if i == j else 1, 5) for j in range(3)] for i in range(3)]
    assert dv.vulnerability(UNIFORM, GUESS) == F(1, 3)
    assert [dv.adversaries.before_and_after(j, GUESS) for j in (G, R)] == [(F(1, 3), F(5, 9)), (F(1, 3), F(3, 5))]
    assert [dv.leakage(j, GUESS) for j in (G, R)] == [F(5, 3), F(9, 5)]
    assert [dv.adversaries.before_and_after(j, GUESS, "max")[1] for j in (G, R)] == [F(4, 7), F(3, 5)]
    assert [dv.leakage(j, GUESS, "max") for j in (G, R)] == [F(12, 7), F(9, 5)]
    assert [dv.vulnerability(G.posterior(y), GUESS) for y in "ymn"] == [F(4, 7), F(1, 2), F(4, 7)]
    assert [dv.lift_capacity(c) for c in (SURVEY_G, SURVEY_R)] == [4, 3]
    assert [dv.bayes_capacity(c) for c in (SURVEY_G, SURVEY_R)] == [F(5, 3), F(9, 5)]


def test_section_2_running_example() -> None:
    assert dv.ldp(RUNNING_CHANNEL) == math.log(15)
    assert dv.lift(RUNNING) == F(19, 11)
    assert dv.bayes_capacity(RUNNING_CHANNEL) == F(17, 10)
    assert dv.adversaries.worst_average(RUNNING_CHANNEL).leakage == F(17, 10)


def test_section_3_running_example() -> None:
    gain = dv.Gain.reciprocal(RUNNING_PRIOR)
    assert gain.matrix.tolist() == [[4, 0, 0], [0, 2, 0], [0, 0, 4]]
    assert dv.vulnerability(RUNNING_PRIOR, gain) == 1
    by_action = {y: [sum(RUNNING.posterior(y).probabilities * row) for row in gain.matrix] for y in "bg"}
    assert by_action == {"b": [F(15, 11), F(5, 11), F(19, 11)], "g": [F(5, 9), F(5, 3), F(1, 9)]}
    assert [dv.vulnerability(RUNNING.posterior(y), gain) for y in "bg"] == [F(19, 11), F(5, 3)]
    assert dv.leakage(RUNNING, gain, "max") == F(19, 11)
    guess = dv.Gain.identity(RUNNING_PRIOR)
    assert dv.adversaries.before_and_after(RUNNING, guess, "max") == (F(1, 2), F(5, 6))
    assert dv.leakage(RUNNING, guess, "max") == F(5, 3)


def test_section_3b_the_attack_that_reaches_epsilon() -> None:
    priors = dv.adversaries.lift_capacity_priors(RUNNING_CHANNEL)
    assert (priors.outcome, priors.unlikely, priors.likely, priors.limit) == ("g", "bg", "g", 15)
    assert priors.prior(100).probabilities.tolist() == [F(1, 200), F(1, 200), F(99, 100)]
    assert priors.leakage(100) == F(3, 4) / (F(1, 200) * (F(1, 4) + F(3, 4)) + F(99, 100) * F(1, 20))
    assert priors.leakage(10**9) > F(1499999, 100000)


def test_section_4_max_case_prior_vulnerability() -> None:
    gain = dv.Gain([["1", "1", "0"], ["0", "1/2", "3"]], secrets=["b", "g", "bg"])
    star = gain.max_case()
    assert dv.vulnerability(RUNNING_PRIOR, star) == max(F(1, 4), F(1, 2), F(1, 4), F(3, 4))
    after = max(
        RUNNING.posterior(y).probabilities[x] * gain.matrix[w][x] for y in "bg" for w in range(2) for x in range(3)
    )
    assert dv.leakage(RUNNING, star, "max") == after / F(3, 4)

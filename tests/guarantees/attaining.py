"""Mechanisms that attain the bounds of the theorems, exact where they can be, for the rows that claim it."""

import math
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
from support import THOROUGH

import divulge as dv

Case = tuple[list[dv.Guarantee], dv.Joint, dict[str, Any], dict[str, Any]]
"""(what is given: measured on the joint or chosen, the joint, what is known of the secret, index of what follows)."""


def extremal(prior: list[F], growth: F) -> dv.Joint:
    """The high-privacy extremal mechanism with e^epsilon = growth: C_ij = 1 - growth (1 - P_i), else growth P_j."""
    n = len(prior)
    rows = [[1 - growth * (1 - prior[i]) if i == j else growth * prior[j] for j in range(n)] for i in range(n)]
    return dv.Joint(prior, rows)


def resampling(prior: list[F], kept: F) -> dv.Joint:
    """Keep the secret with probability 1 - kept, else draw anew from the prior: e^-epsilon = kept."""
    n = len(prior)
    return dv.Joint(prior, [[(1 - kept) * (i == j) + kept * prior[j] for j in range(n)] for i in range(n)])


def rare_against_rest(p: F, growth: F, *, high: bool) -> dv.Joint:
    """Two outcomes; the first is `growth` times as likely (or less likely) under the secret of probability p."""
    low = F(1, 2) / growth
    first = [low * growth, low] if high else [low, low * growth]
    return dv.Joint([p, 1 - p], [[v, 1 - v] for v in first])


def randomized_response(n: int, growth: F, prior: dv.Prior | None = None) -> dv.Joint:
    """C_xx = growth times the other entries of its row."""
    total = n - 1 + growth
    rows = [[(growth if i == j else F(1)) / total for j in range(n)] for i in range(n)]
    return dv.Joint(prior or dv.Prior.uniform(n), rows)


def many_values(n: int, growth: float) -> dv.Joint:
    """Randomized response in doubles: a limit needs many values, and no last digits."""
    rows = np.where(np.eye(n) > 0, growth, 1.0) / (n - 1 + growth)
    return dv.Joint(np.full(n, 1 / n), rows)


def shifts(n: int, high: int, ratio: F) -> dv.Joint:
    """Uniform prior; N outcomes, each `ratio` times as likely under `high` secrets in a row as under the others."""
    low = 1 / (ratio * high + n - high)
    rows = [[low * ratio if (i - j) % n < high else low for j in range(n)] for i in range(n)]
    return dv.Joint(dv.Prior.uniform(n), rows)


def identity(prior: list[F]) -> dv.Joint:
    """Publish the secret."""
    return dv.Joint(prior, [[F(i == j) for j in range(len(prior))] for i in range(len(prior))])


def block_or_nothing(blocks: int, shown: F) -> dv.Joint:
    """With probability `shown` name the secret, out of `blocks` equally likely ones; else say nothing."""
    rows = [[shown * (i == j) for j in range(blocks)] + [1 - shown] for i in range(blocks)]
    return dv.Joint(dv.Prior.uniform(blocks), rows)


def resampling_or_nothing(prior: list[F], kept: F, shown: F) -> dv.Joint:
    """With probability `shown` the resampling mechanism, else nothing."""
    inner = resampling(prior, kept).channel.matrix
    return dv.Joint(prior, [[shown * v for v in row] + [1 - shown] for row in inner])


def two_outcomes(q: float, ratio: float) -> dv.Channel:
    """An outcome of probability q under one row and `ratio` times that under the other, and another outcome."""
    return dv.Channel([[q * ratio, 1 - q * ratio], [q, 1 - q]])


def of_one_order(alpha: float, epsilon: float, delta: float) -> dv.Channel:
    """The two outcomes with D_alpha = epsilon that need most at this delta: the largest (p - delta) / q, by a scan."""
    moment = (alpha - 1) * epsilon
    log_q = np.linspace(alpha / (alpha - 1) * math.log(delta) - moment - 5, math.log(0.9), 3000)
    log_low, log_high = log_q.copy(), np.full_like(log_q, -1e-12)
    for _ in range(60):
        middle = (log_low + log_high) / 2
        rest = alpha * np.log1p(-np.exp(middle)) + (1 - alpha) * np.log1p(-np.exp(log_q))
        inside = np.logaddexp(alpha * middle + (1 - alpha) * log_q, rest) <= moment
        log_low, log_high = np.where(inside, middle, log_low), np.where(inside, log_high, middle)
    left = np.exp(log_low) - delta
    best = int(np.argmax(np.where(left > 0, np.log(np.maximum(left, 1e-300)) - log_q, -np.inf)))
    return two_outcomes(float(np.exp(log_q[best])), float(np.exp(log_low - log_q)[best]))


SKEW = [F(1, 10), F(3, 10), F(6, 10)]
EXTREMAL = extremal(SKEW, F(21, 20))
RESAMPLED = resampling(SKEW, F(1, 3))
RESPONSE = randomized_response(4, F(3))
PLAIN = randomized_response(3, F(5), dv.Prior(SKEW))
BINARY = randomized_response(2, F(3), dv.Prior([F(1, 10), F(9, 10)]))
AMONG_TWO = dv.Joint(["1/2", "9/20", "1/20"], [[F(5, 6), F(1, 6)], [F(1, 6), F(5, 6)], [F(1, 2), F(1, 2)]])
WHOLE = identity([F(1, 4)] * 4)
KNOWN = {"p_min": "1/10"}


def _measured(kind: type[dv.Guarantee], joint: dv.Joint, context: dict[str, Any] | None = None) -> Case:
    return [kind.of(joint)], joint, context or {}, {}


def _given_prior(kind: type[dv.Guarantee], joint: dv.Joint) -> Case:
    return _measured(kind, joint, {"prior": joint.prior})


def _both() -> Case:
    return [dv.PML.of(PLAIN), dv.PMC.of(PLAIN)], PLAIN, {}, {}


def _three_levels() -> Case:
    """One column with the entries 3/2, 1/2, 1 times q: both bounds of ALIP meet in it."""
    rows = [[F(3, 8), F(1, 4), F(3, 8)], [F(1, 8), F(1, 4), F(5, 8)], [F(1, 4), F(1, 4), F(1, 2)]]
    return _measured(dv.ALIP, dv.Joint(dv.Prior.uniform(3), rows))


def _no_tail(kind: type[dv.Guarantee], joint: dv.Joint) -> Case:
    given = kind.of(joint)
    return [given], joint, {}, {"epsilon": given.values()["epsilon"]}


def _tail(kind: type[dv.Guarantee], joint: dv.Joint, threshold: Any, **index: Any) -> Case:
    return [kind.of(joint, epsilon=threshold)], joint, {}, index


def _secret_or(delta: F) -> Case:
    """The secret with probability delta, else the extremal mechanism, under a uniform prior."""
    prior, inner = [F(1, 4)] * 4, extremal([F(1, 4)] * 4, F(5, 4))
    rows = [[delta * (i == j) for j in range(4)] + [(1 - delta) * v for v in inner.channel.matrix[i]] for i in range(4)]
    joint = dv.Joint(prior, rows)
    return [dv.guarantees.TailPML.of(joint, epsilon=dv.PML.of(inner).epsilon)], joint, {"p_min": "1/4"}, {}


ATTAINED: dict[str, Callable[[], Case]] = {
    "a leakage bound is a cost bound in the high-privacy regime": lambda: _measured(dv.PML, EXTREMAL, KNOWN),
    "a cost bound is a leakage bound": lambda: _measured(dv.PMC, RESAMPLED, KNOWN),
    "both bounds together are ALIP": _both,
    "the upper bound of ALIP is PML": lambda: _measured(dv.ALIP, PLAIN),
    "the lower bound of ALIP is PMC": lambda: _measured(dv.ALIP, PLAIN),
    "the larger bound of ALIP is LIP": lambda: _measured(dv.ALIP, PLAIN),
    "LIP is symmetric ALIP": lambda: _measured(dv.LIP, identity([F(1)])),
    "ALIP bounds the ratio of rows": _three_levels,
    "LDP bounds leakage": lambda: _measured(dv.LDP, rare_against_rest(F(1, 10), F(7), high=True), KNOWN),
    "LDP bounds cost": lambda: _measured(dv.LDP, rare_against_rest(F(1, 10), F(7), high=False), KNOWN),
    "LDP of each report is DP of the collection": lambda: _measured(dv.LDP, PLAIN),
    "DP of the collection is LDP of each report": lambda: _measured(dv.DP, PLAIN),
    "LDP is lift capacity": lambda: _measured(dv.LDP, PLAIN),
    "lift capacity is LDP": lambda: _measured(dv.guarantees.LiftCapacity, PLAIN),
    "PML is lift": lambda: _measured(dv.PML, PLAIN),
    "lift is PML": lambda: _measured(dv.guarantees.Lift, PLAIN),
    "lift bounds every gain": lambda: _measured(dv.guarantees.Lift, PLAIN),
    "some gain reaches the lift": lambda: _measured(dv.guarantees.MaxGLeakage, PLAIN),
    "the average is at most the worst": lambda: _measured(dv.guarantees.MaxGLeakage, EXTREMAL),
    "Bayes capacity bounds every gain on average": lambda: _measured(dv.guarantees.BayesCapacity, PLAIN),
    "some gain reaches the Bayes capacity": lambda: _measured(dv.guarantees.AverageGLeakage, PLAIN),
    "Bayes capacity is maximal leakage": lambda: _measured(dv.guarantees.BayesCapacity, PLAIN),
    "maximal leakage is Bayes capacity": lambda: _measured(dv.guarantees.MaximalLeakage, PLAIN),
    "LDP bounds the Bayes capacity": lambda: _measured(dv.LDP, RESPONSE, {"n": 4}),
    "LDP bounds the maximal cost leakage": lambda: _measured(dv.LDP, randomized_response(4, F(1, 3)), {"n": 4}),
    "the mean leakage is at most the worst": lambda: _measured(dv.PML, EXTREMAL),
    "the mean cost is at most the worst": lambda: _measured(dv.PMC, RESAMPLED),
    "the mean leakage bounds every gain on average": lambda: _measured(
        dv.guarantees.MeanPML, block_or_nothing(5, F(1, 3)), {"p_min": "1/5"}
    ),
    "the mean of a logarithm is at most the logarithm of the mean": lambda: _measured(
        dv.guarantees.AverageGLeakage, EXTREMAL
    ),
    "the mean cost bounds maximal cost leakage": lambda: _measured(dv.guarantees.MeanPMC, RESAMPLED),
    "the mean cost bounds the mean leakage": lambda: _measured(
        dv.guarantees.MeanPMC, resampling([F(1, 4)] * 4, F(1, 3)), {"p_min": "1/4"}
    ),
    "the Bayes capacity bounds the maximal cost leakage": lambda: _measured(
        dv.guarantees.BayesCapacity, randomized_response(4, F(1, 3)), {"n": 4}
    ),
    "the maximal cost leakage bounds the Bayes capacity": lambda: _measured(
        dv.guarantees.MaximalCostLeakage, RESPONSE, {"n": 4}
    ),
    "the Bayes capacity bounds total variation": lambda: _measured(
        dv.guarantees.BayesCapacity, rare_against_rest(F(1, 10), F(7), high=True)
    ),
    "the maximal cost leakage bounds total variation": lambda: _measured(
        dv.guarantees.MaximalCostLeakage, rare_against_rest(F(1, 10), F(7), high=True)
    ),
    "the mean leakage bounds mutual information": lambda: _measured(dv.guarantees.MeanPML, identity(SKEW)),
    "ALIP bounds mutual information": lambda: _measured(dv.ALIP, shifts(5, 2, F(3))),
    "ALIP bounds mutual information, given the prior": lambda: _given_prior(dv.ALIP, shifts(5, 2, F(3))),
    "LDP bounds mutual information, given the prior": lambda: _given_prior(dv.LDP, BINARY),
    "ALIP bounds every gain on average, given the prior": lambda: _given_prior(dv.ALIP, RESPONSE),
    "ALIP bounds one try, given the prior": lambda: _given_prior(dv.ALIP, RESPONSE),
    "LDP bounds one try, given the prior": lambda: _given_prior(dv.LDP, AMONG_TWO),
    "one try is right at most always": lambda: ([], identity(SKEW), {"prior": dv.Prior(SKEW)}, {}),
    "one try is one gain": lambda: _measured(dv.guarantees.AverageGLeakage, RESPONSE),
    "under the uniform prior one try is the worst gain": lambda: _measured(
        dv.guarantees.MinEntropyLeakage, RESPONSE, {"n": 4, "uniform": True}
    ),
    "a bound at every outcome has no tail": lambda: _no_tail(dv.PML, EXTREMAL),
    "no cost tail either": lambda: _no_tail(dv.PMC, RESAMPLED),
    "no tail is a bound at every outcome": lambda: _tail(dv.guarantees.TailPML, WHOLE, dv.PML.of(WHOLE).epsilon),
    "no cost tail is a cost bound": lambda: _tail(dv.guarantees.TailPMC, RESAMPLED, dv.PMC.of(RESAMPLED).epsilon),
    "a higher threshold is passed no oftener": lambda: _tail(
        dv.guarantees.TailPML, block_or_nothing(4, F(1, 5)), "1/2", epsilon="1"
    ),
    "a higher cost threshold is passed no oftener": lambda: _tail(
        dv.guarantees.TailPMC, resampling_or_nothing(SKEW, F(1, 3), F(1, 5)), "1/2", epsilon="1"
    ),
    "a tail and the largest leakage bound the mean": lambda: _secret_or(F(1, 3)),
    "a tail and the largest lift bound every gain on average": lambda: _secret_or(F(1, 3)),
    "no leakage beyond the rarest secret": lambda: ([], identity(SKEW), KNOWN, {}),
    "no capacity beyond the number of secrets": lambda: ([], WHOLE, {"n": 4}, {}),
    "no information beyond the entropy": lambda: ([], identity(SKEW), {"prior": dv.Prior(SKEW)}, {}),
}
"""Row -> a case in which its bound is reached (to one rounding)."""


def _just_below(blocks: int) -> dict[str, Any]:
    return {"epsilon": math.log(blocks) * (1 - 1e-9)}


LIMITS: dict[str, Callable[[], Case]] = {
    "LDP bounds leakage, whatever the prior": lambda: _measured(
        dv.LDP, rare_against_rest(F(1, 10**8), F(7), high=True)
    ),
    "LDP bounds cost, whatever the prior": lambda: _measured(dv.LDP, rare_against_rest(F("1e-8"), F(7), high=False)),
    "LDP bounds the Bayes capacity, whatever N": lambda: (
        [dv.LDP.of(many_values(120, 6001 / 6000))],
        many_values(120, 6001 / 6000),
        {},
        {},
    ),
    "LDP bounds the maximal cost leakage, whatever N": lambda: _measured(dv.LDP, many_values(120, 1 / 1000)),
    "LDP bounds mutual information": lambda: _measured(
        dv.LDP, shifts(79, 20, F(5)) if THOROUGH else shifts(4, 1, F(5))
    ),
    "Markov for the exponential of leakage": lambda: (
        [dv.guarantees.AverageGLeakage.of(block_or_nothing(8, F(1, 5)))],
        block_or_nothing(8, F(1, 5)),
        {},
        _just_below(8),
    ),
    "Markov for leakage": lambda: (
        [dv.guarantees.MeanPML.of(block_or_nothing(8, F(1, 5)))],
        block_or_nothing(8, F(1, 5)),
        {},
        _just_below(8),
    ),
    "Markov for cost": lambda: (
        [dv.guarantees.MeanPMC.of(resampling_or_nothing(SKEW, F(1, 3), F(1, 5)))],
        resampling_or_nothing(SKEW, F(1, 3), F(1, 5)),
        {},
        _just_below(3),
    ),
}
"""Row -> a case near the end of the sequence that approaches its bound."""

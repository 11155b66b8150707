"""From a cost to a randomized function whose guesser learns exactly as much."""

from collections.abc import Hashable

import numpy as np

from divulge.adversaries.adversary import Cost
from divulge.adversaries.functions import RandomizedFunction
from divulge.adversaries.leakages import as_kind
from divulge.errors import DivulgeError
from divulge.model import labels as _labels
from divulge.model.accepted import JointLike
from divulge.model.arraylike import Matrix
from divulge.model.convert import as_joint


def matching_function(joint: JointLike, cost: Cost | Matrix, outcome: Hashable) -> RandomizedFunction:
    r"""Return a randomized function U with Lambda_U(X -> y) = Lambda_c(X -> y): guessing U wrong costs what c does.

    Let w_S be the best action before y and w_T the one after it. U has two symbols: X = x becomes 0 with probability
    s ((1 - d) c(w_S, x) + d c(w_T, x)), where the scale s keeps that below 1/2, so that 1 is the guess before and
    after. The ratio of the two errors grows from at most to at least that of c as d goes from 0 to 1; it is a ratio of
    linear functions of d, so that the d in between is a fraction. Where c leaves no cost after y, U is 0 with
    probability 1/2 on the secrets that still cost something.

    The other way, from a function to a cost, is `RandomizedFunction.risk_averse`.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    cost : Cost, or matrix of shape (W, N)
    outcome : label

    Returns
    -------
    RandomizedFunction
        Exact when joint and cost are; then the leakages are equal, otherwise up to rounding.

    Raises
    ------
    DivulgeError
        When the best action costs an infinity on a secret that is possible (log-loss, where y rules a secret out).

    References
    ----------
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Theorem 2,
    arXiv:2407.01167.

    Examples
    --------
    >>> joint = dv.Joint(["1/3", "1/3", "1/3"], [["3/4", "1/4"], ["1/2", "1/2"], ["1/4", "3/4"]])
    >>> cost = Cost.guesswork(3)
    >>> dv.leakage(joint, cost, outcome=0), dv.leakage(joint, matching_function(joint, cost, 0).risk_averse, outcome=0)
    (Fraction(6, 5), Fraction(6, 5))
    """
    joint, cost = as_joint(joint), as_kind(Cost, cost, "cost")
    before, after = (cost.weights(belief)[:, 0] for belief in (joint.prior, joint.posterior(outcome)))
    possible = (before > 0).astype(bool)
    p, d = before[possible], after[possible]
    unseen, seen = (cost.rule.payoff(cost.rule.action(belief))[possible] for belief in (before, after))
    if not all(v < np.inf for v in (*unseen.tolist(), *seen.tolist())):
        raise DivulgeError.of("cost", "be finite on the possible secrets", "the best action's", "infinite")
    misses = before * 0
    misses[possible] = _misses(p, d, unseen, seen)
    secrets = joint.secrets if _labels.is_default(cost.secrets) else cost.secrets
    return RandomizedFunction.spread(misses, 1, secrets)


def _misses(p: np.ndarray, d: np.ndarray, unseen: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return P(U = 0 | x) over the possible secrets."""
    before, after = (p * unseen).sum(), (d * seen).sum()
    if before == 0:
        return p * 0
    if after == 0:
        return (p * 0 + 1) * (seen > 0) / 2
    short = before * (d * unseen).sum() - (p * unseen).sum() * after
    over = (p * seen).sum() * after - before * after
    share = short / (short + over) if short + over > 0 else 0
    mixed = (1 - share) * unseen + share * seen
    return (p * 0 + 1) * mixed / (2 * mixed.max())

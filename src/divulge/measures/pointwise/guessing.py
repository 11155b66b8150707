"""Measures of guessing: min-entropy leakage and pointwise maximal guesswork leakage."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from divulge import exact, kernels
from divulge.measures.average.capacities import dense_row, log_of_excess, total
from divulge.measures.numeric.columns import few, largest_joint
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.measures.pointwise.density import pmc
from divulge.model.accepted import JointLike
from divulge.model.convert import as_joint, pair_of_structure
from divulge.model.joint import Joint
from divulge.units import Unit, nats_per


def bayes_vulnerability(joint: JointLike) -> float | Fraction:
    r"""Return sum_y max_x P_x C_xy, the probability of one right guess after seeing the outcome, in [p_max, 1].

    A Fraction for exact joints.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    Fraction or float
        In [max_x P_x, 1], a probability.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9).

    References
    ----------
    Smith, "On the foundations of quantitative information flow", 2009.

    Examples
    --------
    >>> bayes_vulnerability(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]))
    Fraction(3, 4)
    """
    if (
        type(joint) is Joint
        and (known := few(joint.channel)) is not None
        and (loop := kernels.fastest(kernels.sum_of_joint_tops, known.size))
    ):
        return loop(known, joint.prior.floats)
    if (structure := pair_of_structure(joint)) is not None:
        return structure.bayes_vulnerability()
    joint = as_joint(joint)
    top = largest_joint(joint.c, joint.p)
    return total(top) if joint.exact else float(np.add.reduce(top))


def min_entropy_leakage(joint: JointLike, unit: Unit = "nats") -> float:
    r"""Return log(sum_y max_x P_x C_xy / max_x P_x): multiplicative Bayes leakage, in nats, in [0, log min(N, M)].

    By how much one guess at the secret gains from seeing the outcome.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    float
        In [0, log min(N, M)]. Correctly rounded for exact joints.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Smith, "On the foundations of quantitative information flow", 2009.

    Examples
    --------
    >>> min_entropy_leakage(dv.Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]]), unit="bits")
    1.0
    """
    joint = as_joint(joint)
    return min_entropy_leakage_of(joint, largest_joint(joint.c, joint.p), unit)


def min_entropy_leakage_of(joint: Joint, joint_top: np.ndarray, unit: Unit) -> float:
    """Return log(sum_y max_x P_x C_xy / max_x P_x) given the largest joint entry of each column."""
    likeliest = int(joint.p.argmax())
    before = joint.p[likeliest]
    if joint.exact:
        return exact.log(total(joint_top) / before, unit)
    base = before * dense_row(joint.c, likeliest)
    return max(log_of_excess(joint_top, base, float(before)), 0.0) / nats_per(unit)


def pointwise_maximal_guesswork_leakage(joint: JointLike, unit: Unit = "nats") -> Pointwise:
    """Return the pointwise maximal guesswork leakage of each outcome, in nats: equal to `pmc`.

    By how much, at most over randomized functions of the secret, the expected number of guesses falls on seeing y.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    Pointwise
        Values in [0, +inf], one per outcome with q_y > 0.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Kurri, Managoli, Prabhakaran, "Maximal guesswork leakage", 2024, arXiv:2405.02585.

    Examples
    --------
    >>> leak = pointwise_maximal_guesswork_leakage(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]))
    >>> round(leak.max(), 9)  # log 2
    0.693147181
    """
    return replace(pmc(joint, unit), name="pointwise_maximal_guesswork_leakage")

"""Mutual information between secret and outcome."""

import math

import numpy as np

from divulge import exact, kernels
from divulge.kernels import CANCELLED, SMALL
from divulge.measures.numeric.columns import TINY, row_logs, with_logs
from divulge.measures.pointwise.divergence import f_information
from divulge.model.accepted import JointLike
from divulge.model.convert import as_joint, pair_of_structure
from divulge.model.joint import Joint
from divulge.units import Unit, nats_per

_TINY = np.array(TINY)


def mutual_information(joint: JointLike, unit: Unit = "nats") -> float:
    r"""Return the mutual information I(X; Y) = sum_{x,y} P_x C_xy log(C_xy / q_y), in nats.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    float
        In [0, log min(N, M)], exactly 0 under independence. Correctly rounded for exact joints; relative error about
        1e-13 for floats, near independence too.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Shannon, "A mathematical theory of communication", 1948.

    Examples
    --------
    >>> mutual_information(dv.Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]]), unit="bits")
    1.0
    """
    if type(joint) is Joint and (known := joint.channel.__dict__.get("with_logs")) is not None:
        way = kernels.fastest(kernels.information, known.size) or _of_few
        found = way(known, joint.prior.floats)  # of a few entries each question that is not asked here counts
        if found > 0:
            return found if unit == "nats" else found / nats_per(unit)
    if (structure := pair_of_structure(joint)) is not None:
        return structure.mutual_information(unit)
    joint = as_joint(joint)
    if joint.exact:
        return exact_mutual_information(joint, unit)
    return float_mutual_information(joint, row_logs(joint.channel)) / nats_per(unit)


def exact_mutual_information(joint: Joint, unit: Unit) -> float:
    """Return sum p C log C - sum q log q of an exact joint, correctly rounded: few logarithms of long fractions."""
    x = joint.x
    entries = zip(joint.matrix[x].ravel().tolist(), joint.c[x].ravel().tolist(), strict=True)
    outer = [q for q in joint.outer.tolist() if q > 0]
    return exact.weighted_log_sum([*((w, c) for w, c in entries if w > 0), *((-q, q) for q in outer)], unit)


def float_mutual_information(joint: Joint, logs: np.ndarray) -> float:
    """Return the mutual information in nats from sum_y C_xy log C_xy, shape (N,)."""
    if (known := with_logs(joint.channel)) is not None:
        way = kernels.fastest(kernels.information, known.size) or _of_few
        difference = way(known, joint.prior.floats)
        return difference if difference > 0 else float(f_information(joint, "kl"))
    q = joint.outer
    free = float(q.dot(np.log(np.maximum(q, _TINY))))
    difference = float(joint.prior.floats.dot(logs)) - free
    if difference > SMALL and difference > CANCELLED * -free:
        return difference
    return float(f_information(joint, "kl"))


def _of_few(known: np.ndarray, p: np.ndarray) -> float:
    """Return what `kernels.information` does, added in its order, with logarithms of the same library."""
    *outer, conditional = np.add.reduce(p[:, None] * known, axis=0).tolist()
    free = 0.0
    for share in outer:
        if share > 0:
            free += share * math.log(share)
    found = conditional - free
    return found if found > SMALL and found > CANCELLED * -free else -1.0

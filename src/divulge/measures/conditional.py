"""Leakage to an adversary who already knows something: side information Z = z."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.accepted import JointLike
from divulge.model.channel import Channel, is_sparse
from divulge.model.convert import as_joint
from divulge.model.joint import Joint
from divulge.model.prior import Prior

_FEW = 1 << 15
"""Up to this many entries that go with the side information, floats are conditioned as the fractions they are."""


def conditioned(joint: JointLike, given: Hashable) -> Joint:
    r"""Return the joint of X and Y given Z = z, from a joint whose outcomes are pairs (y, z).

    Prior P(x | z), channel P(y | x, z). Releases side by side, `channel_of_y.alongside(channel_of_z)`, have such pairs.
    A secret that z rules out keeps a row, the distribution of y given z, and probability 0.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
        Its outcomes are pairs (y, z).
    given : label
        The z that is known.

    Returns
    -------
    Joint
        Exact for an exact joint.

    Raises
    ------
    DivulgeError
        When outcomes are no pairs, or `given` never occurs.

    References
    ----------
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Corollary 2,
    arXiv:2407.01167.

    Examples
    --------
    >>> second = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> first = dv.Channel([["1/2", "1/2"], ["1/4", "3/4"]])
    >>> conditioned(dv.Joint(["1/2", "1/2"], second.alongside(first)), given=0).prior.probabilities.tolist()
    [Fraction(2, 3), Fraction(1, 3)]
    """
    return _known(joint, given, 0)


def sharply_conditioned(joint: Any, given: Hashable) -> Joint:
    """Return the same, of few floats in fractions: rounded rows would hide by how little they differ."""
    return _known(joint, given, _FEW)


def _known(joint: Any, given: Hashable, most: int) -> Joint:
    """Return the joint given Z = z, in fractions if up to `most` entries go with z."""
    joint = as_joint(joint)
    if not all(isinstance(label, tuple) and len(label) == 2 for label in joint.outcomes):
        raise DivulgeError.of(
            "given", "be asked of outcomes that are pairs (y, z)", "an outcome", "no pair",
            "release Y beside Z with channel.alongside(side_information).",
        )  # fmt: skip
    pairs: list[Any] = list(joint.outcomes)
    columns = [j for j, (_, z) in enumerate(pairs) if z == given]
    part, p = joint.c[:, columns], joint.p
    part = part.toarray() if is_sparse(part) else part
    if part.size <= most:
        part, p = exact.as_fractions(part), exact.as_fractions(p)
    outer = exact.product(p, part) if columns and exact.is_exact(p, part) else p @ part
    weight = outer.sum()
    if not weight > 0:
        raise DivulgeError.of("given", "occur with positive probability", repr(given), "never seen")
    likelihood = part.sum(axis=1)
    rows = np.where((likelihood > 0)[:, None], part / np.where(likelihood > 0, likelihood, 1)[:, None], outer / weight)
    return Joint(
        Prior(p * likelihood / weight, joint.secrets), Channel(rows, joint.secrets, [pairs[j][0] for j in columns])
    )

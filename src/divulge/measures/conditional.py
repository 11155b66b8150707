"""Leakage to an adversary who already knows something: side information Z = z."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.channel import Channel, is_sparse
from divulge.model.convert import as_joint
from divulge.model.joint import Joint
from divulge.model.prior import Prior


def conditioned(joint: Any, given: Hashable) -> Joint:
    r"""Return the joint of X and Y given Z = z, from a joint whose outcomes are pairs (y, z).

    Prior P(x | z), channel P(y | x, z). Releases side by side, `channel_of_y.alongside(channel_of_z)`, have such pairs.
    A secret that z rules out keeps a row, the distribution of y given z, and probability 0.

    Examples
    --------
    >>> from divulge import Channel, Joint
    >>> second = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> first = Channel([["1/2", "1/2"], ["1/4", "3/4"]])
    >>> conditioned(Joint(["1/2", "1/2"], second.alongside(first)), given=0).prior.probabilities.tolist()
    [Fraction(2, 3), Fraction(1, 3)]
    """
    joint = as_joint(joint)
    if not all(isinstance(label, tuple) and len(label) == 2 for label in joint.outcomes):
        raise DivulgeError.of(
            "given", "be asked of outcomes that are pairs (y, z)", "an outcome", "no pair",
            "release Y beside Z with channel.alongside(side_information).",
        )  # fmt: skip
    pairs: list[Any] = list(joint.outcomes)
    columns = [j for j, (_, z) in enumerate(pairs) if z == given]
    weight = joint.outer[columns].sum() if columns else 0
    if not weight > 0:
        raise DivulgeError.of("given", "occur with positive probability", repr(given), "never seen")
    part = joint.c[:, columns]
    part = part.toarray() if is_sparse(part) else part
    likelihood = part.sum(axis=1)
    rows = np.where(
        (likelihood > 0)[:, None],
        part / np.where(likelihood > 0, likelihood, 1)[:, None],
        joint.outer[columns] / weight,
    )
    prior = Prior(joint.p * likelihood / weight, joint.secrets)
    return Joint(prior, Channel(rows, joint.secrets, [pairs[j][0] for j in columns]))

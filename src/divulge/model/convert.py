"""One way in: what a public function accepts as a prior, a channel or a joint."""

import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.tables import is_table


def as_prior(value: Any) -> Prior:
    """Return a Prior from a Prior, mapping, or array_like; a Joint is refused, as it has two variables."""
    if isinstance(value, Joint):
        hint = "joint.prior is that of its secret, and Prior(joint.outer, joint.outcomes) that of its outcome."
        raise DivulgeError.of("prior", "be about one variable", "it", "a Joint, of a secret and an outcome", hint)
    return value if isinstance(value, Prior) else Prior(value)


def as_channel(value: Any) -> Channel:
    """Return a Channel from a Channel, Joint, table, mapping of mappings, or array_like of shape (N, M)."""
    if isinstance(value, Channel):
        return value
    if isinstance(value, Joint):
        return value.channel
    if isinstance(value, Prior):
        raise DivulgeError.of("channel", "be a channel", "it", "a Prior")
    return Channel(value)


def is_pair(value: Any) -> bool:
    """Say whether `value` is a tuple (prior, channel), of objects or of what converts to them, and no matrix.

    >>> is_pair(([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]])), is_pair(((0.4, 0.1), (0.1, 0.4)))
    (True, False)
    """
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    prior, channel = value
    if type(channel) is np.ndarray and channel.ndim == 2:
        return True
    if isinstance(prior, (Prior, Mapping)) or isinstance(channel, (Channel, Mapping)) or is_table(channel):
        return True
    if hasattr(channel, "under"):  # a protocol
        return True
    if isinstance(channel, (list, tuple)):
        return len(channel) > 0 and isinstance(channel[0], (list, tuple, np.ndarray))
    return getattr(channel, "ndim", 0) == 2


def of_noise(value: Any) -> Any:
    """Return noise on a number, which answers for itself; None for what has outcomes that can be listed."""
    return value if hasattr(value, "pml_supremum") else None


def of_structure(value: Any) -> Any:
    """Return what answers for itself, without a matrix: a protocol, or (prior, protocol) as one; None for all else.

    >>> of_structure((["1/2", "1/2"], dv.protocols.hadamard(2, 1.0))).lift > 1, of_structure([[1, 0], [0, 1]])
    (True, None)
    """
    if isinstance(value, tuple) and len(value) == 2 and hasattr(value[1], "under"):
        return value[1].under(value[0])
    return value if hasattr(value, "extremes") or hasattr(value, "under") else None


def pair_of_structure(value: Any) -> Any:
    """Return a protocol with its prior, as one; None for what has a matrix, and an error for a protocol alone.

    >>> pair_of_structure((["1/2", "1/2"], dv.protocols.hadamard(2, 1.0))).lift > 1, pair_of_structure([[1, 0], [0, 1]])
    (True, None)
    """
    if type(value) is Joint:
        return None
    found = of_structure(value)
    if found is not None and not hasattr(found, "joint"):
        raise DivulgeError.of("joint", "have a prior and a channel", "it", f"a {type(value).__name__}", _BOTH)
    return found


def mechanism_of_structure(value: Any) -> Any:
    """Return the protocol, of (prior, protocol) too; None for what has a matrix.

    >>> mechanism_of_structure((["1/2", "1/2"], dv.protocols.hadamard(2, 1.0))).size
    2
    """
    found = of_structure(value)
    return getattr(found, "protocol", found)


def as_joint(value: Any) -> Joint:
    """Return a Joint from a Joint, a pair (prior, channel), or the matrix P(x, y)."""
    if isinstance(value, Joint):
        return value
    structure = of_structure(value)
    if hasattr(structure, "joint"):  # written out, where it is small
        return structure.joint()
    if isinstance(value, (Channel, Prior)) or structure is not None:
        raise DivulgeError.of("joint", "have a prior and a channel", "it", f"a {type(value).__name__}", _BOTH)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Channel):
        raise DivulgeError.of("joint", "be a pair (prior, channel)", "its first part", "a Channel", "swap the two.")
    if is_pair(value):
        return Joint(*value)
    if isinstance(value, (str, os.PathLike)):
        hint = "read_channel and read_prior read files, read_joint two columns of a table."
        raise DivulgeError.of("joint", "be a joint, a pair (prior, channel) or a matrix", "it", "text", hint)
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) and isinstance(value[0], (int, float, Fraction)):
        raise DivulgeError.of("joint", "have a prior and a channel", "it", "one row of numbers", _BOTH)
    return Joint.from_matrix(value)


_BOTH = "both go in as one argument, a pair: (prior, channel)."

"""One way in: what a public function accepts as a prior, a channel or a joint."""

from typing import Any

from divulge.errors import DivulgeError
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior


def as_prior(value: Any) -> Prior:
    """Return a Prior from a Prior, Joint, mapping, or array_like."""
    if isinstance(value, Prior):
        return value
    return value.prior if isinstance(value, Joint) else Prior(value)


def as_channel(value: Any) -> Channel:
    """Return a Channel from a Channel, Joint, table, mapping of mappings, or array_like of shape (N, M)."""
    if isinstance(value, Channel):
        return value
    if isinstance(value, Joint):
        return value.channel
    if isinstance(value, Prior):
        raise DivulgeError.of("channel", "be a channel", "it", "a Prior")
    return Channel(value)


def as_joint(value: Any) -> Joint:
    """Return a Joint from a Joint, a pair (prior, channel), or the matrix P(x, y)."""
    if isinstance(value, Joint):
        return value
    if isinstance(value, (Channel, Prior)):
        raise DivulgeError.of(
            "joint", "have a prior and a channel", "it", f"a {type(value).__name__}", "use Joint(prior, channel)."
        )
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Channel):
        return Joint(*value)
    return Joint.from_matrix(value)

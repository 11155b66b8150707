"""What a release is for, and the mechanisms that are known by name."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.designing.utility import UtilityName
from divulge.measures.average.information import mutual_information
from divulge.model import mechanisms
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.mechanisms.arguments import positive
from divulge.model.prior import Prior
from divulge.releasing.estimating.estimate import rank, right_inverse


@dataclass(frozen=True)
class Purpose:
    """What a release is for: how good a channel is for it under a prior (larger is better), and the design's name.

    `cost` says what is lost, with a blank for how much.
    """

    about: str
    worth: Callable[[Prior, Channel], float]
    utility: UtilityName
    cost: str


def _spread(prior: Prior, channel: Channel) -> float:
    """Return minus the sum over x of the variance of B[Y, x], a row's part of the estimate; -inf without an inverse."""
    if rank(channel.floats) < len(prior):
        return -math.inf
    p, inverse = prior.floats, right_inverse(Channel(channel.floats, channel.secrets, channel.outcomes))
    return -float((p @ channel.floats @ inverse**2 - p**2).sum())


PURPOSES: dict[str, Purpose] = {
    "statistics": Purpose(
        "estimates of how frequent values are, as near as can be",
        _spread,
        "estimation",
        "the variance of estimates is {} larger",
    ),
    "record": Purpose(
        "each row as often right as can be",
        lambda prior, channel: float(prior.floats @ np.diag(channel.floats)),
        "hamming",
        "a row is right {} less often",
    ),
    "information": Purpose(
        "as much information about the values as can be",
        lambda prior, channel: mutual_information(Joint(prior, channel.floats)),
        "mutual-information",
        "an entry tells {} less on average",
    ),
}
"""Name -> purpose."""


def _order_scores(n: int) -> np.ndarray:
    place = np.arange(n)
    return -np.abs(place[:, None] - place).astype(float)


def _share(strength: Mapping[str, Any]) -> Any:
    """Return e^-epsilon, exact where the ratio is given."""
    return 1 / positive(strength["ratio"], "ratio") if "ratio" in strength else math.exp(-strength["epsilon"])


def _error(prior: Prior, strength: Mapping[str, Any]) -> Any:
    """Return the chance of another value in the symmetric mechanism that is epsilon-LDP."""
    n, a = len(prior), _share(strength)
    return (n - 1) * a / (1 + (n - 1) * a)


@dataclass(frozen=True)
class Given:
    """A mechanism that is known by name: what it does, how it is made, and whether it takes epsilon or ratio."""

    about: str
    make: Callable[[Prior, Mapping[str, Any]], Channel]
    tunable: bool = True


NAMED: dict[str, Given] = {
    "randomized-response": Given(
        "the truth with odds e^epsilon to 1 against each other value",
        lambda prior, s: mechanisms.randomized_response(prior.secrets, **s),
    ),
    "geometric": Given(
        "values in their order, steps of one are e^epsilon-close",
        lambda prior, s: mechanisms.geometric(prior.secrets, **s),
    ),
    "exponential": Given(
        "values in their order, odds that fall with the distance",
        lambda prior, s: Channel(
            mechanisms.exponential(_order_scores(len(prior)), sensitivity=max(len(prior) - 1, 1), **s).matrix,
            prior.secrets, prior.secrets,
        ),
    ),
    "subset-selection": Given(
        "a set of values that likely holds the truth",
        lambda prior, s: mechanisms.subset_selection(prior.secrets, **s)
    ),
    "extremal": Given(
        "the most information under epsilon-pml, for small epsilon",
        lambda prior, s: mechanisms.extremal(prior, **s)
    ),
    "resample": Given(
        "the truth, or with chance e^-epsilon a fresh draw from the prior",
        lambda prior, s: mechanisms.resample(prior, 1 - _share(s)),
    ),
    "erasure": Given(
        "the truth, or with chance e^-epsilon nothing",
        lambda prior, s: mechanisms.erasure(prior.secrets, _share(s))
    ),
    "symmetric": Given(
        "the truth, or each other value equally often",
        lambda prior, s: mechanisms.symmetric(prior.secrets, _error(prior, s)),
    ),
    "identity": Given("the truth", lambda prior, s: mechanisms.identity(prior.secrets), tunable=False),
    "constant": Given("nothing", lambda prior, s: mechanisms.constant(prior.secrets), tunable=False),
}  # fmt: skip
"""Names of `dv.mechanisms`, with hyphens -> what they are."""

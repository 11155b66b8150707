"""Releases that follow an outcome: channels chosen by it, and what one leaks to those who know it."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.measures.pointwise.density import pmc, pml
from divulge.model.accepted import ChannelLike, JointLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_joint
from divulge.units import Unit


def adaptively(first: ChannelLike, later: Mapping[Any, ChannelLike]) -> Channel:
    """Return the channel of two releases, the second chosen by what the first one showed.

    P(y, z | x) = C_xy D^y_xz, with `later[y]` the channel D^y used after outcome y.

    Parameters
    ----------
    first : Channel, or array_like of shape (N, M)
    later : mapping from outcome of `first` to Channel (or array_like) of N rows

    Returns
    -------
    Channel
        Outcomes are pairs (y, z); exact when all entries are.

    Raises
    ------
    DivulgeError
        When an outcome has no channel in `later`, or a channel is over other secrets.

    Examples
    --------
    >>> keep, drop = [["1", "0"], ["0", "1"]], [["1"], ["1"]]
    >>> adaptively([["1/2", "1/2"], ["1/2", "1/2"]], {0: keep, 1: drop}).outcomes
    ((0, 0), (0, 1), (1, 0))
    """
    start = as_channel(first)
    missing = [y for y in start.outcomes if y not in later]
    if missing:
        condition = "name a channel for every outcome of the first"
        raise DivulgeError.of("later", condition, "there", f"none for {missing[0]!r}")
    columns: list[np.ndarray] = []
    outcomes: list[Hashable] = []
    for y in start.outcomes:
        after = as_channel(later[y]).aligned(start.secrets, "later", "the first release")
        second = after.matrix.toarray() if after.sparse else after.matrix
        weights = start.column(y)
        if exact.is_exact(weights) != exact.is_exact(second):
            weights, second = exact.as_floats(weights), exact.as_floats(second)
        columns.append(weights[:, None] * second)
        outcomes += [(y, z) for z in after.outcomes]
    if not all(exact.is_exact(c) for c in columns):
        columns = [exact.as_floats(c) for c in columns]
    return Channel(np.concatenate(columns, axis=1), start.secrets, outcomes)


def pml_given(joint: JointLike, outcome: Hashable, channel: ChannelLike, unit: Unit = "nats") -> Pointwise:
    """Return the pml of a later release, given what an earlier one showed: under the posterior of `outcome`, in nats.

    l(X -> (y, z)) <= l(X -> y) + l(X -> z | y): leakages add in this way and in no other.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M), of the earlier release
    outcome : label, what it showed
    channel : Channel, or array_like of shape (N, K), of the later release

    Returns
    -------
    Pointwise
        Values in [0, +inf), one per outcome of the later release that can occur.

    Raises
    ------
    DivulgeError
        When `outcome` never occurs, or the releases are over different secrets.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Pointwise Maximal Leakage", arXiv:2205.04935 (composition).

    Examples
    --------
    >>> bit = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> pml_given(dv.Joint(["1/2", "1/2"], bit), 0, bit).values.round(9).tolist()  # log 3/4 / (5/8), log 3/4 / (3/8)
    [0.182321557, 0.693147181]
    """
    return pml((as_joint(joint).posterior(outcome), as_channel(channel)), unit)


def pmc_given(joint: JointLike, outcome: Hashable, channel: ChannelLike, unit: Unit = "nats") -> Pointwise:
    """Return the pmc of a later release given what an earlier one showed, in nats; adds to that of the earlier one.

    Parameters
    ----------
    joint, outcome, channel : as in `pml_given`

    Returns
    -------
    Pointwise
        Values in [0, +inf], one per outcome of the later release that can occur.

    Raises
    ------
    DivulgeError
        As for `pml_given`.

    References
    ----------
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Corollary 2 and Lemma
    1.7, arXiv:2407.01167.

    Examples
    --------
    >>> bit = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> pmc_given(dv.Joint(["1/2", "1/2"], bit), 0, bit).values.round(9).tolist()  # log 5/8 / (1/4), log 3/8 / (1/4)
    [0.916290732, 0.405465108]
    """
    return pmc((as_joint(joint).posterior(outcome), as_channel(channel)), unit)

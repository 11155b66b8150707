"""A column goes out, and the guarantee is about another, of which it tells by a law that is counted or given."""

import os
from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.adversaries.correlated import dalenius
from divulge.designing.design import design
from divulge.designing.protecting.law import as_protected, joint_of
from divulge.errors import DivulgeError
from divulge.files import read_channel
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds import LDP, PMC, PML
from divulge.model.channel import Channel
from divulge.model.integer import IntegerChannel
from divulge.model.joint import Joint
from divulge.model.mechanisms import resample
from divulge.model.prior import Prior
from divulge.releasing.column import Release
from divulge.releasing.estimating.counting import contingency
from divulge.releasing.planning.about import FACTORS, RADII
from divulge.releasing.planning.assumed import Assumed, assumption
from divulge.releasing.planning.naming import set_labels, str_of, untrue
from divulge.releasing.planning.purposes import PURPOSES
from divulge.roots import turn

_STEPS = 40
"""Halvings of the share that a resampling keeps: to 12 digits."""

_ABSENT = ("missing", "no answer", *(f"missing {i}" for i in range(2, 99)))
"""What missing values of the protected column are called: the first of these that is no value of it."""

_ROOM = 2.0**-40
"""What resampling leaves of its share, so that integers keep the guarantee."""


def law_in(given: Any, source: Any, columns: tuple[str, ...]) -> Any:
    """Return the law in a file, a channel or joint as it is, and the name of a column of the table as it is."""
    if not isinstance(given, (str, os.PathLike)):
        return given
    if isinstance(given, str) and given in source.schema.names:
        if given in columns:
            raise DivulgeError.of("protect", "be another column than the one that goes out", "it", repr(given))
        return given
    if not os.path.exists(given):
        hint = "rows of the file are values of the column, its columns those of what is protected."
        raise DivulgeError.of("protect", "be a column of the table, or the file of P(s | x)", "it", "neither", hint)
    return read_channel(given)


def pairs_of(source: Any, choice: Release) -> dict[Any, int] | None:
    """Return how often each value of the columns goes with each of the protected column; None where a law is given.

    Missing values of the columns have their label, as in the counts of the columns.
    """
    if not isinstance(choice.protect, str):
        return None
    found: dict[Any, int] = contingency(source, [*choice.columns, choice.protect]).to_dict()
    return {(*(choice.null_as if value is None else value for value in seen), s): n for (*seen, s), n in found.items()}


def known_law(
    choice: Release, counts: Mapping[Hashable, int], pairs: Mapping[Any, int] | None
) -> tuple[Assumed, Channel]:
    """Return the prior of the column and P(s | x): counted from the table, or given."""
    if pairs is not None:
        if choice.prior is not None:
            raise DivulgeError.of("prior", "be left out where what is protected is a column", "it", "given",
                                  "how both columns go together has it.")  # fmt: skip
        assumed = assumption(None, counts, True)
        assert assumed.prior is not None
        values = sorted(dict.fromkeys(key[-1] for key in pairs), key=str_of)
        rows = [[pairs.get((*(x if isinstance(x, tuple) else (x,)), s), 0) for s in values]
                for x in assumed.prior.secrets]  # fmt: skip
        absent = next(name for name in _ABSENT if name not in values)
        names = [absent if s is None else s for s in values]
        return assumed, Channel([[Fraction(n, sum(row)) for n in row] for row in rows], assumed.prior.secrets, names)
    if isinstance(choice.protect, Joint) and choice.prior is None:
        one = choice.protect
        assumed = assumption(Prior(exact.as_fractions(one.matrix).sum(axis=0), one.outcomes), counts, False)
    else:
        assumed = assumption(choice.prior, counts, choice.prior_from_data)
    if assumed.priors is not None or assumed.prior is None:
        raise DivulgeError.of("prior", "be one prior where another variable is protected", "it", "a set")
    (given,) = as_protected(choice.protect, assumed.prior.secrets)
    return assumed, given


def made_for(choice: Release, kept: tuple[Guarantee, ...], assumed: Assumed, given: Channel) -> IntegerChannel:
    """Return the best mechanism for the purpose that keeps the guarantees of what is protected, with true names."""
    prior = assumed.prior
    assert prior is not None
    purpose, found = PURPOSES[choice.purpose], list[tuple[float, IntegerChannel]]()

    def offer(channel: Channel) -> None:
        whole = IntegerChannel.of(channel, raise_small=True)
        if keeps(kept, prior, given, whole) and not untrue(whole.weights, whole.secrets, whole.outcomes):
            exactly = whole.exact
            square = _by_value(exactly) if choice.purpose == "record" else exactly
            found.append((purpose.worth(prior, square), whole))

    if choice.purpose != "information" and choice.outcomes == "values":
        offer(_resampled(prior, kept, given))
        if choice.purpose == "record":
            offer(design(prior, *kept, utility=purpose.utility, protect=given, outcomes=list(prior.secrets),
                         time_limit=choice.time_limit).channel)  # fmt: skip
    else:
        best = design(prior, *kept, utility="mutual-information", protect=given, time_limit=choice.time_limit).channel
        whole = IntegerChannel.of(best, raise_small=True)
        names = set_labels(whole.weights / 2.0**whole.bits, prior.floats, whole.secrets)
        offer(replace(whole, outcomes=tuple(names)).exact)
    if not found or not max(found, key=lambda one: one[0])[0] > -np.inf:
        raise DivulgeError.of(
            "guarantee", "leave a mechanism that tells values apart", "every one that was tried",
            "one that tells nothing",
            "purpose='information' (--purpose information) takes the most that can be told.",
        )  # fmt: skip
    return max(found, key=lambda one: one[0])[1]


def _by_value(channel: Channel) -> Channel:
    """Return a channel with an outcome for each value, in their order; one that is never said has weight 0."""
    place = {y: j for j, y in enumerate(channel.outcomes)}
    floats = channel.floats
    columns = [floats[:, place[x]] if x in place else np.zeros(len(floats)) for x in channel.secrets]
    return Channel(np.column_stack(columns), channel.secrets, channel.secrets)


def _resampled(prior: Prior, kept: tuple[Guarantee, ...], given: Channel) -> Channel:
    """Return the truth, or else a fresh draw from the prior, as often the truth as the guarantees allow."""
    floats = Prior(prior.floats, prior.secrets)

    def breaks(truth: float) -> bool:
        joint = _floats(joint_of(prior, given, resample(floats, truth)))
        return not all(guarantee.holds_for(joint).holds for guarantee in kept)

    low, _ = turn(breaks, 0.0, 1.0, steps=_STEPS)
    return resample(floats, low * (1 - _ROOM))


def _floats(joint: Joint) -> Joint:
    return Joint(joint.prior.floats, joint.channel.floats)


def aligned(whole: IntegerChannel, prior: Prior) -> Channel:
    """Return an integer channel in fractions, its rows in the order of the prior."""
    return whole.exact.aligned(prior.secrets, "the mechanism")


def keeps(kept: tuple[Guarantee, ...], prior: Prior, given: Channel, whole: IntegerChannel) -> bool:
    """Say whether a mechanism keeps guarantees about what is protected, exactly."""
    joint = joint_of(prior, given, aligned(whole, prior))
    return all(one.holds_for(joint).holds for one in kept)


def require(kept: tuple[Guarantee, ...], prior: Prior, given: Channel, whole: IntegerChannel) -> None:
    """Refuse a mechanism that does not keep guarantees about what is protected."""
    joint = joint_of(prior, given, aligned(whole, prior))
    for one in kept:
        verdict = one.holds_for(joint)
        if not verdict.holds:
            raise DivulgeError.of("mechanism", f"keep {one} about what is protected", "its measured value",
                                  str(verdict.measured))  # fmt: skip


def about(choice: Release, kept: tuple[Guarantee, ...], assumed: Assumed, given: Channel, whole: IntegerChannel) -> Any:
    """Return what the mechanism says of what is protected, for the receipt; all levels rounded up.

    Where the law is wrong, each P(x | s) by a total variation, `off` has the pml; where each of its probabilities is
    within a factor, `within` has pml and pmc; `always` whatever the law is.
    """
    prior = assumed.prior
    assert prior is not None
    mechanism = aligned(whole, prior)
    joint, told = joint_of(prior, given, mechanism), dalenius(_law_of(prior, given), mechanism)
    return {
        "variable": choice.protect if isinstance(choice.protect, str) else None,
        "counted": assumed.source == "counted",
        "values": [str_of(s) for s in joint.secrets],
        "asked": [one.text() for one in kept],
        "guarantees": {"pml": _level(PML.of(joint)), "pmc": _level(PMC.of(joint))},
        "off": [{"radius": radius, "pml": _level(PML(_up(told.if_wrong(radius=radius))))} for radius in RADII],
        "within": [
            {
                "factor": factor,
                "pml": _level(PML(_up(told.if_wrong(factor=factor)))),
                "pmc": _level(PMC(_up(told.if_wrong("pmc", factor=factor)))),
            }
            for factor in FACTORS
        ],
        "always": _level(LDP.of(whole.exact)),
    }


def _law_of(prior: Prior, given: Channel) -> Joint:
    """Return the joint of what is protected and the data, the data in the order of the prior."""
    both = (exact.as_fractions(prior.probabilities)[:, None] * exact.as_fractions(given.matrix)).T
    seen = np.flatnonzero(both.sum(axis=1))
    shares, names = both[seen].sum(axis=1), [given.outcomes[s] for s in seen.tolist()]
    laws = Channel(both[seen] / shares[:, None], names, prior.secrets)
    return Joint(Prior(shares / sum(shares), names), laws)


def _up(lift: Any) -> float:
    return float(np.nextafter(exact.log(lift), np.inf))


def _level(one: Guarantee) -> float | str:
    (value,) = one.values().values()
    found = float(value)
    return found if np.isfinite(found) else "inf"

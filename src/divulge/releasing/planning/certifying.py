"""Mechanisms of integers with the levels that exactly these have, and whether those keep what was asked."""

import math
from collections.abc import Mapping, Sequence

from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.model.integer import IntegerChannel
from divulge.model.shown import promised
from divulge.releasing.planning.assumed import Assumed, level_reached
from divulge.releasing.records.levels import levels
from divulge.releasing.records.promised import together
from divulge.releasing.records.ran.mechanism import Mechanism

_UNITS = 8
"""Units that are moved to each outcome at first, where rounding takes a mechanism beyond a level: rounding changes both
entries of a ratio by one."""

TRIED = (_UNITS, 4 * _UNITS, 16 * _UNITS)
"""Units that are moved where another variable is protected, whose levels are decided exactly, each at its cost."""

_MOST_MOVED = 1e-9
"""The share of a row that is moved at most: beyond, it is not rounding that takes a mechanism beyond a level."""

_LEVELS = {"ldp": "ldp", "dp": "ldp", "pml": "pml", "pmc": "pmc"}
"""Kind of guarantee -> the level of a mechanism that is the most its epsilon can be."""


def certified(columns: tuple[str, ...], channel: IntegerChannel, assumed: Assumed) -> Mechanism:
    """Return the mechanism with the guarantees of exactly its integers."""
    aligned = assumed.aligned(channel.secrets, "the mechanism")
    return Mechanism(columns, channel, aligned, levels(channel, aligned))


def all_certified(
    parts: Sequence[tuple[tuple[str, ...], IntegerChannel]], assumed: Assumed, kept: tuple[Guarantee, ...]
) -> list[Mechanism]:
    """Return the mechanisms of columns that keep the guarantees; where rounding alone takes them beyond one, they are
    moved a little.

    What one unit of an entry does to a ratio, a few units in all entries of its column undo: towards a mechanism that
    tells nothing. Refuses what does not keep them for another reason, with what it has.
    """
    made, units, refused = [certified(columns, whole, assumed) for columns, whole in parts], _UNITS, None
    while True:
        try:
            for guarantee in kept:
                check(guarantee, made)
            return made
        except DivulgeError as error:
            refused = refused or error
        moved = max(units * whole.shape[1] / 2.0**whole.bits for _, whole in parts)
        if not any(whole.rounded for _, whole in parts) or moved > _MOST_MOVED or _far(kept, made):
            raise refused
        made = [
            certified(columns, whole.moved(units) if whole.rounded else whole, assumed) for columns, whole in parts
        ]  # fmt: skip
        units *= 4


def _far(guarantees: tuple[Guarantee, ...], mechanisms: Sequence[Mechanism]) -> bool:
    """Say whether ldp, pml or pmc exceed a level by more than units in the smallest entries can have done.

    Several mechanisms are decided by what `check` has of them, which may be none of a kind.
    """
    entries = [one.channel.weights for one in mechanisms]
    off = sum(2.0 * _UNITS / int(weights[weights > 0].min()) for weights in entries)
    if len(mechanisms) > 1:
        total = together([one.spent for one in mechanisms], None)
        return any(total.get(g.kind, math.inf) > float(g.values().get("epsilon", -1)) + off for g in guarantees)
    return any(
        mechanisms[0].guarantees.get(_LEVELS[one.kind], 0.0) > float(one.values()["epsilon"]) + off
        for one in guarantees
        if one.kind in _LEVELS
    )


def check(guarantee: Guarantee, chosen: Sequence[Mechanism]) -> None:
    """Refuse mechanisms that do not keep the guarantee, which is in nats."""
    if len(chosen) > 1:
        total = together([m.spent for m in chosen], None)
        allowed = guarantee.values().get("epsilon", -1)
        if not total.get(guarantee.kind, float("inf")) <= float(allowed):
            raise DivulgeError.of("mechanism", f"keep {guarantee.label}", "what its parts give together", f"{total}")
        return
    only = chosen[0]
    if guarantee.about == "joint" and only.assumed.prior is None:
        raise DivulgeError.of("prior", f"be given to check {guarantee.label}", "it", "absent")
    if guarantee.about == "joint" and only.assumed.priors is not None:
        _check_over(guarantee, only)
        return
    known = _promised(guarantee, only.guarantees)
    if known is not None:
        if not known:
            raise DivulgeError.of("mechanism", f"keep {guarantee.label}", "what it has", _numbers(only.guarantees))
        return
    verdict = guarantee.holds_for(only.subject)
    if not verdict.holds:
        raise DivulgeError.of("mechanism", f"keep {guarantee.label}", "its measured value", str(verdict.measured))


def _promised(guarantee: Guarantee, found: Mapping[str, float]) -> bool | None:
    """Say whether ldp, pml and pmc of the integers, rounded up by a last digit, decide the guarantee; None if not."""
    names = {"ldp": ("ldp",), "dp": ("ldp",), "pml": ("pml",), "pmc": ("pmc",), "lip": ("pml", "pmc")}
    wanted = names.get(guarantee.kind, ())
    if not wanted or not set(wanted) <= set(found):
        return None
    most, allowed = max(found[name] for name in wanted), float(guarantee.values()["epsilon"])
    return True if most <= allowed * (1 - 1e-15) else False if most > allowed * (1 + 1e-12) + 1e-15 else None


def _numbers(found: Mapping[str, float]) -> str:
    return ", ".join(f"{kind} {promised(value, 9)}" for kind, value in found.items())


def _check_over(guarantee: Guarantee, only: Mechanism) -> None:
    """Refuse a mechanism that does not keep a pointwise guarantee under every prior of a set."""
    bounds = {"pml": {"pml": "epsilon"}, "pmc": {"pmc": "epsilon"}, "lip": {"lip": "epsilon"},
              "alip": {"pmc": "lower", "pml": "upper"}}.get(guarantee.kind)  # fmt: skip
    if bounds is None:
        raise DivulgeError.of("guarantee", "be ldp, pml, pmc, lip or alip for a set of priors", "it", guarantee.kind)
    for kind, name in bounds.items():
        known = only.guarantees.get(kind)
        found = level_reached(kind, only.assumed, only.channel) if known is None else known
        if not found <= float(guarantee.values()[name]) * (1 + 1e-15):  # the last digit of a logarithm
            raise DivulgeError.of(
                "mechanism", f"keep {guarantee.label} under every prior of the set", kind, f"{found:.6g}"
            )

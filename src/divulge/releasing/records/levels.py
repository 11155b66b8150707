"""What follows from other numbers of a receipt: computed here when it is made, and again whenever it is read.

A checksum finds accidents; who edits a receipt computes it anew. A promise that does not follow is refused with both
numbers, by every command, since all of them read receipts in one place.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from divulge.errors import DivulgeError, InputFileError
from divulge.guarantees.catalog import as_typed, parse
from divulge.model.integer import IntegerChannel
from divulge.model.shown import promised
from divulge.releasing.planning import about
from divulge.releasing.planning.assumed import OWN, SETS, Assumed, level_reached
from divulge.releasing.records.promised import promises, together

ROUNDING = 1e-9
"""The share by which a number on paper may differ from what it is computed to be: other versions round otherwise."""

_DECIDING = {"ldp": ("ldp",), "dp": ("ldp",), "pml": ("pml",), "pmc": ("pmc",), "lip": ("pml", "pmc"), "lift": ("pml",)}
"""Kind of a guarantee -> the levels whose largest is its epsilon, of lift the log of it."""


def levels(channel: IntegerChannel, assumed: Assumed) -> dict[str, float]:
    """Return {"ldp", and where a prior is assumed "pml" and "pmc"} of exactly these integers, in nats, rounded up."""
    aligned = assumed.aligned(channel.secrets, "the mechanism")
    found = promises(channel.weights, aligned.alone)
    if aligned.priors is not None:
        for kind in ("pml", "pmc"):
            found[kind] = min(level_reached(kind, aligned, channel), found["ldp"])
    return found


def total(mechanisms: Sequence[Any]) -> dict[str, float]:
    """Return what a release guarantees: the levels of its one mechanism, or of all together; ldp with what its prior
    spent."""
    whole = together([one.spent for one in mechanisms], None)
    if len(mechanisms) > 1:
        return whole
    own = mechanisms[0].for_a_person
    return own | {"ldp": max(own["ldp"], whole["ldp"])}


def refuse_contradictions(receipt: Any) -> None:
    """Refuse a receipt in which something does not follow from the rest of it."""
    rows = receipt.protects.get("rows_per_person") or 1
    for one in receipt.mechanisms:
        if one.times != rows:
            raise contradiction("the number of rows of a person that share the promise", rows, one.times)
    _agree("the guarantees", receipt.guarantees, total(receipt.mechanisms))
    _refuse_names(receipt)
    for asked in receipt.asked:
        _refuse_asked(as_typed(dict(asked)), receipt)
    _refuse_people(receipt)
    if receipt.about is not None:
        _refuse_about(receipt)
    if receipt.together is not None:
        _refuse_together(receipt)


def _refuse_together(receipt: Any) -> None:
    """Refuse totals that tell less than this release alone; how much others add is in the ledger, not here.

    More outcomes never lower the largest lift: of one mechanism with one draw a row pml and pmc are at least its own,
    and all are at most the ldp of all.
    """
    stated, own = receipt.together["guarantees"], receipt.guarantees
    whole = float(stated.get("ldp", -1.0))
    if not whole >= own["ldp"] * (1 - ROUNDING):
        raise contradiction("ldp of all releases together", whole, own["ldp"])
    (first, *others), many = receipt.mechanisms, receipt.together["releases"]
    single = not others and first.times == 1 and first.spent.channel is not None
    if many < 1:
        raise contradiction("the number of all releases", many, "1 at least")
    if {"adp", "delta"} & stated.keys():
        if not stated.get("adp", -1.0) >= own["ldp"] * (1 - ROUNDING):
            raise contradiction("adp of all releases together", stated.get("adp"), own["ldp"])
        if not 0 < stated.get("delta", 0.0) < 1:
            raise contradiction("delta of all releases together", stated.get("delta"), "above 0 and below 1")
    for kind in stated.keys() & {"pml", "pmc"}:
        least = own.get(kind, 0.0) if single else 0.0
        if not least * (1 - ROUNDING) <= stated[kind] <= whole * (1 + ROUNDING):
            raise contradiction(f"{kind} of all releases together", stated[kind], least)
    for kind in ("ldp", *(("pml", "pmc") if single and first.assumed.source not in SETS else ())):
        if many == 1 and kind in stated and not near(stated[kind], own.get(kind, stated[kind])):
            raise contradiction(f"{kind} of all releases together", stated[kind], own[kind])


def _refuse_people(receipt: Any) -> None:
    """Refuse numbers of people that have not so many rows; sum r^2 >= (sum r)^2 / people, by Cauchy and Schwarz."""
    people, squares, rows = receipt.protects.get("people"), receipt.protects.get("squares"), receipt.rows
    if people is None or squares is None:
        return
    if not min(rows, 1) <= people <= rows:
        raise contradiction("the number of people", people, f"1 to {rows}")
    least, most = -(-(rows**2) // max(people, 1)), (rows - people + 1) ** 2 + people - 1
    if not least <= squares <= rounded_up(most) or squares != rounded_up(squares):
        raise contradiction("the sum of the squares of rows", squares, f"{least} to {rounded_up(most)}, of two digits")


def rounded_up(count: int) -> int:
    """Return a count with two digits, rounded up: it makes intervals wider, and tells less of who has many rows.

    >>> rounded_up(99), rounded_up(1201)
    (99, 1300)
    """
    unit = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // unit) * unit


def _refuse_about(receipt: Any) -> None:
    """Refuse what is said of another variable and does not follow from the mechanism, or not from each other."""
    found, (only,) = receipt.about, receipt.mechanisms
    always = float(found["always"])
    if not near(always, only.guarantees["ldp"]):
        raise contradiction("pml of what is protected, whatever the law is", always, only.guarantees["ldp"])
    for what, less, more in about.bounds(found):
        if not less <= more * (1 + ROUNDING):
            raise contradiction(what, less, f"{promised(more, 9)} at most")
    radii = tuple(one["radius"] for one in found["off"])
    if radii != about.RADII:
        raise contradiction("how far the law is off", ", ".join(radii), ", ".join(about.RADII))
    factors = tuple(one["factor"] for one in found.get("within", ()))
    if factors not in ((), about.FACTORS):
        raise contradiction("how far the law is off", ", ".join(factors), ", ".join(about.FACTORS))
    for asked in map(parse, found["asked"]):
        _refuse_broken(asked, found["guarantees"])
    if not set(about.sentences(found, ", ".join(map(repr, only.columns)))) <= set(receipt.warnings):
        raise DivulgeError("must say in its warnings what it says of the protected variable; it says something else.")


def refuse_levels(one: Any) -> None:
    """Refuse levels of a mechanism that its weights and its prior do not have.

    A prior that was counted, and shares of groups, are the keeper's alone: without them pml and pmc are known to lie
    between 0 and ldp.
    """
    found = one.computed
    stated = dict(one.guarantees)
    if one.assumed.source in OWN and one.assumed.prior is None:
        for kind in ("pml", "pmc"):
            if kind in stated and not 0 <= stated[kind] <= found["ldp"] * (1 + ROUNDING):
                raise contradiction(kind, stated[kind], found["ldp"])
            found |= {kind: stated[kind]} if kind in stated else {}
    _agree(f"the guarantees of {', '.join(map(repr, one.columns))}", stated, found)


def _refuse_names(receipt: Any) -> None:
    """Refuse names of columns that went out twice, and columns that went out beside without a word of it."""
    released = receipt.released_as or receipt.columns
    wanted = sum(len(receipt.names_of(one)) for one in receipt.mechanisms)
    if len(released) != wanted:
        raise contradiction("the number of names of released columns", len(released), wanted)
    beside = [*receipt.untouched, *(receipt.coarsened or ())]
    names = [*released, *beside]
    if len(set(names)) < len(names):
        raise DivulgeError("must name each column that went out once; one is there twice.")
    silent = [name for name in beside if not any(repr(name) in said for said in receipt.warnings)]
    if silent:
        raise DivulgeError(f"must warn of columns that went out as they are, or coarser; it does not of {silent[0]!r}.")


def _refuse_asked(asked: Any, receipt: Any) -> None:
    """Refuse a guarantee that is said to have been asked for and that the mechanism does not keep.

    Of several mechanisms none tells more than all of them.
    """
    if _refuse_broken(asked, receipt.guarantees):
        return
    for one in receipt.mechanisms:
        # kinds that add up over the rows of a person are decided above
        if one.times > 1 or one.assumed.priors is not None or (asked.about == "joint" and one.prior is None):
            continue
        verdict = asked.holds_for(one.subject)
        if not verdict.holds:
            raise contradiction(f"{asked} that was asked for", str(asked).partition("=")[2], verdict.measured)


def _refuse_broken(asked: Any, guarantees: Mapping[str, Any]) -> bool:
    """Refuse what was asked for where levels on paper break it; say whether they decide it."""
    wanted = _DECIDING.get(asked.kind, ())
    if not wanted or not set(wanted) <= set(guarantees):
        return False
    (allowed,) = map(float, asked.values().values())
    level = max(float(guarantees[name]) for name in wanted)
    level = math.exp(level) if asked.kind == "lift" else level
    if not level <= allowed * (1 + ROUNDING):
        raise contradiction(f"{asked.kind} that was asked for", allowed, level)
    return True


def _agree(what: str, stated: Mapping[str, float], found: Mapping[str, float]) -> None:
    for kind in {**stated, **found}:
        if kind not in found or kind not in stated:
            raise DivulgeError(f"must have {kind} in {what} where it follows, and only there.")
        if not near(stated[kind], found[kind]):
            raise contradiction(f"{kind} in {what}", stated[kind], found[kind])


def near(stated: float, found: float) -> bool:
    """Say whether a number on paper is what it is computed to be, within rounding."""
    return stated == found or math.isclose(stated, found, rel_tol=ROUNDING, abs_tol=1e-12)


def contradiction(what: str, stated: Any, found: Any) -> DivulgeError:
    """Return the error of a number that does not follow, with both.

    >>> print(contradiction("ldp", 0.01, 1.0))
    must say what follows from the rest of it: ldp is 0.01 there, and computed to be 1; it has been edited.
    """
    shown = [promised(one, 9) if isinstance(one, float) else str(one) for one in (stated, found)]
    return DivulgeError(
        f"must say what follows from the rest of it: {what} is {shown[0]} there, and computed to be {shown[1]}; it has "
        "been edited."
    )


def readable(name: str, error: Exception) -> InputFileError:
    """Return the error of a receipt in a file that cannot be made out."""
    if isinstance(error, DivulgeError) and str(error).startswith("must "):
        return InputFileError(f"{name}: {error}")
    return InputFileError(f"{name}: must be a complete receipt; a part is missing or malformed.")

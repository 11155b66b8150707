"""What follows from other numbers of a receipt: computed here when it is made, and again whenever it is read.

A checksum finds accidents; who edits a receipt computes it anew. A promise that does not follow is refused with both
numbers, by every command, since all of them read receipts in one place.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from divulge.errors import DivulgeError, InputFileError
from divulge.guarantees.catalog import as_typed
from divulge.model.integer import IntegerChannel
from divulge.model.joint import Joint
from divulge.model.shown import promised
from divulge.releasing.planning.assumed import Assumed, measured
from divulge.releasing.records.promised import promises, together

ROUNDING = 1e-9
"""The share by which a number on paper may differ from what it is computed to be: other versions round otherwise."""

_DECIDING = {"ldp": ("ldp",), "dp": ("ldp",), "pml": ("pml",), "pmc": ("pmc",), "lip": ("pml", "pmc")}
"""Kind of a guarantee -> the levels whose largest is its epsilon."""


def levels(channel: IntegerChannel, assumed: Assumed) -> dict[str, float]:
    """Return {"ldp", and where a prior is assumed "pml" and "pmc"} of exactly these integers, in nats, rounded up."""
    aligned = assumed.aligned(channel.secrets, "the mechanism")
    found = promises(channel.weights, aligned.alone)
    if aligned.priors is not None:
        for kind in ("pml", "pmc"):
            found[kind] = min(measured(kind, aligned, channel.exact), found["ldp"])
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
        _refuse_levels(one)
        if one.times != rows:
            raise contradiction("the number of rows of a person that share the promise", rows, one.times)
    _agree("the guarantees", receipt.guarantees, total(receipt.mechanisms))
    _refuse_names(receipt)
    for asked in receipt.asked:
        _refuse_asked(as_typed(dict(asked)), receipt)
    if receipt.together is not None:
        whole, own = receipt.together["guarantees"].get("ldp", -1.0), receipt.guarantees["ldp"]
        if not whole >= own * (1 - ROUNDING) or (receipt.together["releases"] == 1 and not near(whole, own)):
            raise contradiction("ldp of all releases together", whole, own)


def _refuse_levels(one: Any) -> None:
    """Refuse levels of a mechanism that its weights and its prior do not have.

    A prior that was counted is the keeper's alone: without it pml and pmc are known to lie between 0 and ldp.
    """
    found = levels(one.channel, one.assumed)
    stated = dict(one.guarantees)
    if one.assumed.source == "counted" and one.assumed.prior is None:
        for kind in ("pml", "pmc"):
            if kind in stated and not 0 <= stated[kind] <= found["ldp"] * (1 + ROUNDING):
                raise contradiction(kind, stated[kind], found["ldp"])
            found |= {kind: stated[kind]} if kind in stated else {}
    _agree(f"the guarantees of {', '.join(map(repr, one.columns))}", stated, found)


def _refuse_names(receipt: Any) -> None:
    """Refuse names of columns that went out twice, and columns that went out as they are without a word of it."""
    released = receipt.released_as or receipt.columns
    if len(released) != len(receipt.columns):
        raise contradiction("the number of names of released columns", len(released), len(receipt.columns))
    names = [*released, *receipt.untouched]
    if len(set(names)) < len(names):
        raise DivulgeError("must name each column that went out once; one is there twice.")
    silent = [name for name in receipt.untouched if not any(repr(name) in said for said in receipt.warnings)]
    if silent:
        raise DivulgeError(f"must warn of columns that went out as they are; it does not of {silent[0]!r}.")


def _refuse_asked(asked: Any, receipt: Any) -> None:
    """Refuse a guarantee that is said to have been asked for and that the mechanism does not keep."""
    wanted = _DECIDING.get(asked.kind, ())
    if wanted and set(wanted) <= set(receipt.guarantees):
        level = max(receipt.guarantees[name] for name in wanted)
        if not level <= float(asked.values()["epsilon"]) * (1 + ROUNDING):
            raise contradiction(f"{asked.kind} that was asked for", float(asked.values()["epsilon"]), level)
        return
    if len(receipt.mechanisms) > 1 or receipt.mechanisms[0].assumed.priors is not None:
        return
    (only,) = receipt.mechanisms
    if only.times > 1:  # kinds that add up over the rows of a person are decided above
        return
    if asked.about == "joint" and only.prior is None:
        return
    exact = only.channel.exact
    verdict = asked.holds_for(exact if only.prior is None else Joint(only.prior, exact))
    if not verdict.holds:
        raise contradiction(f"{asked} that was asked for", str(asked).partition("=")[2], verdict.measured)


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

    Examples
    --------
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

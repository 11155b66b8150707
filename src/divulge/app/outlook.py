"""What a release comes to before the click: alone, with all on record, and beside the columns that go out unaltered."""

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import divulge as dv
from divulge.app.elsewhere import outlook_of_groups, outlook_of_places, outlook_of_reports
from divulge.app.protected import outlook_of_protected
from divulge.publishing.publish import expected as publication_expected
from divulge.publishing.published import Published
from divulge.publishing.request import Publish
from divulge.releasing.beside import FEW, MOST_ALIKE, Counted, after, largest
from divulge.releasing.column import Release
from divulge.releasing.engine import Progress
from divulge.releasing.planning.listed import Answers
from divulge.releasing.release import expected
from divulge.releasing.request import Request
from divulge.tables.generalize import expected as coarsening_expected
from divulge.tables.request import Generalize


@contextmanager
def budget_in_words() -> Generator[None]:
    """Turn the refusal of a release that would pass a budget into words of the page."""
    try:
        yield
    except dv.DivulgeError as error:
        if not str(error).startswith("`budget`"):
            raise
        raise dv.DivulgeError(
            "With this release all on record would come to more than the budget allows. Nothing was published: "
            "promise more, or allow more."
        ) from None


def outlook(progress: Progress, path: str, asked: Request, before: float, value: str, far: str = "1") -> dict[str, Any]:
    """Return what a release comes to before it is drawn: alone, with all on record, and beside what goes out unaltered.

    All are the most that somebody may hold a person for `value` with: from `before`, or from how frequent it is among
    people alike in the columns that go out. Of places it is by how much odds change between two that are `far` km
    apart; of a column of many values it is about any of them, from 1 in 100.
    """
    source = dv.open_table(path)
    if isinstance(asked, Generalize):
        return outlook_of_groups(coarsening_expected(asked, source))
    assert isinstance(asked, Release | Publish)
    with budget_in_words():
        made = expected(asked, source) if isinstance(asked, Release) else publication_expected(asked, source)
    if isinstance(asked, Release) and asked.protect is not None:
        return outlook_of_protected(source, asked, made)
    if isinstance(asked, Release) and asked.about_distance:
        return outlook_of_places(source, asked, made, Fraction(far))
    answers = Answers.of(asked) if isinstance(asked, Release) else None
    bought = {} if answers is None or answers.bought is None else {"bought": answers.bought}
    if isinstance(asked, Release) and asked.protocol is not None:
        return outlook_of_reports(source, asked, made) | bought
    kind, _, spent = str(getattr(asked, "prior", "")).partition("=")
    beside = float(Fraction(spent)) if kind == "noisy" else 0.0
    alone = dict(made.receipt.guarantees) if isinstance(asked, Release) else _of_statistics(made.receipt)
    loss = alone["ldp"] + beside
    spent_in_all = alone if made.total is None else made.total["guarantees"]
    total = max(loss, spent_in_all.get("ldp", 0.0) + beside)
    keep = getattr(asked, "keep", None) or ()
    found: dict[str, Any] = {
        "own": after(before, loss), "all": after(before, total), "before": before, "value": value,
        "usual": _usually(before, alone, beside), "usual_all": _usually(before, spent_in_all, beside),
        "releases": 1 if made.total is None else made.total["releases"], "keep": list(keep), "beside": None,
        "raising": [], "alone": 0, "few": FEW, "notes": list(made.private), **bought,
    }  # fmt: skip
    if not isinstance(asked, Release):
        return found
    if len(keep) > MOST_ALIKE:
        found["alone"] = made.receipt.rows or source.rows
    elif keep:
        source = source if answers is None else answers.view(source)
        share, found["alone"] = _share(source, asked, keep, value)
        found["beside"] = (share, after(share, total))
        each = [(name, _share(source, asked, [name], value)[0]) for name in keep]
        found["raising"] = sorted(each, key=lambda one: -one[1])[:3]
    return found


TINY = 0.001
"""The epsilon of a release that adds next to nothing, by which the ledger is asked for what there is."""


def standing(progress: Progress, path: str, asked: Request, known: Sequence[str]) -> dict[str, Any]:
    """Return what is on record about a column, and how sure somebody may be of a value beside other columns.

    `asked` is a release that adds next to nothing. Shares are the largest among people alike in all of the columns.
    """
    source = dv.open_table(path)
    assert isinstance(asked, Release)
    with budget_in_words():
        made = expected(asked, source)
    found: dict[str, Any] = {"earlier": made.earlier, "notes": list(made.private), "shares": {}, "alone": 0}
    known = [name for name in known if name not in asked.columns]
    if len(known) > MOST_ALIKE:
        found["alone"] = source.rows
    elif known:
        shares, found["alone"] = largest(source, asked.columns, known, asked.null_as, Counted.of(asked))
        found["shares"] = {str(label): share for label, share in shares.items()}
    return found


def with_standing(found: Mapping[str, Any], before: float, loss: float, value: str) -> dict[str, Any]:
    """Return what a chance becomes by a release of so much loss with all on record, and beside known columns."""
    earlier: Mapping[str, Any] = found["earlier"] or {"releases": 0, "guarantees": {"ldp": 0.0}}
    total = float(earlier["guarantees"]["ldp"]) + loss
    share = found["shares"].get(value)
    return {
        "releases": 1 + earlier["releases"], "all": after(before, total),
        "usual": _usually(before, earlier["guarantees"], loss), "before": before, "value": value,
        "share": share, "beside": None if share is None else after(share, total), "alone": found["alone"],
        "notes": found["notes"], "few": FEW, "kept": found["earlier"] is not None,
    }  # fmt: skip


def _of_statistics(made: Published) -> dict[str, Any]:
    """Return what statistics tell of a person, as the ledger adds it up."""
    found = {"ldp": made.loss}
    if isinstance(adp := made.guarantees.get("adp"), Mapping):
        found |= {"adp": adp["epsilon"], "delta": adp["delta"]}
    return found


def _usually(before: float, spent: Mapping[str, float], beside: float) -> float | None:
    """Return the most that a chance becomes in all but 1 in 1,000 outcomes, where no bound holds at every outcome."""
    if math.isfinite(spent.get("ldp", 0.0)) or "adp" not in spent:
        return None
    both = dv.guarantees.ADP(spent["adp"] + beside, spent["delta"])
    return dv.guarantees.posterior_bounds(both, before).usual(RARELY)


RARELY = 0.001
"""The share of outcomes that sentences about approximate privacy leave out, on every page."""


def _share(source: Any, asked: Release, known: Sequence[str], value: str) -> tuple[float, int]:
    """Return the largest share of a value among people alike in known columns, and how many rows are alike to few."""
    shares, alone = largest(source, asked.columns, known, asked.null_as, Counted.of(asked))
    return max((share for label, share in shares.items() if str(label) == value), default=0.0), alone

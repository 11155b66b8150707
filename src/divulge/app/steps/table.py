"""Step 3, a table of statistics: which numbers, of whom, and what more or less protection costs them."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from divulge.app import figures, work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.numbers import number_in
from divulge.app.sessions import Session
from divulge.app.steps import aim
from divulge.app.uploads import kept
from divulge.app.words import filled
from divulge.reporting.statements.voice import Voice

KINDS = {
    "count": "how many rows there are",
    "mean": "the mean",
    "sum": "the sum",
    "quantiles": "quantiles, such as the median",
    "variance": "the variance",
    "share": "the share of a value",
}
"""Kind -> what it is, in words."""
MOST = 12
"""So many statistics at most are asked for at once."""
TREATMENTS = {
    "non_negative": "raise negative counts to 0",
    "consistent": "move counts so that tables with common columns have common totals",
    "whole": "round counts to whole numbers",
}
"""Option -> what it does to counts."""
AFTER = (1.2, 1.5, 2, 3, 4, 6, 10, 20)
"""The chances after, as multiples of the chance before, at which the cost of protection is shown."""


def current(session: Session) -> dict[str, Any]:
    """Return what was asked so far; at first how many rows have each sensitive value."""
    return session.choices.setdefault(
        "table",
        {
            "statistics": [{"kind": "count", "by": [session.choices["secret"]]}],
            "by": [], **_whose(session), "neighbors": "replaced",
            "null_as": aim.secret(session)["null_as"] or "", "delta": 0.0,
            "epsilon": None, "treated": [], "values": None,
        },
    )  # fmt: skip


def _whose(session: Session) -> dict[str, Any]:
    """Return who is protected, as the first page has it."""
    whose = session.choices.get("whose", {})
    return {"person": whose.get("person", ""), "at_most": whose.get("rows_per_person", 1)}


def epsilon(session: Session, after: float | None = None) -> float:
    """Return the privacy loss of the table: the one that statisticians ask for, or the one that follows."""
    own = current(session)["epsilon"]
    return following(session, after) if own is None or after is not None else float(own)


def following(session: Session, after: float | None = None) -> float:
    """Return the privacy loss that keeps what must not happen, whatever is believed.

    A record replaced changes odds by e^epsilon at most; where records are added and removed, replacing is two of these.
    """
    wanted = session.choices["aim"] | ({} if after is None else {"after": after})
    loss = float(aim.whatever_is_believed(wanted).values()["epsilon"])
    return loss / 2 if current(session)["neighbors"] == "added" else loss


def arguments(session: Session, after: float | None = None) -> dict[str, Any]:
    """Return the arguments of `publish` beside the table: the statistics as data, and the options."""
    asked = current(session)
    loss = epsilon(session, after)
    options: dict[str, Any] = {
        "guarantee": f"adp={loss!r}:{asked['delta']!r}" if asked["delta"] else f"dp={loss!r}",
        "neighbors": asked["neighbors"],
    }
    options |= {"values_from_data": True} if asked["values"] is None else {"values": asked["values"]}
    if asked["person"]:
        options |= {"person": asked["person"], "rows_per_person": asked["at_most"]}
    elif session.choices.get("whose", {}).get("per_row"):
        options["per_row"] = True
    options |= {"null_as": asked["null_as"]} if asked["null_as"] else {}
    options |= dict.fromkeys(asked["treated"], True)
    fills = {one["column"]: one["fill"] for one in asked["statistics"] if "fill" in one}
    options |= {"fill": fills} if fills else {}
    statistics = [one | ({"by": asked["by"]} if one["kind"] != "count" else {}) for one in asked["statistics"]]
    return {"asked": statistics, "options": options}


def simulated(session: Session) -> dict[str, Any]:
    """Return the arguments of the job that simulates the statistics."""
    return {"path": session.choices["data"]["path"], **arguments(session)}


def named(one: Mapping[str, Any], by: Any, language: str = "en") -> str:
    """Return a statistic in words.

    >>> named({"kind": "mean", "column": "age", "low": "0", "high": "90"}, ["sex"])
    'the mean of age, from 0 to 90, by sex'
    """
    say, voice = partial(filled, language), Voice(language)
    groups = one["by"] if one["kind"] == "count" else by
    within = say(", from {1} to {2}", *map(voice.numeral, (one["low"], one["high"]))) if "low" in one else ""
    within += say(", between bounds that noise chooses") if one.get("auto") else ""
    within += say(", missing numbers as {1}", voice.numeral(one["fill"])) if "fill" in one else ""
    if one["kind"] == "share":
        which = say(" {1} in {2}", repr(one["value"]), one["column"])
    else:
        which = say(" of {1}", one["column"]) if "column" in one else ""
    at = say(" at {1}", ", ".join(map(voice.numeral, one["at"]))) if "at" in one else ""
    name = {"share": "the share of", "quantiles": "quantiles"}.get(one["kind"], KINDS[one["kind"]])
    return f"{say(name)}{which}{at}{within}" + (say(", by {1}", say(" and ").join(groups)) if groups else "")


def show(pages: Any, request: Any) -> Any:
    """The page."""
    session = aim.aimed(pages, request)
    columns = session.choices["data"]["columns"]
    asked = current(session)
    return pages.page(
        "table.html", session, "how", kinds=KINDS, treatments=TREATMENTS, asked=asked, epsilon=following(session),
        names=[named(one, asked["by"], session.language) for one in asked["statistics"]],
        numbers=[c["name"] for c in columns if c["kind"] == "numbers"],
        groups=[c["name"] for c in columns if c["values"] and c["values"] <= work.MOST_GROUPS],
        columns=[c["name"] for c in columns], **aim.meaning(session, session.choices["aim"]),
    )  # fmt: skip


async def take_statistic(pages: Any, request: Any) -> Any:
    """Add a statistic to those that are asked for."""
    session = aim.aimed(pages, request)
    async with request.form(max_fields=MOST_FIELDS) as form:
        one = _read(form, {column["name"]: column for column in session.choices["data"]["columns"]})
    asked = current(session)
    if one in asked["statistics"]:
        raise Refused(400, "That is asked for already.")
    _require_alike(one, asked["statistics"])
    if len(asked["statistics"]) >= MOST:
        raise Refused(400, f"At most {MOST} statistics are published at once.")
    asked["statistics"] = [*asked["statistics"], one]
    return pages.to(session, "table#asked")


def _read(form: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    kind, column = str(form.get("kind", "")), str(form.get("column", ""))
    if kind not in KINDS:
        raise Refused(400, "Choose what to publish.")
    if kind == "count":
        return {"kind": kind, "by": [name for name in form.getlist("of") if name in known][:5]}
    if column not in known:
        raise Refused(400, "Choose the column that it is of.")
    if kind == "share":
        value = str(form.get("value", "")).strip()
        if not value:
            raise Refused(400, "Say of which value the share is.")
        return {"kind": kind, "column": column, "value": value}
    found: dict[str, Any] = {"kind": kind, "column": column, **_bounds(form, kind)}
    if str(form.get("step", "")).strip():
        found["step"] = number_in(form.get("step"), _STEP)
        if not float(found["step"]) > 0:
            raise Refused(400, _STEP)
    if str(form.get("fill", "")).strip():
        found["fill"] = number_in(form.get("fill"), "Say as which number missing ones count, such as 0.")
        if (Fraction(found["fill"]) / Fraction(found.get("step", "1"))).denominator != 1:
            raise Refused(400, "Missing numbers count as a whole number of steps.")
    if kind == "quantiles":
        parts = [part for part in str(form.get("at", "")).replace(";", " ").split() if part]
        shares = "Say at which shares, such as 0.25 0.5 0.75: different numbers between 0 and 1."
        found["at"] = [number_in(part, shares) for part in parts or ["0.5"]]
        if len(set(map(float, found["at"]))) < len(found["at"]) or not all(0 < float(one) < 1 for one in found["at"]):
            raise Refused(400, shares)
    work.statistic(found | {"by": []})  # refuses what cannot be asked
    return found


_STEP = "A step is a number above 0, such as 0.01."


def _bounds(form: Any, kind: str) -> dict[str, Any]:
    """Return between which bounds the numbers lie, or that noise chooses them."""
    if form.get("auto"):
        if kind == "quantiles":
            raise Refused(400, "Quantiles need bounds that you know: choose among means, sums and variances.")
        return {"auto": True}
    found = {
        field: number_in(form.get(field), f"Say between which bounds the numbers lie: {why} is missing.")
        for field, why in (("low", "the lower bound"), ("high", "the upper bound"))
    }
    if not float(found["low"]) < float(found["high"]):
        raise Refused(400, "Say between which bounds the numbers lie: the smaller first.")
    return found


def _require_alike(one: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> None:
    """Refuse bounds that noise chooses beside others, and two numbers that missing ones count as, in a column."""
    same = [other for other in others if "column" in other and other["column"] == one.get("column")]
    summed = [other for other in (*same, one) if other["kind"] in work.NUMERIC]
    if len({(other.get("auto", False), other.get("step", "1") if other.get("auto") else "") for other in summed}) > 1:
        raise Refused(
            400, "Where noise chooses the bounds of a column, it does for all of its statistics, in one step."
        )
    if "fill" in one and any(other.get("fill", one["fill"]) != one["fill"] for other in same):
        raise Refused(400, "Missing numbers of a column count as one and the same number in all of its statistics.")


async def take_removal(pages: Any, request: Any) -> Any:
    """Take a statistic away."""
    session = aim.aimed(pages, request)
    async with request.form(max_fields=MOST_FIELDS) as form:
        place = str(form.get("place", ""))
    asked = current(session)
    asked["statistics"] = [one for i, one in enumerate(asked["statistics"]) if str(i) != place]
    return pages.to(session, "table#asked")


async def take_values(pages: Any, request: Any) -> Any:
    """Take the values that group from a file, or those that occur."""
    session = aim.aimed(pages, request)
    async with request.form(max_files=1, max_fields=4) as form:
        file = form.get("file")
        current(session)["values"] = str(await kept(session, file)) if getattr(file, "filename", "") else None
    return pages.to(session, "table#values")


async def take(pages: Any, request: Any) -> Any:
    """Remember the options, and go on to the preview."""
    session = aim.aimed(pages, request)
    asked = current(session)
    known = {column["name"] for column in session.choices["data"]["columns"]}
    async with request.form(max_fields=MOST_FIELDS) as form:
        person, at_most = str(form.get("person", "")), str(form.get("at_most", "1"))
        by = [name for name in form.getlist("by") if name in known][:4]
        if person and person in {*by, *(name for one in asked["statistics"] for name in _reads(one))}:
            raise Refused(400, "The column that says who cannot be told as well: no statistic may be of it or by it.")
        if person and (person not in known or not at_most.isdecimal() or not 1 <= int(at_most[:7]) <= 1_000_000):
            raise Refused(400, "Say how many rows of a person count: a whole number, 1 or more.")
        delta = _between(form.get("delta") or "0", 0, 0.1, "The slack is a number from 0 to 0.1, such as 0.000001.")
        own = str(form.get("epsilon", "")).strip()
        asked |= {
            "by": by,
            "person": person, "at_most": int(at_most) if person else 1,
            "neighbors": "added" if form.get("neighbors") == "added" else "replaced",
            "null_as": str(form.get("null_as", "")).strip()[:60], "delta": delta,
            "epsilon": _between(own, 1e-6, 100, "Epsilon is a number above 0, at most 100.") if own else None,
            "treated": [name for name in TREATMENTS if form.get(name)],
        }  # fmt: skip
        further = str(form.get("then", "preview"))
    if not asked["statistics"]:
        raise Refused(400, "Ask for one statistic at least.")
    taken = [one["column"] for one in asked["statistics"] if one.get("column") in asked["by"]]
    if taken:
        asked["by"] = [name for name in asked["by"] if name not in taken]
        raise Refused(400, f"What is told of {taken[0]!r} cannot be grouped by {taken[0]!r} as well.")
    session.choices["how"] = {"way": "table"}
    return pages.to(session, "table#cost" if further == "table" else "preview")


def _reads(one: Mapping[str, Any]) -> Sequence[str]:
    """Return the columns that a statistic reads, but for those that all of them are grouped by."""
    return [*(one["by"] if one["kind"] == "count" else ()), *([one["column"]] if "column" in one else ())]


def _between(given: Any, low: float, high: float, why: str) -> float:
    value = float(number_in(given, why))
    if not low <= value <= high:
        raise Refused(400, why)
    return value


def _costs(session: Session) -> tuple[Any, list[float]]:
    """Return the job that looks how far off the statistics are at several levels, and the levels."""
    wanted = session.choices["aim"]
    levels = sorted({round(min(99.0, wanted["before"] * times), 3) for times in AFTER} | {wanted["after"]})
    asked = [arguments(session, after) for after in levels]
    return session.job("tablecost", work.widths, path=session.choices["data"]["path"], several=asked), levels


def cost(pages: Any, request: Any) -> Any:
    """How far off the statistics are at each level of protection."""
    session = aim.aimed(pages, request)
    if not current(session)["statistics"]:
        raise Refused(409, "Ask for one statistic at least.")
    job, levels = _costs(session)

    def pictured(found: Any) -> dict[str, Any]:
        points = [{"after": after, "off": off} for after, off in zip(levels, found["off"], strict=True)
                  if not math.isnan(off)]  # fmt: skip
        say = partial(filled, session.language)
        statistic, of, column = found["what"].partition(" of ")
        what = say(statistic) + (say(" of {1}", column) if of else "")
        figure = figures.frontier(points, session.choices["aim"]["after"], what, language=session.language)
        return {"points": points, "what": what, "figure": figure, "back": "table", "unit": ""}

    return pages.part(session, "tablecost", job, "_cost.html", pictured)


async def take_level(pages: Any, request: Any) -> Any:
    """Take another level of protection: one of the picture, or the strongest that is accurate enough."""
    session = aim.aimed(pages, request)
    async with request.form(max_fields=MOST_FIELDS) as form:
        after = form.get("after")
        if form.get("off"):
            job, levels = _costs(session)
            if not job.over.is_set() or job.error is not None:
                raise Refused(409, "The levels are still being compared.")
            wanted = _between(form["off"], 0, 1e15, "Say how far off a number may be: a number above 0.")
            near = [level for level, off in zip(levels, job.result["off"], strict=True) if off <= wanted]
            if not near:
                raise Refused(400, "None of these levels is as accurate as that. Ask for fewer statistics.")
            after = min(near)
    session.choices["aim"] = aim.read(session.choices["aim"] | {"after": after}, session)
    session.choices.pop("draft", None)
    current(session)["epsilon"] = None
    return pages.to(session, "table#cost")


ROUTES = [
    ("GET", "table", show),
    ("GET", "tablecost/found", cost),
    ("POST", "table", take),
    ("POST", "table/add", take_statistic),
    ("POST", "table/remove", take_removal),
    ("POST", "table/values", take_values),
    ("POST", "table/level", take_level),
]

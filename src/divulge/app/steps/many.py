"""Step 3, a column of many values: each goes out as a report that stands for many of them; protocols side by side."""

import math
from fractions import Fraction
from typing import Any

from divulge.app import figures, lists, work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.numbers import number_in
from divulge.app.sessions import Session
from divulge.app.steps.aim import missing_label
from divulge.app.steps.data import MANY
from divulge.app.words import filled
from divulge.releasing.planning.listed import OTHER
from divulge.releasing.request import MOST_ROWS

MOST_LISTED = 100_000
"""So many answers can be typed."""

ASKED = {"column": "", "odds": "3", "answers": "any", "typed": "", "other": OTHER, "whose": "", "person": "",
         "rows": "6"}  # fmt: skip
"""What is asked at first: of which column, by how much odds may change, which answers there can be, whose rows."""

WORDS: dict[str, tuple[str, str]] = {
    "randomized-response": ("randomized response", "the answer with fixed odds, else any other one alike"),
    "symmetric-unary": ("symmetric unary encoding", "a yes or a no for every answer, each changed by chance alike"),
    "optimized-unary": ("optimized unary encoding", "a yes or a no for every answer, each changed by chance"),
    "local-hashing": ("local hashing", "one of a few groups of answers, by a rule drawn for each row; needs no list"),
    "hadamard": ("Hadamard response", "the number of a set that has half of all answers"),
    "projective": ("projective geometry response", "the number of a set of answers"),
    "prefix-extension": ("prefix extension", "the beginning of a text; frequent texts are found by themselves"),
}
"""Protocol -> (its name, what a report is)."""


def columns(session: Session) -> list[dict[str, Any]]:
    """Return the columns of many values."""
    return [one for one in session.choices["data"]["columns"] if (one["values"] or 0) > MANY]


def current(session: Session) -> dict[str, Any]:
    """Return what is asked so far; at first of the column that has most values, but for those that number rows."""
    rows = session.choices["data"]["rows"]
    most = max(columns(session), key=lambda one: (one["values"] < rows / 2, one["values"]))
    other = filled(session.language, OTHER)
    first = {**ASKED, "other": other, "column": most["name"], "list": None, "listed": 0}
    return session.choices.setdefault("many", first)


def arguments(session: Session) -> dict[str, Any]:
    """Return the options of `release`, but for the protocol."""
    asked = current(session)
    column = next(one for one in columns(session) if one["name"] == asked["column"])
    whose: dict[str, Any] = {"per_row": True}
    if asked["whose"] != "row":
        whose = {"person": asked["person"]}
        whose |= {"one_answer": True} if asked["whose"] == "one" else {"rows_per_person": int(asked["rows"])}
    found = {"column": asked["column"], "guarantee": f"ldp={float(level(asked['odds']))!r}", **whose}
    if asked["list"]:
        return found | {"values": asked["list"], "other": asked["other"]}
    label = missing_label(session, column["name"])
    return found | ({} if label is None else {"null_as": label})


def level(odds: str) -> Fraction:
    """Return the epsilon that keeps odds within a factor, rounded down.

    >>> float(level("3"))
    1.098612
    """
    return Fraction(math.floor(math.log(float(odds)) * 1e6), 10**6)


def _comparison(session: Session) -> Any:
    """Return the work that compares protocols."""
    asked, given = current(session), arguments(session)
    (column,) = (one for one in columns(session) if one["name"] == asked["column"])
    return session.job(
        "many", work.reports, column=asked["column"], rows=session.choices["data"]["rows"],
        listed=asked["listed"], values=column["values"], level=float(level(asked["odds"])),
        times=given.get("rows_per_person", 1), once="one_answer" in given,
    )  # fmt: skip


def _ready(pages: Any, request: Any, *, whole: bool = True) -> Session:
    session = pages.session(request)
    if "data" not in session.choices or not columns(session):
        raise Refused(409, "Choose a table with a column of many values first.")
    if whole and not current(session)["whose"]:
        raise Refused(409, "Say first how much odds may change, and whom it protects.")
    return session


def show(pages: Any, request: Any) -> Any:
    """The page."""
    session = _ready(pages, request, whole=False)
    return pages.page("many.html", session, "how", asked=current(session), many=columns(session),
                      columns=[column["name"] for column in session.choices["data"]["columns"]])  # fmt: skip


def answer(pages: Any, request: Any) -> Any:
    """Protocols side by side."""
    session = _ready(pages, request)

    def pictured(found: dict[str, Any]) -> dict[str, Any]:
        names = [filled(session.language, WORDS[one["name"]][0]) for one in found["ways"]]
        return {"found": found, "words": WORDS, "asked": current(session),
                "figure": figures.protocols(found["ways"], names)}  # fmt: skip

    return pages.part(session, "many", _comparison(session), "_many.html", pictured)


async def take(pages: Any, request: Any) -> Any:
    """Remember what is asked."""
    session = _ready(pages, request, whole=False)
    known = [column["name"] for column in session.choices["data"]["columns"]]
    async with request.form(max_files=1, max_fields=MOST_FIELDS) as form:
        given: dict[str, Any] = {name: str(form.get(name) or "").strip() for name in ASKED}
        if given["column"] not in [one["name"] for one in columns(session)]:
            raise Refused(400, "Choose one of the columns of many values.")
        given["other"] = given["other"][:60] or OTHER
        found = await _listed(session, given, form)
    given["odds"] = number_in(given["odds"], "Say by how much odds may change, as a number.")
    if not 1.01 <= float(given["odds"]) <= 1e6:
        raise Refused(400, "Say by how much odds may change: from 1.01 to 1000000.")
    if given["whose"] not in ("row", "one", "some"):
        raise Refused(400, "Say whether each row is another person.")
    if given["whose"] != "row" and (given["person"] not in known or given["person"] == given["column"]):
        raise Refused(400, "Choose the column that says who: another one than the sensitive column.")
    if given["whose"] == "some" and not (given["rows"].isdecimal() and 1 <= int(given["rows"][:7]) <= MOST_ROWS):
        raise Refused(400, "Say how many rows of a person count: a whole number, 1 or more.")
    session.choices["many"] = given | found
    return pages.to(session, "many#compared")


async def _listed(session: Session, given: dict[str, Any], form: Any) -> dict[str, Any]:
    """Return where the list of answers is, if any, how many they are with what others count as, and its file."""
    before = current(session)
    if given["answers"] == "file":
        found = await lists.uploaded(session, form.get("list"), given["column"], MOST_LISTED)
        found = found or (before.get("file") if before["column"] == given["column"] else None)
        if found is None:
            raise Refused(400, "Choose the file with the list of answers.")
        return {"list": found["path"], "listed": len({*found["listed"], given["other"]}), "file": found}
    if given["answers"] != "typed":
        return {"list": None, "listed": 0}
    listed = lists.typed(form, MOST_LISTED)
    path = lists.written(session, given["column"], listed)
    return {"list": str(path), "listed": len({*listed, given["other"]})}


async def take_chosen(pages: Any, request: Any) -> Any:
    """Go on with this protocol."""
    session = _ready(pages, request)
    job = _comparison(session)
    if not job.over.is_set() or job.error is not None:
        raise Refused(409, "Look first at what can be had.")
    async with request.form(max_fields=MOST_FIELDS) as form:
        chosen = str(form.get("protocol", ""))
    if chosen not in [one["name"] for one in job.result["ways"] if one["can"]]:
        raise Refused(400, "Choose one of the ways.")
    session.choices["how"] = {"way": "many", "protocol": chosen}
    session.choices.pop("form", None)
    return pages.to(session, "release")


ROUTES = [
    ("GET", "many", show),
    ("GET", "many/found", answer),
    ("POST", "many", take),
    ("POST", "many/chosen", take_chosen),
]

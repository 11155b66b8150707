"""Step 3, a whole table: how coarse the known columns go out, and what groups of rows then tell."""

import math
from fractions import Fraction
from typing import Any

from divulge.app import figures, work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.numbers import number_in
from divulge.app.sessions import Session
from divulge.releasing.request import MOST_ROWS

ASKED = {"k": "5", "times": "", "answers": "", "suppress": "0", "rows": "6", "local": "", "drawn": ""}
"""What is asked of groups at first: rows, factor, answers, share left out in 100, rows of a person at most, whether
levels differ from group to group, and the factor by which what is drawn may raise an answer; without it none is."""


def current(session: Session) -> dict[str, Any]:
    """Return what is asked so far, and the levels that were moved."""
    return session.choices.setdefault("coarse", {**ASKED, "levels": {}})


def known(session: Session) -> list[str]:
    """Return the columns that others may know: those ticked, but for the one that says who."""
    who = session.choices.get("whose", {}).get("person")
    return [name for name in session.choices["public"] if name != who]


def arguments(session: Session) -> dict[str, Any]:
    """Return the options of `generalize` beside the table."""
    asked = current(session)
    kept = [f"k={asked['k']}"]
    kept += [f"beta={Fraction(asked['times']) - 1}"] if asked["times"] else []
    kept += [f"distinct-l={asked['answers']}"] if asked["answers"] else []
    whose = session.choices.get("whose", {})
    if whose.get("one_answer"):  # nothing is drawn: groups count people by their rows
        whose = {"person": whose["person"], "rows_per_person": int(asked["rows"])}
    more: dict[str, Any] = {"levels": asked["levels"]} if asked["levels"] else {}
    more |= {"recoding": "local"} if asked["local"] else {}
    more |= {"perturb": [f"pml={_log(asked['drawn'])}"]} if asked["drawn"] else {}
    return {"known": known(session), "secret": session.choices["secret"], "guarantees": kept,
            "suppress": str(Fraction(asked["suppress"]) / 100), **whose, **more}  # fmt: skip


DIGITS = 6
"""Decimals of a promise that is made of a factor: rounded down, so that the factor is kept."""


def _log(times: str) -> str:
    """Return the logarithm of a factor, rounded down."""
    return f"{max(0, math.floor(math.log(float(times)) * 10**DIGITS)) / 10**DIGITS:.{DIGITS}f}"


def _ready(pages: Any, request: Any) -> Session:
    session = pages.session(request)
    if "secret" not in session.choices:
        raise Refused(409, "Choose the sensitive column first.")
    if not known(session):
        raise Refused(409, "Tick the columns that others may know, on the page of the data.")
    return session


def show(pages: Any, request: Any) -> Any:
    """The page."""
    session = _ready(pages, request)
    return pages.page("coarse.html", session, "how", asked=current(session), known=known(session))


def answer(pages: Any, request: Any) -> Any:
    """The table as it is, and coarser: the finest levels that keep what is asked, or those that were moved."""
    session = _ready(pages, request)
    job = session.job("coarse", work.coarsen, path=session.choices["data"]["path"], options=arguments(session))

    def pictured(found: dict[str, Any]) -> dict[str, Any]:
        sizes = [found[name]["sizes"] for name in ("before", "after")]
        return {"found": found, "asked": current(session), "figure": figures.sizes(*sizes)}

    return pages.part(session, "coarse", job, "_coarse.html", pictured)


async def take(pages: Any, request: Any) -> Any:
    """Remember what is asked of groups; the levels are searched anew."""
    session = _ready(pages, request)
    async with request.form(max_fields=MOST_FIELDS) as form:
        asked = {
            "k": _whole(form.get("k"), 1, "Say how many rows a group has at least: a whole number, 1 or more."),
            "times": _number(form.get("times"), 1, 1e6, "Say how many times as likely: a number of 1 or more."),
            "answers": _whole(form.get("answers") or "", 1, "Say how many answers: a whole number, 1 or more."),
            "suppress": _number(form.get("suppress") or "0", 0, 99, "Say how many rows in 100: from 0 to 99."),
            "rows": _whole(
                form.get("rows") or "6", 1, "Say how many rows of a person count: a whole number, 1 or more."
            ),
            "local": "1" if form.get("local") else "",
            "drawn": _number(form.get("drawn"), 1.001, 1e6, "Say how many times as likely: a number above 1."),
        }
    if asked["local"] and float(asked["suppress"] or 0):
        raise Refused(400, "Where levels differ from group to group no row loses its known columns: say 0 in 100.")
    session.choices["coarse"] = asked | {"levels": {}}
    return pages.to(session, "coarse#found")


async def take_moved(pages: Any, request: Any) -> Any:
    """Take the levels as the sliders stand."""
    session = _ready(pages, request)
    if current(session)["local"]:
        raise Refused(409, "Levels differ from group to group here: there is none to move.")
    async with request.form(max_fields=MOST_FIELDS) as form:
        levels = {name: str(form.get(f"level:{name}", "")) for name in known(session)}
    if not all(level.isdecimal() and len(level) < 3 for level in levels.values()):
        raise Refused(400, "A level is missing.")
    current(session)["levels"] = {name: int(level) for name, level in levels.items()}
    return answer(pages, request)


async def take_chosen(pages: Any, request: Any) -> Any:
    """Go on with the levels that are shown."""
    session = _ready(pages, request)
    job = session.job("coarse", work.coarsen, path=session.choices["data"]["path"], options=arguments(session))
    if not job.over.is_set() or job.error is not None or not job.result["kept"]:
        raise Refused(409, "At these levels the table does not keep what is asked.")
    session.choices["how"] = {"way": "coarse"}
    session.choices.pop("form", None)
    return pages.to(session, "release")


def _whole(text: Any, least: int, why: str) -> str:
    given = str(text or "").strip()
    if given and not (given.isdecimal() and len(given) < 8 and least <= int(given) <= MOST_ROWS):
        raise Refused(400, why)
    return given or ("" if text == "" else str(least))


def _number(text: Any, least: float, most: float, why: str) -> str:
    given = str(text or "").strip()
    if not given:
        return ""
    given = number_in(given, why)
    if not least <= float(given) <= most:
        raise Refused(400, why)
    return given


ROUTES = [
    ("GET", "coarse", show),
    ("GET", "coarse/found", answer),
    ("POST", "coarse", take),
    ("POST", "coarse/levels", take_moved),
    ("POST", "coarse/chosen", take_chosen),
]

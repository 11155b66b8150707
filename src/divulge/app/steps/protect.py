"""Step 3, another column protected: one column goes out, changed by chance so that it says little of another."""

import math
from typing import Any

from divulge.app import protected
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.numbers import number_in
from divulge.app.sessions import Session
from divulge.app.steps import aim, how
from divulge.app.steps.data import MOST_VALUES

MOST_TIMES = 1000
"""No larger factor can be promised: it would be no promise."""
ASKED = {"column": "", "protect": "", "times": "1.5", "purpose": "statistics", "whose": "", "person": ""}
"""What is asked at first: columns, how many times as likely an answer may become, what it is for, whose rows."""
PURPOSES = tuple(name for name, (_, _, given) in how.WAYS.items() if "purpose" in given)


def possible(session: Session) -> list[str]:
    """Return the columns that have few enough values."""
    return [one["name"] for one in session.choices["data"]["columns"] if 1 < (one["values"] or 0) <= MOST_VALUES]


def current(session: Session) -> dict[str, Any]:
    """Return what is asked so far."""
    return session.choices.setdefault("protect", dict(ASKED))


def arguments(session: Session) -> dict[str, Any]:
    """Return the options of `release`: the factor bounds what is gained and what is lost of what is protected."""
    asked = current(session)
    epsilon = math.floor(math.log(float(asked["times"])) * 1e6) / 1e6
    label = aim.missing_label(session, asked["column"])
    whose = {"person": asked["person"], "one_answer": True} if asked["whose"] == "one" else {"per_row": True}
    return {
        "column": asked["column"], "protect": asked["protect"], "guarantee": [f"pml={epsilon}", f"pmc={epsilon}"],
        "purpose": asked["purpose"], **whose, **({} if label is None else {"null_as": label}),
    }  # fmt: skip


def _ready(pages: Any, request: Any, *, whole: bool = True) -> Session:
    session = pages.session(request)
    if "data" not in session.choices or len(possible(session)) < 2:
        raise Refused(409, "Choose a table with two columns of 2 to 1,000 values first.")
    if whole and not current(session)["whose"]:
        raise Refused(409, "Say first which column goes out, and which one is protected.")
    return session


def show(pages: Any, request: Any) -> Any:
    """The page."""
    session = _ready(pages, request, whole=False)
    return pages.page("protect.html", session, "how", asked=current(session), possible=possible(session),
                      purposes={name: how.WAYS[name][:2] for name in PURPOSES},
                      columns=[column["name"] for column in session.choices["data"]["columns"]])  # fmt: skip


def _job(pages: Any, session: Session) -> Any:
    data = session.choices["data"]
    record = {"ledger": pages.ledger, **({} if pages.ledger is None else {"source_name": data["name"]})}
    return session.job("protect", protected.shield, path=data["path"], options=arguments(session), record=record)


def answer(pages: Any, request: Any) -> Any:
    """What the column would say of the protected one, as it is and as it would go out, and what stays of it."""
    session = _ready(pages, request)
    return pages.part(session, "protect", _job(pages, session), "_protect.html")


async def take(pages: Any, request: Any) -> Any:
    """Remember what is asked."""
    session = _ready(pages, request, whole=False)
    known = [column["name"] for column in session.choices["data"]["columns"]]
    async with request.form(max_fields=MOST_FIELDS) as form:
        given = {name: str(form.get(name) or "").strip() for name in ASKED}
    both = (given["column"], given["protect"])
    if both[0] == both[1] or not set(both) <= set(possible(session)):
        raise Refused(400, "Choose two columns: the one that goes out, and the one that it must say little of.")
    given["times"] = number_in(given["times"][:40], "Say how many times as likely an answer may become, as a number.")
    if not 1.001 <= float(given["times"]) <= MOST_TIMES:
        raise Refused(400, "Say how many times as likely an answer may become, from 1.001 to 1000.")
    if given["purpose"] not in PURPOSES:
        raise Refused(400, "Choose one of the ways.")
    if given["whose"] not in ("row", "one"):
        raise Refused(400, "Say whether each row is another person.")
    if given["whose"] == "one" and (given["person"] not in known or given["person"] in both):
        raise Refused(400, "Choose the column that says who.")
    session.choices["protect"] = given
    return pages.to(session, "protect#comes")


async def take_chosen(pages: Any, request: Any) -> Any:
    """Go on with this mechanism."""
    session = _ready(pages, request)
    job = _job(pages, session)
    if not job.over.is_set() or job.error is not None:
        raise Refused(409, "Look first at what would go out.")
    session.choices["how"] = {"way": "protect"}
    session.choices.pop("form", None)
    return pages.to(session, "release")


ROUTES = [
    ("GET", "protect", show),
    ("GET", "protect/found", answer),
    ("POST", "protect", take),
    ("POST", "protect/chosen", take_chosen),
]

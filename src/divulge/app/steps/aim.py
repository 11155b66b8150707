"""Step 2: what must not happen, as people would say it, and the guarantee that follows."""

from collections.abc import Mapping
from typing import Any

from divulge.app.guard import Refused
from divulge.app.numbers import number_in
from divulge.app.sessions import Session
from divulge.app.words import filled, spoken
from divulge.guarantees import ALIP, LDP, PML, guarantee_for_posterior
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.posterior import posteriors
from divulge.reporting.statements.voice import Voice

ATTACKERS = {
    "everything": (
        "knows everything else",
        "any belief about this person, however well informed; the promise needs no assumption",
    ),
    "frequencies": ("knows how frequent the values are", "believes of a person what is true of people on the whole"),
    "nothing": ("knows nothing", "holds all values for equally likely"),
}
"""Attacker -> (what they know, what that means)."""
LABELS = ("missing", "no answer", *(f"missing {i}" for i in range(2, 99)))
"""What missing values of a column are called, in the language of the pages: the first of these that is no value."""
SEVERAL = 6
"""What a promise about a row is for a person with so many rows stands beside it."""
LEAST = 1.01
"""Times the chance before: with less, what is published would say almost nothing, and is better left out."""
_ALREADY = (
    "Before anything goes out it is {1} in 100 already, and nothing that is published lowers that for everybody. "
    "Say {2} in 100 or more for afterwards."
)
DEFAULT = {"attacker": "everything", "before": 1.0, "after": 5.0}


def read(given: Mapping[str, Any], session: Session) -> dict[str, Any]:
    """Return the aim that a form holds: who attacks, which value, and in how many of 100 before and after."""
    column = secret(session)
    values = [value for value, _ in column["listed"]]
    attacker = given.get("attacker", DEFAULT["attacker"])
    value = given.get("value", values[-1])
    try:
        before, after = (float(_count(given, name)) for name in ("before", "after"))
    except (TypeError, ValueError):
        raise Refused(400, "Give numbers of people in 100.") from None
    if attacker not in ATTACKERS or value not in values or not (0 < before <= 98 and 0 < after <= 99.9):
        raise Refused(400, "Choose one of the values and numbers between 0 and 100.")
    if attacker == "nothing":
        before = 100 / max(2, column["values"])
    if after < before * LEAST:
        said = (spoken(Voice(session.language), f"{number:.4g}") for number in (before, before * LEAST + 0.001))
        raise Refused(400, filled(session.language, _ALREADY, *said))
    return {"attacker": attacker, "value": value, "before": before, "after": after}


def _count(given: Mapping[str, Any], name: str) -> str:
    return number_in(given.get(name, DEFAULT[name]), "Give numbers of people in 100.")


def _column(session: Session, name: str) -> dict[str, Any]:
    return next(column for column in session.choices["data"]["columns"] if column["name"] == name)


def missing_label(session: Session, name: str) -> str | None:
    """Return what missing values of a column are called: no other of its values has that name; None without any."""
    column = _column(session, name)
    taken = {value for value, _ in column["listed"]}
    labels = (spoken(Voice(session.language), label) for label in LABELS)
    return next(label for label in labels if label not in taken) if column["missing"] else None


def secret(session: Session) -> dict[str, Any]:
    """Return what is known of the sensitive column; its values are listed with the most frequent first.

    No answer is one of them, under a label that no other one has.
    """
    column = _column(session, session.choices["secret"])
    label = missing_label(session, session.choices["secret"])
    if label is None:
        return column | {"null_as": None}
    listed = sorted([*column["listed"], (label, column["missing"])], key=lambda one: -one[1])
    return column | {"null_as": label, "values": column["values"] + 1, "listed": listed}


def guarantee(aim: Mapping[str, Any]) -> Guarantee:
    """Return the promise under which what must not happen does not, for the attacker who is feared."""
    before, after = aim["before"] / 100, min(0.999, aim["after"] / 100)
    if aim["attacker"] == "everything":
        return guarantee_for_posterior(LDP, before, after)
    epsilon = guarantee_for_posterior(PML, before, after).values()["epsilon"]
    return ALIP(epsilon, epsilon)


def whatever_is_believed(aim: Mapping[str, Any]) -> LDP:
    """Return the promise that implies `guarantee` for every belief, so that nobody needs to know what is believed.

    Of alip = e:e it is ldp = e: P(y) is a mean of P(y|x), within e of each (in logarithms).
    """
    values = guarantee(aim).values()
    return LDP(values["epsilon"] if "epsilon" in values else values["upper"])


def meaning(session: Session, aim: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the promise says: before and after for the value that was chosen, and for other chances.

    `held` is what somebody holds of the value who knows how frequent it is in the table, where that is who is feared.
    """
    promise = guarantee(aim)
    counts = dict(secret(session)["listed"])
    share = counts[aim["value"]] / session.choices["data"]["rows"]
    after = posteriors(promise)
    held = (share, after(share)) if aim["attacker"] == "frequencies" and 0 < share < 1 else None
    several = None
    if session.choices.get("whose", {}).get("per_row"):
        loss = float(whatever_is_believed(aim).values()["epsilon"])
        several = posteriors(LDP(SEVERAL * loss))(aim["before"] / 100)
    chances = sorted({0.001, 0.01, 0.1, 0.5, aim["before"] / 100})
    return {
        "aim": aim,
        "promise": str(promise),
        "bounds": after(aim["before"] / 100),
        "others": [(chance, after(chance)) for chance in chances],
        "held": held,
        "several": (SEVERAL, several),
        "null_as": secret(session)["null_as"],
        "attacker": ATTACKERS[aim["attacker"]],
    }


def current(session: Session) -> dict[str, Any]:
    """Return the aim so far: what the sliders said last, though it was not taken yet."""
    return session.choices.get("draft") or session.choices.get("aim") or read({}, session)


def _ready(pages: Any, request: Any) -> Session:
    session = pages.session(request)
    if "secret" not in session.choices:
        raise Refused(409, "Choose a file and its sensitive column first.")
    return session


def aimed(pages: Any, request: Any) -> Session:
    """Return the session of one who has said what must not happen; others are asked for it."""
    session = pages.session(request)
    if "aim" not in session.choices:
        raise Refused(409, "Say first what must not happen.")
    return session


def show(pages: Any, request: Any) -> Any:
    """The page with its sliders."""
    session = _ready(pages, request)
    aim = current(session)
    rows = session.choices["data"]["rows"]
    return pages.page(
        "aim.html",
        session,
        "aim",
        values=secret(session)["listed"],
        rows=rows,
        attackers=ATTACKERS,
        **meaning(session, aim),
    )


def answer(pages: Any, request: Any) -> Any:
    """What the sliders say, while they move."""
    session = _ready(pages, request)
    session.choices["draft"] = read(request.query_params, session)
    return pages.page("_meaning.html", session, "aim", **meaning(session, session.choices["draft"]))


async def take(pages: Any, request: Any) -> Any:
    """Remember what must not happen."""
    session = _ready(pages, request)
    async with request.form() as form:
        session.choices["aim"] = read(form, session)
    return pages.to(session, "how")


ROUTES = [("GET", "aim", show), ("GET", "meaning", answer), ("POST", "aim", take)]

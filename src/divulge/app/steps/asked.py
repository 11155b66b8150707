"""The request that the pages make: what the button carries out, and what is printed as a command and a program."""

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from divulge import datasets
from divulge.app import work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.numbers import number_in
from divulge.app.outlook import TINY, outlook, standing, with_standing
from divulge.app.sessions import Session
from divulge.app.steps import aim, coarse, how, many, places, protect, table
from divulge.app.steps.preview import ready
from divulge.app.words import filled
from divulge.errors import DivulgeError
from divulge.guarantees import LDP, guarantee_for_posterior
from divulge.releasing.options import as_columns
from divulge.releasing.records.ledger import Ledger
from divulge.releasing.records.people import NEW
from divulge.releasing.request import Request

FORMATS = {"csv": "CSV", "parquet": "Parquet", "xlsx": "Excel"}


@dataclass(frozen=True)
class Form:
    """What is chosen on the last page: the format, the columns that go out as they are, the language."""

    ending: str = "csv"
    keep: tuple[str, ...] = ()
    language: str = "en"
    budget: str = ""
    """What all releases together may come to: people in 100 for a column, an epsilon for statistics."""
    people: str = ""
    """Whose rows these are, where the ledger is wrong about it: one of its tables, or new."""

    @classmethod
    def of(cls, form: Any, session: Session, tables: Collection[str] = ()) -> "Form":
        """Return what a form says; `tables` are those on record."""
        ending = str(form.get("format", "csv"))
        if ending not in FORMATS:
            raise Refused(400, "Choose one of the formats.")
        ticked = set(form.getlist("keep"))
        keep = [name for name in beside(session) if name in ticked]
        budget = str(form.get("budget") or "").strip()
        budget = number_in(budget, "Give the budget as a number.") if budget else ""
        people = str(form.get("people") or "")
        if people not in ("", NEW, *tables):
            raise Refused(400, "Choose a table that is on record.")
        return cls(ending, tuple(keep), "de" if form.get("language") == "de" else "en", budget, people)


def on_record(ledger: str | None) -> list[str]:
    """Return the tables of a ledger, the latest first; none where there is no ledger, or none that can be read."""
    with contextlib.suppress(DivulgeError):
        return [] if ledger is None else Ledger(ledger).tables()[:MOST_TABLES]
    return []


MOST_TABLES = 50
"""So many tables of the ledger, the latest, can be chosen as those of the same people."""


def perturbed(session: Session) -> tuple[str, ...]:
    """Return the columns that go out otherwise than they are."""
    known = session.choices
    own = {"places": places, "many": many, "protect": protect}.get(known["how"]["way"])
    return as_columns(own.arguments(session)["column"]) if own else (known["secret"],)


def beside(session: Session) -> list[str]:
    """Return the columns that may go out as they are."""
    hidden = {*perturbed(session)}
    if session.choices["how"]["way"] == "protect":  # it would tell itself
        hidden |= {protect.current(session)["protect"]}
    return [c["name"] for c in session.choices["data"]["columns"] if c["name"] not in hidden]


def request(session: Session, form: Form, ledger: str | None) -> Request:
    """Return what the pages ask, of the visitor's own file: every option, so that a command does the same."""
    known = session.choices
    data, reading = known["data"], known["reading"]
    source = str(datasets.census_path()) if data["name"] == "census.parquet" else data["name"]
    common: dict[str, Any] = {
        **reading["options"], "language": form.language, "ledger": ledger,
        **({} if ledger is None else {"source_name": data["name"]}), **({"people": form.people} if form.people else {}),
    }  # fmt: skip
    if known["how"]["way"] == "coarse":
        return Request.of("generalize", source, f"coarser.{form.ending}", **coarse.arguments(session), **common)
    if known["how"]["way"] == "places":
        return Request.of("release", source, f"places_perturbed.{form.ending}", keep=list(form.keep),
                          **places.arguments(session), **common)  # fmt: skip
    if known["how"]["way"] == "many":
        asked = many.arguments(session) | {"protocol": known["how"]["protocol"]}
        return Request.of("release", source, f"{_file_name(asked['column'])}_perturbed.{form.ending}",
                          keep=list(form.keep), **asked, **common)  # fmt: skip
    if known["how"]["way"] == "protect":
        chosen = protect.arguments(session)
        out = f"{_file_name(chosen['column'])}_perturbed.{form.ending}"
        return Request.of("release", source, out, keep=list(form.keep), **chosen, **common)
    common |= {"budget": budget} if (budget := _budget(form, session)) else {}
    if known["how"]["way"] == "table":
        asked = table.arguments(session)
        statistics = [work.statistic(one) for one in asked["asked"]]
        return Request.of(
            "publish", source, f"statistics.{form.ending}", statistics=statistics, **asked["options"], **common
        )
    name = _file_name(known["secret"])
    choice = how.options(session, known["how"]["way"], known["aim"])
    return Request.of("release", source, f"{name}_perturbed.{form.ending}", keep=list(form.keep), **choice, **common)


def _file_name(column: str) -> str:
    """Return a column as a part of the name of a file."""
    return column if column.isalnum() and len(column.encode()) <= 60 else "column"


def _budget(form: Form, session: Session) -> str | None:
    """Return what all releases together may come to, as a guarantee; None where nothing is said."""
    if not form.budget:
        return None
    most = float(form.budget)
    if session.choices["how"]["way"] == "table":
        if not 0 < most <= 1000:
            raise Refused(400, "Give a budget as an epsilon above 0.")
        return f"dp={form.budget}"
    before = session.choices["aim"]["before"]
    if not before < most < 100:
        raise Refused(400, f"Give a budget between {before:g} and 100 in 100: it is what {before:g} in 100 may become.")
    return how.str_exactly(guarantee_for_posterior(LDP, before / 100, most / 100))


def printed(asked: Request) -> dict[str, str]:
    """Return the request as a command and as a program."""
    for name in ("values", "quarters"):
        if isinstance(given := getattr(asked, name, None), str):  # which the visitor knows by its name
            asked = replace(asked, **{name: Path(given).name})
    return {"command": asked.command(), "script": asked.program()}


def named(session: Session, asked: Request, language: str) -> str:
    """Return what goes out, in words."""
    known = session.choices
    if asked.action == "publish":
        return filled(language, "statistics of {1}", known["data"]["name"])
    if asked.action == "generalize":
        sentence = "{1}, with coarser known columns, “{2}” perturbed" if coarse.current(session)["drawn"] else _COARSER
        return filled(language, sentence, known["data"]["name"], known["secret"])
    keep: tuple[str, ...] = getattr(asked, "keep", None) or ()
    sentence = "“{1}” of {2}, perturbed, beside {3}" if keep else "“{1}” of {2}, perturbed, and no other column"
    return filled(language, sentence, ", ".join(perturbed(session)), known["data"]["name"], ", ".join(keep))


_COARSER = "{1}, with coarser known columns"


async def take_form(pages: Any, request_: Any) -> Any:
    """Take what is ticked, and show what it comes to."""
    session = ready(pages, request_)
    async with request_.form(max_fields=MOST_FIELDS) as form:
        session.choices["form"] = Form.of(form, session, on_record(pages.ledger))
    return answer(pages, request_)


def answer(pages: Any, request_: Any) -> Any:
    """What the release comes to, before anything is drawn."""
    session = ready(pages, request_)
    known = session.choices
    form = known.get("form", Form())
    asked = request(session, form, pages.ledger)
    papers = printed(asked) | {"table": asked.action == "publish"}
    wanted: Mapping[str, Any] = known.get("aim", {"before": 0, "value": ""})
    job = session.job(
        "asked", outlook, path=known["data"]["path"], asked=asked, before=wanted["before"] / 100,
        value=wanted["value"], far=places.current(session)["far"] if known["how"]["way"] == "places" else "1",
    )  # fmt: skip
    return pages.part(
        session,
        "asked",
        job,
        "_asked.html",
        lambda told: {"found": told, "table": known["how"]["way"] == "table", **papers},
    )


def add_up(pages: Any, request_: Any) -> Any:
    """What a promise comes to with all on record, and beside what may be known, before a way is chosen."""
    session = pages.session(request_)
    known = session.choices
    if "secret" not in known:
        raise Refused(409, "Choose a file and its sensitive column first.")
    wanted = aim.read(request_.query_params, session) if request_.query_params else aim.current(session)
    data = known["data"]
    named_ = {} if pages.ledger is None else {"source_name": data["name"]}
    tiny = how.options(session, "randomized-response", wanted) | {"epsilon": TINY}
    asked = Request.of("release", data["name"], "column.csv", keep=[], ledger=pages.ledger, **tiny, **named_)
    public = [name for name in known.get("public", ()) if name != known.get("whose", {}).get("person")]
    job = session.job("sum", standing, path=data["path"], asked=asked, known=public)
    loss = float(aim.whatever_is_believed(wanted).values()["epsilon"])

    def with_all(found: dict[str, Any]) -> dict[str, Any]:
        return {"found": with_standing(found, wanted["before"] / 100, loss, wanted["value"]), "public": public}

    return pages.part(session, "sum", job, "_sum.html", with_all)


ROUTES = [("GET", "sum/found", add_up), ("POST", "asked", take_form), ("GET", "asked/found", answer)]

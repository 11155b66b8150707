"""Step 1: a file, its columns, which one is sensitive, and what the others say about it already."""

import contextlib
import secrets
from pathlib import Path
from typing import Any

from divulge import datasets
from divulge.app import figures, lists, work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.jobs import PATIENCE
from divulge.app.sessions import Session
from divulge.app.uploads import kept
from divulge.errors import DivulgeError
from divulge.files.formats import TABLES, endings
from divulge.files.settings import Settings
from divulge.files.tables.layout import Layout
from divulge.files.tables.table import open_table
from divulge.releasing.persons import repeated
from divulge.releasing.planning.listed import OTHER
from divulge.releasing.request import MOST_ROWS

ENDINGS = " ".join(endings(TABLES))
MANY = 100
"""Columns of more values are offered as reports: with fewer, a mechanism made for them is as good."""

MOST_VALUES = 1000
"""Columns of more values cannot be sensitive: each needs a row and a column of the mechanism."""

OPTIONS = ("delimiter", "decimal", "encoding", "sheet", "header")
"""Options of reading that are typed as text."""


def choose_census(session: Session) -> None:
    """Take the bundled census."""
    _begin(session, datasets.census_path(), "census.parquet", {})


def _begin(session: Session, path: Path, name: str, options: dict[str, Any]) -> None:
    session.forget(*session.jobs)
    same = session.choices.get("reading", {}).get("path") == str(path)
    kept = {name: session.choices[name] for name in ("proposed",) if same and name in session.choices}
    session.choices.clear()
    session.choices |= kept
    session.choices["reading"] = {
        "path": str(path),
        "name": name,
        "options": options,
        "into": str(session.folder / f"{secrets.token_hex(4)}.parquet"),
    }


def show(pages: Any, request: Any) -> Any:
    """The page: a form for a file, or the columns of the one that was chosen."""
    session = pages.session(request)
    return pages.page("data.html", session, "data", endings=ENDINGS, options=OPTIONS)


def columns(pages: Any, request: Any) -> Any:
    """What is in the file."""
    session = pages.session(request)
    if "reading" not in session.choices:
        raise Refused(404, "Choose a file first.")

    def known(found: dict[str, Any]) -> dict[str, Any]:
        session.choices["data"] = found
        rules = rules_in(session)
        proposed = session.choices.setdefault("proposed", {})  # a grouped column keeps the groups offered before
        proposed |= {column["name"]: column["groups"] for column in found["columns"] if column["name"] not in rules}
        proposed |= {name: [(rule, rule)] for name, rule in rules.items() if name not in proposed}
        return {"found": found, "rules": rules, "proposed": proposed,
                "spelled": session.choices["reading"]["options"].get("one_spelling", ()),
                "many": any((column["values"] or 0) > MANY for column in found["columns"])}  # fmt: skip

    return pages.part(
        session, "data", session.job("data", work.ingest, **session.choices["reading"]), "_columns.html", known
    )


def rules_in(session: Session) -> dict[str, str]:
    """Return how columns are grouped: {column: rule}."""
    several = session.choices["reading"]["options"].get("group", ())
    return {name: rule for name, _, rule in (one.rpartition("=") for one in several)}


def looked(pages: Any, request: Any) -> Any:
    """The first and the last rows as they stand in the file, with what is taken for names and what is left out."""
    session = pages.session(request)
    if "reading" not in session.choices:
        raise Refused(404, "Choose a file first.")
    reading = session.choices["reading"]
    job = session.job("looked", work.looked, path=reading["path"], options=reading["options"])

    def shown(found: Any) -> dict[str, Any]:
        options = reading["options"]
        ingested = session.jobs.get("data")
        failed = ingested is not None and ingested.wait(PATIENCE) and ingested.error is not None
        used = Layout()
        with contextlib.suppress(DivulgeError):
            used = Layout.of(Settings(header=options.get("header"), footer=options.get("footer")))
        guess = found.layout if found is not None else Layout()
        return {"found": found, "options": options, "used": used, "guess": guess,
                "open": failed or ("header" not in options and guess != used and guess != Layout())
                or (found is not None and len(found.sheets) > 1 and "sheet" not in options)}  # fmt: skip

    return pages.part(session, "looked", job, "_looked.html", shown)


async def take_reading(pages: Any, request: Any) -> Any:
    """Read the same file again, as the visitor says."""
    session = pages.session(request)
    if "reading" not in session.choices:
        raise Refused(409, "Choose a file first.")
    async with request.form(max_fields=MOST_FIELDS) as form:
        options: dict[str, Any] = {key: str(form[key])[:40] for key in OPTIONS if form.get(key)}
        footer = str(form.get("footer") or "0").strip()
        if not (footer.isascii() and footer.isdigit() and len(footer) < 5):
            raise Refused(400, "Say how many rows at the end are no part of the table: a whole number.")
        options |= {"footer": int(footer)} if int(footer) else {}
        if form.get("sheet") != form.get("seen"):  # of another sheet nobody has seen the rows yet
            options = {name: value for name, value in options.items() if name not in ("header", "footer")}
        options |= {name: True for name in ("number_names", "line_breaks") if form.get(name)}
        spelled = [str(name) for name in form.getlist("one_spelling")]
        options |= {"one_spelling": tuple(spelled)} if spelled else {}
        groups = [f"{name.removeprefix('group:')}={rule}" for name, rule in form.items()
                  if name.startswith("group:") and rule]  # fmt: skip
        options |= {"group": tuple(groups)} if groups else {}
    reading = session.choices["reading"]
    _begin(session, Path(reading["path"]), reading["name"], options)
    return pages.to(session, "data")


async def take_upload(pages: Any, request: Any) -> Any:
    """Take a file into the private folder of the session."""
    session = pages.session(request)
    async with request.form(max_files=1, max_fields=16) as form:
        file = form.get("file")
        if file is None or not getattr(file, "filename", ""):
            raise Refused(400, "No file was chosen.")
        options = {key: str(form[key])[:40] for key in OPTIONS if form.get(key)}
        path = await kept(session, file)
    _begin(session, path, path.name, options)
    return pages.to(session, "data")


async def take_census(pages: Any, request: Any) -> Any:
    """Take the bundled census."""
    session = pages.session(request)
    choose_census(session)
    return pages.to(session, "data")


async def take_secret(pages: Any, request: Any) -> Any:
    """Remember which column is sensitive and which are public."""
    session = pages.session(request)
    if "data" not in session.choices:
        return pages.to(session, "data")
    async with request.form(max_files=1, max_fields=MOST_FIELDS) as form:
        known = {column["name"]: column for column in session.choices["data"]["columns"]}
        secret = str(form.get("secret", ""))
        if secret not in known or not known[secret]["values"]:
            raise Refused(400, "Choose the column that is sensitive.")
        if known[secret]["values"] > MOST_VALUES:
            raise Refused(
                400, f"This column has more than {MOST_VALUES:,} values. Group them under “read as”, or publish it "
                "as reports.",
            )  # fmt: skip
        whose, answers = _whose(form, known, secret), await _answers(session, form, secret)
        public = [name for name in form.getlist("public") if name in known and name != secret]
    for name in ("noticed", "ticked"):
        session.choices.pop(name, None)
    if whose is None:
        noticed = repeated(open_table(session.choices["data"]["path"]), [secret])
        if noticed is not None:  # the page asks
            session.choices["noticed"] = noticed
            session.choices.pop("secret", None)
            session.choices |= {"ticked": secret, "public": public}
            return pages.to(session, "data#whose")
    known_ = session.choices
    asked = {"secret": secret, "whose": whose or {}, "answers": answers}
    changed = any(known_.get(name, {}) != said for name, said in asked.items())
    if changed:
        session.choices |= asked | {"list": answers["path"] if answers else None}
    session.choices["public"] = public
    if changed:
        for name in ("draft", "aim", "how", "table", "coarse", "going", "papers"):
            session.choices.pop(name, None)
        session.forget(*(name for name in session.jobs if name != "data"))
    return pages.to(session, "data#map")


MOST_ANSWERS = 1000
"""So many answers can be typed."""


async def _answers(session: Session, form: Any, secret: str) -> dict[str, Any]:
    """Return the answers that there can be, where they are kept, and what any other counts as; nothing where they are
    those of the table."""
    known = session.choices.get("answers", {}) if session.choices.get("secret") == secret else {}
    other = {"other": str(form.get("other", "")).strip() or OTHER}
    if form.get("answers") == "typed":
        listed = lists.typed(form, MOST_ANSWERS)
        if known.get("listed") == listed and "file" not in known:
            return known | other
        return {"listed": listed, "path": str(lists.written(session, secret, listed)), **other}
    if form.get("answers") == "file":
        found = await lists.uploaded(session, form.get("list"), secret, MOST_ANSWERS)
        if found is None and "file" not in known:
            raise Refused(400, "Choose the file with the list of answers.")
        return (found or known) | other
    return {}


def _whose(form: Any, known: dict[str, Any], secret: str) -> dict[str, Any] | None:
    """Return whom the promise protects as options of a request, None where nothing is said."""
    said, person = str(form.get("whose", "")), str(form.get("person", ""))
    if said == "row":
        return {"per_row": True}
    if said not in ("one", "some"):
        return None
    if person not in known or person == secret:
        raise Refused(400, "Choose the column that says who: another one than the sensitive column.")
    if said == "one":
        return {"person": person, "one_answer": True}
    rows = str(form.get("rows", "")).strip()
    if not rows.isdecimal() or not 1 <= int(rows[:7]) <= MOST_ROWS:
        raise Refused(400, "Say how many rows of a person count: a whole number, 1 or more.")
    return {"person": person, "rows_per_person": int(rows)}


def exposed(pages: Any, request: Any) -> Any:
    """What the public columns say about the secret."""
    session = pages.session(request)
    known = session.choices
    if "secret" not in known:
        raise Refused(404, "Choose the sensitive column first.")
    whose = known.get("whose", {})
    job = session.job(
        "map", work.expose, path=known["data"]["path"], secret=known["secret"], columns=known["public"],
        person=whose.get("person") if whose.get("one_answer") else None,
    )  # fmt: skip

    def pictured(found: Any) -> dict[str, Any]:
        places = {" and ".join(risk.columns): i for i, risk in enumerate(found.columns)}
        place = places.get(request.query_params.get("of", ""), 0)
        several = "rows_per_person" in whose
        risk = found.columns[place] if found.columns else None
        figure = None if risk is None else figures.disclosures(
            risk.disclosures, "person" if found.people else "row", "rows" if several else "people"
        )  # fmt: skip
        return {"found": found, "place": place, "alone": len(known["public"]) > work.MOST_PAIRED, "figure": figure,
                "several": several}  # fmt: skip

    return pages.part(session, "map", job, "_map.html", pictured)


ROUTES = [
    ("GET", "data", show),
    ("GET", "columns", columns),
    ("GET", "looked/found", looked),
    ("POST", "reading", take_reading),
    ("POST", "upload", take_upload),
    ("POST", "census", take_census),
    ("POST", "secret", take_secret),
    ("GET", "map", exposed),
]

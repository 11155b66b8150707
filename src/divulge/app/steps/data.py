"""Step 1: a file, its columns, which one is sensitive, and what the others say about it already."""

import secrets
from pathlib import Path
from typing import Any

from divulge import datasets
from divulge.app import figures, work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.sessions import Session
from divulge.files.formats import TABLES, endings
from divulge.files.tables.table import open_table
from divulge.model.shown import printable
from divulge.releasing.persons import repeated
from divulge.releasing.request import MOST_ROWS

ENDINGS = " ".join(endings(TABLES))
OPTIONS = ("delimiter", "decimal", "encoding", "sheet")


def choose_census(session: Session) -> None:
    """Take the bundled census."""
    _begin(session, datasets.census_path(), "census.parquet", {})


def _begin(session: Session, path: Path, name: str, options: dict[str, Any]) -> None:
    session.forget(*session.jobs)
    session.choices.clear()
    session.choices["reading"] = {
        "path": str(path),
        "name": name,
        "options": options,
        "into": str(session.folder / f"{secrets.token_hex(4)}.parquet"),
    }


async def kept(session: Session, file: Any) -> Path:
    """Keep an uploaded file in a new folder of the session, under its own name."""
    given = printable(str(file.filename).replace("\\", "/").rpartition("/")[2])
    name = given.encode()[-120:].decode(errors="ignore").lstrip(".") or "table"  # its end tells the format
    if not session.has_room(file.size or 0):
        raise Refused(413, "The app keeps too many files for another one. Start over in visits that are done.")
    path = session.folder / secrets.token_hex(4) / name
    path.parent.mkdir(mode=0o700)
    with path.open("xb") as out:
        while piece := await file.read(1 << 20):
            out.write(piece)
    return path


def _ingest(session: Session) -> Any:
    return session.job("data", work.ingest, **session.choices["reading"])


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
        return {"found": found}

    return pages.part(session, "data", _ingest(session), "_columns.html", known)


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
    async with request.form(max_fields=MOST_FIELDS) as form:
        known = {column["name"]: column for column in session.choices["data"]["columns"]}
        secret = str(form.get("secret", ""))
        if secret not in known or not known[secret]["values"]:
            raise Refused(400, "Choose the column that is sensitive.")
        whose = _whose(form, known, secret)
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
    changed = known_.get("secret") != secret or known_.get("whose", {}) != (whose or {})
    session.choices["whose"] = whose or {}
    session.choices |= {"secret": secret, "public": public}
    if changed:
        for name in ("draft", "aim", "how", "table", "going", "papers"):
            session.choices.pop(name, None)
        session.forget(*(name for name in session.jobs if name != "data"))
    return pages.to(session, "data#map")


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
    job = session.job("map", work.expose, path=known["data"]["path"], secret=known["secret"], columns=known["public"])

    def pictured(found: Any) -> dict[str, Any]:
        places = {" and ".join(risk.columns): i for i, risk in enumerate(found.columns)}
        place = places.get(request.query_params.get("of", ""), 0)
        figure = figures.disclosures(found.columns[place].disclosures) if found.columns else None
        return {"found": found, "place": place, "alone": len(known["public"]) > work.MOST_PAIRED, "figure": figure}

    return pages.part(session, "map", job, "_map.html", pictured)


ROUTES = [
    ("GET", "data", show),
    ("GET", "columns", columns),
    ("POST", "upload", take_upload),
    ("POST", "census", take_census),
    ("POST", "secret", take_secret),
    ("GET", "map", exposed),
]

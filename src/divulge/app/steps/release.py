"""Step 5: what will be published and what it adds up to; one click writes the files."""

import hashlib
import secrets
from pathlib import Path
from typing import Any

from divulge.app import work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.steps import how, programs, table
from divulge.app.steps.preview import ready

FORMATS = {"csv": "CSV", "parquet": "Parquet", "xlsx": "Excel"}
PUBLIC = {
    "table": "the table",
    "codebook.json": "the codebook: what each answer means and how to use it",
    "codebook.md": "the codebook as text",
    "statement.html": "the statement: one page, in plain words",
    "statement.txt": "the statement as text",
    "receipt.json": "the receipt: what estimates are made from",
}
"""Paper -> what it is; all may be public."""


def show(pages: Any, request: Any) -> Any:
    """The page: a summary and a button, or the files."""
    session = ready(pages, request)
    known = session.choices
    context: dict[str, Any] = {"formats": FORMATS, "public": PUBLIC, "table": known["how"]["way"] == "table"}
    others = [c["name"] for c in known["data"]["columns"] if c["name"] != known["secret"]]
    context |= {
        "shown": _shown(session),
        "others": others,
        "command": programs.command(session),
        "script": programs.script(session),
    }
    if context["table"]:
        asked = table.current(session)
        context |= {"names": [table.named(one, asked["by"]) for one in asked["statistics"]], "asked": asked,
                    "epsilon": table.epsilon(session)}  # fmt: skip
    return pages.page("release.html", session, "release", **context)


async def take(pages: Any, request: Any) -> Any:
    """Begin the release; a second click does not begin a second one."""
    session = ready(pages, request)
    known = session.choices
    async with request.form(max_fields=MOST_FIELDS) as form:
        ending = str(form.get("format", "csv"))
        if ending not in FORMATS:
            raise Refused(400, "Choose one of the formats.")
        keep = [
            c["name"]
            for c in known["data"]["columns"]
            if c["name"] in form.getlist("keep") and c["name"] != known["secret"]
        ]
        language = "de" if form.get("language") == "de" else "en"
        shown = form.get("shown", _shown(session))
    if "going" not in known and shown != _shown(session):
        raise Refused(
            409, "Something else was chosen since, in another tab perhaps. Nothing was published: look again."
        )
    with session.lock:
        if "going" not in known:
            known["going"] = _work(pages, session, ending, keep, language)
            known.pop("papers", None)
    return pages.to(session, "release")


def _shown(session: Any) -> str:
    """Return a mark of all that would be published, which the page that shows it sends back."""
    return hashlib.sha256(programs.script(session).encode() + session.choices["data"]["path"].encode()).hexdigest()


def _work(pages: Any, session: Any, ending: str, keep: list[str], language: str) -> dict[str, Any]:
    """Return the work that was asked for by the click, whatever is chosen afterwards: what to call and with what."""
    known = session.choices
    out = session.folder / secrets.token_hex(4)  # every release has a folder of its own
    out.mkdir(mode=0o700)
    programs_ = {"script": programs.script(session), "notebook": programs.notebook(session)}
    if known["how"]["way"] == "table":
        target = str(out / f"statistics.{ending}")
        arguments = table.published(session, target, pages.ledger, language)
        return {"function": work.publish, "arguments": arguments, "programs": programs_}
    choice = how.options(session, known["how"]["way"], known["aim"]) | {"keep": keep, "language": language}
    name = known["secret"] if known["secret"].isalnum() and len(known["secret"].encode()) <= 60 else "column"
    arguments = {"path": known["data"]["path"], "out": str(out / f"{name}_perturbed.{ending}"),
                 "name": known["data"]["name"], "ledger": pages.ledger, "choice": choice}  # fmt: skip
    return {"function": work.release, "arguments": arguments, "programs": programs_}


def found(pages: Any, request: Any) -> Any:
    """The files, when they are written."""
    session = ready(pages, request)
    known = session.choices
    if "going" not in known:
        raise Refused(409, "Nothing is being published.")
    going = known["going"]
    job = session.job("release", going["function"], **going["arguments"])

    def published(found: dict[str, Any]) -> dict[str, Any]:
        if "papers" not in known:
            known["papers"] = found["papers"] | programs.written(
                Path(going["arguments"]["out"]).parent, going["programs"]
            )
        return {"found": found, "public": PUBLIC}

    response = pages.part(session, "release", job, "_files.html", published)
    if job.over.is_set() and job.error is not None:  # the button is there again
        known.pop("going", None)
        session.forget("release")
    return response


async def take_again(pages: Any, request: Any) -> Any:
    """Go back to the summary; what was published stays published and stays in the ledger."""
    session = ready(pages, request)
    session.choices.pop("going", None)
    session.forget("release", "preview")
    return pages.to(session, "preview")


ROUTES = [
    ("GET", "release", show),
    ("POST", "release", take),
    ("GET", "release/found", found),
    ("POST", "again", take_again),
]

"""Step 5: what will be published and what it adds up to; one click writes the files."""

import hashlib
import json
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from divulge.app import work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.steps import asked, coarse, programs, protect, table
from divulge.app.steps.preview import ready
from divulge.releasing.column import Release
from divulge.reporting.statements.voice import languages

PUBLIC = {
    "archive": "all of these in one file",
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
    way = known["how"]["way"]
    context: dict[str, Any] = {"formats": asked.FORMATS, "public": PUBLIC, "table": way == "table",
                               "coarse": way == "coarse", "places": way == "places", "many": way == "many",
                               "protect": protect.current(session)["protect"] if way == "protect" else ""}  # fmt: skip
    context["drawn"] = coarse.current(session)["drawn"] if way == "coarse" else ""
    form = known.get("form", asked.Form())
    context |= {"shown": _shown(session), "others": asked.beside(session), "perturbed": asked.perturbed(session),
                "kept": form.keep, "budget": form.budget, "people": form.people,
                "tables": asked.on_record(pages.ledger)}  # fmt: skip
    if context["table"]:
        wanted = table.current(session)
        names = [table.named(one, wanted["by"], session.language) for one in wanted["statistics"]]
        context |= {"names": names, "asked": wanted, "epsilon": table.epsilon(session)}
    return pages.page("release.html", session, "release", **context)


async def take(pages: Any, request: Any) -> Any:
    """Begin the release; a second click does not begin a second one, and one for something else is told apart."""
    session = ready(pages, request)
    known = session.choices
    async with request.form(max_fields=MOST_FIELDS) as form:
        wanted = asked.Form.of(form, session, asked.on_record(pages.ledger))
        shown = form.get("shown", _shown(session))
    if "going" not in known and shown != _shown(session):
        raise Refused(
            409, "Something else was chosen since, in another tab perhaps. Nothing was published: look again."
        )
    with session.lock:
        if "going" in known and (known["going"]["form"] != wanted or known["going"]["shown"] != shown):
            raise Refused(
                409, "Something was published from this page before. Nothing more was published now: "
                "“Prepare another release” on the page of the release leads back to the choices.",
            )  # fmt: skip
        if "going" not in known:
            known["going"] = _work(pages, session, wanted)
            known.pop("papers", None)
    return pages.to(session, "release")


def _shown(session: Any) -> str:
    """Return a mark of all that would be published but for the ticks, which the page that shows it sends back."""
    made = asked.request(session, asked.Form(), None)
    text = json.dumps(made.to_dict(strict=False)) + session.choices["data"]["path"]
    return hashlib.sha256(text.encode()).hexdigest()


def _work(pages: Any, session: Any, form: asked.Form) -> dict[str, Any]:
    """Return the work that was asked for by the click, whatever is chosen afterwards: what to call and with what."""
    known = session.choices
    out = session.folder / secrets.token_hex(4)  # every release has a folder of its own
    out.mkdir(mode=0o700)
    made = asked.request(session, form, pages.ledger)
    printed = asked.printed(made)
    arguments = {"path": known["data"]["path"], "folder": str(out), "asked": made}
    return {"arguments": arguments, "form": form, "shown": _shown(session), "printed": printed,
            "what": {language: asked.named(session, made, language) for language in languages()}}  # fmt: skip


def answer(pages: Any, request: Any) -> Any:
    """The files, when they are written."""
    session = ready(pages, request)
    known = session.choices
    if "going" not in known:
        raise Refused(409, "Nothing is being published.")
    going = known["going"]
    job = session.job("release", work.release, **going["arguments"])

    def published(found: dict[str, Any]) -> dict[str, Any]:
        if "papers" not in known:
            known["papers"] = found["papers"] | programs.written(
                Path(going["arguments"]["folder"]), going["printed"]["script"]
            )
            done = going["arguments"]["asked"]
            for name, read in (("answers.json", "values"), ("quarters.csv", "quarters")):
                if isinstance(done, Release) and getattr(done, read) is not None:
                    known["papers"][name] = str(getattr(done, read))
        return {"found": found | {"what": going["what"]}, "public": PUBLIC, **going["printed"]}

    response = pages.part(session, "release", job, "_files.html", published)
    if job.over.is_set() and job.error is not None:  # the button is there again
        known.pop("going", None)
        session.forget("release")
    return response


async def take_again(pages: Any, request: Any) -> Any:
    """Go back to the summary; what was published stays published and stays in the ledger."""
    session = ready(pages, request)
    session.choices.pop("going", None)
    if "form" in session.choices:  # whose rows these are is known by now, and said anew where that is wrong
        session.choices["form"] = replace(session.choices["form"], people="")
    session.forget("release", "preview", "asked")
    return pages.to(session, "preview")


ROUTES = [
    ("GET", "release", show),
    ("POST", "release", take),
    ("GET", "release/found", answer),
    ("POST", "again", take_again),
]

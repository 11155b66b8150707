"""Step 5: what will be published and what it adds up to; one click writes the files."""

import json
from typing import Any

from divulge.app import work
from divulge.app.guard import Refused
from divulge.app.steps import how
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
    context |= {"others": others, "command": command(session), "script": script(session)}
    return pages.page("release.html", session, "release", **context)


async def take(pages: Any, request: Any) -> Any:
    """Begin the release; a second click does not begin a second one."""
    session = ready(pages, request)
    known = session.choices
    async with request.form() as form:
        ending = str(form.get("format", "csv"))
        if ending not in FORMATS:
            raise Refused(400, "Choose one of the formats.")
        keep = [
            c["name"]
            for c in known["data"]["columns"]
            if c["name"] in form.getlist("keep") and c["name"] != known["secret"]
        ]
        language = "de" if form.get("language") == "de" else "en"
    with session.lock:
        if "going" not in known:
            known["going"] = {"ending": ending, "keep": keep, "language": language}
            known.pop("papers", None)
    return pages.to(session, "release")


def found(pages: Any, request: Any) -> Any:
    """The files, when they are written."""
    session = ready(pages, request)
    known = session.choices
    if "going" not in known:
        raise Refused(409, "Nothing is being published.")
    going = known["going"]
    out = session.folder / "out"
    out.mkdir(mode=0o700, exist_ok=True)
    if known["how"]["way"] == "table":
        target = str(out / f"statistics.{going['ending']}")
        job = session.job("release", work.publish, ledger=pages.ledger, **how.statistics(session, target))
    else:
        choice = how.options(session, known["how"]["way"], known["aim"]) | {
            "keep": going["keep"],
            "language": going["language"],
        }
        target = str(out / f"{known['secret'] if known['secret'].isalnum() else 'column'}_perturbed.{going['ending']}")
        job = session.job(
            "release",
            work.release,
            path=known["data"]["path"],
            out=target,
            name=known["data"]["name"],
            ledger=pages.ledger,
            choice=choice,
        )

    def published(found: dict[str, Any]) -> dict[str, Any]:
        if "papers" not in known:
            known["papers"] = found["papers"] | _programs(session)
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


def command(session: Any) -> str:
    """Return the release as a command."""
    known = session.choices
    name = _quoted(known["data"]["name"])
    if known["how"]["way"] == "table":
        columns = ",".join([known["secret"], *known["how"]["by"]])
        promise = f"dp={known['how']['epsilon']:g}"
        mean = known["how"]["mean"]
        more = f" --mean {_quoted(f'{mean[0]}:{mean[1]:g}:{mean[2]:g}')}" if mean else ""
        asked = f"--count {_quoted(columns)}{more} --values-from-data --guarantee {promise}"
        return f"divulge publish {name} {asked} -o statistics.csv"
    choice = how.options(session, known["how"]["way"], known["aim"])
    words = [f"divulge release {name} --column {_quoted(choice['column'])}"]
    words += [
        f"--{key.replace('_', '-')} {_quoted(str(choice[key]))}"
        for key in ("guarantee", "mechanism", "epsilon", "purpose", "prior")
        if key in choice
    ]
    words += ["--prior-from-data"] if choice.get("prior_from_data") else []
    return " ".join([*words, "-o perturbed.csv"])


def script(session: Any) -> str:
    """Return the release as a Python program."""
    known = session.choices
    table = "dv.datasets.census_path()" if known["data"]["name"] == "census.parquet" else repr(known["data"]["name"])
    if known["how"]["way"] == "table":
        columns = ", ".join(map(repr, [known["secret"], *known["how"]["by"]]))
        mean = known["how"]["mean"]
        more = f", dv.Mean({mean[0]!r}, bounds=({mean[1]!r}, {mean[2]!r}))" if mean else ""
        return (
            "import divulge as dv\n\n"
            f"found = dv.publish(\n    {table},\n    [dv.Count({columns}){more}],\n"
            f"    guarantee='dp={known['how']['epsilon']:g}',\n    values_from_data=True,\n"
            "    sink='statistics.csv',\n)\nprint(found)\n"
        )
    choice = how.options(session, known["how"]["way"], known["aim"])
    arguments = "".join(f"    {key}={value!r},\n" for key, value in choice.items())
    return (
        f'import divulge as dv\n\nreceipt = dv.release(\n    {table},\n    "perturbed.csv",\n{arguments})\n'
        'print(receipt)\nprint(dv.estimate_frequencies("perturbed.csv", receipt))\n'
    )


def notebook(session: Any) -> str:
    """Return the program as a notebook of one cell a step."""
    parts = script(session).split("\n\n", 1)
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell{i}",
            "metadata": {},
            "outputs": [],
            "source": part.splitlines(True),
        }
        for i, part in enumerate(parts)
    ]
    return json.dumps(
        {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5},
        indent=1,
    )


def _programs(session: Any) -> dict[str, str]:
    """Write the program and the notebook; return where."""
    written: dict[str, str] = {}
    for kind, name, text in (
        ("script", "release.py", script(session)),
        ("notebook", "release.ipynb", notebook(session)),
    ):
        path = session.folder / "out" / name
        path.write_text(text, encoding="utf-8")
        written[kind] = str(path)
    return written


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


ROUTES = [
    ("GET", "release", show),
    ("POST", "release", take),
    ("GET", "release/found", found),
    ("POST", "again", take_again),
]

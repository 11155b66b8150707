"""Step 4: what a receiver would see, beside the truth; nothing is spent."""

from functools import partial
from typing import Any

from divulge.app import figures, work
from divulge.app.guard import Refused
from divulge.app.sessions import OWN, Session
from divulge.app.steps import how, table
from divulge.app.words import filled
from divulge.model.shown import named
from divulge.reporting.statements.voice import Voice


def ready(pages: Any, request: Any) -> Session:
    """Return the session once everything is chosen."""
    session = pages.session(request)
    if "how" not in session.choices:
        raise Refused(409, "Choose a way first.")
    return session


def show(pages: Any, request: Any) -> Any:
    """The page; some ways have their own from the choice on."""
    if (way := ready(pages, request).choices["how"]["way"]) in OWN:
        return pages.to(pages.session(request), way)
    return pages.page("preview.html", ready(pages, request), "preview")


def answer(pages: Any, request: Any) -> Any:
    """The preview of the way that was chosen."""
    session = ready(pages, request)
    known = session.choices
    if known["how"]["way"] in OWN:
        raise Refused(409, "Choose a way first.")
    if known["how"]["way"] == "table":
        job = session.job("preview", work.simulate_statistics, **table.simulated(session))
        return pages.part(
            session, "preview", job, "_table_preview.html", partial(statistics, language=session.language)
        )
    wanted = how.options(session, known["how"]["way"], known["aim"])
    job = session.job("preview", work.simulate, path=known["data"]["path"], choice=wanted)
    several = "person" in known.get("whose", {})
    return pages.part(session, "preview", job, "_preview.html", partial(pictured, several=several))


def pictured(found: dict[str, Any], several: bool) -> dict[str, Any]:
    """Return the result with its picture: of people, or of rows where people may have several."""
    figure = figures.estimates(found["values"], "rows" if several else "people")
    return {"found": found, "figure": figure, "several": several}


PICTURED = 30
"""So many groups are drawn."""


def statistics(found: dict[str, Any], language: str = "en") -> dict[str, Any]:
    """Return the simulated statistics by what they are, small groups first, with a picture of the first kind."""
    say = partial(filled, language)
    kinds: dict[str, list[dict[str, Any]]] = {}
    for one in found["statistics"]:
        of = say(" of {1}", one["column"]) if "column" in one else ""
        at = say(" at {1}", Voice(language).numeral(str(one["at"]))) if "at" in one else ""
        by = say(" by {1}", say(" and ").join(one["by"])) if one["by"] else ""
        name = ", ".join(map(named, one["by"].values())) if one["by"] else say("all rows")
        kinds.setdefault(f"{say(one['statistic'])}{of}{at}{by}", []).append(one | {"name": name})
    for rows in kinds.values():
        rows.sort(key=lambda one: (one["true"] or 0) if one["statistic"] == "count" else 0)
    first = [one for one in next(iter(kinds.values())) if one["value"] is not None and one["true"] is not None]
    blank = sum(one["value"] is None for one in found["statistics"])
    return {"found": found, "kinds": kinds, "figure": figures.statistics(first[:PICTURED]), "pictured": PICTURED,
            "blank": blank}  # fmt: skip


ROUTES = [("GET", "preview", show), ("GET", "preview/found", answer)]

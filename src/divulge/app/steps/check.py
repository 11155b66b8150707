"""Step 6: what others released: a receipt read aloud, pairs audited, two mechanisms compared."""

from typing import Any

from divulge.app import work
from divulge.app.guard import Refused
from divulge.app.uploads import kept


def show(pages: Any, request: Any) -> Any:
    """The page: one form a question."""
    session = pages.session(request)
    return pages.page("check.html", session, "check")


async def _kept(session: Any, form: Any, field: str) -> str:
    file = form.get(field)
    if file is None or not getattr(file, "filename", ""):
        raise Refused(400, "Choose a file for each field.")
    return str(await kept(session, file))


async def take_audit(pages: Any, request: Any) -> Any:
    """Audit two columns of a table: one holds the truth, the other what was released."""
    session = pages.session(request)
    async with request.form(max_files=1, max_fields=8) as form:
        path = await _kept(session, form, "file")
        asked = {key: str(form.get(key, "")).strip() for key in ("secret", "released", "claim")}
    session.choices["check"] = {
        "function": "audit",
        "arguments": {
            "path": path,
            "secret": asked["secret"],
            "released": asked["released"],
            "claim": asked["claim"] or None,
        },
    }
    return pages.to(session, "check")


async def take_receipt(pages: Any, request: Any) -> Any:
    """Read a receipt: the statement and the report that it stands for."""
    session = pages.session(request)
    async with request.form(max_files=1, max_fields=8) as form:
        path = await _kept(session, form, "file")
    session.choices["check"] = {"function": "report", "arguments": {"path": path, "into": f"{path}.html"}}
    return pages.to(session, "check")


async def take_compare(pages: Any, request: Any) -> Any:
    """Compare two mechanisms."""
    session = pages.session(request)
    async with request.form(max_files=2, max_fields=8) as form:
        paths = [await _kept(session, form, field) for field in ("first", "second")]
    session.choices["check"] = {"function": "compare", "arguments": dict(zip(("first", "second"), paths, strict=True))}
    return pages.to(session, "check")


def answer(pages: Any, request: Any) -> Any:
    """The answer to what was asked last."""
    session = pages.session(request)
    asked = session.choices.get("check")
    if asked is None:
        raise Refused(409, "Choose what to check first.")
    job = session.job("check", getattr(work, asked["function"]), **asked["arguments"])

    def kept(found: Any) -> dict[str, Any]:
        if asked["function"] == "report":
            session.choices.setdefault("papers", {})["checked"] = found
        return {"found": found}

    return pages.part(session, "check", job, f"_check_{asked['function']}.html", kept)


ROUTES = [
    ("GET", "check", show),
    ("POST", "check/audit", take_audit),
    ("POST", "check/receipt", take_receipt),
    ("POST", "check/compare", take_compare),
    ("GET", "check/found", answer),
]

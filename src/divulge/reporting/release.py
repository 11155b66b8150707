"""The papers of a release: codebook, statement and receipt for everybody, and the record of the keeper."""

import json
from collections.abc import Callable, Mapping
from datetime import date, time, timedelta
from secrets import token_hex
from typing import Any

from divulge.model.prior import Prior
from divulge.model.shown import printable_json
from divulge.releasing.column import Release
from divulge.releasing.planning.choosing import Chosen
from divulge.releasing.planning.naming import str_of
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.reports.making import report
from divulge.reporting.reports.report import Report
from divulge.reporting.statements import codebook
from divulge.reporting.statements.statement import statement
from divulge.reporting.statements.voice import Voice

KEEPER = "divulge keeper 1"
_NOTE = "For the keeper of the source only: this file holds exact counts of it."


def papers(request: Release) -> Callable[[Receipt, Chosen], Mapping[str, bytes]]:
    """Return what writes the papers of a release, by the end of their names, as the request wants them."""
    Voice(request.language)

    def made(receipt: Receipt, chosen: Chosen) -> Mapping[str, bytes]:
        return written(receipt, chosen, request)

    return made


def written(receipt: Receipt, chosen: Chosen, request: Release) -> dict[str, bytes]:
    """Return the papers of a release, by the end of their names."""
    language = request.language
    said = statement(receipt, language)
    return {
        "codebook.json": codebook.as_json(receipt, language),
        "codebook.md": codebook.as_markdown(receipt, language),
        "statement.html": said.html().encode(),
        "statement.txt": said.text().encode(),
        "keeper.json": keeper(receipt, chosen, request),
        "receipt.json": receipt.to_json(),
    }


def keeper(receipt: Receipt, chosen: Chosen, request: Release) -> bytes:
    """Return the record that only the keeper of the source may see: counts, the whole receipt, and the report."""
    counts, place = chosen.counts, token_hex(16)  # where the receipt will stand, which is JSON already
    found: dict[str, Any] = {
        "format": KEEPER,
        "note": _NOTE,
        "counts": None if not counts else [{"value": str_of(x), "count": n} for x, n in counts.items()],
        "receipt": place,
        "request": request.to_dict(strict=False),
        "for_the_keeper": list(chosen.private),
    }
    about = full_report(receipt, chosen)
    found["report"] = None if about is None else about.to_dict()
    written = json.dumps(_as_json(found), ensure_ascii=False, allow_nan=False)
    whole = written.replace(f'"{place}"', receipt.to_json(keeper=True).decode().strip(), 1)
    return (printable_json(whole) + "\n").encode()


def full_report(receipt: Receipt, chosen: Chosen) -> Report | None:
    """Return the whole report, under the shares as counted; none of a release with several mechanisms."""
    if not chosen.counts or len(receipt.mechanisms) != 1:
        return None
    known = {str_of(x): n for x, n in chosen.counts.items()}
    secrets = receipt.matrix_of(receipt.columns).channel.secrets
    shares = [known.get(str_of(x), 0) for x in secrets]
    if not sum(shares):
        return None
    prior = Prior.from_counts(shares, list(secrets))
    return report(receipt, prior=prior, prior_source="counted from the released column itself")


_WRITTEN = {str, int, bool, type(None)}
"""What JSON holds as it is; a matrix has a million whole numbers."""


def _as_json(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (list, tuple)):
        return value if set(map(type, value)) <= _WRITTEN else [_as_json(item) for item in value]
    if hasattr(value, "tolist"):
        return _as_json(value.tolist())
    if isinstance(value, (date, time, timedelta)):
        return str_of(value)
    number = float(value)
    return number if abs(number) < float("inf") else str(number)

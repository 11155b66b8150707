"""Lists of the answers that there can be: typed on a page, or of a file, such as a codebook that was paid for."""

import json
import secrets
from pathlib import Path
from typing import Any

from divulge.app.guard import Refused
from divulge.app.sessions import Session
from divulge.app.uploads import kept
from divulge.releasing.planning.listed import bought, read_values, taken

ENDINGS = (".json", ".csv", ".txt")
MOST_BYTES = 20_000_000
"""Of a file with a list: longer lists would not be lists of answers that people gave."""


def typed(form: Any, most: int) -> list[str]:
    """Return the answers that a form holds, one a line."""
    listed = list(dict.fromkeys(filter(None, map(str.strip, str(form.get("typed", "")).splitlines()))))
    if not 2 <= len(listed) <= most:
        raise Refused(400, f"Write the answers that there can be, one a line: from 2 to {most:,}.")
    return listed


def written(session: Session, column: str, listed: list[str]) -> Path:
    """Write a list of answers to a file of the session, as a request reads it."""
    path = _folder(session) / "answers.json"
    path.write_text(json.dumps({column: listed}, ensure_ascii=False), encoding="utf-8")
    return path


async def uploaded(session: Session, file: Any, column: str, most: int) -> dict[str, Any] | None:
    """Keep a file with a list of answers of a column; return where it is, and what it says, None without a file.

    What the list was paid with is `bought`; `taken` whether it is of a codebook whose list was taken from its table.
    """
    if not getattr(file, "filename", ""):
        return None
    if not str(file.filename).lower().endswith(ENDINGS) or (file.size or 0) > MOST_BYTES:
        raise Refused(400, "A list of answers is a codebook (.codebook.json), or a file that ends in .json, .csv or "
                           ".txt, of 20 MB at most.")  # fmt: skip
    path = await kept(session, file)
    lists = read_values(path, column)
    if column not in lists:
        raise Refused(400, f"The file has no list of the answers of “{column}”.")
    listed = [str(one) for one in lists[column]]
    if not 2 <= len(listed) <= most:
        raise Refused(400, f"The list of “{column}” has {len(listed):,} answers: from 2 to {most:,} can be taken.")
    return {"path": str(path), "file": path.name, "listed": listed, "bought": bought(lists, [column]),
            "taken": taken(lists, [column])}  # fmt: skip


def _folder(session: Session) -> Path:
    """Return a new folder of the session."""
    path = session.folder / secrets.token_hex(4)
    path.mkdir(mode=0o700)
    return path

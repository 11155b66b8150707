"""Files that visitors send, kept in the folder of their session."""

import secrets
from pathlib import Path
from typing import Any

from divulge.app.guard import Refused
from divulge.app.sessions import Session
from divulge.model.shown import printable


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

"""One file that holds all that a release gives to everybody, and nothing of what is the keeper's."""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from divulge.errors import DivulgeError, printable
from divulge.files.opening import files_below, name_of, refuse_taken, replacing
from divulge.releasing.session import address_of


def require_archive(path: Any, sink: Any, force: bool) -> None:
    """Refuse an archive that cannot be written, before anything is drawn."""
    if path is None:
        return
    if sink is None:
        raise DivulgeError.of("archive", "go with an output", "sink", "absent")
    if address_of(sink) is not None:
        raise DivulgeError.of("archive", "go with an output on this machine", "sink", "an address")
    if Path(path).suffix.lower() != ".zip":
        raise DivulgeError.of("archive", "end in .zip", "it", repr(Path(path).name))
    if not Path(path).absolute().parent.is_dir():
        folder = name_of(Path(path).absolute().parent)
        raise DivulgeError(f"{name_of(path)}: must be in a folder that exists; there is no {folder!r}.")
    refuse_taken(Path(path), force)


def archived(path: str | os.PathLike[str], papers: Mapping[str, Path], *, force: bool = False) -> str | None:
    """Write the public files into an archive, whole or not at all; return why not, if that failed.

    By then they are published: what is missing is only the archive.
    """
    public = [file for kind, file in papers.items() if not kind.startswith("keeper")]
    try:
        with replacing(path, force=force) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in public:
                for part in files_below(file) if file.is_dir() else [file]:
                    if part.is_file():
                        archive.write(part, part.relative_to(file.parent))
    except (OSError, DivulgeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return f"The files are published, but not the archive {printable(Path(path).name)}: {why}."
    return None

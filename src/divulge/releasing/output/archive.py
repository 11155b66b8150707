"""One file that holds all that a release gives to everybody, and nothing of what is the keeper's."""

import os
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from divulge.children import private_folder
from divulge.errors import DivulgeError, printable
from divulge.files.opening import files_below, name_of, refuse_taken, replacing
from divulge.files.settings import current
from divulge.late import late
from divulge.releasing.session import Address, address_of, table_of


def require_archive(path: Any, sink: Any, force: bool) -> None:
    """Refuse an archive that cannot be written, before anything is drawn."""
    if path is None:
        return
    if sink is None:
        raise DivulgeError.of("archive", "go with an output", "sink", "absent")
    if table_of(sink) is not None:
        current().tell("The archive has the papers alone: the rows are in the table of the catalog.")
    if Path(path).suffix.lower() != ".zip":
        raise DivulgeError.of("archive", "end in .zip", "it", repr(Path(path).name))
    if (there := address_of(path)) is not None:
        late("divulge.releasing.output.hadoop:require_free")(there, force)
        return
    if not Path(path).absolute().parent.is_dir():
        folder = name_of(Path(path).absolute().parent)
        raise DivulgeError(f"{name_of(path)}: must be in a folder that exists; there is no {folder!r}.")
    refuse_taken(Path(path), force)


def archived(path: str | os.PathLike[str], papers: Mapping[str, Any], *, force: bool = False) -> str | None:
    """Write the public files into an archive, whole or not at all; return why not, if that failed.

    By then they are published: what is missing is only the archive. A table of a catalog is no file.
    """
    public = [file for kind, file in papers.items() if not (kind.startswith("keeper") or table_of(file))]
    at_address = address_of(path)
    try:
        with ExitStack() as stack:
            folder = stack.enter_context(private_folder("archive")) if any(map(_is_away, [path, *public])) else Path()
            here = [_here(file, folder) for file in public]
            made = Path(path) if at_address is None else folder / Address(at_address).name
            with replacing(made, force=force) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in here:
                    for part in files_below(file) if file.is_dir() else [file]:
                        if part.is_file():
                            archive.write(part, part.relative_to(file.parent))
            if at_address is not None:
                late("divulge.releasing.output.hadoop:to_address")(made, at_address, force)
    except (OSError, DivulgeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return f"The files are published, but not the archive {printable(Path(path).name)}: {why}."
    return None


def _is_away(file: Any) -> bool:
    return address_of(os.fspath(file)) is not None


def _here(file: Any, folder: Path) -> Path:
    """Return a file on this machine, to which one at an address is copied."""
    there = address_of(os.fspath(file))
    return Path(file) if there is None else late("divulge.releasing.output.hadoop:to_this_machine")(there, folder)

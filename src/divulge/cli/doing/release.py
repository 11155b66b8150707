"""`divulge release`: a column of a table out of the door, through a mechanism, with its papers."""

from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from divulge.cli.common import emit, note, say, watched_rows
from divulge.cli.doing.ledger import default_ledger
from divulge.cli.doing.run import NoLedgerOption, SaveOption, save
from divulge.cli.fields import with_fields
from divulge.cli.options import JsonOption
from divulge.errors import DivulgeError, number_of
from divulge.files.opening import name_of, refuse_taken
from divulge.units import levels_in, nats_per

_WIDTH = 88
"""Characters of a line of what is said of a release, as of the statement that is written beside it."""


@with_fields("release")
def command(
    typed: dict[str, Any],
    preview: Annotated[
        bool, typer.Option("--preview", help="Tell how good it would be, at three levels; draw and spend nothing.")
    ] = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="C", help="With --preview: the same for each value of this column.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="With --preview: draw it to .png, .svg or .pdf.")
    ] = None,
    no_ledger: NoLedgerOption = False,
    save_request: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release a column of a table through a mechanism, with all that belongs beside it; print what is guaranteed.

    Every value is replaced by a fresh draw from its row of the mechanism, exactly and from a cryptographic stream. The
    output appears under its name when it is complete; beside it stand its codebook, a statement for the public and a
    receipt, and the record of the keeper, which is for nobody else. The release is recorded in the ledger.
    """
    from divulge.releasing.preview import foresee
    from divulge.releasing.request import Request

    force = typed.get("force", False)
    if not preview:
        typed["ledger"] = None if no_ledger else default_ledger(typed.get("ledger"))
    request = Request.of("release", **typed)
    saved = save(request, save_request, force)
    if preview:
        if picture is not None:
            refuse_taken(picture, force)
        _show(foresee(request, by=by), request.unit, picture, force, as_json)
        return
    if by is not None or picture is not None:
        raise DivulgeError("`--by` and `--picture` must come with --preview.")
    if request.sink is not None:
        carry_out(request, as_json)
    elif not saved:
        raise DivulgeError.of("--output", "be given, or --preview", "it", "absent")


def carry_out(request: Any, as_json: bool) -> None:
    """Release what is asked, and tell what came of it."""
    from divulge.releasing.request import run

    with watched_rows() as progress:
        done = run(request, progress=progress, warn=note)
    _tell(done, request.unit, as_json, request.language)


def _tell(done: Any, unit: Any, as_json: bool, language: str) -> None:
    from divulge.model.shown import promised
    from divulge.reporting.statements.statement import statement

    scale = nats_per(unit)
    levels = {kind: value / scale for kind, value in done.guarantees.items()}
    if as_json:
        emit({
            "rows": done.rows, "columns": list(done.columns), "released_as": list(done.released_as),
            "guarantees": levels, "unit": unit, "prior_source": done.mechanisms[0].prior_source,
            "purpose": done.purpose, "output": str(done.papers["table"]), "receipt": str(done.papers["receipt.json"]),
            "files": {name: str(path) for name, path in done.papers.items()},
            "together": _in(done.together, unit), "untouched": list(done.untouched),
            "protects": dict(done.protects), "about": _about(done.about, scale), "warnings": list(done.warnings),
        })  # fmt: skip
        return
    say(f"{number_of(done.rows, 'row')} of {', '.join(map(repr, done.columns))} released as "
        f"{', '.join(map(repr, done.released_as))}")  # fmt: skip
    if done.about is not None:
        what = done.about["variable"] or "what is protected"
        parts = _about(done.about, scale)["guarantees"].items()
        said = ", ".join(f"{kind} {one if one == 'inf' else promised(one)}" for kind, one in parts)
        say(f"guarantee about {what}: {said} {unit}")
    head = "guarantee: " if done.about is None else "of the column itself: "
    say(head + ", ".join(f"{kind} {promised(value)}" for kind, value in levels.items()) + f" {unit}")
    for text in statement(done, language).lead:
        say(fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  "))
    say("files:")
    for name, path in done.papers.items():
        kept = "  (for the keeper only: exact counts; readable by you alone)" if "keeper" in name else ""
        say(f"  {name_of(path)}{kept}")


def _about(found: Any, scale: float) -> Any:
    """Return what is said of a protected variable, in another unit."""
    if found is None:
        return None
    part = {name: one if one == "inf" else one / scale for name, one in found["guarantees"].items()}
    off = [{**one, "pml": one["pml"] if one["pml"] == "inf" else one["pml"] / scale} for one in found["off"]]
    always = found["always"] if found["always"] == "inf" else found["always"] / scale
    return {**found, "guarantees": part, "off": off, "always": always}


def _in(together: Any, unit: str) -> Any:
    """Return what releases add up to, its guarantees in another unit."""
    if together is None:
        return None
    return {**together, "guarantees": levels_in(together["guarantees"], unit)}


def _show(found: Any, unit: Any, picture: Path | None, force: bool, as_json: bool) -> None:
    """Print a preview."""
    from divulge.cli.common import draw

    if picture is not None:
        draw(found, picture, force=force, private=True)
    if as_json:
        emit(found.to_dict(unit))
    else:
        say(found.text())
        if unit != "nats":
            note(f"note: epsilons are in {unit}.")

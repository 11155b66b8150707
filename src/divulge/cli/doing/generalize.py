"""`divulge generalize`: coarsen a table as little as guarantees allow, with proof and papers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.asking.assess import columns_and_files
from divulge.cli.common import TABLE_HELP, EngineOption, ForceOption, JsonOption, emit, note, print_table, say, upper
from divulge.cli.names import names_between_commas
from divulge.errors import number_of, printable
from divulge.model.shown import named


def command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP)],
    known: Annotated[str, typer.Option("--known", metavar="COLS", help="Columns that people may know: a,b,c.")],
    guarantee: Annotated[
        list[str],
        typer.Option("--guarantee", metavar="GUARANTEE", help="k=5, t=0.2, distinct-l=3, pml=1; may be repeated."),
    ],
    secret: Annotated[
        str | None, typer.Option("--secret", metavar="COLS", help="The sensitive columns, with commas between.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy", metavar="COL=FILE", help="How a column is coarsened, as ARX writes it; else guessed."
        ),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="entropy, granularity, discernibility, class-size, mutual-information or information.", metavar="LOSS"
        ),
    ] = "entropy",
    suppress: Annotated[
        str, typer.Option("--suppress", metavar="SHARE", help="The share of rows that may lose all known columns.")
    ] = "0",
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="The table; papers stand beside it.")
    ] = None,
    force: ForceOption = False,
    engine: EngineOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Coarsen the known columns of a table as little as guarantees allow: the optimum, with a certificate.

    With -o the table goes out with codebook, statement and receipt; the certificate is in a record for the keeper.
    Known and sensitive columns go out, no others, in the order of their values.
    """
    import divulge as dv
    from divulge.tables.papers import save

    found: Any = dv.generalize(
        table, names_between_commas(known, "--known"),
        None if secret is None else names_between_commas(secret, "--secret"), guarantees=guarantee,
        hierarchies=columns_and_files(hierarchy or []), loss=loss, suppress=suppress, engine=engine,
    )  # fmt: skip
    written = {} if out is None else save(found, out, source=table, force=force)
    if as_json:
        emit(found.to_dict() | ({"written": written} if written else {}))
        return
    _print(found)
    for line in found.notes:
        note(f"note: {line}")
    if written:
        say(f"for the keeper alone: {Path(written['keeper.json']).name}; public: the table, codebook, statement and "
            "receipt beside it")  # fmt: skip


def _print(found: Any) -> None:
    proof, told = found.certificate, found.assessment
    rows = [[name, level, found.hierarchies[name].height, found.hierarchies[name].kind]
            for name, level in found.levels.items()]  # fmt: skip
    asked = ", ".join(map(str, found.guarantees))
    print_table(
        f"{number_of(told.rows, 'row')} under {asked}", ["column", "level", "of", "hierarchy"], rows, left=(0, 3)
    )
    say(f"loss: {found.loss:,.6f} ({found.title}); no other of {proof.nodes:,} nodes loses less")
    say(f"  {len(proof.infeasible):,} nodes fail, and so does all below them; {proof.visited:,} were counted")
    say(f"k {told.k:,}, {number_of(told.groups, 'group')}; {number_of(found.suppressed, 'row')} suppressed")
    if told.secret:
        worst = told.worst
        group = ", ".join(f"{printable(name)} {named(value)}" for name, value in worst.group.items())
        say(f"largest lift {upper(told.lift)}: {named(worst.value)} in the group {group}")

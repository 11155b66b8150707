"""`divulge publish`: counts, sums, means and quantiles of a table out of the door, with noise."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge import staging, stopping
from divulge.cli.common import emit, note, print_table, say, watched_rows
from divulge.cli.doing.ledger import default_ledger
from divulge.cli.doing.run import NoLedgerOption, SaveOption, save
from divulge.cli.fields import with_fields
from divulge.cli.names import names_between_commas
from divulge.cli.options import JsonOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError, number_of
from divulge.model.shown import promised, reached

Several = list[str] | None


@dataclass(frozen=True)
class Statistics:
    """What is published of which columns."""

    count: Annotated[
        Several,
        typer.Option(
            "--count",
            metavar="C,C",
            help="Rows by columns; may be repeated, as the others. A name with a comma stands in quotation marks.",
        ),
    ] = None
    count_people: Annotated[
        Several, typer.Option("--count-people", metavar="C,C", help="People by columns, each once; with --person.")
    ] = None
    sums: Annotated[Several, typer.Option("--sum", metavar="C:LOW:HIGH[:STEP]", help="The sum of a column.")] = None
    mean: Annotated[Several, typer.Option("--mean", metavar="C:LOW:HIGH[:STEP]", help="The mean of a column.")] = None
    variance: Annotated[Several, typer.Option("--variance", metavar="C:LOW:HIGH[:STEP]", help="Its variance.")] = None
    quantiles: Annotated[
        Several, typer.Option("--quantiles", metavar="C:LOW:HIGH:P,P[:STEP]", help="Values below which shares lie.")
    ] = None
    proportion: Annotated[
        Several, typer.Option("--proportion", metavar="C:VALUE", help="The share of rows with a value.")
    ] = None
    by: Annotated[
        str, typer.Option("--by", metavar="C,C", help="Columns that group sums, means, variances, quantiles, shares.")
    ] = ""

    def parsed(self, table: str, decimal: str | None) -> list[Any]:
        """Return the statistics of a table."""
        from divulge.publishing.statistics import Count, People, Proportion, parse_numeric

        groups = names_between_commas(self.by, "--by")
        found: list[Any] = [Count(*names_between_commas(names, "--count")) for names in self.count or []]
        found += [People(*names_between_commas(names, "--count-people")) for names in self.count_people or []]
        numeric = {"sum": self.sums, "mean": self.mean, "variance": self.variance, "quantiles": self.quantiles}
        for kind, texts in numeric.items():
            found += [parse_numeric(kind, text, groups, decimal) for text in texts or []]
        for text in self.proportion or []:
            column, value = _column_and_value(text, table)
            found.append(Proportion(column, value, groups))
        if not found:
            raise DivulgeError(
                "one of --count, --count-people, --sum, --mean, --variance, --quantiles, --proportion must be given; "
                "none is."
            )
        return found


@with_fields("publish", without=("statistics",))
@with_records
def command(
    typed: dict[str, Any],
    statistics: Statistics,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="TABLE2", help="Publish nothing: write --runs on both tables, for divulge audit."
        ),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="With --against: so many on each table.")] = 10_000,
    no_ledger: NoLedgerOption = False,
    save_request: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish statistics of a table with noise: the table, a codebook, a statement in plain words, a receipt, a
    record for the keeper.

    Intervals hold all true numbers together. The release is recorded in the ledger before anything is drawn.

    With --against a neighboring table nothing is published: what `divulge audit --secret table --released outcome`
    needs to test the claim is written, which runs on either table show; these rows are not for the public.
    """
    from divulge.releasing.request import Request

    if against is None:
        typed["ledger"] = None if no_ledger else default_ledger(typed.get("ledger"))
    asked = statistics.parsed(typed["source"], typed.get("decimal"))
    typed["split"] = _split(typed["split"])
    request: Any = Request.of("publish", statistics=asked, **typed)
    saved = save(request, save_request, request.force)
    if against is not None:
        _compare(request, against, runs)
    elif request.sink is not None or not saved:
        carry_out(request, as_json)


def carry_out(request: Any, as_json: bool) -> None:
    """Publish what is asked, and tell what came of it."""
    from divulge.releasing.request import run

    with watched_rows() as progress:
        done = run(request, progress=progress, warn=note)
    if request.sink is None:
        stopping.ALREADY[:] = [stopping.DRAWN]
    there = {name: str(path) for name, path in done.papers.items()}
    written: dict[str, Any] = {}
    if there:
        written = {
            "output": there["table"], "receipt": there["receipt.json"],
            "codebook": [there["codebook.json"], there["codebook.md"]],
            "statement": [there["statement.html"], there["statement.txt"]],
        }  # fmt: skip
        written |= {"keeper": there["keeper.json"]} if "keeper.json" in there else {}
    if as_json:
        emit({**done.to_dict(request.unit), **written})
        return
    _print(done)
    promised_ = done.to_dict(request.unit)["guarantees"]
    taken = "; the list of values is not covered, as it was taken from a table" if _taken(done) else ""
    promises = ", ".join(_promised(kind, value) for kind, value in promised_.items())
    say(f"guarantee: {promises} {request.unit}{taken}")
    if written:
        keeper = f"for the keeper alone: {Path(written['keeper']).name}; " if "keeper" in written else ""
        say(f"{keeper}public: the table, and codebook, receipt and statement beside it")


def _taken(done: Any) -> bool:
    """Say whether the values that group are those that occur, in this table or in that of an earlier publication."""
    return any(note.name in ("note_from_data", "note_taken") for note in done.notes)


def _compare(request: Any, neighbor: str, runs: int) -> None:
    """Write runs of the publication on the table and on its neighbor."""
    from divulge.auditing.repeated import runs_of
    from divulge.releasing.output import sinks

    if request.sink is None:
        raise DivulgeError.of("--output", "be given with --against", "it", "absent", "the runs are written there.")
    out = Path(request.sink)
    staging.recover(out.parent)
    sinks.refuse_taken(out, request.force, folder=not out.suffix)
    found = runs_of(request, neighbor, times=runs)
    _write(found, out, request.force)
    say(f"{number_of(found.num_rows, 'run')} written, half of them on each table; not for the public: readable by "
        "you alone")  # fmt: skip


def _write(table: Any, out: Path, force: bool) -> None:
    """Write a table under its name, whole or not at all, for its owner alone."""
    from divulge.releasing.output import sinks

    with sinks.staged(out) as temporary, _for_the_owner():
        writer = sinks.writer_for(out)(temporary, table.schema)
        try:
            for batch in table.to_batches():
                writer.write(batch)
        finally:
            writer.close()
        sinks.publish(temporary, out, force)


@contextmanager
def _for_the_owner() -> Generator[None]:
    """Give files and folders that are made meanwhile to their owner alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _print(done: Any) -> None:
    rows = done.statistics()
    shown = rows[:_SHOWN]
    header = ["statistic", *done.by, "value", "low", "high"]
    body = [
        [" ".join(str(row[k]) for k in ("statistic", "column", "at") if k in row),
         *(row["by"].get(name, "") for name in done.by),
         row.get("note") or _cell(row["value"]), _cell(row["low"], reached), _cell(row["high"], promised)]
        for row in shown
    ]  # fmt: skip
    more = f" (the first {_SHOWN} of {len(rows):,})" if len(rows) > _SHOWN else ""
    print_table(f"Intervals hold together with probability {done.level!r}{more}", header, body,
                left=range(1 + len(done.by)))  # fmt: skip


_SHOWN = 40
"""So many rows are printed; all are in the output."""


def _cell(value: Any, rounded: Callable[[Any], str] = "{:.6g}".format) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{float(rounded(value)):,.6g}"


def _promised(kind: str, value: Any) -> str:
    from divulge.publishing.published import promise

    return promise(kind, value)


def _column_and_value(text: str, table: str) -> tuple[str, str]:
    """Return the column and the value of COLUMN:VALUE; both may have colons, and the column is one of the table."""
    ends = [end for end, sign in enumerate(text) if sign == ":" and end]
    if not ends:
        raise DivulgeError.of("--proportion", "be written COLUMN:VALUE", "it", repr(text)[:80])
    end = ends[0]
    if len(ends) > 1 and table != "-":
        from divulge.files import column_names

        known = set(column_names(table))
        end = next((end for end in ends if text[:end] in known), end)
    return text[:end], text[end + 1 :]


def _split(text: str) -> Any:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text

"""`divulge publish`: counts, sums, means and quantiles of a table out of the door, with noise."""

import csv
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli import ALREADY, PUBLISHED
from divulge.cli.common import TABLE_HELP, EngineOption, JsonOption, UnitOption, emit, note, print_table, say
from divulge.cli.doing.ledger import LedgerOption, default_ledger
from divulge.errors import DivulgeError, number_of
from divulge.model.shown import promised, reached

Several = list[str] | None


def command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP)],
    guarantee: Annotated[
        list[str], typer.Option(metavar="GUARANTEE", help="Such as dp=1, adp=1:1e-6, zcdp=0.1, pml=1; may be repeated.")
    ],
    count: Annotated[
        Several,
        typer.Option(
            "--count",
            metavar="C,C",
            help="Rows by columns; may be repeated, as the others. A name with a comma stands in quotation marks.",
        ),
    ] = None,
    sums: Annotated[Several, typer.Option("--sum", metavar="C:LOW:HIGH[:STEP]", help="The sum of a column.")] = None,
    mean: Annotated[Several, typer.Option("--mean", metavar="C:LOW:HIGH[:STEP]", help="The mean of a column.")] = None,
    variance: Annotated[Several, typer.Option("--variance", metavar="C:LOW:HIGH[:STEP]", help="Its variance.")] = None,
    quantiles: Annotated[
        Several, typer.Option("--quantiles", metavar="C:LOW:HIGH:P,P[:STEP]", help="Values below which shares lie.")
    ] = None,
    proportion: Annotated[
        Several, typer.Option("--proportion", metavar="C:VALUE", help="The share of rows with a value.")
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="C,C", help="Columns that group sums, means, variances, quantiles, shares.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="The table; its suffix is its format.")
    ] = None,
    values: Annotated[
        str | None, typer.Option("--values", metavar="FILE", help='JSON {"race": ["White", ...]}, or a codebook.')
    ] = None,
    values_from_data: Annotated[
        bool, typer.Option("--values-from-data", help="Take the values that occur; which ones do is not protected.")
    ] = False,
    null_as: Annotated[
        str | None, typer.Option("--null-as", metavar="LABEL", help="The value that a missing value counts as.")
    ] = None,
    person: Annotated[
        str | None, typer.Option("--person", metavar="C", help="The column that tells whose row it is.")
    ] = None,
    at_most: Annotated[int, typer.Option("--at-most", metavar="K", help="Rows of a person that count.")] = 1,
    neighbors: Annotated[
        str, typer.Option("--neighbors", metavar="replaced|added", help="What may change unseen, one person.")
    ] = "replaced",
    record_prior: Annotated[
        str | None,
        typer.Option("--record-prior", metavar="lower=P|FILE", help="What is known before of a secret of one record."),
    ] = None,
    others: Annotated[
        str, typer.Option("--others", metavar="known|independent", help="What is known of all other records.")
    ] = "known",
    noise: Annotated[
        str | None, typer.Option("--noise", metavar="laplace|gaussian", help="The law of the noise.")
    ] = None,
    split: Annotated[
        str, typer.Option("--split", metavar="RULE|W,W", help="mean-squared, relative, equal, or a weight a query.")
    ] = "mean-squared",
    level: Annotated[float, typer.Option("--level", help="Probability that all intervals hold together.")] = 0.95,
    non_negative: Annotated[bool, typer.Option("--non-negative", help="Raise negative counts to 0.")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Round counts to whole numbers.")] = False,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Move counts so that tables with common columns agree.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    receipt: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the receipt goes.")] = None,
    ledger: LedgerOption = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Do not record this.")] = False,
    budget: Annotated[
        str | None,
        typer.Option(metavar="GUARANTEE", help="What all releases of the table may tell about one record: dp=2."),
    ] = None,
    source_name: Annotated[str | None, typer.Option("--source-name", help="What the ledger calls the table.")] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="TABLE2", help="Publish nothing: write --runs on both tables, for divulge audit."
        ),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="With --against: so many on each table.")] = 10_000,
    engine: EngineOption = "local",
    language: Annotated[str, typer.Option(help="Of the statement: en or de.")] = "en",
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Publish statistics of a table with noise: the table, a statement in plain words, a receipt, a record for the
    keeper.

    Intervals hold all true numbers together. The release is recorded in the ledger before anything is drawn.

    With --against a neighboring table nothing is published: what `divulge audit --secret table --released outcome`
    needs to test the claim is written, which runs on either table show; these rows are not for the public.
    """
    import divulge as dv
    from divulge.publishing.statistics import parse_numeric
    from divulge.releasing.output import sinks
    from divulge.reporting.publish import BESIDE

    book = None if no_ledger else default_ledger(ledger)
    groups = _names(by)
    asked: list[Any] = [dv.Count(*_names(names)) for names in count or []]
    for kind, texts in (("sum", sums), ("mean", mean), ("variance", variance), ("quantiles", quantiles)):
        asked += [parse_numeric(kind, text, groups) for text in texts or []]
    for text in proportion or []:
        column, value = _column_and_value(text, table)
        asked.append(dv.Proportion(column, value, groups))
    if not asked:
        raise DivulgeError(
            "one of --count, --sum, --mean, --variance, --quantiles, --proportion must be given; none is."
        )
    if against is not None:
        if out is None:
            raise DivulgeError.of("--output", "be given with --against", "it", "absent", "the runs are written there.")
        sinks.refuse_taken(out, force, folder=not out.suffix)
        found = dv.repeated_runs(
            table, against, asked, times=runs, guarantee=guarantee, person=person, at_most=at_most,
            neighbors=neighbors, prior=record_prior, values=values, null_as=null_as, noise=noise, split=_split(split),
            engine=engine, unit=unit,
        )  # fmt: skip
        _write(found, out, force)
        say(f"{number_of(found.num_rows, 'run')} written, half of them on each table; not for the public: readable by "
            "you alone")  # fmt: skip
        return
    done = dv.publish(
        table, asked, out, guarantee=guarantee, person=person, at_most=at_most, neighbors=neighbors,
        record_prior=record_prior, others=others, values=values, values_from_data=values_from_data, null_as=null_as,
        noise=noise, split=_split(split), level=level, non_negative=non_negative, whole=whole, consistent=consistent,
        force=force, receipt=receipt, ledger=book, budget=budget,
        source_name=source_name, engine=engine, unit=unit, language=language, warn=note,
    )  # fmt: skip
    ALREADY.append(PUBLISHED)
    written: dict[str, Any] = {}
    if out is not None:
        beside = {end: str(out.with_name(f"{out.stem}.{end}")) for end in BESIDE}
        written = {
            "output": str(out), "receipt": str(receipt or beside["receipt.json"]),
            "statement": [beside["statement.html"], beside["statement.txt"]], "keeper": beside["keeper.json"],
        }  # fmt: skip
    if as_json:
        emit({**done.to_dict(unit), **written})
        return
    _print(done)
    told = done.to_dict(unit)["guarantees"]
    say("guarantee: " + ", ".join(_promised(kind, value) for kind, value in told.items()) + f" {unit}")
    if written:
        say(f"for the keeper alone: {Path(written['keeper']).name}; public: the table, receipt and statement beside it")


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
         _cell(row["value"]), _cell(row["low"], reached), _cell(row["high"], promised)]
        for row in shown
    ]  # fmt: skip
    more = f" (the first {_SHOWN} of {len(rows):,})" if len(rows) > _SHOWN else ""
    print_table(f"Intervals hold together with probability {done.level!r}{more}", header, body,
                left=range(1 + len(done.by)))  # fmt: skip


_SHOWN = 40
"""So many rows are printed; all are in the output."""


def _cell(value: Any, rounded: Callable[[Any], str] = "{:.6g}".format) -> str:
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


def _names(text: str) -> tuple[str, ...]:
    """Return names between commas; one that has a comma itself stands in quotation marks, as in CSV."""
    try:
        names = next(csv.reader([text], skipinitialspace=True), ())
    except csv.Error:
        raise DivulgeError.of("--count", "be names of columns between commas", "it", "something else") from None
    return tuple(name.strip() for name in names if name.strip())


def _split(text: str) -> Any:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text

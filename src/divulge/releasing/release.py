"""From a table and a mechanism to a released table and its receipt."""

import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from divulge import __version__
from divulge.errors import DivulgeError
from divulge.files.opening import keep_apart
from divulge.files.source import Source
from divulge.files.table import open_table, require_utf8
from divulge.guarantees.catalog import as_guarantee
from divulge.releasing import sinks
from divulge.releasing.choosing import COUNTED, MOST_SECRETS, mechanisms_for
from divulge.releasing.counting import EngineName, by_spark
from divulge.releasing.estimate import rank
from divulge.releasing.ledger import Ledger
from divulge.releasing.plan import Faults, Part, Plan
from divulge.releasing.promised import Spent, together
from divulge.releasing.receipt import Mechanism, Receipt, now
from divulge.units import Unit

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Engine:
    """How a plan is carried out: on this machine, or by Spark."""

    source: Source
    run: Callable[[Plan, Path, Progress | None], int]
    """Write the released rows under a temporary name and return how many there are."""
    counted: Any
    """What the prior is counted from."""
    reread: Callable[[Path], Any] | None = None
    """Return the published table, for an engine that needs a sink."""


def release(
    source: Any,
    sink: str | os.PathLike[str] | None = None,
    *,
    column: str | Sequence[str],
    mechanism: Any = None,
    guarantee: Any = None,
    utility: Any = "mutual-information",
    prior: Any = None,
    null_as: Hashable = None,
    only_column: bool = False,
    raise_small: bool = False,
    invertible: bool = False,
    time_limit: float = 60.0,
    force: bool = False,
    receipt: str | os.PathLike[str] | None = None,
    ledger: Any = None,
    budget: Any = None,
    source_name: str | None = None,
    engine: EngineName = "local",
    unit: Unit = "nats",
    progress: Progress | None = None,
    warn: Callable[[str], object] = lambda warning: None,
) -> Receipt:
    """Return the receipt of a release: every value of the column replaced by a fresh draw from its row of a mechanism.

    P(released = y | value = x) = w_xy / 2^53, in whole numbers w, and drawn with exactly these probabilities from a
    cryptographic stream. The rows pass through in batches; the output appears under its name when it is complete.

    Parameters
    ----------
    source : path of a Parquet, CSV or Arrow file or a folder of Parquet files; pandas, polars or pyarrow table;
        PySpark DataFrame
    sink : path, optional
        Its suffix is its format; without a suffix it is a folder of Parquet files. Without a sink the released table is
        `Receipt.table`, of the same library as the source.
    column : name of the sensitive column, or names of several that are one secret together
    mechanism : Channel or what converts to one, Design, or {column: mechanism} for independent ones, optional
        Rows are matched with values by label, as text where the types differ. Labels over several columns are tuples.
    guarantee : Guarantee or text such as "pml=0.5", or several, optional
        Alone: the mechanism is designed for it from the column's own counts, which the receipt says. With a mechanism:
        the mechanism must keep it, exactly.
    utility : what the design maximizes
    prior : Prior, optional
        For the guarantees that need one; without it, and with a mechanism given, the receipt promises ldp alone.
    null_as : label, optional
        The label of the mechanism that stands for a missing value, going in and coming out; without it a missing value
        is refused.
    only_column : bool
        Drop all other columns.
    raise_small : bool
        Raise entries below 2^-53 to 2^-53 instead of refusing the mechanism.
    invertible : bool
        Only release what frequencies can be estimated from. Where the design for a guarantee cannot be inverted, the
        named mechanism under the same guarantee whose estimates vary least takes its place.
    time_limit : float
        Seconds that a design may take; what is found by then is released, and the receipt says what it may lack.
    force : bool
        Replace an output that exists.
    receipt : path, optional
        Beside the output, as NAME.receipt.json, when not given.
    ledger : Ledger, path or URL, optional
        Where the release is recorded; a source in memory then needs `source_name`.
    budget : Guarantee or text, optional
        What all releases of the column may spend together, kept by the ledger.
    source_name : str, optional
        What the ledger calls the source; the path of its file when not given.
    engine : "local" or "spark"
        Spark reads and writes paths that all its workers share; a PySpark DataFrame always takes it.
    unit : "nats" or "bits"
        What the guarantees and the budget are in; the receipt is in nats.
    progress : function of (rows done, rows in all or None), optional
    warn : function of str, optional
        Gets every warning of the receipt before a row is drawn.

    Returns
    -------
    Receipt

    Raises
    ------
    DivulgeError
        Naming column and count, never a value, when a value has no row in the mechanism or is missing; when the
        guarantee does not hold or the budget does not allow it. Nothing is published then.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from divulge import Channel
    >>> survey = pa.table({"answer": ["yes", "no", "no", "no"]})
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    >>> receipt = release(survey, column="answer", mechanism=coin)
    >>> receipt.rows, receipt.guarantees  # log 3, rounded up
    (4, {'ldp': 1.098612288...})
    >>> set(receipt.table["answer"].to_pylist()) <= {"yes", "no"}
    True
    """
    chosen_engine = _engine(source, engine)
    table = chosen_engine.source
    columns = (column,) if isinstance(column, str) else tuple(column)
    if not columns or len(set(columns)) != len(columns):
        raise DivulgeError.of("column", "name one column, or several different ones", "it", repr(column))
    table.require_values(columns)
    table.require_columns([] if only_column else table.schema.names)
    outputs = _outputs(chosen_engine, sink, receipt, ledger, force)
    several = guarantee if isinstance(guarantee, (list, tuple)) else [] if guarantee is None else [guarantee]
    wanted = tuple(as_guarantee(one) for one in several)
    chosen, notes = mechanisms_for(
        chosen_engine.counted, columns, mechanism, wanted, unit, utility, prior, null_as, raise_small, invertible,
        time_limit,
    )  # fmt: skip
    plan = Plan(tuple(Part.of(part, null_as) for part in chosen), table.schema, only_column, table.codable)
    total = together([Spent(m.columns, m.channel, m.prior) for m in chosen], None)
    if len(chosen) == 1:
        total = dict(chosen[0].guarantees)
    made = Receipt(
        mechanisms=tuple(chosen), guarantees=total, rows=0, source=table.name,
        output=None if outputs.sink is None else outputs.sink.name, null_as=null_as, untouched=plan.untouched,
        warnings=(*_warnings(plan), *notes), created=now(), version=__version__,
    )  # fmt: skip
    allowed = None if budget is None else as_guarantee(budget, "budget").read_in(unit, to_keep=True)
    with _recorded(ledger, allowed, table, source_name, made) as entry:
        for warning in made.warnings:
            warn(warning)
        return _carried_out(chosen_engine, plan, made, outputs, force, progress, entry)


@dataclass(frozen=True)
class _Outputs:
    sink: Path | None
    receipt: Path | None


def _outputs(engine: Engine, sink: Any, receipt: Any, ledger: Any, force: bool) -> _Outputs:
    """Return where output and receipt go; refuse what is taken, and two files of the call that are one."""
    source = engine.source
    if engine.reread is not None and (sink is None or Path(sink).suffix not in ("", ".parquet")):
        raise DivulgeError.of("sink", "be a folder of Parquet files, with Spark", "it", repr(sink))
    final = None if sink is None else sinks.place(sink)
    beside = None if final is None else final.with_name(f"{final.stem}.receipt.json")
    paper = beside if receipt is None else sinks.place(receipt)
    book = ledger.url.partition(":///")[2] if isinstance(ledger, Ledger) else ledger
    keep_apart({"sink": final, "receipt": paper, "ledger": book}, {"source": source.path})
    for path in (final, paper):
        if path is None:
            continue
        require_utf8(path)
        if not path.parent.is_dir():
            raise DivulgeError.of("sink", "be in a folder that exists", "its folder", "absent")
        sinks.refuse_taken(path, force)
    if final is not None:
        sinks.writer_for(final)
    return _Outputs(final, paper)


def _engine(source: Any, name: str) -> Engine:
    if by_spark(source, name):
        from divulge.releasing.spark import engine

        return engine(source)
    table = open_table(source)

    def run(plan: Plan, temporary: Path, progress: Progress | None) -> int:
        writer = sinks.writer_for(temporary.with_suffix(""))(temporary, plan.schema)
        return _streamed(plan, table, writer, progress)

    return Engine(table, run, table)


def _streamed(plan: Plan, table: Source, writer: sinks.Writer, progress: Progress | None) -> int:
    """Write every row; when one has no secret, go on to count them all, and refuse."""
    rows, faults = 0, Faults()
    reading = dict.fromkeys([*plan.columns, *plan.protected])
    try:
        for batch in table.batches(list(reading), [*plan.coded, *plan.protected]):
            coded = plan.codes(batch, faults)
            rows += batch.num_rows
            if not faults and batch.num_rows:
                writer.write(plan.released(batch, coded, threads=None))
            if progress is not None:
                progress(rows, table.rows)
    finally:
        writer.close()
    faults.refuse()
    return rows


def _carried_out(
    engine: Engine, plan: Plan, made: Receipt, outputs: _Outputs, force: bool, progress: Progress | None, entry: Any
) -> Receipt:
    """Run the plan and publish: first the receipt, then the output, so that no output is ever without one."""
    if outputs.sink is None:
        writer = sinks.MemoryWriter(plan.schema)
        rows = _streamed(plan, engine.source, writer, progress)
        done = replace(made, rows=rows, table=engine.source.restore(writer.table()))
        entry.publishing()
        if outputs.receipt is not None:
            done.save(outputs.receipt)
        entry.published(done)
        return done
    with sinks.staged(outputs.sink) as temporary:
        rows = engine.run(plan, temporary, progress)
        done = replace(made, rows=rows, digest=sinks.digest(temporary))
        assert outputs.receipt is not None
        with sinks.staged(outputs.receipt) as paper:
            paper.write_bytes(done.to_json())
            entry.publishing()
            sinks.publish(paper, outputs.receipt, force)
            try:
                sinks.publish(temporary, outputs.sink, force)
            except BaseException:
                sinks.remove(outputs.receipt)
                raise
            entry.published(done)
    return done if engine.reread is None else replace(done, table=engine.reread(outputs.sink))


def _recorded(ledger: Any, budget: Any, table: Source, source_name: str | None, made: Receipt) -> Any:
    """Return the context of the ledger's entry; without a ledger, one that does nothing."""
    if ledger is None:
        if budget is not None:
            raise DivulgeError.of("budget", "come with a ledger that keeps it", "it", "alone", "give ledger=PATH.")
        return nullcontext(_Unrecorded())
    if source_name is None:
        if table.path is None:
            raise DivulgeError.of(
                "source_name", "name a source that is no file, for the ledger", "it", "absent",
                "the same table must have the same name every time.",
            )  # fmt: skip
        source_name = str(table.path.resolve())
    return Ledger.of(ledger).spending(source_name, made, budget)


class _Unrecorded:
    def publishing(self) -> None:
        """Keep nothing."""

    def published(self, receipt: Receipt) -> None:
        """Record nothing."""


def _warnings(plan: Plan) -> tuple[str, ...]:
    """Return what the reader of the receipt has to know."""
    said = ["The rows are in the order of the source: whoever knows whose row is where can link what was released."]
    if plan.untouched:
        names = ", ".join(map(repr, plan.untouched))
        said.append(f"These columns went out as they are, and can identify people or tell the secret: {names}.")
    if any(part.mechanism.prior_source == COUNTED for part in plan.parts):
        said.append(f"The prior was {COUNTED}.")
    if len(plan.parts) > 1:
        said.append("The columns were released independently of each other; together they guarantee the sum of ldp.")
    said += [warning for part in plan.parts for warning in _blind(part.mechanism)]
    return tuple(said)


def _blind(mechanism: Mechanism) -> list[str]:
    """Say if frequencies cannot be estimated from what this mechanism releases."""
    n, m = mechanism.channel.shape
    told = min(n, m) if n > MOST_SECRETS else rank(mechanism.channel.weights.astype(float))
    if told >= n:
        return []
    names = ", ".join(map(repr, mechanism.columns))
    return [
        f"How frequent the {n} values of {names} were cannot be estimated from this release: it tells {told} of {n} "
        "combinations of their frequencies. Hint: with invertible=True (--invertible) a guarantee gives a mechanism "
        "that tells all of them; so may a weaker guarantee."
    ]

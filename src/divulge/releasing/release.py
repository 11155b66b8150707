"""From a table and a mechanism to a released table and the papers beside it."""

import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from divulge import __version__
from divulge.errors import DivulgeError
from divulge.files.tables.source import Source
from divulge.files.tables.table import open_table
from divulge.guarantees.catalog import as_guarantee
from divulge.model.labels import text_of
from divulge.releasing.engine import Engine, Progress
from divulge.releasing.estimating.contingency import Tally, counts_of
from divulge.releasing.estimating.counting import EngineName, by_spark
from divulge.releasing.output import sinks
from divulge.releasing.output.places import PAPERS, Places, publish_together, written
from divulge.releasing.planning.choosing import Choice, Chosen, choose, with_counts
from divulge.releasing.planning.plan import Faults, Part, Plan
from divulge.releasing.records.ledger import Ledger
from divulge.releasing.records.promised import together
from divulge.releasing.records.receipt import Receipt, now

Papers = Callable[[Receipt, Chosen], Mapping[str, bytes]]
"""What is written beside a release: {"receipt.json": content, ...}, from the receipt and what the mechanism was chosen
with. Names that begin with "keeper" are for the keeper of the source only, and nobody else may read the file."""


def as_several(guarantee: Any) -> tuple[Any, ...]:
    """Return one or several guarantees, or none, as a tuple of Guarantee."""
    several = guarantee if isinstance(guarantee, (list, tuple)) else [] if guarantee is None else [guarantee]
    return tuple(as_guarantee(one) for one in several)


def as_columns(column: str | Sequence[str]) -> tuple[str, ...]:
    """Return one or several names of columns as a tuple."""
    columns = as_names(column, "column")
    if not columns or len(set(columns)) != len(columns):
        raise DivulgeError.of("column", "name one column, or several different ones", "it", repr(column))
    return columns


def as_names(names: Any, argument: str) -> tuple[str, ...]:
    """Return one or several names as a tuple; refuse what is none."""
    several: Any = (names,) if isinstance(names, str) or not isinstance(names, (list, tuple)) else tuple(names)
    for name in several:
        DivulgeError.unless(name, str, argument, "be a name or a list of names")
    return several


@dataclass(frozen=True)
class Outgoing:
    """How the table goes out: which other columns, under which names, where, and what is on record."""

    keep: Sequence[str] | None = None
    released_as: str | Sequence[str] | None = None
    force: bool = False
    receipt: str | os.PathLike[str] | None = None
    ledger: Any = None
    budget: Any = None
    source_name: str | None = None
    engine: EngineName = "local"
    null_as: Hashable = None

    def names(self, columns: tuple[str, ...]) -> dict[str, str]:
        """Return the name of each protected column in the output: NAME_perturbed, or as asked."""
        if self.released_as is None:
            return {name: f"{name}_perturbed" for name in columns}
        asked = as_names(self.released_as, "released_as")
        if len(asked) != len(columns) or len(set(asked)) != len(asked) or not all(asked):
            raise DivulgeError.of("released_as", f"be a name for each of {len(columns)} columns", "it", repr(asked))
        return dict(zip(columns, asked, strict=True))


def carry_out(
    source: Any,
    sink: str | os.PathLike[str] | None,
    choice: Choice,
    outgoing: Outgoing,
    papers: Papers,
    progress: Progress | None = None,
    warn: Callable[[str], object] = lambda warning: None,
) -> Receipt:
    """Choose the mechanism, record the release, draw, and publish the table with its papers; or nothing of it."""
    engine = _engine(source, outgoing.engine)
    table, columns = engine.source, choice.columns
    table.require_values(columns)
    table.require_columns([*(table.schema.names if outgoing.keep is None else outgoing.keep)])
    if engine.reread is not None and (sink is None or Path(sink).suffix not in ("", ".parquet")):
        raise DivulgeError.of("sink", "be a folder of Parquet files, with Spark", "it", repr(sink))
    outputs = Places.of(
        sink, outgoing.receipt, PAPERS, read={"source": table.path}, ledger=outgoing.ledger, force=outgoing.force
    )  # fmt: skip
    chosen = choose(engine.counted, choice, count=engine.reread is not None)
    plan = Plan(
        tuple(Part.of(part, choice.null_as) for part in chosen.mechanisms), table.schema,
        None if outgoing.keep is None else tuple(outgoing.keep), table.codable, outgoing.names(columns),
    )  # fmt: skip
    for part in plan.parts:
        for column, alphabet in zip(part.columns, part.outcomes.alphabets, strict=True):
            texts = [None if label == choice.null_as else text_of(label) for label in alphabet.labels]
            if any(isinstance(label, float) and math.isinf(label) for label in alphabet.labels):
                raise DivulgeError.of("source", f"hold finite numbers in column {column!r}", "one of them", "infinite")
            alone = len(plan.renamed) == 1 and not plan.untouched
            sinks.refuse_renamed(outputs.table, plan.renamed.get(column, column))
            sinks.refuse_changed(outputs.table, column, texts, table.schema.field(column).type, alone)
    total = together([m.spent for m in chosen.mechanisms], None)
    if len(chosen.mechanisms) == 1:
        total = dict(chosen.mechanisms[0].guarantees)
    total["ldp"] = max(total["ldp"], together([m.spent for m in chosen.mechanisms], None)["ldp"])
    made = Receipt(
        mechanisms=chosen.mechanisms, guarantees=total, rows=0, source=table.name,
        output=None if outputs.table is None else outputs.table.name, null_as=choice.null_as, untouched=plan.untouched,
        warnings=(*_warnings(plan), *chosen.notes), created=now(), version=__version__,
        released_as=tuple(plan.renamed[name] for m in chosen.mechanisms for name in m.columns),
        purpose=choice.purpose, asked=tuple(_plain(one) for one in choice.kept),
    )  # fmt: skip
    budget = outgoing.budget
    allowed = None if budget is None else as_guarantee(budget, "budget").read_in(choice.unit, to_keep=True)
    with _recorded(outgoing.ledger, allowed, table, outgoing.source_name, made) as entry:
        made = replace(made, together=entry.together)
        for warning in (*made.warnings, *chosen.private):
            warn(warning)
        return _Run(engine, plan, made, outputs, outgoing.force, progress, entry, chosen, papers, warn).publish()


def _plain(guarantee: Any) -> dict[str, Any]:
    return {key: value if isinstance(value, str) else float(value) for key, value in guarantee.to_dict().items()}


def _engine(source: Any, name: str) -> Engine:
    if by_spark(source, name):
        from divulge.releasing.spark import engine

        return engine(source)
    table = open_table(source)

    def run(plan: Plan, temporary: Path, progress: Progress | None, tally: Tally | None) -> int:
        writer = sinks.writer_for(temporary.with_suffix(""))(temporary, plan.schema)
        return _streamed(plan, table, writer, progress, tally)

    return Engine(table, run, table)


def _streamed(
    plan: Plan, table: Source, writer: sinks.Writer, progress: Progress | None, tally: Tally | None = None
) -> int:
    """Write every row, each batch while the next is drawn; when one has no secret, go on to count them, and refuse."""
    rows, faults = 0, Faults()
    reading = dict.fromkeys([*plan.columns, *plan.protected])
    with ExitStack() as stack:
        stack.callback(writer.close)
        written_by = stack.enter_context(ThreadPoolExecutor(1))
        under_way: Future[None] | None = None
        for batch in table.batches(list(reading), [*plan.coded, *plan.protected]):
            columns = plan.encoded(batch)
            coded = plan.secrets(columns, faults)
            rows += batch.num_rows
            if not faults and batch.num_rows:
                released = plan.released(batch, coded, threads=None)
                if under_way is not None:
                    under_way.result()
                under_way = written_by.submit(writer.write, released)
            if tally is not None and not faults:
                tally.add(counts_of([columns[name] for name in tally.names]))
            if progress is not None:
                progress(rows, table.rows)
        if under_way is not None:
            under_way.result()
    faults.refuse()
    return rows


@dataclass(frozen=True)
class _Run:
    """A release under way."""

    engine: Engine
    plan: Plan
    made: Receipt
    outputs: Places
    force: bool
    progress: Progress | None
    entry: Any
    chosen: Chosen
    papers: Papers
    warn: Callable[[str], object]

    def publish(self) -> Receipt:
        """Draw and publish: first the papers, then the output, so that no output is ever without them."""
        sink = self.outputs.table
        if sink is None:
            writer = sinks.MemoryWriter(self.plan.schema)
            rows = _streamed(self.plan, self.engine.source, writer, self.progress)
            done = replace(self.made, rows=rows, table=self.engine.source.restore(writer.table()))
            self.entry.publishing()
            if self.outputs.receipt is not None:
                done.save(self.outputs.receipt)
            self.entry.published(done)
            return done
        with ExitStack() as stack:
            temporary = stack.enter_context(sinks.staged(sink))
            chosen = self.chosen
            tally = (
                Tally(chosen.mechanisms[0].columns) if chosen.counts is None and len(chosen.mechanisms) == 1 else None
            )
            rows = self.engine.run(self.plan, temporary, self.progress, tally)
            if tally is not None:
                chosen = with_counts(chosen, tally.contingency(), self.made.null_as)
                for warning in chosen.private:
                    self.warn(warning)
            on_disk = stack.enter_context(ThreadPoolExecutor(1)).submit(sinks.flush, temporary)  # while papers are made
            done = replace(self.made, rows=rows, digest=sinks.digest(temporary))
            staged = {
                self.outputs.paper(name): stack.enter_context(written(self.outputs.paper(name), name, content))
                for name, content in self.papers(done, chosen).items()
            }
            on_disk.result()
            self.entry.publishing()
            publish_together({**staged, sink: temporary}, self.force)
            self.entry.published(done)
        where = {name: self.outputs.paper(name) for name in PAPERS if self.outputs.paper(name) in staged}
        done = replace(done, papers={"table": sink, **where})
        return done if self.engine.reread is None else replace(done, table=self.engine.reread(sink))


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
    together = None

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
    sources = {part.mechanism.assumed.source for part in plan.parts}
    said += [text for source, text in _ON_PRIOR.items() if source in sources]
    if len(plan.parts) > 1:
        said.append("The columns were released independently of each other; together they guarantee the sum of ldp.")
    return tuple(said)


_ON_PRIOR = {
    "counted": "The prior was counted from the released column itself: the mechanism tells how often each value "
    "occurs, and no promise of differential privacy of the collection goes with it.",
    "noisy": "The shares of the values were estimated with noise first; the promised ldp counts what that spent.",
}

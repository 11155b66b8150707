"""From a table and a mechanism to a released table and the papers beside it."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from divulge import __version__, stopping
from divulge.errors import DivulgeError
from divulge.files.opening import replacing
from divulge.files.settings import current
from divulge.files.tables.source import Source, TableLike, is_plain
from divulge.files.tables.table import open_table
from divulge.late import late
from divulge.model.labels import text_of
from divulge.releasing.beside import MOST_ROWS, Counted, beside
from divulge.releasing.column import Release
from divulge.releasing.engine import Engine, Progress
from divulge.releasing.estimating.contingency import Tally, counts_of
from divulge.releasing.estimating.counting import by_spark
from divulge.releasing.output import sinks
from divulge.releasing.output.archive import archived, require_archive
from divulge.releasing.output.bar import telling
from divulge.releasing.output.places import PAPERS, RECEIPT, Places
from divulge.releasing.persons import People, Protection, chosen_for, most_of, on_spark, protection, refuse_two_answers
from divulge.releasing.planning.choosing import Chosen, stand_in, with_counts
from divulge.releasing.planning.listed import Answers
from divulge.releasing.planning.named import followed, resolved
from divulge.releasing.planning.plan import Faults, Plan, part_of
from divulge.releasing.records.fingerprint import Fingerprint, Key
from divulge.releasing.records.impression import fingerprint
from divulge.releasing.records.ledger import Expected, looked_at, recorded
from divulge.releasing.records.levels import total
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.receipt import Receipt, now
from divulge.releasing.request import Request, asking, run
from divulge.releasing.session import Address, address_of, table_of

Papers = Callable[[Receipt, Chosen], Mapping[str, bytes]]
"""What is written beside a release: {"receipt.json": content, ...}, from the receipt and what the mechanism was chosen
with. Names that begin with "keeper" are for the keeper of the source only, and nobody else may read the file."""


@asking("release")
def release(
    source: TableLike,
    sink: str | os.PathLike[str] | None = None,
    *,
    progress: Progress | Literal[False] | None = None,
    warn: Callable[[str], object] = lambda warning: None,
    **options: Any,
) -> Receipt:
    """Return the receipt of a release: every value of the column replaced by a fresh draw from its row of a mechanism.

    P(released = y | value = x) = w_xy / 2^53, in whole numbers w, and drawn with exactly these probabilities from a
    cryptographic stream. The rows pass through in batches; the output appears under its name when it is complete.
    Beside it stand OUT.codebook.json and .md, OUT.statement.html and .txt and OUT.receipt.json, which everybody may
    see, and OUT.keeper.json, with exact counts, which only the owner of the process can read.

    Parameters
    ----------
    source : path of whatever `open_table` reads; pandas, polars or pyarrow table; columns by name; PySpark DataFrame
        With Spark also an address such as s3a://bucket/people, or a table of the session, table:people.
    sink : path, address or table:NAME, optional
        Its suffix is its format; without a suffix it is a folder of Parquet files. An address, such as
        s3a://bucket/released, is one of a file system that the session of Spark reaches. With Spark it may be a table
        of the session's catalog, such as table:sales.people, whose papers stand in the working folder. Without a sink
        the released table is `Receipt.table`, of the same library as the source, and no papers are written.
    column : name of the sensitive column, or names of several that are one secret together
    guarantee : Guarantee or text such as "ldp=1", or several, optional
        Alone: a mechanism is made for it, for the purpose. With a mechanism: the mechanism must keep it, exactly.
    mechanism : Channel or what converts to one, its file, Design, Protocol, name such as "randomized-response", or
        {column: mechanism}
        Rows are matched with values by label, as text where the types differ. Labels over several columns are tuples.
        An outcome that is called after a value must raise that value most.
    protect : name of another column, Channel P(s | x), its file, or Joint of S and X, optional
        What the guarantee is about in place of the column: S, of which the column tells. Of a column, which does not go
        out, the law of both is counted from the table; a channel has rows for the values of the column. `Receipt.about`
        says what the release tells of S, also where that law is wrong.
    epsilon, ratio : float; Fraction, int or text, optional
        The strength of a mechanism that is given by its name: epsilon, or exactly e^epsilon.
    protocol : str, optional
        A frequency protocol in place of a matrix, for a column of many values: "auto", or "local-hashing" (any text,
        without `values`), "prefix-extension" (any text, of which the frequent ones are found), "hadamard",
        "projective", "randomized-response", "optimized-unary", "symmetric-unary". Each value becomes a report;
        `estimate_frequencies` decodes them. Of several columns one each, such as "auto,auto": each goes out by itself,
        with an equal share of the promise. A protocol that was made before goes as `mechanism`.
    prefixes : int or lengths, optional
        Of prefix extension: see `dv.protocols.prefix_extension`.
    grid, box : text; (south, west, north, east) in degrees, (low, high), or text of them, optional
        With a guarantee such as "metric=1/km": the side of a cell and the public region. Latitude and longitude, or one
        number, date or time, are snapped to a cell, moved by exact noise, clamped, and go out as the middle of a cell.
        With "metric=0.1/d" a region "2024-01-01,2025-01-01" is of dates, whose text is ISO; cells of days go out as
        dates, others as times.
    quarters : table or its file, list of [name, latitude, longitude, people], optional
        Who lives where, which is public: the statement says what a point makes of each quarter.
    distance : Metric, its file, "line" or "grid:WxH:STEP", optional
        With a guarantee such as "metric=1/step": how far the answers of the column are from each other, which is
        public and lists them. The mechanism of least mean distance that is fit for the purpose is taken: of near
        answers one stands for another, of far ones hardly.
    chain : Channel, array_like or file of P(next answer | answer), optional
        With `rows_per_person`: how one row of a person follows another, which is public; the first is as `prior` says,
        or any answer. The statement says what all of them together tell of one.
    purpose : "statistics", "record" or "information"
        Estimates of least variance, from which frequencies can be estimated; each row as often right as can be; as much
        information as can be.
    outcomes : "values" or "sets"
        One outcome for each value, called after it, that raises it most; or the unconstrained optimum, whose outcomes
        are called after the sets of values that they raise.
    prior : Prior, its file, TABLE:COLUMN, "uniform", "lower=P", "noisy=E", "groups=A,B", LowerBounded or L1Ball,
        optional
        What an attacker is taken to know: a public prior; all values equally likely (the default); any prior with no
        value below P; any close to the column's own shares, estimated with noise that spends E of the budget; the
        shares among rows alike in these columns, and all mixtures, of which the mechanism then tells.
    within : guarantee or text such as "pml=1", or several, optional
        With a prior "groups=A,B": what the groups were made to keep by themselves. It is checked, exactly, and the
        statement says what groups and released answer tell together.
    prior_from_data : bool
        Take the column's own shares, which the mechanism then tells, and the statement says so.
    values : list, {column: list}, or a JSON file of one, or a codebook, optional
        The answers that there can be, whatever the table holds: then its list tells nobody that an answer was given.
        One that never occurs is as good as any. Without it they are those of the mechanism, of a prior that is given,
        or of the column itself, which the promise does not cover.
    other : text, optional
        What an answer that is not listed counts as, and a missing one without `null_as`: "other" when not given.
    rule_out : bool
        Allow a design whose outcomes rule values out.
    person : str, optional
        The column that says whose row it is; it goes out only when `keep` names it. Where nothing is said of people, a
        table in which they seem to have several rows is refused.
    one_answer : bool
        All rows of a person have the same answer: it is drawn once and stands in all of them, and the promise is the
        person's.
    rows_per_person : int, optional
        Answers of a person change: so many rows count, others are left out by chance, and each draw keeps a share of
        the promise, so that all of them keep it. Without `person` no row is left out: nobody has more, it is said.
    per_row : bool
        Each row is another person; or the promise is about a row, whatever a person's other rows tell.
    null_as : label, optional
        The label of the mechanism that stands for a missing value, going in and coming out; without it a missing value
        is refused.
    released_as : name, or names, of the column in the output, optional
        COLUMN_perturbed when not given.
    keep : names of other columns, optional
        Those that go out beside it, unaltered; all of them when not given.
    only_column : bool
        Drop all other columns.
    raise_small : bool
        Raise entries below 2^-53 to 2^-53 instead of refusing the mechanism.
    time_limit : float
        Seconds that a design may take; what is found by then is released, and the receipt says what it may lack.
    force : bool
        Replace files that exist.
    table_format : str, optional
        With an output table:NAME: its format, by the name that the session has for it, such as "delta"; else the one
        that the catalog takes by itself.
    receipt : path, or address, optional
        Beside the output, as NAME.receipt.json, when not given; of a table the other papers stand beside it.
    archive : path, or address, optional
        One .zip with all files that are for everybody, and nothing else.
    ledger : Ledger, path or URL, optional
        Where the release is recorded; a source in memory then needs `source_name`.
    budget : Guarantee or text, optional
        What all releases of the column may spend together, kept by the ledger.
    source_name : str, optional
        What the ledger calls the source; the path of its file when not given. It knows it by what is in it.
    people : str, optional
        Whose rows these are, where the ledger recognizes the wrong ones: name of one of its tables, or "new".
    engine : "local" or "spark"
        Spark reads and writes paths that all its workers share, and addresses; a PySpark DataFrame always takes it.
    unit : "nats" or "bits"
        What epsilon, the guarantees and the budget are in; the receipt is in nats.
    language : "en" or "de"
        Of the statement and the codebook.
    sign : path, optional
        A private key (Ed25519, PEM or OpenSSH, no passphrase), with which receipt, codebook and keeper's record are
        signed; `divulge.verify` checks them.
    escape_formulas : bool
        Write cells of a CSV output that a spreadsheet takes for a formula, such as "=1+1", behind an apostrophe.
    delimiter, decimal, encoding, sheet, header, footer, number_names, one_spelling, group, line_breaks,
    limits : optional
        How a file is read, as for `open_table`.
    progress : function of (rows done, rows in all or None), or False, optional
        In a notebook a bar is shown when it is not given, and none with False.
    warn : function of str, optional
        Gets every warning before a row is drawn; of a mechanism that is given, which values no row has comes after.

    Returns
    -------
    Receipt
        `papers` says where everything was written.

    Raises
    ------
    DivulgeError
        Naming column and count, never a value, when a value has no row in the mechanism or is missing; when the
        guarantee does not hold, promises nothing, or the budget does not allow it; when the mechanism does not let
        frequencies be estimated and that is the purpose. Nothing is published then.

    Examples
    --------
    >>> survey = {"answer": ["yes", "no", "no", "no"]}
    >>> receipt = release(survey, column="answer", mechanism="randomized-response", ratio=3)
    >>> receipt.rows, receipt.guarantees["ldp"]  # log 3, rounded up
    (4, 1.09861228866...)
    >>> receipt.table.column_names, set(receipt.table["answer_perturbed"].to_pylist()) <= {"yes", "no"}
    (['answer_perturbed'], True)
    """
    return run(Request.of("release", source, sink, **options), source, progress=progress, warn=warn)


def carry_out(
    request: Release, source: Any, *, progress: Progress | Literal[False] | None, warn: Callable[[str], object]
) -> Receipt:
    """Choose the mechanism, record the release, draw, and publish the table with its papers; or nothing of it."""
    require_archive(request.archive, request.sink, request.force)
    papers: Papers = late("divulge.reporting.release:papers")(request)
    done = released(request, source, papers, progress=progress, warn=warn)
    if request.archive is None:
        return done
    if failed := archived(request.archive, done.papers, force=request.force):
        warn(failed)
        return done
    there = address_of(request.archive)
    return replace(done, papers={**done.papers, "archive": Path(request.archive) if there is None else Address(there)})


def released(
    request: Release,
    source: Any,
    papers: Papers,
    *,
    progress: Progress | Literal[False] | None,
    warn: Callable[[str], object],
    coarsened: Mapping[str, int] | None = None,
) -> Receipt:
    """Return the receipt of a release that was carried out, with these papers beside it.

    `coarsened` has the levels of columns that were made coarser before, where the rows stand group by group.
    """
    with telling(progress) as move:
        return _carried_out(source, resolved(request, source), papers, move, warn, coarsened)


def _names(request: Release) -> dict[str, str]:
    """Return the name of each protected column in the output: NAME_perturbed, or as asked."""
    columns, asked = request.columns, request.released_as
    if request.protocol is not None and "," not in request.protocol and len(columns) > 1:
        whole = "_".join((*columns, "perturbed")) if asked is None else asked[0] if len(asked) == 1 else ""
        if not whole:
            raise DivulgeError.of("released_as", "be one name where several columns are one report", "it", repr(asked))
        return dict.fromkeys(columns, whole)
    if asked is None:
        return {name: f"{name}_perturbed" for name in columns}
    if len(asked) != len(columns) or len(set(asked)) != len(asked) or not all(asked):
        raise DivulgeError.of("released_as", f"be a name for each of {len(columns)} columns", "it", repr(asked))
    return dict(zip(columns, asked, strict=True))


@dataclass(frozen=True)
class _Prepared:
    """A release before anything is recorded or drawn: how, of what, and what its receipt will say."""

    engine: Engine
    plan: Plan
    outputs: Places
    chosen: Chosen
    made: Receipt
    opened: Engine
    """The table as it was given, before rows of a person were left out."""

    def entry(self, request: Release) -> Any:
        """Return the context of its entry in the ledger."""
        known = self.opened.known
        return recorded(request, self.opened.source, self.made, lambda key: known(key, request.columns), most_of)


def expected(request: Release, source: Any, coarsened: Mapping[str, int] | None = None) -> Expected:
    """Return the receipt as it would be, and what it adds up to by all that the keeper knows; nothing is drawn or
    stays on record.

    An estimate of the prior, which would be drawn, is left out, with what it would spend.
    """
    wanted = stand_in(resolved(replace(request, sink=None, receipt=None, table_format=None), source))
    found = _prepared(source, wanted, coarsened)
    return looked_at(found.made, found.entry(wanted))


def _carried_out(
    source: Any, request: Release, papers: Papers, progress: Progress | None, warn: Callable[[str], object],
    coarsened: Mapping[str, int] | None = None,
) -> Receipt:  # fmt: skip
    found = _prepared(source, request, coarsened)
    with found.entry(request) as entry:
        made = replace(found.made, together=entry.together, warnings=(*found.made.warnings, *entry.warnings))
        total = made.guarantees if entry.total is None else entry.total["guarantees"]
        # of a table that was coarsened before, the keeper is told what groups and released values say together
        beside = _beside(found, request, total["ldp"]) if coarsened is None else ()
        for warning in (*made.warnings, *found.chosen.private, *entry.private, *beside):
            warn(warning)
        engine, plan, outputs = found.engine, found.plan, found.outputs
        return _Run(engine, plan, made, outputs, request.force, progress, entry, found.chosen, papers, warn).publish()


def _beside(found: _Prepared, request: Release, loss: float) -> Sequence[str]:
    """Return what the columns that go out as they are add to all releases together, in words for the keeper alone."""
    table = found.engine.source
    if found.engine.reread is not None or not (table.rows or MOST_ROWS + 1) <= MOST_ROWS:
        return ()
    known = [name for name in found.plan.untouched if is_plain(table.schema.field(name).type)]
    added = beside(table, request.columns, known, loss, request.null_as, Counted.of(request))
    return () if added is None else added.words()


def _prepared(source: Any, request: Release, coarsened: Mapping[str, int] | None = None) -> _Prepared:
    opened = engine = engine_of(source, request.engine)
    table, columns, sink = engine.source, request.columns, request.sink
    kept = () if request.only_column else request.keep
    table.require_values(columns)
    answers = Answers.of(request)
    by_rows = engine.reread is not None  # Spark has the rows: answers are taken for listed ones as each is drawn
    if answers is not None and by_rows and request.protocol is None:
        raise DivulgeError.of("values", "be left out with Spark where there is no protocol, as is other", "it", "given",
                              "a mechanism, or a prior, names the answers there too.")  # fmt: skip
    table = table if answers is None or by_rows else answers.view(table)
    table.require_columns([*(table.schema.names if kept is None else kept)])
    named = table_of(sink) is not None
    if engine.reread is not None and (sink is None or not (named or Path(sink).suffix in ("", ".parquet"))):
        raise DivulgeError.of("sink", "be a folder of Parquet files, with Spark", "it", repr(sink))
    frame = engine.reread is not None and table.path is None and request.force
    read = late("divulge.releasing.spark:files_of")(engine.counted) if frame else table.path
    outputs = Places.of(
        sink, request.receipt, PAPERS, read={"source": read}, ledger=request.ledger, force=request.force,
        sign=request.sign, address=address_of(request.source), form=request.table_format,
        frame=None if engine.reread is None else engine.counted,
    )  # fmt: skip
    if engine.reread is not None:
        whose, count = on_spark(request, table), True
    else:
        whose = protection(request, table, columns)
        engine, count = _local(whose.source, whose), whose.people is not None
        table = whose.source
    if kept is None and request.person is not None:
        kept = tuple(name for name in table.schema.names if name != request.person)
    if isinstance(request.protect, str):  # it would tell itself
        kept = tuple(name for name in (table.schema.names if kept is None else kept) if name != request.protect)
    chosen = chosen_for(whose, request, engine.counted, count)
    plan = Plan(
        tuple(part_of(part, request.null_as) for part in chosen.mechanisms), table.schema,
        None if kept is None else tuple(kept), table.codable, _names(request),
        answers.encoded if answers is not None and by_rows else None,
    )  # fmt: skip
    for part in plan.parts:
        for column in part.columns:
            sinks.refuse_renamed(outputs.table, plan.renamed.get(column, column))
        for column, alphabet in zip(part.columns, part.alphabets, strict=False):
            texts = [None if label == request.null_as else text_of(label) for label in alphabet.labels]
            if any(isinstance(label, float) and math.isinf(label) for label in alphabet.labels):
                raise DivulgeError.of("source", f"hold finite numbers in column {column!r}", "one of them", "infinite")
            alone = len(plan.renamed) == 1 and not plan.untouched
            sinks.refuse_changed(outputs.table, column, texts, table.schema.field(column).type, alone)
    made = Receipt(
        mechanisms=chosen.mechanisms, guarantees=total(chosen.mechanisms), rows=0, source=table.name,
        output=outputs.output, table_format=outputs.table_format, null_as=request.null_as,
        untouched=tuple(name for name in plan.untouched if name not in (coarsened or {})),
        warnings=(*_warnings(plan, coarsened), *chosen.notes), created=now(), version=__version__,
        released_as=tuple(dict.fromkeys(plan.renamed[name] for m in chosen.mechanisms for name in m.columns)),
        purpose=request.purpose,
        asked=() if chosen.about or request.about_distance else tuple(_as_json(one) for one in request.kept),
        protects=whose.protects, answers=_answers(request, answers, chosen), about=chosen.about,
        chain=followed(request, chosen.mechanisms[0]), coarsened=coarsened,
    )  # fmt: skip
    return _Prepared(engine, plan, outputs, chosen, made, opened)


def _answers(request: Release, answers: Answers | None, chosen: Chosen) -> dict[str, Any]:
    """Return where the list of answers is from: a list, mechanism or prior, or the table itself."""
    if answers is not None:
        return answers.to_dict()
    if request.about_distance:
        return {"from": "list"}
    oracles = [one for one in chosen.mechanisms if isinstance(one, FrequencyOracle)]
    if oracles:
        return {"from": "any" if any(one.protocol.of_text for one in oracles) else "list"}
    given = {"none", "given"} >= {one.assumed.source for one in chosen.mechanisms}
    named = request.mechanism is not None and not isinstance(request.mechanism, str)
    return {"from": "list" if given or named else "table"}


def _as_json(guarantee: Any) -> dict[str, Any]:
    return {key: value if isinstance(value, str) else float(value) for key, value in guarantee.to_dict().items()}


def engine_of(source: Any, name: str) -> Engine:
    """Return what reads a table: this machine in a stream, or Spark."""
    if by_spark(source, name):
        if current().group or current().one_spelling:
            raise DivulgeError.of("group", "be left out with Spark", "it", "given", "prepare the table before.")
        from divulge.releasing.spark import engine

        return engine(source)
    return _local(open_table(source))


def _local(table: Source, whose: Protection | None = None) -> Engine:
    people = None if whose is None else whose.people

    def run(plan: Plan, temporary: Path, progress: Progress | None, tally: Tally | None) -> int:
        writer = sinks.writer_for(temporary)(temporary, plan.schema)
        return _streamed(plan, table, writer, progress, tally, people)

    def known(key: Key, columns: Sequence[str]) -> Fingerprint:
        return fingerprint(table, key, columns)

    return Engine(table, run, table if whose is None else whose.units, known, people=people)


def _drawn_once(plan: Plan, table: Source, people: People) -> list[np.ndarray]:
    """Return one draw a person for each part of the plan; people with several answers are refused."""
    rows, faults = 0, Faults()
    answers = [np.empty(len(people.of_row), dtype=np.int64) for _ in plan.parts]
    for batch in table.batches(list(plan.protected), list(plan.protected)):
        end = rows + batch.num_rows
        for answer, coded in zip(answers, plan.secrets(plan.encoded(batch), faults), strict=True):
            answer[rows:end] = coded.rows.take(coded.where)
        rows = end
    faults.refuse()
    for answer in answers:
        refuse_two_answers(people, answer)
    return [part.drawn(answer[people.first]) for part, answer in zip(plan.parts, answers, strict=True)]


def _streamed(
    plan: Plan,
    table: Source,
    writer: sinks.Writer,
    progress: Progress | None,
    tally: Tally | None = None,
    people: People | None = None,
) -> int:
    """Write every row, each batch while the next is drawn; when one has no secret, go on to count them, and refuse.

    With people, each gets one draw, which stands in all of their rows.
    """
    rows, faults = 0, Faults()
    once = None if people is None else _drawn_once(plan, table, people)
    reading = dict.fromkeys([*plan.columns, *plan.protected])
    with ExitStack() as stack:
        stack.callback(writer.close)
        written_by = stack.enter_context(ThreadPoolExecutor(1))
        under_way: Future[None] | None = None
        for batch in table.batches(list(reading), [*plan.coded, *plan.protected]):
            columns = plan.encoded(batch)
            coded = plan.secrets(columns, faults)
            start, rows = rows, rows + batch.num_rows
            if not faults and batch.num_rows:
                if once is None or people is None:
                    outcomes = plan.draws(coded, threads=None)
                else:
                    outcomes = [one[people.of_row[start:rows]] for one in once]
                released = plan.released(batch, outcomes)
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
            rows = _streamed(self.plan, self.engine.source, writer, self.progress, people=self.engine.people)
            done = replace(self.made, rows=rows, table=self.engine.source.restore(writer.table()))
            self.entry.publishing()
            if self.outputs.receipt is not None:
                with replacing(self.outputs.receipt) as stream:
                    stream.write(self.outputs.signed(RECEIPT, done.to_json()))
            self.entry.published(done)
            return done
        with ExitStack() as stack:
            temporary = stack.enter_context(self.outputs.staged(self.engine.reread is not None))
            chosen = self.chosen
            tally = (
                Tally(chosen.mechanisms[0].columns) if chosen.counts is None and len(chosen.mechanisms) == 1 else None
            )
            rows = self.engine.run(self.plan, temporary, self.progress, tally)
            if tally is not None:
                chosen = with_counts(chosen, tally.contingency(), self.made.null_as)
                for warning in chosen.private:
                    self.warn(warning)
            sealed = self.engine.sealed
            on_disk = None if sealed else stack.enter_context(ThreadPoolExecutor(1)).submit(sinks.flush, temporary)
            done = replace(self.made, rows=rows, digest=(sealed or sinks.digest)(temporary))
            staged = self.outputs.staged_papers(stack, self.papers(done, chosen))
            if on_disk is not None:  # while papers were made
                on_disk.result()
            with stopping.held():
                self.entry.publishing()
                self.outputs.appear(staged, temporary, self.force)
                self.entry.published(done)
        where = {name: self.outputs.paper(name) for name in PAPERS if self.outputs.paper(name) in staged}
        done = replace(done, papers={"table": sink, **where})
        return done if self.engine.reread is None else replace(done, table=self.engine.reread(sink))


def _warnings(plan: Plan, coarsened: Mapping[str, int] | None) -> tuple[str, ...]:
    """Return what the reader of the receipt has to know."""
    said = [_IN_ORDER if coarsened is None else _BY_GROUP]
    as_they_are = [name for name in plan.untouched if name not in (coarsened or {})]
    for sentence, names in ((_AS_THEY_ARE, as_they_are), (_COARSER, coarsened)):
        said += [sentence.format(columns=", ".join(map(repr, names)))] if names else []
    sources = {part.mechanism.assumed.source for part in plan.parts}
    said += [text for source, text in _ON_PRIOR.items() if source in sources]
    if len(plan.parts) > 1:
        said.append("The columns were released independently of each other; together they guarantee the sum of ldp.")
    return tuple(said)


_IN_ORDER = "The rows are in the order of the source: whoever knows whose row is where can link what was released."
_BY_GROUP = "The rows stand group by group, in an order of chance within each."
_AS_THEY_ARE = "These columns went out as they are, and can identify people or tell the secret: {columns}."
_COARSER = "These columns went out coarser than they were, and can still tell of people and of the secret: {columns}."

_ON_PRIOR = {
    "counted": "The prior was counted from the released column itself: the mechanism tells how often each value "
    "occurs, and no promise of differential privacy of the collection goes with it.",
    "groups": "The shares of the values in groups of rows were counted from the table itself: the mechanism tells of "
    "them, and no promise of differential privacy of the collection goes with it. The promise is about what a release "
    "adds to what a group says. Who counts the values of a group and sees the releases of all its rows may see odds "
    "change by e^(2 ldp).",
    "noisy": "The shares of the values were estimated with noise first; the promised ldp counts what that spent.",
}

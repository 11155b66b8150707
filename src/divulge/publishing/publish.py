"""`publish`: statistics of a table, with their statement."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from divulge.errors import DivulgeError
from divulge.files.tables.frames import like
from divulge.files.tables.source import TableLike
from divulge.late import late
from divulge.publishing.describing import described
from divulge.publishing.notes import Note
from divulge.publishing.preparing import Ready, ready
from divulge.publishing.publication import Papers, carried_out
from divulge.publishing.published import Published, promise
from divulge.publishing.request import Publish
from divulge.publishing.statistics import Statistics
from divulge.publishing.task import task
from divulge.releasing.engine import Progress
from divulge.releasing.estimating.counting import by_spark, read_by
from divulge.releasing.output.archive import archived, require_archive
from divulge.releasing.output.bar import telling
from divulge.releasing.output.places import PAPERS, Places
from divulge.releasing.persons import most_of, require_one_row_each
from divulge.releasing.records.ledger import Expected, looked_at, recorded
from divulge.releasing.request import Request, asking, run
from divulge.releasing.session import address_of


@asking("publish")
def publish(
    source: TableLike,
    statistics: Statistics,
    sink: str | os.PathLike[str] | None = None,
    *,
    progress: Progress | Literal[False] | None = None,
    warn: Callable[[str], object] = lambda warning: None,
    **options: Any,
) -> Published:
    """Return statistics of a table with noise, intervals that hold together, and what they tell about one record.

    Counts and sums are exact whole numbers, to which OpenDP adds discrete Laplace or discrete Gaussian noise; quantiles
    are chosen by noisy scores, drawn exactly too. The noise is the least of its family that keeps what is asked.

    Parameters
    ----------
    source : path of a table; pandas, polars or pyarrow table; columns by name; PySpark DataFrame
    statistics : Count, People, Sum, Mean, Proportion, Variance or Quantiles, or several of them
    sink : path, address such as s3a://bucket/table.csv, or table:NAME, optional
        The table goes there, its suffix is its format; beside it codebook, statement and receipt, and a record for the
        keeper alone. With table:sales.counts it goes into the catalog of the session of Spark.
    guarantee : Guarantee or text such as "dp=1", or several
        dp, adp, zcdp or rdp; pml, pmc or lip about one record, with `record_prior`.
    interval : positive number, several, or text such as "500" or "500,20"; in place of a guarantee
        How far a count or a sum may be from the true number, half the width of its interval: one number for all
        statistics, or one for each. The noise is the largest with which all numbers are as close together with
        probability `level`, each as probably as another; what it promises follows, dp, or zcdp with
        noise="gaussian", and is told and recorded before anything is drawn. "2@100" for a mean, a variance or a share:
        that close where 100 rows or more have a number, as is known beforehand. "50rows" for quantiles: no more than
        50 rows lie between the end of an interval and the true quantile.
    person : name of a column, optional
        All rows of a person are protected together. Without it every row is somebody else's: a table in which people
        seem to have several rows is refused, unless `per_row` says so.
    rows_per_person : int
        Rows of a person that count, 1 when not given; which ones depends on a hash of the person's own rows alone.
    groups_per_person, rows_per_group : int, optional
        Groups in which rows of a person count at most, and rows of a person in each; they bound the rows that count
        where `rows_per_person` does not.
    one_answer : bool
        All rows of a person say the same, so that one of them counts.
    per_row : bool
        Each row is another person; or the promise is about a row, whatever a person's other rows tell.
    publisher, source_text : str, optional
        Who publishes, and what the source is called, as the codebook says it and how to cite.
    neighbors : "replaced" or "added"
        Tables that must look alike differ in one unit that is replaced, or one that is there or not.
    accounts : text such as "dp=2" or "zcdp=0.1", optional
        An account for each person of `person`, in the ledger, which all releases with the same text and `source_name`
        are charged to: each person what it can tell of somebody with as many rows as they have. Who cannot pay is left
        out, of which nothing is told; together the releases keep what the accounts hold, for somebody who is there or
        not (neighbors="added"), whichever were chosen on the way (Feldman, Zrnic, arXiv:2008.11193). Numbers and
        intervals are then about those who take part.
    record_prior : "lower=P", prior file, Prior, or {record: probability}, optional
        What is known before of a secret about one record; every value has probability P or more.
    others : "known" or "independent"
        What the adversary knows of all other records: everything, or that they are independent draws.
    values : {column: list of values} or a JSON file of that, optional
        The values of the columns that group; all combinations are published. Under adp alone, with a delta, values of a
        column without a list are named by noise, where many have them: a quarter of epsilon and half of delta pay for
        it, and all others are counted as "other". A single count is published of those combinations that show
        themselves.
    values_from_data : bool
        Take the values that occur. Which ones do is then not protected, and told.
    null_as : label, optional
        The value that a missing value counts as; "no answer" when not given.
    no_other : bool
        Nobody has a value that is not listed, or a missing one, so that there are no cells for these, "other" and
        "no answer". A row that has one after all counts nowhere; nothing is refused for what a row holds.
    fill : {column: number}, or text such as "hours:0", or several; optional
        What a missing number of a column counts as: sums, means, variances and quantiles are then about all rows, and
        no noise is spent on how many have a number. Told.
    tell_cut : bool
        Publish for each column with bounds how many of its numbers lie beyond them: a statistic "cut", with noise that
        is paid for.
    tell_numbers : bool
        Publish for each statistic of numbers how many rows of its groups have one: a statistic "numbers". A mean needs
        that count anyhow, so that its noise is drawn once for both.
    noise : "laplace" or "gaussian", optional
        The one with the smaller error when not given, where both keep the guarantee.
    split : "need", "mean-squared", "relative", "equal", or numbers, one a query
        How the total is divided: for the least geometric mean of the relative widths of all statistics, the least mean
        squared error of all cells, the same relative error, equally.
    level : float
        Probability with which all intervals cover the true numbers together.
    non_negative, whole, consistent : bool
        Raise negative counts to 0; round counts; move counts by least squares so that common margins agree. Told.
    force : bool
        Replace files that exist.
    table_format : str, optional
        As for `release`.
    receipt : path, optional
        Beside the output, as NAME.receipt.json, when not given.
    archive : path, optional
        One .zip with all files that are for everybody, and nothing else.
    ledger : Ledger, path or URL, optional
    budget : Guarantee or text, optional
        What all releases of the source may tell about one record.
    source_name : str, optional
        What the ledger calls the source; its path when not given. It knows it by what is in it.
    people : str, optional
        Whose rows these are, where the ledger recognizes the wrong ones: name of one of its tables, or "new".
    engine : "local" or "spark"
    unit : "nats" or "bits"
        What the guarantees and the budget are in.
    language : "en" or "de"
        Of the statement.
    sign : path, optional
        A private key (Ed25519, PEM or OpenSSH, no passphrase), with which receipt, codebook and keeper's record are
        signed; `divulge.verify` checks them.
    escape_formulas : bool
        Write cells of a CSV output that a spreadsheet takes for a formula, such as "=1+1", behind an apostrophe.
    delimiter, decimal, encoding, sheet, header, footer, number_names, one_spelling, group, line_breaks,
    limits : optional
        How a file is read, as for `open_table`.
    progress : function of (rows read, rows in all or None), or False, optional
        Told in each pass over the table. In a notebook a bar is shown when it is not given, and none with False.
    warn : function of str, optional
        Gets what a reader has to know before anything is drawn.

    Returns
    -------
    Published
        Guarantees rounded up; they are what the law of the noise attains for counts, and bounds for other statistics.

    Raises
    ------
    DivulgeError
        Naming column and count, never a value; nothing is published then.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan, "Universally Utility-Maximizing Privacy Mechanisms", arXiv:0811.2841; Canonne,
    Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", arXiv:2004.00010; McKenna, Sheldon,
    "Permute-and-Flip", arXiv:2010.12603.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "f", "f"] * 100}
    >>> found = publish(people, dv.Count("sex"), guarantee="dp=1", values={"sex": ["f", "m"]})
    >>> found.table.column("sex").to_pylist()
    ['f', 'm', 'other', 'no answer']
    >>> found.guarantees, found.queries[0]["scale"]  # a row moves from one cell to another: 2 / scale
    ({'dp': 1.0}, 2.0)
    """
    return run(Request.of("publish", source, sink, statistics=statistics, **options), source,
               progress=progress, warn=warn)  # fmt: skip


def carry_out(
    request: Publish, source: Any, *, progress: Progress | Literal[False] | None, warn: Callable[[str], object]
) -> Published:
    """Record the release, count, draw, and publish the numbers with their papers; or nothing of it."""
    with telling(progress, "reading") as move:
        return _carried_out(request, source, move, warn)


@dataclass(frozen=True)
class _Prepared:
    """A publication before anything is recorded or drawn: of what, where to, and what its receipt will say."""

    request: Publish
    made: Ready
    outputs: Places
    promised: Published

    def entry(self) -> Any:
        """Return the context of its entry in the ledger."""
        table, promised = self.made.table, self.promised
        return recorded(self.request, table.source, promised, lambda key: table.known(key, promised.columns), most_of)


def _prepared(request: Publish, source: Any, progress: Progress | None) -> _Prepared:
    require_archive(request.archive, request.sink, request.force)
    asked = task(request)
    path, sink, ledger = _path(source), request.sink, request.ledger
    if sink is None and request.receipt is not None:
        raise DivulgeError.of("receipt", "go with an output", "sink", "absent")
    frame, files = read_by(source, request.engine, sink, request.force)
    read = {"source": files, "values": _path(request.values), "record_prior": _path(request.record_prior)}
    outputs = Places.of(
        sink, request.receipt, PAPERS, read=read, ledger=ledger, force=request.force, sign=request.sign,
        address=address_of(path), form=request.table_format, frame=frame,
    )  # fmt: skip
    if outputs.table is not None and outputs.table_format is None and not outputs.table.suffix:
        raise DivulgeError.of("sink", "have a suffix that says its format, such as .csv", "it", "without one")
    made = ready(asked, source, request.engine, progress)
    if request.person is None and not request.per_row and not by_spark(source, request.engine):
        require_one_row_each(made.table.source, ())
    promised = described(made, outputs.output, outputs.table_format)
    return _Prepared(request, made, outputs, promised)


def expected(request: Publish, source: Any) -> Expected:
    """Return the publication as it would be, and what it adds up to; nothing is drawn or stays on record."""
    found = _prepared(replace(request, sink=None, receipt=None, table_format=None, archive=None), source, None)
    return looked_at(found.promised, found.entry())


def _carried_out(request: Publish, source: Any, progress: Progress | None, warn: Callable[[str], object]) -> Published:
    papers: Papers = late("divulge.reporting.publish:papers")(request)
    found = _prepared(request, source, progress)
    outputs, promised = found.outputs, found.promised
    with found.entry() as entry:
        before = promised.told
        promised = replace(promised, notes=(*promised.notes, *_together(entry)))
        for sentence in (*before, *entry.private):
            warn(sentence)
        done = carried_out(found.made, promised, outputs, request, entry, papers, warn)
        for sentence in promised.told[len(before) :]:  # "this one included" is true of what went out alone
            warn(sentence)
    if request.archive is not None and (failed := archived(request.archive, done.papers, force=request.force)):
        warn(failed)
    shown = like(source, done.table)
    return done if shown is done.table else replace(done, table=shown, numbers=done.table)


def _path(given: Any) -> Any:
    return given if isinstance(given, (str, os.PathLike)) else None


def _together(entry: Any) -> list[Note]:
    """Return what all releases about the records of the source add up to, where there were others before."""
    before = entry.together
    gone = [Note("note_untouched", {"columns": [one.column for one in entry.untouched]})] if entry.untouched else []
    if not before or before["releases"] < 2:
        return gone
    guarantees = dict(before["guarantees"])
    if (delta := guarantees.pop("delta", None)) is not None:
        guarantees["adp"] = {"epsilon": guarantees["adp"], "delta": delta}
    guarantees = {kind: value for kind, value in guarantees.items() if value != math.inf}
    total = ", ".join(promise(kind, value) for kind, value in guarantees.items())
    releases: dict[str, Any] = {"releases": int(before["releases"])}
    if (loss := before["guarantees"].get("ldp", math.inf)) < math.inf:
        releases["loss"] = loss
    together = Note("note_together", {**releases, "total": total}) if total else Note("note_together_void", releases)
    known = [Note("note_known_alone")] if {"pml", "pmc"} & guarantees.keys() else []
    return [together, *known, *gone]

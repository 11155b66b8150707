"""The door of a release: a column goes out of it with its codebook, statement and receipt, and the keeper's record."""

import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from datetime import date, time, timedelta
from numbers import Real
from typing import Any, Literal

from divulge.errors import DivulgeError
from divulge.files.settings import using
from divulge.model.prior import Prior
from divulge.model.shown import printable_json
from divulge.releasing.estimating.counting import EngineName
from divulge.releasing.output.bar import bar, in_notebook
from divulge.releasing.planning.choosing import Choice, Chosen
from divulge.releasing.planning.named import mechanism_in, prior_in
from divulge.releasing.planning.naming import str_of
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.release import Outgoing, Progress, as_columns, as_names, as_several, carry_out
from divulge.reporting.reports.making import report
from divulge.reporting.reports.report import Report
from divulge.reporting.statements import codebook
from divulge.reporting.statements.statement import statement
from divulge.reporting.statements.voice import Voice
from divulge.units import Unit, nats_per

KEEPER = "divulge keeper 1"
_NOTE = "For the keeper of the source only: this file holds exact counts of it."


def release(
    source: Any,
    sink: str | os.PathLike[str] | None = None,
    *,
    column: str | Sequence[str],
    guarantee: Any = None,
    mechanism: Any = None,
    epsilon: float | None = None,
    ratio: Any = None,
    purpose: str = "statistics",
    outcomes: str = "values",
    prior: Any = None,
    prior_from_data: bool = False,
    rule_out: bool = False,
    null_as: Hashable = None,
    released_as: str | Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    only_column: bool = False,
    raise_small: bool = False,
    time_limit: float = 60.0,
    force: bool = False,
    receipt: str | os.PathLike[str] | None = None,
    ledger: Any = None,
    budget: Any = None,
    source_name: str | None = None,
    engine: EngineName = "local",
    unit: Unit = "nats",
    language: str = "en",
    escape_formulas: bool = False,
    progress: Progress | Literal[False] | None = None,
    warn: Callable[[str], object] = lambda warning: None,
) -> Receipt:
    """Return the receipt of a release: every value of the column replaced by a fresh draw from its row of a mechanism.

    P(released = y | value = x) = w_xy / 2^53, in whole numbers w, and drawn with exactly these probabilities from a
    cryptographic stream. The rows pass through in batches; the output appears under its name when it is complete.
    Beside it stand OUT.codebook.json and .md, OUT.statement.html and .txt and OUT.receipt.json, which everybody may
    see, and OUT.keeper.json, with exact counts, which only the owner of the process can read.

    Parameters
    ----------
    source : path of whatever `open_table` reads; pandas, polars or pyarrow table; PySpark DataFrame
    sink : path, optional
        Its suffix is its format; without a suffix it is a folder of Parquet files. Without a sink the released table is
        `Receipt.table`, of the same library as the source, and no papers are written.
    column : name of the sensitive column, or names of several that are one secret together
    guarantee : Guarantee or text such as "ldp=1", or several, optional
        Alone: a mechanism is made for it, for the purpose. With a mechanism: the mechanism must keep it, exactly.
    mechanism : Channel or what converts to one, its file, Design, name such as "randomized-response", or
        {column: mechanism}
        Rows are matched with values by label, as text where the types differ. Labels over several columns are tuples.
        An outcome that is called after a value must raise that value most.
    epsilon, ratio : float; Fraction, int or text, optional
        The strength of a mechanism that is given by its name: epsilon, or exactly e^epsilon.
    purpose : "statistics", "record" or "information"
        Estimates of least variance, from which frequencies can be estimated; each row as often right as can be; as much
        information as can be.
    outcomes : "values" or "sets"
        One outcome for each value, called after it, that raises it most; or the unconstrained optimum, whose outcomes
        are called after the sets of values that they raise.
    prior : Prior, its file, TABLE:COLUMN, "uniform", "lower=P", "noisy=E", LowerBounded or L1Ball, optional
        What an attacker is taken to know: a public prior; all values equally likely (the default); any prior with no
        value below P; any close to the column's own shares, estimated with noise that spends E of the budget.
    prior_from_data : bool
        Take the column's own shares, which the mechanism then tells, and the statement says so.
    rule_out : bool
        Allow a design whose outcomes rule values out.
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
        What epsilon, the guarantees and the budget are in; the receipt is in nats.
    language : "en" or "de"
        Of the statement and the codebook.
    escape_formulas : bool
        Write cells of a CSV output that a spreadsheet takes for a formula, such as "=1+1", behind an apostrophe.
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
    >>> import pyarrow as pa
    >>> survey = pa.table({"answer": ["yes", "no", "no", "no"]})
    >>> receipt = release(survey, column="answer", mechanism="randomized-response", ratio=3)
    >>> receipt.rows, receipt.guarantees["ldp"]  # log 3, rounded up
    (4, 1.09861228866...)
    >>> receipt.table.column_names, set(receipt.table["answer_perturbed"].to_pylist()) <= {"yes", "no"}
    (['answer_perturbed'], True)
    """
    columns, mechanism = as_columns(column), mechanism_in(mechanism)
    nats_per(unit)
    if not (isinstance(time_limit, Real) and time_limit >= 0):
        raise DivulgeError.of("time_limit", "be a number of seconds that is at least 0", "it", repr(time_limit))
    for called, argument in ((progress or str, "progress"), (warn, "warn")):
        if not callable(called):
            raise DivulgeError.of(argument, "be a function", "it", f"a {type(called).__name__}")
    prior = prior_in(prior, mechanism, source, columns)
    choice = Choice(
        columns, mechanism, epsilon, ratio, as_several(guarantee), purpose, outcomes, prior,
        prior_from_data, rule_out, null_as, raise_small, time_limit, unit,
    )  # fmt: skip
    Voice(language)
    if only_column and keep:
        raise DivulgeError.of("keep", "be left out with only_column", "it", "given as well")
    kept = () if only_column else None if keep is None else as_names(keep, "keep")
    outgoing = Outgoing(kept, released_as, force, receipt, ledger, budget, source_name, engine)

    def papers(done: Receipt, chosen: Chosen) -> Mapping[str, bytes]:
        return written(done, chosen, language)

    told = bar() if progress is None and in_notebook() else nullcontext(progress or None)
    with using(escape_formulas=escape_formulas or None), told as move:
        return carry_out(source, sink, choice, outgoing, papers, move, warn)


def written(receipt: Receipt, chosen: Chosen, language: str) -> dict[str, bytes]:
    """Return the papers of a release, by the end of their names."""
    said = statement(receipt, language)
    return {
        "codebook.json": codebook.as_json(receipt, language),
        "codebook.md": codebook.as_markdown(receipt, language),
        "statement.html": said.html().encode(),
        "statement.txt": said.text().encode(),
        "keeper.json": keeper(receipt, chosen),
        "receipt.json": receipt.to_json(),
    }


def keeper(receipt: Receipt, chosen: Chosen) -> bytes:
    """Return the record that only the keeper of the source may see: counts, the whole receipt, and the report."""
    counts = chosen.counts
    found: dict[str, Any] = {
        "format": KEEPER,
        "note": _NOTE,
        "counts": None if counts is None else [{"value": str_of(x), "count": n} for x, n in counts.items()],
        "receipt": json.loads(receipt.to_json(keeper=True)),
        "for_the_keeper": list(chosen.private),
    }
    if (about := full_report(receipt, chosen)) is not None:
        found["report"] = about.to_dict()
    return (printable_json(json.dumps(_plain(found), ensure_ascii=False, allow_nan=False)) + "\n").encode()


def full_report(receipt: Receipt, chosen: Chosen) -> Report | None:
    """Return the whole report, under the shares as counted; none of a release with several mechanisms."""
    if chosen.counts is None or len(receipt.mechanisms) != 1:
        return None
    known = {str_of(x): n for x, n in chosen.counts.items()}
    secrets = receipt.mechanisms[0].channel.secrets
    shares = [known.get(str_of(x), 0) for x in secrets]
    if not sum(shares):
        return None
    prior = Prior.from_counts(shares, list(secrets))
    return report(receipt, prior=prior, prior_source="counted from the released column itself")


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, (date, time, timedelta)):
        return str_of(value)
    number = float(value)
    return number if abs(number) < float("inf") else str(number)

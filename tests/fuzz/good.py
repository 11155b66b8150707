"""Good lines about good files with odd contents, one after the other: what a command leaves, the next one takes."""

import datetime as dt
import io
import json
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter

import divulge as dv
from divulge.files.settings import using
from divulge.files.tables.values import values_of
from divulge.model.labels import text_of
from fuzz.harness import MARK, Outcome, run

DAY = dt.datetime(2020, 2, 29, 23, 59, 58)

TEXTS = (
    "yes", "no", "Größe, 1/2", "say “x”", 'say "x"', "it's", "a;b", "a|b", "a\tb", " a", "a ", "1.0", "01", "1", "-1",
    "+1", "NULL", "None", "nan", "NaN", "null", "NA", "n/a", "true", "True", "TRUE", "inf", "1e5", "0x10", "1,5",
    "2020-01-01", "=1+1", "@x", "-x", "日本", "🙂", "é", "e\u0301", "ß", "SS", "%s", "{x}", "<b>", "&amp;", "\\n",
    "x" * 300, "0", "?", "any", "any but a", "a or b", "#", "_", "a:b", "…",
)  # fmt: skip

KINDS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "texts": (pa.string(), lambda i: TEXTS[i] if i < len(TEXTS) else f"value {i}"),
    "large texts": (pa.large_string(), lambda i: TEXTS[i] if i < len(TEXTS) else f"value {i}"),
    "whole numbers": (pa.int64(), lambda i: (i - 3) * 7),
    "bytes": (pa.uint8(), lambda i: i % 256),
    "beyond 2^53": (pa.int64(), lambda i: 2**60 + i),
    "floats that are whole": (pa.float64(), lambda i: float(i)),
    "floats": (pa.float64(), lambda i: (i - 2) / 7),
    "floats of 17 digits": (pa.float64(), lambda i: 0.1 + i * 2e-17 if i < 2 else i * 1e300),
    "short floats": (pa.float32(), lambda i: i / 10),
    "truth": (pa.bool_(), lambda i: bool(i % 2)),
    "days": (pa.date32(), lambda i: DAY.date() + dt.timedelta(days=i)),
    "moments": (pa.timestamp("us"), lambda i: DAY + dt.timedelta(seconds=i)),
    "midnights": (pa.timestamp("s"), lambda i: dt.datetime(2020, 1, 1) + dt.timedelta(days=i)),
    "microseconds": (pa.timestamp("us"), lambda i: DAY + dt.timedelta(microseconds=i)),
    "zones": (pa.timestamp("us", "Europe/Berlin"), lambda i: DAY + dt.timedelta(hours=i)),
    "times": (pa.time64("us"), lambda i: dt.time(i % 24, i // 24 % 60, 1)),
    "durations": (pa.duration("s"), lambda i: dt.timedelta(hours=5 * i)),
    "decimals": (pa.decimal128(9, 2), lambda i: Decimal(i * 25) / 100),
}

NAMES = ("x", "Größe in cm", 'say "x"', "it's", "select", "a b", "x,y", "x;y", "100%", "日本", "x_perturbed", "value",
         "count", "X" * 80, "<b>", "{0}", "rows", "secret", "frequency", "=x", "a\\b", "by", "low",
         "statistic")  # fmt: skip

REFUSALS = ("Excel does not keep", "Excel keeps", "has no place in a sheet", "is the same in every row", "`by` must",
            "have values that people share", "lost in CSV", "for one column with missing values",
            "must let the frequencies be estimated back")  # fmt: skip
"""What a good line may be refused for, with a remedy."""


def _column(rng: random.Random, rows: int) -> tuple[str, pa.Array]:
    """Return the kind and the values of a column, with missing ones now and then."""
    kind = rng.choice(list(KINDS))
    arrow, value = KINDS[kind]
    many = min(rng.choice([1, 2, 2, 3, 5, 5, 12, 60, 300]), 2 if kind == "truth" else 250 if kind == "bytes" else 300)
    first = rng.randrange(len(TEXTS)) if "texts" in kind else 0
    known = [value((first + i) % len(TEXTS) if "texts" in kind and many <= len(TEXTS) else i) for i in range(many)]
    share = rng.choice([0, 0, 0, 0.2])
    drawn = [None if rng.random() < share else rng.choice(known) for _ in range(rows)]
    if rows >= many:
        drawn[:many] = known
    return kind, pa.array(drawn, arrow)


def table(rng: random.Random) -> tuple[pa.Table, str, str, str]:
    """Return a table, the name of the column to release and its kind, and that of a column nobody may see."""
    rows = rng.choice([1, 2, 7, 40, 300, 300, 2000])
    kind, column = _column(rng, rows)
    name, diary = rng.sample(NAMES, 2)
    columns = {
        name: column,
        "sex": pa.array([rng.choice(["f", "m", "d"]) for _ in range(rows)]),
        diary: pa.array([f"{MARK} {i}" for i in range(rows)]),
        "n": pa.array(range(rows)),
    }
    order = rng.sample(list(columns), len(columns))
    return pa.table({key: columns[key] for key in order}), name, kind, diary


def write(rng: random.Random, made: pa.Table, folder: Path) -> str:
    """Write a table in some format that holds it, and return the name of the file."""
    end = rng.choice(["csv", "csv", "parquet", "parquet", "arrow", "folder", "tsv", "xlsx"])
    if end == "xlsx" and all(map(_in_a_workbook, made.columns)):
        return _workbook(made, folder)
    if end in ("csv", "tsv"):
        import csv

        text = io.StringIO()
        lines = csv.writer(text, delimiter="\t" if end == "tsv" else rng.choice(",,;|"), quoting=rng.choice([0, 1]))
        lines.writerow(made.column_names)
        columns = [[text_of(value) for value in values_of(c.combine_chunks())] for c in made.columns]
        lines.writerows(["" if cell is None else cell for cell in row] for row in zip(*columns, strict=True))
        (folder / f"t.{end}").write_bytes(text.getvalue().encode(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"])))
        return f"t.{end}"
    if end == "arrow":
        with pa.ipc.new_file(str(folder / "t.arrow"), made.schema) as sink:
            sink.write_table(made)
        return "t.arrow"
    if end == "folder":
        (folder / "t").mkdir()
        half = made.num_rows // 2
        for k, part in enumerate((made.slice(0, half), made.slice(half))):
            pq.write_table(part, folder / "t" / f"{k}.parquet")
        return "t"
    pq.write_table(made, folder / "t.parquet")
    return "t.parquet"


def _in_a_workbook(column: pa.ChunkedArray) -> bool:
    """Say whether a sheet holds a column: texts, and numbers of 16 digits."""
    values = [value for value in column.to_pylist() if value is not None]
    return all(isinstance(v, str) or (type(v) in (int, float) and float(f"{v:.16g}") == v) for v in values)


def _workbook(made: pa.Table, folder: Path) -> str:
    """Write a table of texts and numbers as a workbook."""
    with xlsxwriter.Workbook(folder / "t.xlsx") as book:
        sheet = book.add_worksheet("Daten")
        for j, name in enumerate(made.column_names):
            sheet.write_string(0, j, name)
            for i, value in enumerate(made[name].to_pylist()):
                if value is not None:
                    (sheet.write_string if isinstance(value, str) else sheet.write_number)(i + 1, j, value)
    return "t.xlsx"


class Chain:
    """Command lines in one folder, and what about them may not be."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.problems, self.lines = folder, list[str](), list[Outcome]()

    def run(
        self, *line: str, codes: tuple[int, ...] = (0,), refused: bool = False, known: Sequence[str] = ()
    ) -> Outcome | None:
        """Return how a line ended if it did so well; a refusal that has `known` words, or usual ones, is none of it."""
        done = run(list(line), self.folder)
        self.lines.append(done)
        self.problems += [f"{found}: {line}" for found in done.problems()]
        if done.code in codes:
            return done
        expected = (*known, *(REFUSALS if refused else ()))
        if done.code != 2 or not any(words in done.err for words in expected):
            self.problems.append(f"ends with {done.code}: {line}: {done.err[done.err.find('error: ') :][:400]}")
        return None


def chain(rng: random.Random, folder: Path) -> Chain:
    """Release a column of a table, and use all that it leaves; design for it; publish its counts."""
    made, name, kind, diary = table(rng)
    source, found = write(rng, made, folder), Chain(folder)
    missing = made[name].null_count
    null = ("--null-as", "(missing)") if missing else ()
    end = rng.choice(["csv", "csv", "tsv", "parquet", "arrow", "xlsx", "folder"])
    out = "o" if end == "folder" else f"o.{end}"
    more = [
        *(("--only-column",) if rng.random() < 0.5 else ()),
        *rng.choice([(), (), ("--unit", "bits"), ("--json",), ("--language", "de")]),
        *rng.choice([(), (), ("--purpose", "record"), ("--purpose", "information")]),
        *rng.choice([(), (), (), ("--outcomes", "sets")]),
    ]
    level = rng.choice(["0.5", "2", "9"])
    asked = ("--column", name, "--guarantee", f"ldp={level}", *null)
    found.run("release", source, *asked, "--preview", refused=True)
    done = found.run("release", source, *asked, "-o", out, *more, "--ledger", "book.sqlite", refused=True)
    if done is not None:
        _use(found, made, name, out, "--only-column" in more, diary)
        found.run("ledger", "show", "--ledger", "book.sqlite")
        found.run(
            "release", source, *asked, "-o", "again.csv", "--only-column", "--ledger", "book.sqlite", refused=True
        )
    if not missing and ":" not in name:
        _design(rng, found, source, name)
    _publish(rng, found, source, name, null)
    if len(made[name].unique()) < 13:
        _pair(rng, found, source, name, null)
    found.problems = [f"{problem} [{kind}, {made.num_rows} rows]" for problem in found.problems]
    return found


def _use(found: Chain, made: pa.Table, name: str, out: str, alone: bool, diary: str) -> None:
    """Read a release back, estimate, audit and report it."""
    folder, receipt = found.folder, f"{out.partition('.')[0]}.receipt.json"
    told = json.loads((folder / receipt).read_text())
    (released,) = told["released_as"]
    with using(tell=lambda remark: None):
        source = dv.open_table(folder / out)
        back = pa.Table.from_batches(list(source.batches(source.schema.names)))
    if back.num_rows != made.num_rows:
        found.problems.append(f"{out} has {back.num_rows} rows of {made.num_rows}")
    if set(back.column_names) != ({released} if alone else {released, *set(made.column_names) - {name}}):
        found.problems.append(f"{out} has the columns {back.column_names}")
    if alone and MARK in (folder / out).read_bytes().decode(errors="ignore") if (folder / out).is_file() else False:
        found.problems.append(f"{out} shows {diary}")
    lost = () if told["purpose"] == "statistics" else ("must let the frequencies be identified",)
    estimate = found.run("estimate", out, "--receipt", receipt, "--json", known=lost)
    if estimate is not None and made.num_rows >= 300 and "doubt" in estimate.out:
        found.problems.append(f"its own receipt is doubted: {estimate.out[-300:]}")
    pairs = pa.table({"secret": made[name], "released": back[released]})
    pq.write_table(pairs, folder / "pairs.parquet")
    missing = ("--null-as", "(missing)") if made[name].null_count else ()
    columns = ("--data", "pairs.parquet", "--secret", "secret", "--released", "released")
    found.run("audit", *columns, "--receipt", receipt, *missing, codes=(0, 1))
    found.run("measure", *columns, *missing, "--json")
    found.run("report", *columns, *missing)
    found.run("report", "--receipt", receipt, "--prior", "uniform")
    found.run("report", "--receipt", receipt, "--prior", "uniform", "-o", "r.html", "--force")
    found.run("statement", receipt)


def _design(rng: random.Random, found: Chain, source: str, name: str) -> None:
    """Design for a column, and release through the design."""
    end = rng.choice(["json", "csv", "npz", "parquet"])
    prior = f"{source}:{name}"
    values = ("--outcomes", "values") if rng.random() < 0.8 else ()
    line = ("design", "--prior", prior, "--guarantee", "ldp=1", *values, "-o", f"d.{end}", "--no-compare",
            "--time-limit", "5")  # fmt: skip
    done = found.run(*line, refused=True)
    if done is None:
        return
    found.run("check", f"d.{end}", "--guarantee", "ldp=2", "--prior", prior)
    if values:
        line = ("release", source, "--column", name, "--mechanism", f"d.{end}", "-o", "d.out.csv", "--only-column")
        found.run(*line, "--no-ledger", refused=True)


def _publish(rng: random.Random, found: Chain, source: str, name: str, null: tuple[str, ...]) -> None:
    """Publish counts by a column, read them back and say what they promise."""
    end = rng.choice(["csv", "parquet", "xlsx", "arrow"])
    column = f'"{name}"' if "," in name else name
    line = ("publish", source, "--count", column, "--values-from-data", "--guarantee", "dp=1", *null)
    if found.run(*line, "-o", f"q.{end}", "--no-ledger", refused=True) is None:
        return
    receipt = json.loads((found.folder / "q.receipt.json").read_text())
    with using(tell=lambda remark: None):
        rows = dv.open_table(found.folder / f"q.{end}").rows
    if rows != sum(query["cells"] for query in receipt["queries"]):
        found.problems.append(f"q.{end} has {rows} rows")
    found.run("report", "--receipt", "q.receipt.json")
    found.run("statement", "q.receipt.json")
    numbers = ("--mean", "n:0:2000", "--quantiles", "n:0:2000:0.5", "--by", "sex", "--values-from-data")
    found.run("publish", source, *numbers, "--guarantee", "dp=1", *null, "-o", f"w.{end}", "--no-ledger", refused=True)


def _pair(rng: random.Random, found: Chain, source: str, name: str, null: tuple[str, ...]) -> None:
    """Release two columns together, and estimate, report and tell them."""
    end = rng.choice(["csv", "parquet", "arrow", "xlsx"])
    line = ("release", source, "--column", name, "--column", "sex", "--guarantee", "ldp=9", *null, "-o", f"p.{end}")
    if found.run(*line, "--no-ledger", "--only-column", refused=True) is None:
        return
    found.run("estimate", f"p.{end}", "--receipt", "p.receipt.json")
    found.run("report", "--receipt", "p.receipt.json", "--prior", "uniform")
    found.run("statement", "p.receipt.json", "--language", "de")

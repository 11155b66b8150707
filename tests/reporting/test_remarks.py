"""Remarks that the library makes, as it makes them: on German pages none is English, none lost a number or name."""

import ast
import dataclasses
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge import clock
from divulge.app.pages import in_lines, on_page
from divulge.publishing.notes import SENTENCES, Note
from divulge.releasing.output import archive, catalog, hadoop
from divulge.releasing.session import refuse_absent, refuse_cancelled
from divulge.releasing.spark import _refuse_durations as durations_refused
from divulge.reporting.remarks import remark
from divulge.reporting.statements.voice import Voice

ENGLISH = re.compile(r"\b(the|and|is|are|that|not|than|of|for|with|has|have|were|as|which|one|they|it)\b")
GERMAN = Voice("de")
N = 300


def people(shift: int = 0) -> pa.Table:
    rows = range(shift, shift + N)
    return pa.table({"id": [i // 3 for i in rows], "faith": ["abc"[i // 3 % 3] for i in rows],
                     "town": [f"t{i * 7919 % 1009}" for i in rows], "size": [i % 17 for i in rows]})  # fmt: skip


def read_oddly(folder: Path, told: Callable[[str], object]) -> None:
    (folder / "a.csv").write_text("Klinik\nStand\n\nid;preis\n1;2,5\n2;3,5\nGesamt;5\n", encoding="utf-8")
    (folder / "b.csv").write_text("id;preis\n1;2,5\n2;3,5\n3;4,0\n\nGesamt;10\nQuelle: x;\n", encoding="utf-16")
    (folder / "c.csv").write_text('id,preis\n1,"a\nb"\n2,c', encoding="utf-8")
    (folder / "d.csv").write_text("wer;\n;tag\n1;a\n2;b\n", encoding="utf-8")
    reads: list[tuple[str, dict[str, Any]]] = [
        ("a.csv", {"header": "4", "footer": 1}), ("a.csv", {"header": "4"}), ("b.csv", {}),
        ("c.csv", {"line_breaks": True}), ("d.csv", {"header": "1-2"}),
    ]  # fmt: skip
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for name, options in reads:
            dv.open_table(folder / name, **options)
    for one in found:
        told(str(one.message))


def released_beside(folder: Path, told: Callable[[str], object]) -> None:
    ledger: dict[str, Any] = {"ledger": folder / "l.sqlite", "column": "faith", "guarantee": "ldp=1", "warn": told}
    first = people()
    for i, table in enumerate((first, first.slice(0, 280), people(6 * N))):
        dv.release(table, folder / f"o{i}.csv", source_name="survey", per_row=True, keep=["town", "size"], **ledger)
    dv.release(first, folder / "p.csv", source_name="other", person="id", one_answer=True, keep=(), **ledger)
    dv.release(first, folder / "q.csv", source_name="third", column="size", guarantee="ldp=1", per_row=True,
               ledger=folder / "l.sqlite", keep=(), warn=told, people="survey")  # fmt: skip
    dv.release(first, folder / "r.csv", source_name="survey", per_row=True, keep=(), column="town", protocol="auto",
               guarantee="ldp=1", ledger=folder / "l.sqlite", warn=told)  # fmt: skip


def assumed(folder: Path, told: Callable[[str], object]) -> None:
    table = people()
    more: dict[str, Any] = {"column": "faith", "per_row": True, "keep": (), "warn": told}
    dv.release(table, guarantee="ldp=1", prior="noisy=1/2", **more)
    dv.release(table, guarantee="pml=1", prior_from_data=True, purpose="record", outcomes="sets", **more)
    dv.release(table, guarantee="pml=1", rule_out=True, outcomes="sets", purpose="information", **more)
    dv.release(table, guarantee="ldp=1", values=["a", "b", "c", "d"], **more)
    for note in dv.preview(table, column="faith", guarantee="ldp=1", prior="noisy=1/2", per_row=True).notes:
        told(note)
    dv.release(table, guarantee="pml=1", protect="size", **more)
    for secret in ("faith", "size"):
        dv.generalize(table, "town", secret, guarantees="k=5", perturb="pml=1", per_row=True, warn=told)
    many = {"faith": ["abcdefgh"[i * i % 8] for i in range(64)] + list("abcdefghijkl")}
    for purpose in ("record", "information"):  # both designs end at their limit, and say so
        dv.release(many, column="faith", guarantee="pml=1", rule_out=True, outcomes="sets", purpose=purpose,
                   per_row=True, time_limit=0.0001, prior_from_data=True, warn=told)  # fmt: skip
    gaps = pa.table({"faith": ["a", "b", "c"] * 20, "town": ["x", None, "y"] * 20})
    for note in dv.assess(gaps, known=["town"], secret="faith").notes:
        told(note)
    odd = pa.table({"faith": ["a", "b", " a"] * 20 + ["rare"]})
    dv.release(odd, column="faith", guarantee="ldp=1", per_row=True, warn=told)
    beside = dv.preview(table, column="faith", guarantee="ldp=1", keep=["town", "size"], per_row=True).beside
    for said in () if beside is None else beside.words():
        told(said)


def of_statistics(folder: Path, told: Callable[[str], object]) -> None:
    for name in SENTENCES:
        blanks = re.findall(r"\{(\w+)\}", SENTENCES[name])
        values = {blank: ["town"] if blank == "columns" else 1234.5 for blank in blanks}
        told(Note(name, values).text)
    few = pa.table({"age": [None, 1, 2, 30, 2.5] * 8, "sex": ["f", "m"] * 20})
    ages: Any = {"bounds": (0, 20), "by": "sex", "step": 1}
    dv.publish(few, [dv.Mean("age", **ages), dv.Proportion("sex", "f")], guarantee="dp=1", values={"sex": ["f", "m"]},
               per_row=True, warn=told)  # fmt: skip


@pytest.mark.parametrize("made", [read_oddly, released_beside, assumed, of_statistics])
def test_remarks_of_the_library_are_german_on_german_pages(tmp_path: Path, made: Any) -> None:
    found: list[str] = []
    made(tmp_path, found.append)
    assert len(found) > 4
    for text in filter(None, map(on_page, dict.fromkeys(found))):
        said = remark(GERMAN, text)
        assert not ENGLISH.search(re.sub(r"„[^“]*“", "", said)), (text, said)
        digits = (re.sub(r"[.,\s]", "", re.sub(r"\d{4}-\d\d-\d\d", "", one)) for one in (text, said))
        numbers, mine = (sorted(re.findall(r"\d+", one)) for one in digits)
        assert set(numbers) <= set(mine), (text, said)
        assert set(re.findall(r"(?<!\w)'([^']+)'(?!\w)", text)) <= {
            *re.findall(r"„([^“]+)“", said),
            *re.findall(r"'([^']+)'", said),
        }
    assert remark(Voice(), found[0]) == found[0]


def test_what_an_estimate_warns_of_is_german() -> None:
    """A preview simulates a release, whose estimate may warn: of an empty set, about once in twenty."""
    coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    odd = dv.estimate_frequencies({"ill": ["yes"] * 1000}, coin, column="ill")
    doubted = dataclasses.replace(
        odd, condition=1e6, interval="normal",
        doubts=("the receipt was written for 7 rows, and the table has 1,000",
                "the table is not the one the receipt was written for, to the byte: its digest is another"),
    )  # fmt: skip
    biased = dataclasses.replace(odd, method="em")
    assert odd.empty
    found = {*odd.warnings, *doubted.warnings, *biased.warnings}
    assert len(found) == 7
    for text in found:
        said = remark(GERMAN, text)
        assert not ENGLISH.search(said), (text, said)
        assert said != text


def told_by(module: Any) -> list[str]:
    """Return what a module tells, with something in each blank; a choice of words is told in each of them."""
    found: list[str] = []
    for one in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(one, ast.Call) and ast.unparse(one.func) == "current().tell":
            parts = one.args[0].values if isinstance(one.args[0], ast.JoinedStr) else [one.args[0]]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            found += [text.replace("{}", "x7", 1).replace("{}", whose) for whose in (
                "cannot be taken back", "may be under way on another machine",
            )]  # fmt: skip
    return found


def test_what_spark_hinders_is_told_in_german() -> None:
    """All remarks on addresses and catalogs, and what is said of a session that cannot do it."""
    texts = [text for module in (archive, catalog, hadoop) for text in told_by(module)]
    assert len(set(texts)) > 6
    places: list[Any] = [
        lambda: refuse_absent("a", RuntimeError("Failed to find the data source: delta.")),
        lambda: refuse_absent("a", RuntimeError("No FileSystem for scheme s3x")),
        lambda: refuse_cancelled("a", RuntimeError("SPARK_JOB_CANCELLED")),
        lambda: durations_refused("a", pa.schema([("b", pa.duration("s"))])),
    ]
    for refused in places:
        with pytest.raises(dv.DivulgeError) as caught:
            refused()
        texts.append(str(caught.value))
    for text in texts:
        said = remark(GERMAN, on_page(text))
        assert not ENGLISH.search(re.sub(r"„[^“]*“", "", said)), (text, said)


def _text_of(node: ast.expr) -> str:
    """Return a text of the source with a number for each blank."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "1,200" for part in parts)


def test_a_limit_that_is_too_short_is_told_in_german() -> None:
    """Every refusal of the clock, as its place in the source words it."""
    refused: list[str] = []
    for path in Path(dv.__file__).parent.rglob("*.py"):
        if path.name == "clock.py" or "clock" not in (source := path.read_text()):
            continue
        for one in ast.walk(ast.parse(source)):
            if isinstance(one, ast.Call) and ast.unparse(one.func) in ("clock.in_time", "clock.out_of_time"):
                at = ast.unparse(one.func) == "clock.in_time"
                refused.append(str(clock.out_of_time(*map(_text_of, one.args[at:]))))
    assert len(refused) > 8
    english = [text for text in refused if ENGLISH.search(remark(GERMAN, text))]
    assert not english


@pytest.mark.parametrize("rows", [
    [["3/5", "2/5"], ["2/5", "3/5"]], [["1/2", "1/4", "1/4"], ["1/4", "3/4", 0]], [["3/4", "1/4"], ["1/4", "3/4"]],
    [["3/5", "2/5"], ["1/5", "4/5"]],
])  # fmt: skip
def test_two_mechanisms_are_compared_in_german(rows: Any) -> None:
    """Sentences are German, and tables stay where they stand, with decimal commas."""
    text = repr(dv.compare(dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]]), dv.Channel(rows)))
    said = in_lines(GERMAN, text)
    assert not ENGLISH.search(said), said
    assert not re.search(r"\d\.\d|\bbet\b", said), said
    sizes = [len(line) for line in text.splitlines() if line.startswith("    ")]
    assert sizes == [len(line) for line in said.splitlines() if line.startswith("    ")]
    assert in_lines(Voice(), text) == text


def test_what_is_not_known_stays_as_it_is() -> None:
    text = "Something new happened. It has no German."
    assert remark(GERMAN, text) == text


WHOLE = "ill,town,nr\n" + "\n".join(f"{'abc'[i % 3]},{'xy'[i % 2]},{i}" for i in range(60)) + "\n"
WRONG: list[tuple[str, bytes]] = [
    ("empty.csv", b""), ("title.csv", b"T\n\na,b\n1,2\n"), ("foot.csv", b"a,b\n1,2\nTotal\n"),
    ("twice.csv", b"a,a\n1,2\n"),
    ("x.xlsx", b"PKxx"), ("x.ods", b"PKxx"), ("x.xls", b"zz"), ("x.parquet", b"PAR1xx"), ("x.feather", b"zz"),
    ("quote.csv", b'a,b\n"x,1\ny,2\n'), ("x.dta", b"zzz"), ("x.sav", b"zzz"), ("x.sas7bdat", b"zz"), ("x.pdf", b"%PDF"),
    ("zero.csv", b"a,b\n\0,1\n"), ("semi.csv", b"a;b\n1;2\n3,4;5;6\n"),
]  # fmt: skip
ASKED: list[dict[str, Any]] = [
    {"header": "99"}, {"header": "x"}, {"footer": 999}, {"delimiter": "abc"}, {"decimal": "x"}, {"encoding": "klingon"},
    {"encoding": "utf-16"}, {"group": ("ill=10",)}, {"group": ("nr=junk",)}, {"group": ("none=first:2",)},
    {"group": ("ill=month",)}, {"one_spelling": ("none",)},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "content", "options"), [
    *((name, content, {}) for name, content in WRONG), *(("t.csv", WHOLE.encode(), one) for one in ASKED),
])  # fmt: skip
def test_what_is_wrong_with_a_file_is_german_too(
    name: str, content: bytes, options: dict[str, Any], tmp_path: Path
) -> None:
    """Wrong files, and what is wrongly typed or sent on the first page."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(dv.DivulgeError) as refused:
        list(dv.open_table(tmp_path / name, **options).batches())
    text = on_page(str(refused.value))
    said = remark(GERMAN, text)
    assert not ENGLISH.search(re.sub(r"„[^“]*“", "", said)), said
    assert "must" not in said
    assert set(re.findall(r"\d+", text)) <= set(re.findall(r"\d+", said.replace("1.000", "1,000")))

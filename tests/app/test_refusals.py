"""What the library refuses behind the pages: on German pages no sentence of it is English, and it loses no number."""

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import some

import divulge as dv
from divulge.app import outlook, protected, work
from divulge.app.pages import on_page
from divulge.releasing.request import Request
from divulge.reporting.remarks import remark
from divulge.reporting.statements.voice import Voice

from .test_languages import ENGLISH

N = 240
ROWS = [
    f"{'abc'[i % 3]},{20 + i % 60 if i % 7 else ''},{'NSWO'[i // 5 % 4]},p{i // 3},n{i},,x,"
    f"{48.7 + i / 9e3:.4f},{2.2 + i / 9e3:.4f}"
    for i in range(N)
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a column of each kind that is trouble, and what others released beside it."""
    folder = tmp_path_factory.mktemp("refusals")
    path = folder / "t.csv"
    path.write_text("\n".join(["ill,age,town,who,name,gap,same,lat,lon", *ROWS]) + "\n")
    answers = pa.table({"answer": ["yes", "no", "no", "no"] * 50, "other": ["a", "b"] * 100})
    dv.release(answers, folder / "o.csv", column="answer", guarantee="ldp=1", per_row=True)
    dv.publish(answers, dv.Count("answer"), folder / "s.csv", guarantee="dp=1", values={"answer": ["yes", "no"]})
    return path


def quiet(*_: object) -> None:
    """Stand in for what shows progress."""


def statistics(table: Path, several: list[dict[str, Any]], **options: Any) -> None:
    asked = [{"by": [], **one} for one in several]
    more = {"guarantee": "dp=1", "neighbors": "replaced", "per_row": True, "values_from_data": True, **options}
    more = {name: value for name, value in more.items() if value is not None}
    work.simulate_statistics(quiet, str(table), asked, more)


def listed(table: Path, name: str, content: str) -> None:
    path = table.with_name(name)
    path.write_text(content)
    statistics(table, [{"kind": "count", "by": ["ill"]}], values=str(path), values_from_data=None)


def column(table: Path, **options: Any) -> None:
    asked: dict[str, Any] = {"column": "ill", "guarantee": "ldp=1", "per_row": True, **options}
    (found,) = work.preview(quiet, str(table), [{name: one for name, one in asked.items() if one is not None}])
    if "refused" in found:
        raise dv.DivulgeError(found["refused"])


def released(table: Path, **options: Any) -> None:
    asked: dict[str, Any] = {"column": "ill", "guarantee": "ldp=1", "per_row": True, "keep": [], **options}
    kept = {name: one for name, one in asked.items() if one is not None}
    outlook.outlook(quiet, str(table), Request.of("release", str(table), "o.csv", **kept), 0.01, "a")


def coarse(table: Path, **options: Any) -> None:
    asked: dict[str, Any] = {"known": ["age", "town"], "secret": "ill", "guarantees": ["k=5"], "suppress": "0",
                             "per_row": True, **options}  # fmt: skip
    work.coarsen(quiet, str(table), {name: one for name, one in asked.items() if one is not None})


def places(table: Path, **options: Any) -> None:
    asked: dict[str, Any] = {"column": ["lat", "lon"], "guarantee": "metric=1/km", "grid": "100m",
                             "box": "48.7,2.2,48.8,2.3", "per_row": True, **options}  # fmt: skip
    work.blur(quiet, str(table), "1", {name: one for name, one in asked.items() if one is not None})


def protecting(table: Path, **options: Any) -> None:
    asked: dict[str, Any] = {"column": "town", "protect": "ill", "guarantee": ["pml=0.4", "pmc=0.4"],
                             "purpose": "statistics", "per_row": True, **options}  # fmt: skip
    kept = {name: one for name, one in asked.items() if one is not None}
    protected.shield(quiet, str(table), kept, {"ledger": None})


def audited(table: Path, secret: str = "ill", released: str = "town", claim: str | None = None) -> None:
    work.audit(quiet, str(table), secret, released, claim)


def columns(table: Path, text: str) -> None:
    path = table.with_name("columns.csv")
    path.write_text(text)
    dv.assess(path, secret="ill")


def receipt(table: Path, change: Callable[[bytes], bytes]) -> None:
    path = table.with_name("changed.receipt.json")
    path.write_bytes(change(table.with_name("o.receipt.json").read_bytes()))
    work.report(quiet, str(path), str(table.with_name("r.html")))


GOOD = ",a,b\nx,0.5,0.5\ny,0.25,0.75\n"


def compared(table: Path, second: str, name: str = "b.csv") -> None:
    for path, text in ((table.with_name("a.csv"), GOOD), (table.with_name(name), second)):
        path.write_text(text)
    work.compare(quiet, str(table.with_name("a.csv")), str(table.with_name(name)))


MEAN = {"kind": "mean", "column": "age", "low": "0", "high": "90", "fill": "0"}
COUNT = {"kind": "count", "by": ["ill"]}
REFUSED: list[tuple[Any, dict[str, Any]]] = [
    *((statistics, one) for one in (
        {"several": [{**MEAN, "fill": "1000"}]}, {"several": [{**MEAN, "column": "town"}]},
        {"several": [{**MEAN, "column": "gap"}]}, {"several": [{**MEAN, "by": ["name"]}]},
        {"several": [{**MEAN, "by": ["age"]}]}, {"several": [{**MEAN, "step": "1e-13"}]},
        {"several": [{**MEAN, "high": "1e14"}]}, {"several": [COUNT], "person": "gap",
        "rows_per_person": 2, "per_row": None},
        {"several": [COUNT], "person": "age", "rows_per_person": 2, "per_row": None},
        {"several": [COUNT], "person": "ill", "rows_per_person": 2, "per_row": None},
        {"several": [{"kind": "count", "by": ["age"]}], "null_as": "20"}, {"several": [COUNT], "per_row": None},
        {"several": [{"kind": "count", "by": ["name"]}]}, {"several": [{"kind": "count", "by": ["gap"]}]},
        {"several": [{"kind": "count", "by": ["age"]}]}, {"several": [COUNT, COUNT]},
        {"several": [{"kind": "share", "column": "town", "value": "Q"}]},
        {"several": [{"kind": "share", "column": "gap", "value": "Q"}]},
        {"several": [{**MEAN, "kind": "quantiles", "at": ["0.5", "0.5"]}]},
        {"several": [{**MEAN, "kind": "quantiles", "at": ["0.5"]}], "guarantee": "adp=1:0.01"},
        {"several": [{"kind": "sum", "column": "age", "auto": True, "fill": "0"}]},
        {"several": [{"kind": "mean", "column": "age", "auto": True, "fill": "0"}], "guarantee": "dp=0.0001"},
        {"several": [COUNT], "guarantee": "adp=0.000001:0.1"}, {"several": [COUNT], "guarantee": "dp=0.00000001"},
        {"several": [{"kind": "count", "by": ["ill", "town", "same", "who"]}]},
        {"several": [MEAN], "consistent": True},
        {"several": [COUNT, {"kind": "count", "by": []}], "fill": {"age": 3}},
    )),
    *((listed, {"name": name, "content": content}) for name, content in (
        ("v.json", '{"town": ["N"]}'), ("v.json", '{"ill": 3}'), ("v.json", "no"), ("v.csv", "ill\na\na\n"),
        ("v.json", ""),
        ("v.json", '{"ill": ["a", "a"]}'), ("v.json", '{"ill": []}'), ("v.json", '{"ill": [null, "a"]}'),
        ("v.json", "[]"),
        ("v.txt", "a\nb\n"), ("v.csv", "ill\n"), ("v.json", '{"ill": [["a"], "b"]}'),
    )),
    *((column, one) for one in (
        {"column": "gap"}, {"column": "same"}, {"column": "name"}, {"column": "age"},
        {"person": "gap", "per_row": None},
        {"person": "gap", "one_answer": True, "per_row": None},
        {"person": "who", "one_answer": True, "per_row": None},
        {"person": "ill", "rows_per_person": 2, "per_row": None}, {"null_as": "a"},
        {"column": "age", "null_as": "20"},
        {"guarantee": "pml=0.0000001"}, {"guarantee": "ldp=0.0000000001"}, {"prior": "noisy=2"}, {"per_row": None},
        {"values": {"ill": ["a", "b"]}, "other": "other", "prior_from_data": True}, {"values": {"town": ["a", "b"]}},
        {"prior": "noisy=0.2", "guarantee": "alip=0.1:0.1"}, {"values": {"ill": ["x", "y"]}, "null_as": "x"},
        {"prior": "lower=0.01", "time_limit": 0},
    )),
    *((released, one) for one in (
        {"column": "gap"}, {"keep": ["none"]}, {"keep": ["ill"]},
        {"person": "who", "rows_per_person": 1, "keep": ["who"],
         "per_row": None}, {"per_row": None}, {"column": "age"}, {"budget": "ldp=0.1"}, {"people": "new"},
        {"column": "name", "protocol": "optimized-unary"}, {"column": "who", "protocol": "prefix-extension",
         "person": "name", "one_answer": True, "per_row": None},
        {"column": "town", "protocol": "local-hashing", "person": "ill", "one_answer": True, "per_row": None},
        {"column": "gap", "protocol": "local-hashing"}, {"column": "name", "protocol": "hadamard",
        "values": {"name": ["a"]}},
    )),
    *((coarse, one) for one in (
        {"known": ["gap"]}, {"known": ["ill"]}, {"secret": "gap"}, {"secret": "name"}, {"guarantees": ["k=0"]},
        {"guarantees": ["beta=0"]}, {"levels": {"age": 99, "town": 0}}, {"levels": {"age": 1}}, {"suppress": "1"},
        {"person": "gap", "rows_per_person": 2, "per_row": None},
        {"person": "who", "rows_per_person": 1, "per_row": None},
        {"recoding": "local", "suppress": "1/2"}, {"perturb": ["pml=0"]}, {"perturb": ["pml=0.000001"]},
        {"recoding": "local", "guarantees": ["k=500"]}, {"known": ["name"], "perturb": ["pml=1"]}, {"per_row": None},
        {"secret": "same", "perturb": ["pml=1"]}, {"perturb": ["pml=20"]},
    )),
    *((places, one) for one in (
        {"box": "48.8,2.2,48.7,2.3"}, {"box": "-80,-170,80,170"}, {"grid": "0m"}, {"grid": "x"}, {"grid": "100"},
        {"grid": "0.001m"}, {"column": ["age", "lon"]}, {"column": ["lat", "gap"]},
        {"guarantee": "metric=0.0000001/km"},
        {"person": "gap", "rows_per_person": 2, "per_row": None}, {"per_row": None}, {"guarantee": "metric=1e9/km"},
        {"person": "lat", "rows_per_person": 2, "per_row": None}, {"column": ["lat", "ill"]},
    )),
    *((protecting, one) for one in (
        {"column": "gap"}, {"protect": "gap"}, {"column": "same"}, {"protect": "same"}, {"column": "age"},
        {"protect": "age"},
        {"guarantee": ["pml=0.000001", "pmc=0.000001"]}, {"person": "gap", "one_answer": True, "per_row": None},
        {"person": "who", "one_answer": True, "per_row": None}, {"protect": "town"}, {"per_row": None},
        {"purpose": "record", "guarantee": ["pml=0.001", "pmc=0.001"]},
    )),
    *((audited, one) for one in (
        {"secret": "none"}, {"released": "none"}, {"secret": "gap"}, {"released": "gap"}, {"secret": "age"},
        {"released": "ill"},
        *({"claim": claim} for claim in (
            "x", "ldp", "ldp=-1", "ldp=x", "ldp=nan", "k=5", "metric=1/km", "adp=1:2", "xyz=1", "alip=1",
        "pml=0", "dp=1:2",
            "ldp=1,pml=1", "rdp=1:1", "alip=1:-1", "ldp=", "=1", "adp=1", "rdp=0:1", "lift=0.5", "tv=2", "mean-pml=1",
        )),
    )),
    *((columns, {"text": text}) for text in (
        "Survey,,\nill,town,age\na,N,1\n", "ill,town,town\na,N,1\n",
    )),
    *((receipt, {"change": change}) for change in (
        lambda text: text[:-100], lambda text: text.replace(b'"ldp"', b'"xdp"', 1),
        lambda text: b"", lambda text: b"{}",
        lambda text: b"[]", lambda text: b"\0", lambda text: b'{"format": "divulge receipt 1"}', lambda text: b'"a"',
        lambda text: json.dumps({"format": "divulge receipt 99"}).encode(), lambda text: b"\xff\xfe{",
    )),
    *((compared, {"second": second, "name": name}) for second, name in (
        (",a,b\nx,0.6,0.4\nz,0.25,0.75\n", "b.csv"), ("", "b.csv"), ("x", "b.csv"),
        (",a,b\nx,0.5,0.6\ny,0,1\n", "b.csv"),
        (",a,b\nx,-0.5,1.5\ny,0,1\n", "b.csv"), (",a,a\nx,1,0\ny,0,1\n", "b.csv"),
        (",a,b\nx,one,0\ny,0,1\n", "b.csv"),
        (",a,b\nx,1,0\nx,0,1\n", "b.csv"), (",a,b\nx,nan,0\ny,0,1\n", "b.csv"), (",a,b\nx,1\n", "b.csv"),
        ("{}", "b.json"),
        ("[]", "b.json"), ('{"channel": [[1, 0]]}', "b.json"), ('{"matrix": [[1, 0]]}', "b.json"), ("{", "b.json"),
        ('{"matrix": [[1, "a"]]}', "b.json"), ('{"matrix": 3}', "b.json"), ('{"matrix": [[1, 0], [1]]}', "b.json"),
        (",a,b\nx,,\ny,0,1\n", "b.csv"), ("a", "b.txt"), ("a", "b"), ("a", "b.xlsx"),
    )),
]  # fmt: skip
"""What pages hand on, and what is wrong with it; some of it can be done all the same, and is not told."""


def told(made: Any, given: dict[str, Any], table: Path) -> str | None:
    """Return what a page says of what was refused, in German; None where it was done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made(table, **given)
        except dv.DivulgeError as error:
            return on_page(str(error))
    return None


@pytest.mark.parametrize("page", dict.fromkeys(made for made, _ in REFUSED))
def test_what_the_library_refuses_is_german_on_german_pages(page: Any, table: Path) -> None:
    wrong = {}
    refused = 0
    for given in some([given for made, given in REFUSED if made is page]):
        text = told(page, given, table)
        if text is None:
            continue
        refused += 1
        said = remark(Voice("de"), text)
        bare = re.sub(r"„[^“]*“|\([^)]*\)|\w+=|[\w-]+\.(csv|json|txt|xlsx)|'[^']*'|\"[^\"]*\"", "", said)
        if ENGLISH.search(bare) or "must" in said or "`" in said:
            wrong[text] = said
    assert not wrong, "\n".join(f"{text}\n   -> {said}" for text, said in wrong.items())
    assert refused

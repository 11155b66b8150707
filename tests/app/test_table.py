"""A table of statistics by the forms: every kind, what is refused, numbers of the library, and programs that run."""

import csv
import html
import json
import random
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

import divulge as dv
from divulge.app.pages import number
from divulge.cli.main import app

from .visits import Visit, running

ADDED: list[dict[str, Any]] = [
    {"kind": "count", "of": ["illness", "sex"]},
    {"kind": "count"},
    {"kind": "mean", "column": "age", "low": "18", "high": "90"},
    {"kind": "sum", "column": "weight", "low": "40", "high": "120", "step": "0,5"},
    {"kind": "variance", "column": "age", "low": "18", "high": "90"},
    {"kind": "quantiles", "column": "age", "low": "18", "high": "90", "at": "0,25 0.5"},
    {"kind": "share", "column": "illness", "value": "asthma"},
]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(3)
    lines = ["illness;sex;age;weight;who"]
    for i in range(900):
        illness = rng.choices(["none", "asthma", "Grüße, “x”", "a rare one"], [80, 10, 8, 2])[0]
        weight = f"{rng.randint(40, 119)},{rng.choice('05')}"
        lines.append(f'"{illness}";{rng.choice("fm")};{rng.randint(18, 90)};{weight};p{i // 2}')
    path = tmp_path_factory.mktemp("clinic") / "clinic.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """The app, begun after the folder of the test: while it runs, all that is temporary goes to a folder of its own."""
    with running() as found:
        yield found


def begun(client: TestClient, file: Path, secret: str = "illness", **options: str) -> Visit:
    visit = Visit(client)
    visit.upload(file, **options)
    visit.aimed(secret)
    return visit


@pytest.fixture(scope="module")
def refusing(clinic: Path) -> Iterator[Visit]:
    """One visit for all that is refused, which leaves nothing behind."""
    with running() as found:
        yield begun(found, clinic)


def read(file: Path) -> Any:
    return dv.open_table(file, delimiter=";", decimal=",", encoding="utf-8")


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_true_numbers_are_true_however_far_the_bounds_are(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "incomes.csv"
    path.write_text("who,income\n" + "a,1\nb,2\n" * 100)
    visit = begun(client, path, secret="who")
    for kind in ("sum", "mean"):
        visit.post("table/add", {"kind": kind, "column": "income", "low": "0", "high": "1000000000000"})
    assert visit.post("table", {}).status_code == 200
    assert [row[1] for row in shown(visit.part("preview/found"))] == ["100", "100", "300", "1.5"]


def test_the_command_adds_up_with_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page published and what its command publishes are releases of one source in the ledger.

    Of a column it is seen in `test_acceptance.py`, where the command passes the budget that the page kept.
    """
    path = tmp_path / "-people.csv"
    path.write_text("answer,k\n" + "yes,1\nno,2\n" * 100)
    monkeypatch.chdir(tmp_path)
    book = tmp_path / "ledger.sqlite"
    with running(ledger=str(book)) as client:
        visit = begun(client, path, secret="answer")
        visit.post("table", {})
        shell = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", visit.part("asked/found"), re.DOTALL)[0])
        visit.papers(tmp_path, format="csv")
        done = CliRunner().invoke(app, [*shlex.split(shell)[1:], "--ledger", str(book)])
        assert done.exit_code == 0, done.output
    entries = dv.Ledger(book).entries()
    assert [entry.source for entry in entries] == ["-people.csv"] * 2


def shown(page: str) -> list[list[str]]:
    """Return the cells of all rows of a page."""
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", page, re.DOTALL)
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def test_everything_that_can_be_asked_is_shown_with_its_true_number(client: TestClient, clinic: Path) -> None:
    visit = begun(client, clinic)
    for one in ADDED:
        page = visit.post("table/add", one)
        assert page.status_code == 200, words(page.text)
    assert visit.post("table", {"by": ["sex"]}).status_code == 200
    cells = shown(visit.part("preview/found"))
    statistics = [
        dv.Count("illness"), dv.Count("illness", "sex"), dv.Count(), dv.Mean("age", (18, 90), by="sex"),
        dv.Sum("weight", (40, 120), by="sex", step="0.5"), dv.Variance("age", (18, 90), by="sex"),
        dv.Quantiles("age", (18, 90), by="sex", probabilities=("0.25", "0.5")),
        dv.Proportion("illness", "asthma", by="sex"),
    ]  # fmt: skip
    exact = dv.publish(
        read(clinic),
        statistics,
        guarantee="dp=1e8",
        values_from_data=True,
    ).statistics()
    wanted = sorted((", ".join(one["by"].values()) or "all rows", number(one["value"])) for one in exact)
    assert sorted((row[0], row[1]) for row in cells) == wanted
    assert all(len(row) in (4, 5) and (" and " in row[3]) == (row[2] != "no information") for row in cells)
    counts = [int(row[1].replace(",", "")) for row in cells if len(row) == 5][:4]
    assert counts == sorted(counts), "small groups come first"


def test_the_promise_is_the_one_of_step_2(client: TestClient, clinic: Path, tmp_path: Path) -> None:
    visit = begun(client, clinic)
    visit.post("table", {})
    papers = visit.papers(tmp_path, format="csv", language="de")
    receipt = dv.results.Published.read(papers["receipt.json"])
    promise = dv.guarantees.guarantee_for_posterior("ldp", "1/100", "20/100")
    assert receipt.guarantees["dp"] == pytest.approx(float(promise.epsilon), rel=1e-9)
    assert "Das Versprechen" in papers["statement.txt"].read_text(encoding="utf-8")
    assert receipt.describes(papers["table"])


def by_place(receipt: dict[str, Any]) -> dict[str, float]:
    """Return the scale of the noise on each query, by all else that is known of it; a command has them in its order."""
    return {
        json.dumps({key: part for key, part in query.items() if key not in ("scale", "loss")}): query["scale"]
        for query in receipt["queries"]
    }


@pytest.mark.parametrize("format_", ["csv", "parquet", pytest.param("xlsx", marks=pytest.mark.long)])
def test_command_script_and_notebook_publish_by_the_same_mechanism(
    client: TestClient, clinic: Path, format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = begun(client, clinic, delimiter=";", decimal=",", encoding="utf-8")
    for one in ADDED if format_ == "csv" else ADDED[2:5:2]:
        visit.post("table/add", one)
    options = {"by": ["sex"], "person": "who", "at_most": "2", "neighbors": "added", "non_negative": "1"}
    if format_ == "parquet":
        options |= {"delta": "0.000001", "epsilon": "2"}
    assert visit.post("table", options).status_code == 200
    (tmp_path / "values.json").write_text(json.dumps({
        "illness": ["none", "asthma", "Grüße, “x”", "a rare one", "nobody's"], "sex": ["f", "m"],
    }))  # fmt: skip
    if format_ == "csv":
        with (tmp_path / "values.json").open("rb") as stream:
            assert visit.post("table/values", files={"file": ("values.json", stream)}).status_code == 200
    page = visit.part("asked/found")
    shell = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[0])
    came = tmp_path / "came"
    came.mkdir()
    papers = visit.papers(came, format=format_)
    wanted = json.loads(papers["receipt.json"].read_text(encoding="utf-8"))
    (tmp_path / clinic.name).write_bytes(clinic.read_bytes())
    cells = json.loads(papers["notebook"].read_text(encoding="utf-8"))["cells"]
    assert "\n\n".join("".join(cell["source"]) for cell in cells) == papers["script"].read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIVULGE_HOME", str(tmp_path))
    for way in {"csv": ("script", "command"), "parquet": ("command",), "xlsx": ("script",)}[format_]:
        if way == "script":
            runpy.run_path(str(papers["script"]), run_name="__main__")
        else:
            done = CliRunner().invoke(app, [*shlex.split(shell)[1:], "--no-ledger"], catch_exceptions=False)
            assert done.exit_code == 0, done.output
        made = json.loads((tmp_path / "statistics.receipt.json").read_text(encoding="utf-8"))
        assert by_place(made) == pytest.approx(by_place(wanted), rel=1e-12)
        for part in ("guarantees", "protected", "level"):
            assert made[part] == wanted[part], part
        assert sorted(made["columns"]) == sorted(wanted["columns"])
        assert made["told"] == wanted["told"]
        for file in tmp_path.glob("statistics*"):
            file.unlink()


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"kind": "mean", "column": "age", "low": "90", "high": "18"}, "the smaller first"),
        ({"kind": "mean", "column": "age", "low": "", "high": "18"}, "lower bound is missing"),
        ({"kind": "mean", "column": "age", "low": "nan", "high": "18"}, "lower bound is missing"),
        ({"kind": "mean", "column": "age", "low": "0", "high": "1e999"}, "upper bound is missing"),
        ({"kind": "mean", "column": "nobody", "low": "0", "high": "9"}, "Choose the column"),
        ({"kind": "quantiles", "column": "age", "low": "0", "high": "90", "at": "2"}, "between 0 and 1"),
        ({"kind": "quantiles", "column": "age", "low": "0", "high": "90", "at": "x"}, "such as 0.25"),
        ({"kind": "sum", "column": "age", "low": "0", "high": "90", "step": "7"}, "whole multiples of the step"),
        ({"kind": "share", "column": "sex", "value": " "}, "of which value"),
        ({"kind": "quantiles", "column": "age", "auto": "1", "at": "0.5"}, "bounds that you know"),
        ({"kind": "mean", "column": "age", "low": "0", "high": "90", "fill": "x"}, "as which number"),
        ({"kind": "mean", "column": "age", "low": "0", "high": "90", "fill": "0,5"}, "a whole number of steps"),
        ({"kind": "magic"}, "Choose what to publish"),
        ({"kind": "count", "of": ["illness"]}, "asked for already"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(refusing: Visit, form: dict[str, Any], told: str) -> None:
    page = refusing.post("table/add", form)
    assert page.status_code == 400
    assert told in words(page.text)
    assert len(re.findall('name="place"', refusing.get("table").text)) == 1


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"person": "who", "at_most": "0"}, "whole number, 1 or more"),
        ({"delta": "2"}, "from 0 to 0.1"),
        ({"epsilon": "-1"}, "above 0"),
        ({"epsilon": "x"}, "above 0"),
    ],
)
def test_options_are_refused_in_words(refusing: Visit, form: dict[str, str], told: str) -> None:
    page = refusing.post("table", form)
    assert page.status_code == 400
    assert told in words(page.text)


def test_what_is_told_of_a_column_is_not_grouped_by_it(client: TestClient, clinic: Path) -> None:
    visit = begun(client, clinic)
    visit.post("table/add", ADDED[-1])
    page = visit.post("table", {"by": ["illness"]})
    assert page.status_code == 400
    assert "cannot be grouped by" in words(page.text)
    visit.post("table/remove", {"place": "0"})
    visit.post("table/remove", {"place": "0"})
    page = visit.post("table", {})
    assert page.status_code == 400
    assert "one statistic at least" in words(page.text)


def test_what_protection_costs_and_accuracy_first(client: TestClient, clinic: Path) -> None:
    visit = begun(client, clinic)
    visit.post("table", {"then": "table"})
    cost = visit.part("tablecost/found")
    points = re.findall(r'value="([\d.]+)"[^>]*>at most [\d.]+ in 100: ± ([\d.,]+)', cost)
    assert len(points) >= 8
    for after, off in points[::3]:
        promise = dv.guarantees.guarantee_for_posterior("ldp", "1/100", float(after) / 100)
        found = dv.publish(read(clinic), dv.Count("illness"), guarantee=f"dp={promise.epsilon!r}",
                           values_from_data=True)  # fmt: skip
        assert float(off.replace(",", "")) == float(found.queries[0]["half_width"])
    offs = [float(off) for _, off in points]
    assert offs == sorted(offs, reverse=True)
    assert visit.post("table/level", {"off": "5"}).status_code == 200
    chosen = min(float(after) for after, off in points if float(off) <= 5)
    assert f'value="{chosen}" selected' in visit.part("tablecost/found")
    assert visit.post("table/level", {"off": "0.00001"}).status_code == 400


@pytest.fixture
def gaps(tmp_path: Path) -> Path:
    """Every tenth person has no age, which is what one of the options counts them as."""
    lines = ["illness,age", *(f"{'none' if i % 3 else 'flu'},{'' if i % 10 == 0 else 20 + i % 40}" for i in range(600))]
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_bounds_that_noise_chooses_and_missing_numbers_that_count(
    client: TestClient, gaps: Path, tmp_path: Path
) -> None:
    visit = begun(client, gaps)
    for kind in ("mean", "sum"):
        page = visit.post("table/add", {"kind": kind, "column": "age", "auto": "1", "fill": "0"})
        assert page.status_code == 200, words(page.text)
    assert "the mean of age, between bounds that noise chooses, missing numbers as 0" in words(page.text)
    for form, told in (({"low": "0", "high": "90"}, "for all of its statistics"),
                       ({"auto": "1", "fill": "7"}, "one and the same number")):  # fmt: skip
        page = visit.post("table/add", {"kind": "variance", "column": "age", **form})
        assert page.status_code == 400
        assert told in words(page.text)
    assert visit.post("table", {"epsilon": "8"}).status_code == 200
    shell = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", visit.part("asked/found"), re.DOTALL)[0])
    assert "--mean age:auto" in shell
    assert "--fill age:0" in shell
    papers = visit.papers(tmp_path, format="csv", language="de")
    receipt = dv.results.Published.read(papers["receipt.json"])
    assert [query["kind"] for query in receipt.queries].count("bins") == 1
    assert {"note_chosen", "note_fill"} <= {note.name for note in receipt.notes}
    said = " ".join(papers["statement.txt"].read_text(encoding="utf-8").split())
    assert "Eine Zeile ohne Zahl in „age“ zählt, als stünde dort 0" in said
    low, high = next(query["bounds"] for query in receipt.queries if "bounds" in query)  # far ones once in a hundred
    with papers["table"].open(encoding="utf-8") as stream:
        mean = next(row for row in csv.DictReader(stream) if row["statistic"] == "mean")
    true = sum(min(max(0 if i % 10 == 0 else 20 + i % 40, low), high) for i in range(600)) / 600
    assert abs(float(mean["value"]) - true) < 40 * float(mean["standard_error"])

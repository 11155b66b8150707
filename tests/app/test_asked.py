"""What the pages ask is one request: button, command and program do the same, and the pages say what is true."""

import html
import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from app.visits import Visit, running, visiting

import divulge as dv
from divulge.app import work
from divulge.app.guard import Refused
from divulge.app.numbers import number_in
from divulge.app.outlook import outlook
from divulge.releasing.column import Release

PEOPLE, ROWS = 120, 5


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(7)
    faith = rng.choice(["a", "b"], PEOPLE, p=[0.8, 0.2])
    table = pa.table({
        "patient": np.repeat(np.arange(PEOPLE), ROWS), "faith": np.repeat(faith, ROWS),
        "town": np.repeat(np.where(faith == "b", "x", rng.choice(["x", "y"], PEOPLE)), ROWS),
    })  # fmt: skip
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    csv.write_csv(table, path)
    return path


@pytest.fixture(scope="module")
def refusing(visits: Path) -> Iterator[Visit]:
    """One visit for all that is refused."""
    with visiting(visits) as visit:
        yield visit


def text(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def number(page: str, words: str) -> float:
    return float(re.findall(rf"{words}.*? at most ([\d.]+) in 100", page)[0])


def test_a_table_of_visits_is_asked_about_and_its_promise_is_the_persons(visits: Path, tmp_path: Path) -> None:
    with running(ledger=str(tmp_path / "l.sqlite")) as client:
        visit = Visit(client)
        visit.upload(visits)
        visit.post("secret", {"secret": "faith"})
        assert "Column “patient”" in text(visit.part("columns")).replace("The column", "Column")
        assert visit.get("aim").status_code == 409
        visit.post("secret", {"secret": "faith", "whose": "row"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "5"})
        six = math.exp(6 * math.log(0.05 * 0.99 / (0.95 * 0.01)))
        assert number(text(visit.get("aim").text), "Of a person with 6 rows") == pytest.approx(
            100 * six * 0.01 / (six * 0.01 + 0.99), abs=0.11
        )
        visit.post("secret", {"secret": "faith", "whose": "one", "person": "patient"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "5"})
        visit.post("how", {"way": "statistics", "prior": "uniform"})
        papers = visit.papers(tmp_path, format="csv", keep=["patient", "town"])
        out = csv.read_csv(papers["table"])
        said = np.array(out["faith_perturbed"].to_pylist()).reshape(PEOPLE, ROWS)
        assert (said == said[:, :1]).all()
        receipt = dv.Receipt.read(papers["receipt.json"])
        assert receipt.protects["person"] == "patient"
        done = text(visit.part("release/found"))
        assert all(warning in done for warning in receipt.warnings)


def test_what_went_before_and_what_goes_out_beside_is_shown_before_the_click(visits: Path, tmp_path: Path) -> None:
    table = csv.read_csv(visits)
    with running(ledger=str(tmp_path / "l.sqlite")) as client:
        visit = Visit(client)
        visit.upload(visits)
        visit.post("secret", {"secret": "faith", "whose": "one", "person": "patient"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "5", "value": "b"})
        visit.post("how", {"way": "statistics", "prior": "uniform"})
        for count in (1, 2, 3):
            visit.post("asked", {"format": "csv", "keep": ["town"]})
            before = text(visit.part("asked/found"))
            papers = visit.papers(tmp_path, format="csv", keep=["town"])
            receipt = dv.Receipt.read(papers["receipt.json"])
            visit.post("again")
            alone, total = receipt.guarantees["ldp"], receipt.together["guarantees"]["ldp"]  # pyright: ignore[reportOptionalSubscript]

            def after(chance: float, loss: float) -> float:
                return 100 * math.exp(loss) * chance / (math.exp(loss) * chance + 1 - chance)

            assert number(before, "By this column alone") == pytest.approx(after(0.01, alone), abs=0.11)
            if count > 1:
                assert f"With all {count} releases" in before
                assert number(before, "releases of it on record:") == pytest.approx(after(0.01, total), abs=0.11)
            among = table.filter(pa.compute.equal(table["town"], "x"))["faith"].to_pylist()
            share = among.count("b") / len(among)
            assert f"up to {math.ceil(share * 1000) / 10:g}"[:8] in before
            assert number(before, "alike in town") == pytest.approx(after(share, max(alone, total)), abs=0.11)


def test_done_is_said_of_what_was_done(visits: Path, tmp_path: Path) -> None:
    with running() as client:
        visit = Visit(client)
        visit.upload(visits)
        visit.post("secret", {"secret": "faith", "whose": "one", "person": "patient"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"})
        visit.post("how", {"way": "record", "prior": "uniform"})
        visit.papers(tmp_path, format="csv")
        other = visit.post("release", {"format": "csv", "keep": ["town"]})  # the page from before, taken back to
        assert other.status_code == 409
        assert "Nothing more was published now" in text(other.text)
        assert "and no other column" in text(visit.part("release/found"))


@pytest.mark.parametrize(("typed", "found"), [
    ("0,01", "0.01"), ("1.234,5", "1234.5"), ("1,234.5", "1234.5"), ("1 000 000", "1000000"), ("1.000.000", "1000000"),
    ("12.5", "12.5"), ("-3", "-3"), ("1'000'000", "1000000"), ("0.001", "0.001"), ("0,125", "0.125"),
])  # fmt: skip
def test_numbers_are_read_as_people_write_them(typed: str, found: str) -> None:
    assert number_in(typed, "no") == found


@pytest.mark.parametrize("typed", ["10.000", "10,000", "1.234", "x", "", "nan", "1e400"])
def test_numbers_of_two_meanings_are_asked_about(typed: str) -> None:
    with pytest.raises(Refused):
        number_in(typed, "no number")


def test_a_budget_is_kept_by_the_page_and_said_in_its_words(visits: Path, tmp_path: Path) -> None:
    with running(ledger=str(tmp_path / "l.sqlite")) as client:
        visit = Visit(client)
        visit.upload(visits)
        visit.post("secret", {"secret": "faith", "whose": "one", "person": "patient"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "5"})
        visit.post("how", {"way": "statistics", "prior": "uniform"})
        assert visit.post("asked", {"format": "csv", "budget": "10.000"}).status_code == 400
        assert visit.post("asked", {"format": "csv", "budget": "0,5"}).status_code == 400  # below what is held before
        visit.papers(tmp_path, format="csv", budget="6")
        visit.post("again")
        visit.post("asked", {"format": "csv"})
        refused = text(visit.part("asked/found"))
        assert "would come to more than the budget allows" in refused
        assert "ldp" not in refused
        visit.post("release", {"format": "csv"})
        assert "more than the budget allows" in text(visit.part("release/found"))
    ledger = dv.Ledger(tmp_path / "l.sqlite")
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("form", [
    {"header": "x"}, {"header": "999"}, {"footer": "x"}, {"footer": "9999"}, {"group:faith": "weekly"},
    {"one_spelling": "nobody"},
], ids=str)  # fmt: skip
def test_a_file_that_cannot_be_read_so_says_it_in_words_of_the_page(form: dict[str, str], refusing: Visit) -> None:
    refused = refusing.post("reading", {"header": "1"} | form)
    page = refused.text if refused.status_code == 400 else refusing.part("columns")
    assert 'role="alert"' in page
    assert "--" not in text(page)
    assert "How it was read" in refusing.part("looked/found")  # where it is mended
    refusing.post("reading", {"header": "1"})
    assert f"{PEOPLE * ROWS} rows, 3 columns" in refusing.part("columns")


@pytest.mark.parametrize("typed", ["", "a", "\n".join(map(str, range(1001)))], ids=len)
def test_lists_that_are_none_are_refused(typed: str, refusing: Visit) -> None:
    form = {"secret": "faith", "whose": "row", "answers": "typed", "typed": typed}
    assert refusing.post("secret", form).status_code == 400


def test_cells_with_line_breaks_are_read_where_the_page_is_told_so(tmp_path: Path) -> None:
    rows = "".join(f'{"abc"[i % 3]},"flat {i}\nfloor {i % 4}"\n' for i in range(60))
    (tmp_path / "t.csv").write_text("faith,address\n" + rows)
    with running() as client, (tmp_path / "t.csv").open("rb") as stream:
        visit = Visit(client)
        visit.post("upload", {}, files={"file": ("t.csv", stream)})
        assert "a quote that is not closed" in visit.part("columns")
        assert 'name="line_breaks" value="1">' in visit.part("looked/found")
        visit.post("reading", {"header": "1", "footer": "0", "line_breaks": "1"})
        assert "60 rows, 2 columns" in visit.part("columns")
        assert 'name="line_breaks" value="1" checked>' in visit.part("looked/found")
        visit.post("secret", {"secret": "faith", "whose": "row"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"})
        visit.post("how", {"way": "statistics", "prior": "uniform"})
        papers = visit.papers(tmp_path, format="csv")
        assert dv.Receipt.read(papers["receipt.json"]).rows == 60


def test_another_sheet_is_looked_at_anew(tmp_path: Path) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "b.xlsx") as book:
        book.add_worksheet("Cover").write(0, 0, "Ministry")
        sheet = book.add_worksheet("Data")
        for i, row in enumerate([["Survey"], [], ["who", "faith", "town"], ["1", "a", "x"], ["2", "b", "y"]]):
            sheet.write_row(i, 0, row)
    with running() as client, (tmp_path / "b.xlsx").open("rb") as stream:
        visit = Visit(client)
        visit.post("upload", {}, files={"file": ("b.xlsx", stream)})
        assert "has no rows" in visit.part("columns")
        assert "Ministry" in visit.part("looked/found")
        visit.post("reading", {"sheet": "Data", "seen": "Cover", "header": "1", "footer": "0"})
        assert "alert" in visit.part("columns")
        assert 'name="header" size="5" value="3"' in visit.part("looked/found")
        visit.post("reading", {"sheet": "Data", "seen": "Data", "header": "3", "footer": "0"})
        assert "2 rows, 3 columns" in visit.part("columns")


def test_an_approximate_publication_beside_a_release_has_a_number_by_both_doors(tmp_path: Path) -> None:
    """(0.5, 1e-6) for counts and ldp 1 for the answers: the page and the library tell the same, before and after."""
    people = tmp_path / "people.parquet"
    pq.write_table(pa.table({"faith": ["a", "b"] * 200}), people)
    ledger = str(tmp_path / "l.sqlite")
    dv.publish(people, dv.Count("faith"), guarantee="adp=0.5:1e-6", ledger=ledger, source_name="p", per_row=True)
    asked = Release(column="faith", guarantee="ldp=1", per_row=True, ledger=ledger, sink="o.csv", source_name="p")
    told = outlook(lambda *_: None, str(people), asked, 0.01, "a")
    assert told["all"] == 1
    odds = math.exp(1.5) * 0.01 / 0.99
    assert told["usual"] is None  # of this release alone there is a bound
    assert odds / (1 + odds) < told["usual_all"] < 1.01 * odds / (1 + odds)
    done = work.release(lambda *_: None, str(people), str(tmp_path), asked)
    receipt = dv.Receipt.read(tmp_path / "o.receipt.json")
    assert receipt.together is not None
    both = dv.guarantees.ADP(receipt.together["guarantees"]["adp"], receipt.together["guarantees"]["delta"])
    assert told["usual_all"] == dv.guarantees.posterior_bounds(both, 0.01).usual(0.001)
    assert done["together"]["en"] == dv.statement(receipt).together
    assert "odds by 4.49 times, with a slack" in done["together"]["en"]


def test_statistics_too_are_shown_with_all_on_record_before_the_click(visits: Path, tmp_path: Path) -> None:
    """What the page says before each click is what the receipt and the exact posterior come to after it."""
    with running(ledger=str(tmp_path / "l.sqlite")) as client:
        visit = Visit(client)
        visit.upload(visits)
        visit.post("secret", {"secret": "faith", "whose": "one", "person": "patient"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "5", "value": "b"})
        visit.post("how", {"way": "table", "prior": "uniform"})
        visit.post("table/add", {"kind": "count", "of": ["faith"]})
        visit.post("table", {"person": "patient", "at_most": "5", "by": []})
        for count in (1, 2, 3):
            visit.post("asked", {"format": "csv"})
            before = text(visit.part("asked/found"))
            papers = visit.papers(tmp_path, format="csv")
            visit.post("again")
            loss = json.loads(papers["receipt.json"].read_text())["loss"]
            words = "releases of these people on record:" if count > 1 else "By this table alone"
            odds = math.exp(count * loss) / 99
            assert number(before, words) == pytest.approx(100 * odds / (1 + odds), abs=0.11)
            assert ("With all" in before) == (count > 1)


def test_the_page_says_whose_rows_these_are_before_the_click_and_lets_it_be_said_otherwise(
    visits: Path, tmp_path: Path
) -> None:
    with running(ledger=str(tmp_path / "l.sqlite")) as client:
        visit = Visit(client)
        visit.upload(visits)
        visit.post("secret", {"secret": "faith", "whose": "one", "person": "patient"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "5", "value": "b"})
        visit.post("how", {"way": "statistics", "prior": "uniform"})
        assert "Whose rows these are" not in visit.get("release").text  # nothing is on record
        visit.papers(tmp_path, format="csv", budget="6")
        copy = tmp_path / "copy.csv"
        copy.write_bytes(visits.read_bytes())
        visit.post("again")
        visit.upload(copy)
        visit.post("secret", {"secret": "faith", "whose": "one", "person": "patient"})
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "5", "value": "b"})
        visit.post("how", {"way": "statistics", "prior": "uniform"})
        assert "the people of “visits.csv”" in visit.get("release").text
        visit.post("asked", {"format": "csv"})
        assert "more than the budget allows" in text(visit.part("asked/found"))
        assert visit.post("asked", {"format": "csv", "people": "nobody"}).status_code == 400
        visit.post("asked", {"format": "csv", "people": "new"})
        assert "With all" not in text(visit.part("asked/found"))
        assert 'value="new" selected' in visit.get("release").text
        papers = visit.papers(tmp_path, format="csv", people="new")
        assert json.loads(papers["keeper.json"].read_text())["request"]["people"] == "new"
        visit.post("again")
        visit.post("asked", {"format": "csv", "people": "visits.csv"})
        assert "more than the budget allows" in text(visit.part("asked/found"))
        visit.post("asked", {"format": "csv"})  # by its rows it is known as the copy by now
        told = text(visit.part("asked/found"))
        assert "With all 2 releases" in told
        assert "Hint" not in told


def test_a_map_of_visits_counts_people(tmp_path: Path) -> None:
    """People with many visits count once in a group; bars are those of independent people."""
    rng = np.random.default_rng(5)
    people = [(i, str(rng.choice(["a", "b"], p=[0.7, 0.3])), str(rng.choice(["x", "y"]))) for i in range(90)]
    rows = [(*one, str(ward)) for one in people for ward in rng.integers(0, 3, 9 if one[1] == "b" else 2)]
    table = pa.table(dict(zip(("who", "faith", "town", "ward"), map(list, zip(*rows, strict=True)), strict=True)))
    csv.write_csv(table, tmp_path / "v.csv")
    with running() as client:
        visit = Visit(client)
        visit.upload(tmp_path / "v.csv")
        form = {"secret": "faith", "whose": "one", "person": "who", "public": ["who", "town", "ward"]}
        visit.post("secret", form)
        told = text(visit.part("map"))
        visit.post("secret", form | {"whose": "some", "rows": "3"})
        each = text(visit.part("map"))
    assert "that among all 90 people" in told
    assert f"that among all {len(rows)} rows" in each
    assert "makes them too short" in each
    found = work.expose(lambda *_: None, str(tmp_path / "v.csv"), "faith", ["who", "town", "ward"], "who")
    assert {risk.columns for risk in found.columns} == {("town",), ("ward",), ("town", "ward")}
    answers = [one[1] for one in people]
    for risk in found.columns:
        at = [("town", "ward").index(name) + 2 for name in risk.columns]
        groups: dict[tuple[str, ...], dict[int, str]] = {}
        for row in rows:
            groups.setdefault(tuple(str(row[place]) for place in at), {})[int(row[0])] = str(row[1])
        certain = {one for held in groups.values() if len(set(held.values())) == 1 for one in held}
        assert risk.certain == len(certain)
        assert risk.uniques == len({one for held in groups.values() if len(held) == 1 for one in held})
        for shown in risk.disclosures:
            held = list(groups[tuple(map(str, shown.group.values()))].values())
            assert (shown.hits, shown.rows) == (held.count(str(shown.value)), len(held))
            assert shown.before == Fraction(answers.count(str(shown.value)), len(people))
            assert shown.low < shown.after < shown.high or shown.after in (0, 1)


def test_why_a_column_cannot_be_sensitive_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    lines = [f"{i},{900 + i * 7 % 1200},reason {i % 130},{i % 2}," for i in range(2500)]
    path.write_text("\n".join(["nr,income,why,sex,empty", *lines]) + "\n")
    with running() as client:
        visit = Visit(client)
        visit.upload(path)
        page = visit.part("columns")
        rows = {re.findall(r"row\">([^<]*)", one)[0]: one for one in page.split("<tr>")[2:]}
        can = {name for name, row in rows.items() if 'name="secret"' in row}
        assert can == {"why", "sex"}
        for name, why in {"nr": "over half as many as rows", "income": "too many to be drawn one by one",
                          "why": "says little", "empty": "it is empty"}.items():  # fmt: skip
            assert why in rows[name]
            assert ("as reports</a>" in rows[name]) == ("Group them under" in rows[name]) == (name != "empty")
        assert "hint" not in rows["sex"]
        for link in set(re.findall(r'href="([^"]*/many)"', page)):
            assert client.get(link).status_code == 200
        refused = visit.post("secret", {"secret": "income", "whose": "row"})
        assert refused.status_code == 400
        assert "Group them under “read as”" in refused.text
        visit.post("reading", {"group:income": "100"})
        assert 'value="income" aria-label="income is sensitive"' in visit.part("columns")
        assert visit.post("secret", {"secret": "income", "whose": "row"}).status_code == 200


def _messy(name: str, path: Path) -> Path:
    """Write a table of 60 rows as offices have them: below a cover sheet, a title, or above a footer."""
    rows = [["ill", "town"], *(["abc"[i % 3], "xy"[i % 2]] for i in range(60))]
    if name.startswith("cover"):
        from xlsxwriter import Workbook

        with Workbook(path / "t.xlsx") as book:
            cover = [["Survey"], ["made by an office"]] if name == "cover of one column" else [["Survey"], ["by", "us"]]
            for sheet, lines in (("Cover", cover), ("Data", rows)):
                made = book.add_worksheet(sheet)
                for i, line in enumerate(lines):
                    made.write_row(i, 0, line)
        return path / "t.xlsx"
    lines = "\n".join(map(",".join, rows))
    above, below = ("Survey of 2025\n\n", "") if name == "title" else ("", "\nTotal: 60 people")
    (path / "t.csv").write_text(f"{above}{lines}{below}\n")
    return path / "t.csv"


@pytest.mark.parametrize("name", ["cover", "cover of one column", "title", "footer"])
def test_a_messy_file_ends_in_a_table_by_what_the_page_proposes(name: str, tmp_path: Path) -> None:
    path = _messy(name, tmp_path)
    with running() as client:
        visit = Visit(client)
        with path.open("rb") as stream:
            visit.post("upload", {}, files={"file": (path.name, stream)})
        visit.part("columns")
        form = visit.part("looked/found")
        assert re.search(r"<details[^>]* open>", form)
        fields = dict(re.findall(r'name="(seen|header|footer)"[^>]* value="([^"]*)"', form))
        if name.startswith("cover"):
            assert '<option value="Data">' in form
            fields["sheet"] = "Data"
        visit.post("reading", fields)
        page = visit.part("columns")
        assert "60 rows, 2 columns." in page
        assert set(re.findall(r'<th scope="row">(\w+)', page)) == {"ill", "town"}
        assert visit.post("secret", {"secret": "ill", "whose": "row"}).status_code == 200

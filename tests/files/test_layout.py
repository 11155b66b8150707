"""Files as offices have them: titles, totals, names in two rows, spellings; what is read is the table inside."""

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few

import divulge as dv
from divulge.files.settings import using
from divulge.files.tables.glance import glance
from divulge.files.tables.tidying import spellings

NAMES = ["who", "faith", "town"]
ROWS = [["1", "a", "x"], ["2", "b", "y"], ["3", "a", "y"]]


def read(table: Any, **options: Any) -> dict[str, list[Any]]:
    with using(tell=lambda message: None):
        source = dv.open_table(table, **options)
        return pa.Table.from_batches(source.batches(), source.schema).to_pydict()


def table_of(rows: list[list[str]]) -> dict[str, list[str | None]]:
    return {name: [row[i] or None for row in rows] for i, name in enumerate(NAMES)}


WORDS = st.text("abc ;,é", min_size=1, max_size=6)


@settings(max_examples=few(60), deadline=None)
@given(
    above=st.lists(st.one_of(st.just([]), st.lists(WORDS, min_size=1, max_size=5)), max_size=3),
    below=st.lists(st.lists(WORDS.filter(str.strip), min_size=1, max_size=5), max_size=3),
    end=st.sampled_from(["\n", "\r\n", "\r"]), encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    gap=st.booleans(), last=st.booleans(),
)  # fmt: skip
def test_the_table_in_a_text_is_read_whatever_stands_around_it(
    above: list[list[str]], below: list[list[str]], end: str, encoding: str, gap: bool, last: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=";", lineterminator=end)
    writer.writerows([*above, NAMES, *ROWS, *([[]] if gap else []), *below])
    content = text.getvalue() if last else text.getvalue().removesuffix(end)
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_bytes(content.encode(encoding))
    options = {"header": len(above) + 1, "footer": len(below), "delimiter": ";"}
    if encoding == "latin-1":
        options["encoding"] = encoding
    assert read(path, **options) == table_of(ROWS)


def workbook(path: Path, rows: list[list[Any]], merged: str | None = None) -> Path:
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("Cover").write(0, 0, "Ministry of Health")
        sheet = book.add_worksheet("Data")
        for i, row in enumerate(rows):
            sheet.write_row(i, 0, row)
        if merged:
            sheet.merge_range(merged, "Answers")
    return path


def test_the_table_in_a_sheet_is_read_with_names_in_two_rows(tmp_path: Path) -> None:
    rows = [["Survey"], [], ["who", "", ""], ["", "faith", "town"], *ROWS, [], ["Total", "", "3"], ["Source: us"]]
    path = workbook(tmp_path / "b.xlsx", rows, "B3:C3")
    found = read(path, sheet="Data", header="3-4", footer=2)
    names = ["who", "Answers faith", "Answers town"]
    assert found == dict(zip(names, table_of(ROWS).values(), strict=True))
    with pytest.raises(dv.InputFileError, match="merged"):  # where the table itself has a merged cell
        read(workbook(tmp_path / "m.xlsx", rows, "B6:C6"), sheet="Data", header="3-4", footer=2)
    seen = glance(path, sheet="Data")
    assert seen is not None
    assert (seen.sheets, seen.first[0], seen.layout.footer) == (("Cover", "Data"), (1, ("Survey", "", "")), 2)


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Survey\nwho,faith,town\n1,a,x\nTotal,,1\n")
    with pytest.warns(UserWarning, match=r"line 2 has the names of columns; 1 line above it and 1 at the end are left"):
        dv.open_table(tmp_path / "t.csv", header=2, footer=1)
    (tmp_path / "u.csv").write_text("who,faith,town\n1,a,x\nTotal,,1\n")
    with pytest.warns(UserWarning, match=r"its last row looks like a total or a note, or is empty; --footer 1"):
        dv.open_table(tmp_path / "u.csv")


@pytest.mark.parametrize(("below", "rows"), [
    ([["Total", "", "3"]], 1), ([["Summe", "9", "9"]], 1), ([["* Gesamt:", "9", "9"]], 1), ([["", "", ""]] * 3, 3),
    ([["Total", "", "3"], ["", "", ""], ["Source: us", "", ""]], 3), ([["Total recall", "a", "x"]], 0), ([], 0),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("above", [[], [["Survey", "", ""], ["", "", ""]]], ids=["first", "below-a-title"])
def test_what_stands_below_is_told_wherever_the_names_are(
    below: list[list[str]], rows: int, above: list[list[str]], tmp_path: Path
) -> None:
    """Spreadsheet programs fill every row up to the width of the table, also those of which none is left."""
    options: dict[str, Any] = {"header": len(above) + 1} if above else {}
    every = [*above, NAMES, *ROWS, *below]
    (tmp_path / "t.csv").write_text("\n".join(map(",".join, every)) + "\n")
    files = [tmp_path / "t.csv"]
    if all(map(any, below)):  # a sheet has no other rows
        files.append(workbook(tmp_path / "t.xlsx", every))
    for out in range(rows + 1):
        for path in files:
            told: list[str] = []
            with using(tell=told.append):
                dv.open_table(path, footer=out, **options, **({"sheet": "Data"} if path.suffix == ".xlsx" else {}))
            said = [remark for remark in told if "looks like" in remark or "look like" in remark]
            assert len(said) == (out < rows), told
            assert not said or f"--footer {rows} (footer={rows})" in said[0]


@pytest.mark.parametrize("title", ["Survey,,", "Survey,2026,", ",,", "Survey,,\n,,"])
def test_a_title_that_is_filled_up_is_refused_with_the_row_of_names(title: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(title + "\n" + "\n".join(map(",".join, [NAMES, *ROWS])) + "\n")
    row = title.count("\n") + 2
    with pytest.raises(dv.InputFileError, match=rf"column \d has none.*--header {row} \(header={row}\)") as refused:
        read(path)
    assert "Survey" not in str(refused.value)
    assert read(path, header=row) == table_of(ROWS)
    first = read(path, header=1, number_names=True)  # who says so gets the first line
    assert {len(column) for column in first.values()} == {len(ROWS) + row - 1}


def test_one_column_without_a_name_is_no_title(tmp_path: Path) -> None:
    """Other programs give the numbers of rows no name."""
    (tmp_path / "t.csv").write_text(",faith,town\n" + "\n".join(map(",".join, ROWS)) + "\n")
    assert read(tmp_path / "t.csv")["faith"] == ["a", "b", "a"]


@pytest.mark.parametrize(("text", "hint"), [
    ("Survey\n\nwho;faith;town\n1;a;x\n2;b;y\n", r"--header 3 \(header=3\)"),
    ("who,faith,town\n1,a,x\n2,b,y\nSource: us\n", r"--footer 1 \(footer=1\)"),
])  # fmt: skip
def test_the_message_says_which_option_helps(text: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(dv.InputFileError, match=hint):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("options", [
    {"header": "0"}, {"header": "3-2"}, {"header": "x"}, {"header": 9}, {"footer": -1}, {"footer": 4}, {"footer": True},
    {"group": {"who": "5:1"}}, {"group": {"who": "weekly"}}, {"group": "who"}, {"group": {"nobody": "5"}},
    {"group": {"faith": "10"}}, {"group": {"who": "rare:0"}}, {"one_spelling": "nobody"}, {"group": {"who": "0"}},
], ids=str)  # fmt: skip
def test_what_cannot_be_is_refused_without_a_cell(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,faith\n1,secret\n2,secret\n")
    with pytest.raises(dv.DivulgeError) as refused:
        read(tmp_path / "t.csv", **options)
    assert "secret" not in str(refused.value)


def test_names_that_stand_twice_get_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("day,day,day (2),day\n1,2,3,4\n")
    assert read(tmp_path / "t.csv", number_names=True) == {"day": ["1"], "day (3)": ["2"], "day (2)": ["3"],
                                                           "day (4)": ["4"]}  # fmt: skip


def test_columns_of_one_name_are_refused_with_what_helps_wherever_all_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("ill,day,day\n" + "a,x,y\nb,x,z\n" * 100)
    hint = r"has two columns 'day'\..*--number-names \(number_names=True\)"
    for look in (
        lambda **more: dv.assess(dv.open_table(path, **more), secret="ill"),
        lambda **more: dv.preview(path, column="ill", guarantee="ldp=1", per_row=True, **more),
        lambda **more: dv.release(path, column="ill", guarantee="ldp=1", per_row=True, **more),
    ):  # fmt: skip
        with pytest.raises(dv.InputFileError, match=hint):
            look()
        assert look(number_names=True)
    assert dv.preview(path, column="ill", guarantee="ldp=1", per_row=True, only_column=True)
    assert dv.preview(path, column="ill", guarantee="ldp=1", per_row=True, keep=[])


# --- spellings and groups


def test_spellings_of_one_value_are_one_and_others_are_not(tmp_path: Path) -> None:
    cells = ["01067", "1067", "Jena", "jena ", " JENA", "Je na", "0", "00", "", "  ", "é", "e\u0301"]
    path = tmp_path / "t.csv"
    path.write_text("town,n\n" + "".join(f"{cell},1\n" for cell in cells), encoding="utf-8")
    found = read(path, one_spelling="town")["town"]
    assert found == ["01067", "01067", "JENA", "JENA", "JENA", "Je na", "00", "00", None, None, "é", "é"]
    assert spellings(["a", "b", "10", "100"]) == {}


@settings(max_examples=few(60), deadline=None)
@given(st.lists(st.text("aA0 1é", max_size=4), max_size=12))
def test_one_spelling_stays_one_and_the_order_of_rows_is_of_no_account(values: list[str]) -> None:
    once = spellings(values)
    assert once == spellings(values[::-1])
    again = [once.get(value, value) for value in values]
    assert not {text for text, to in spellings(again).items() if text != to}


@settings(max_examples=few(60), deadline=None)
@given(st.lists(st.integers(-50_000, 50_000), min_size=1, max_size=20), st.sampled_from([7, 1000]))
def test_ranges_hold_their_numbers_and_part_them_at_multiples(values: list[int], width: int) -> None:
    found = read(pa.table({"n": values}), group={"n": width})["n"]
    for value, label in zip(values, found, strict=True):
        low, high = map(int, label.strip("[)").split(", "))
        assert low <= value < high == low + width
        assert low % width == 0


def test_dates_texts_and_rare_values_are_grouped() -> None:
    table = pa.table({
        "born": ["2025-02-03", "17.05.2025", None], "plz": ["01067", "01069", "80331"], "ill": ["flu", "flu", "HIV"],
        "pay": [10, 55_000, 999_999],
    })  # fmt: skip
    found = read(table, group=["born=quarter", "plz=first:2", "ill=rare:2", "pay=20000:0:60000"])
    assert found == {"born": ["2025-Q1", "2025-Q2", None], "plz": ["01*", "01*", "80*"], "ill": ["flu", "flu", "other"],
                     "pay": ["[0, 20000)", "[40000, 60000)", ">= 60000"]}  # fmt: skip


def test_a_release_groups_and_another_table_for_its_prior_is_grouped_alike(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Pay of 2026\npay\n" + "".join(f"{n}\n" for n in range(0, 4000, 10)))
    (tmp_path / "p.csv").write_text("pay\n" + "100\n1200\n2300\n3400\n" * 5)
    with using(tell=lambda message: None):
        receipt = dv.release(
            tmp_path / "t.csv", column="pay", guarantee="ldp=1", per_row=True, group={"pay": 1000}, header=2,
            prior=f"{tmp_path / 'p.csv'}:pay",
        )  # fmt: skip
    assert sorted(receipt.mechanisms[0].channel.secrets) == [f"[{low}, {low + 1000})" for low in (0, 1000, 2000, 3000)]
    with using(tell=lambda message: None), pytest.raises(dv.DivulgeError, match=r"--group C=RULE"):
        dv.release(tmp_path / "t.csv", column="pay", guarantee="ldp=1", per_row=True, header=2)

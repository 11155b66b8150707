"""The list of answers: what goes out depends on no row where it is listed beforehand, and says so where it is not."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

FAITHS = ["none", "Catholic", "Sikh"]
RNG = np.random.default_rng(2)


def table(answers: list[Any], kind: Any = None) -> pa.Table:
    return pa.table({"faith": pa.array(answers, kind), "age": RNG.integers(18, 90, len(answers))})


NEIGHBORS: dict[str, list[Any]] = {
    "nobody is a Sikh": ["none", "Catholic"] * 10 + ["none"],
    "the last one is": ["none", "Catholic"] * 10 + ["Sikh"],
    "the last one wrote something else": ["none", "Catholic"] * 10 + ["Jedi"],
    "the last one wrote nothing": ["none", "Catholic"] * 10 + [None],
    "all wrote the same": ["none"] * 21,
    "nobody wrote anything that is listed": [f"x{i}" for i in range(21)],
}


def test_what_goes_out_but_for_the_draws_is_the_same_whatever_the_last_person_said(tmp_path: Path) -> None:
    """Everything an attacker reads who knows all other answers, but for the draws: papers, names, types."""
    how: dict[str, Any] = {"column": "faith", "guarantee": "ldp=1", "values": FAITHS, "only_column": True}
    seen: set[str] = set()
    for i, answers in enumerate(NEIGHBORS.values()):
        folder = tmp_path / str(i)
        folder.mkdir()
        done = dv.release(table(answers), folder / "o.csv", **how)
        assert list(done.mechanisms[0].channel.secrets) == ["Catholic", "Sikh", "none", "other"]
        said = set(csv.read_csv(folder / "o.csv")["faith_perturbed"].to_pylist())
        assert said <= {"none", "Catholic", "Sikh", "other"}
        receipt = json.loads((folder / "o.receipt.json").read_bytes())
        for part in ("created", "digest", "checksum"):
            receipt.pop(part)
        public = [(folder / f"o.{end}").read_text() for end in ("codebook.json", "codebook.md", "statement.txt")]
        seen.add(json.dumps(receipt) + "".join(public))
    assert len(seen) == 1


def test_the_statement_answers_by_where_the_list_is_from() -> None:
    answers = NEIGHBORS["the last one is"]

    def said(**how: Any) -> str:
        done = dv.release(table(answers), column="faith", guarantee="ldp=1", **how)
        return " ".join(dv.statement(done).text().split())

    taken, listed = "the list of answers was taken from the table", "counts as “other”"
    assert taken in said()
    assert listed not in said()
    assert taken in said(prior="lower=0.1")
    for how in ({"values": FAITHS}, {"values": {"faith": FAITHS}}, {"values": FAITHS, "prior": "lower=0.1"}):
        text = said(**how).lower()
        assert taken not in text
        assert listed in text
    named = dv.Prior(["1/4"] * 4, [*FAITHS, "Jedi"])
    assert taken not in said(prior=named)


def test_an_answer_that_is_not_listed_is_what_the_keeper_names() -> None:
    truth = {"faith": FAITHS}
    same = dv.Channel(np.eye(3), FAITHS, FAITHS)
    for answers, other, wanted in [
        (["Jedi", None, "Sikh"], "none", ["none", "none", "Sikh"]),
        (["Jedi", "none", "Sikh"], "Catholic", ["Catholic", "none", "Sikh"]),
    ]:
        done = dv.release(table(answers), column="faith", mechanism=same, other=other)
        assert done.table["faith_perturbed"].to_pylist() == wanted
        assert done.answers == {"from": "list", "other": [other]}
    with pytest.raises(dv.DivulgeError, match="`other`"):
        dv.release(table(["Jedi"]), column="faith", mechanism=same, other="Klingon")
    done = dv.release(table(["Sikh", None]), column="faith", values=truth, guarantee="ldp=1", null_as="?", other="rest")
    assert set(done.mechanisms[0].channel.secrets) == {*FAITHS, "rest", "?"}


@pytest.mark.parametrize(("kind", "answers", "values", "other", "wanted"), [
    (pa.int64(), [1, 2, 7], [1, 2, 3], "3", [1, 2, 3]), (pa.int64(), [1, 2, 7], [1, 2, 3], None, ["1", "2", "other"]),
    (pa.string(), ["01067", "1067", "x"], ["01067", "x"], "x", ["01067", "01067", "x"]),
    (pa.float64(), [1.0, None, 2.5], [1, 2.5], "1", [1.0, 1.0, 2.5]), (pa.bool_(), [True, None], ["true", "false"],
     "false", [True, False]),
])  # fmt: skip
def test_listed_answers_meet_values_of_every_type(
    kind: Any, answers: list[Any], values: list[Any], other: str | None, wanted: list[Any]
) -> None:
    made = dv.release(
        table(answers, kind), column="faith", values=values, other=other, guarantee="ldp=30", purpose="record"
    )
    assert made.table["faith_perturbed"].to_pylist() == wanted  # e^-30: the truth, but for a chance of 1e-12


def test_several_columns_are_listed_each(tmp_path: Path) -> None:
    rows = pa.table({"a": ["x", "y", "q"], "b": ["1", "2", "3"], "n": [1, 2, 3]})
    values = {"a": ["x", "y"], "b": ["1", "2"]}
    done = dv.release(rows, column=["a", "b"], values=values, guarantee="ldp=1")
    assert len(done.mechanisms[0].channel.secrets) == 9
    found = dv.preview(rows, column=["a", "b"], values=values, guarantee="ldp=1")
    assert sum(value.count for value in found.levels[0].values) == 3
    with pytest.raises(dv.DivulgeError, match="column 'b'"):
        dv.release(rows, column=["a", "b"], values={"a": ["x"]}, guarantee="ldp=1")


def test_a_codebook_that_does_not_say_where_its_list_is_from_is_taken_for_one_of_its_table(tmp_path: Path) -> None:
    """Those of earlier versions: the promise is never said to cover a list of which nobody knows."""
    people = table(NEIGHBORS["the last one is"])
    dv.release(people, tmp_path / "a.csv", column="faith", guarantee="ldp=1", values=FAITHS)
    book = tmp_path / "a.codebook.json"
    found = json.loads(book.read_text())
    for known, covered in ((found, True), ({key: value for key, value in found.items() if key != "answers"}, False)):
        book.write_text(json.dumps(known))
        done = dv.release(people, column="faith", guarantee="ldp=1", values=book)
        told = " ".join(dv.statement(done).text().split())
        assert ("the list of answers was taken from" not in told) == covered, told


def test_the_command_takes_a_list_or_the_codebook_of_a_release(tmp_path: Path) -> None:
    csv.write_csv(table(NEIGHBORS["the last one is"]), tmp_path / "t.csv")
    (tmp_path / "list.json").write_text(json.dumps(FAITHS))
    line = ["release", str(tmp_path / "t.csv"), "--column", "faith", "--guarantee", "ldp=1", "--no-ledger", "--json"]
    for file, out in (("list.json", "a.csv"), ("a.codebook.json", "b.csv")):
        done = CliRunner().invoke(app, [*line, "--values", str(tmp_path / file), "-o", str(tmp_path / out)])
        assert done.exit_code == 0, done.output
        receipt = dv.Receipt.read(tmp_path / f"{Path(out).stem}.receipt.json")
        assert set(receipt.mechanisms[0].channel.secrets) == {*FAITHS, "other"}
    wrong = CliRunner().invoke(app, [*line, "--values", str(tmp_path / "t.csv"), "-o", str(tmp_path / "c.csv")])
    assert wrong.exit_code == 2


def test_a_list_is_bought_by_a_count_with_a_threshold_and_both_are_on_record(tmp_path: Path) -> None:
    """An answer of one person alone is not listed, but for a chance of 1e-6; it counts as other."""
    rows, ledger = tmp_path / "t.csv", tmp_path / "ledger.sqlite"
    csv.write_csv(table([*["none", "Catholic"] * 200, "Sikh"]), rows)
    line = ["--ledger", str(ledger), "--per-row"]
    refused = CliRunner().invoke(app, ["release", str(rows), "--column", "faith", "--guarantee", "ldp=1", "--values",
                                       "noisy=0.5", "-o", str(tmp_path / "a.csv"), *line])  # fmt: skip
    assert refused.exit_code == 2
    assert "divulge publish TABLE --count C --guarantee adp=0.5:1e-6" in " ".join(refused.output.split())
    told = " ".join(refused.output.split()).partition("`divulge ")[2].partition("`")[0]
    bought = told.replace("TABLE", str(rows)).replace("C ", "faith ", 1).replace("list.csv", str(tmp_path / "list.csv"))
    done = CliRunner().invoke(app, [*bought.split(), *line])
    assert done.exit_code == 0, done.output
    receipt = dv.release(rows, tmp_path / "out.csv", column="faith", guarantee="ldp=1", per_row=True, ledger=ledger,
                         values=str(tmp_path / "list.codebook.json"))  # fmt: skip
    assert set(map(str, receipt.mechanisms[0].channel.secrets)) == {"none", "Catholic", "other"}
    assert receipt.together is not None
    assert receipt.together["releases"] == 2


@pytest.mark.parametrize("how", [
    {"values": FAITHS, "prior_from_data": True}, {"other": "x"}, {"values": []}, {"values": ["a", "a"]}, {"values": ""},
    {"values": FAITHS, "mechanism": dv.Channel(np.eye(3), FAITHS, FAITHS)}, {"values": 3},
    {"values": FAITHS, "null_as": "none"}, {"values": {"age": ["1"]}},
])  # fmt: skip
def test_lists_that_are_none_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.release(table(NEIGHBORS["the last one is"]), column="faith", **({"guarantee": "ldp=1"} | how))


def test_a_list_that_noise_named_is_said_to_be_bought_and_both_add_up(tmp_path: Path) -> None:
    """(0.5, 1e-6) for the list and ldp 1 for the answers are (1.5, 1e-6) together, in ledger, receipt and statement."""
    ledger, people = tmp_path / "l.sqlite", table([*FAITHS[:2] * 150, *FAITHS[2:]])
    asked: dict[str, Any] = {"ledger": ledger, "source_name": "survey"}
    count = dv.Count("faith")
    dv.publish(people, [count], tmp_path / "list.csv", guarantee="adp=0.5:1e-6", **asked)
    book = tmp_path / "list.codebook.json"
    done = dv.release(people, tmp_path / "o.csv", column="faith", guarantee="ldp=1", values=book, **asked)
    bought = done.answers["bought"]
    assert 0.49 < bought["epsilon"] <= 0.5
    assert 0 < bought["delta"] <= 1e-6
    spent = dv.Ledger(ledger).spent("survey", ["faith"])
    assert spent["ldp"] == math.inf
    assert 1.49 < spent["adp"] <= 1.5
    assert spent["delta"] == bought["delta"]
    said = " ".join(dv.statement(tmp_path / "o.receipt.json").text().split())
    assert "which is paid for" in said
    assert "a factor of at most 1.65" in said
    assert "may change the odds by 4.49" in said  # e^1.5 = 4.4817, rounded up
    assert "whoever gave them" not in said
    found = json.loads(book.read_bytes())
    found["columns"][1].pop("bought")  # as an earlier version wrote it, or a list that was public
    book.write_text(json.dumps(found))
    again = dv.release(people, column="faith", guarantee="ldp=1", values=book)
    assert "bought" not in again.answers
    found["columns"][1]["bought"] = {"epsilon": "much"}
    book.write_text(json.dumps(found))
    with pytest.raises(dv.DivulgeError, match="be a codebook as it was written"):
        dv.release(people, column="faith", guarantee="ldp=1", values=book)


def test_a_frame_of_several_kinds_names_its_column() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(dv.DivulgeError, match=r"column 'faith' is of several"):
        dv.release(pandas.DataFrame({"faith": ["none", 1, 2.5]}), column="faith", guarantee="ldp=1")
    assert dv.open_table(pandas.DataFrame({"faith": ["none", None]})).rows == 2


def test_a_table_with_a_column_of_answers_is_a_list(tmp_path: Path) -> None:
    listed, other = tmp_path / "faiths.csv", tmp_path / "source.csv"
    listed.write_text("faith,group\n" + "".join(f"{faith},g\n" for faith in ("none", "catholic", "sikh")))
    other.write_text("faith\nnone\nnone\n")
    people = table(NEIGHBORS["the last one is"])
    asked: dict[str, Any] = {"column": "faith", "guarantee": "ldp=1", "per_row": True}
    by_file, by_hand = (
        dv.release(people, values=values, **asked) for values in (listed, {"faith": ["none", "catholic", "sikh"]})
    )
    assert by_file.mechanisms[0].channel == by_hand.mechanisms[0].channel
    with pytest.raises(dv.DivulgeError, match="a column that lists every value once"):
        dv.release(people, values=other, **asked)
    (tmp_path / "faiths.json").write_text("none, sikh")
    with pytest.raises(dv.InputFileError, match=r"faiths\.json: must be JSON, such as .*, or a table or text"):
        dv.release(people, values=tmp_path / "faiths.json", **asked)


def test_a_list_that_another_publication_took_from_its_table_is_never_said_to_be_listed_beforehand(
    tmp_path: Path,
) -> None:
    """The last Sikh stands in the list of a table of counts, or of a release, and so in all that take their list."""
    people = table(NEIGHBORS["the last one is"])
    count = [dv.Count("faith")]
    dv.publish(people, count, tmp_path / "a.csv", guarantee="dp=1", values_from_data=True)
    dv.release(people, tmp_path / "b.csv", column="faith", guarantee="ldp=1")
    dv.release(people, tmp_path / "c.csv", column="faith", guarantee="ldp=1", values=FAITHS)
    dv.publish(people, count, tmp_path / "d.csv", guarantee="dp=1", values={"faith": FAITHS})
    for name in "abcd":  # and so on: a list of a list
        book = tmp_path / f"{name}.codebook.json"
        dv.publish(people, count, tmp_path / f"{name}1.csv", guarantee="dp=1", values=book)
        book = tmp_path / f"{name}1.codebook.json"
        dv.release(people, tmp_path / f"{name}2.csv", column="faith", guarantee="ldp=1", values=book)
        for paper in (f"{name}1.receipt.json", f"{name}2.receipt.json"):
            said = " ".join(dv.statement(tmp_path / paper).text().split())
            assert ("listed beforehand" in said) == (name in "cd"), (paper, said)
            assert ("another publication took it from its table" in said) == (name in "ab"), paper


def test_a_table_of_counts_whose_list_noise_named_before_says_what_that_cost(tmp_path: Path) -> None:
    people = table([*FAITHS[:2] * 150, *FAITHS[2:]])
    dv.publish(people, [dv.Count("faith")], tmp_path / "a.csv", guarantee="adp=0.5:1e-6")
    found = dv.publish(
        people, [dv.Count("faith")], tmp_path / "b.csv", guarantee="dp=1", values=tmp_path / "a.codebook.json"
    )
    said = {note.name: note.text for note in found.notes}
    assert "note_listed" not in said
    assert "an epsilon of 0.5 and a delta of 9.89" in said["note_bought"]
    done = dv.release(people, column="faith", guarantee="ldp=1", values=tmp_path / "b.codebook.json")
    assert done.answers["bought"]["epsilon"] == 0.5
    assert 0 < done.answers["bought"]["delta"] <= 1e-6


def test_a_text_lists_the_only_column_that_groups(tmp_path: Path) -> None:
    (tmp_path / "faiths.txt").write_text("\n".join(FAITHS) + "\n")
    people = table(NEIGHBORS["the last one is"])
    found = dv.publish(people, dv.Count("faith"), guarantee="dp=1", values=tmp_path / "faiths.txt")
    assert found.table.column("faith").to_pylist()[: len(FAITHS)] == FAITHS
    two = people.append_column("age", pa.array([40] * len(people)))
    for several in ([dv.Count("faith"), dv.Count("age")], dv.Mean("age", (0, 90))):
        with pytest.raises(dv.DivulgeError, match=r"faiths\.txt: must say of which column its answers are"):
            dv.publish(two, several, guarantee="dp=1", values=tmp_path / "faiths.txt")


def test_answers_in_place_of_a_file_and_names_with_commas_are_told_how_they_are_given(tmp_path: Path) -> None:
    table = tmp_path / "k.csv"
    table.write_text('"Ort, Land",x\nA,1\nB,2\n')
    with pytest.raises(dv.DivulgeError, match=r"`values` must be a file .* JSON, such as"):
        dv.release(table, column="x", values="x=1", guarantee="ldp=1", ledger=None)
    with pytest.raises(dv.DivulgeError, match=r'no column .Ort.\. A name with a comma .* "Ort, Land"'):
        dv.publish(table, [dv.Count("Ort", "Land")], guarantee="dp=1", per_row=True, ledger=None, values_from_data=True)

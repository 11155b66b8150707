"""Coarser and then perturbed in one step, and attackers who have nothing but what was published."""

import itertools
import json
import math
from collections import Counter, defaultdict
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from support import few
from tables.certificates import H
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.tables.models import lift_of_both

AGES = {"age": H.ladder(10, 20), "sex": H.flat()}
KNOWN = ["age", "sex"]


def survey(seed: int, rows: int = 120) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, rows), rng.choice(["f", "m"], rows)
    usual = np.array(["flu", "cold", "gout"])[age // 20 % 3]
    ill = np.where(rng.random(rows) < 0.4, usual, rng.choice(["flu", "cold", "gout"], rows))
    return {"age": age.tolist(), "sex": sex.tolist(), "ill": ill.tolist()}


def shares(table: Any, secret: str) -> dict[tuple[Any, ...], Counter[str]]:
    found: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for row in table.to_pylist():
        found[tuple(row[name] for name in KNOWN)][row[secret]] += 1
    return found


@pytest.mark.parametrize("seed", range(few(12, 2)))  # in turn all alike, and each row for itself
def test_who_has_the_published_files_learns_what_both_bounds_say(seed: int, tmp_path: Path) -> None:
    """The attacker has table, receipt and the shares of groups, and goes by Bayes' rule in fractions."""
    table, out = survey(seed), tmp_path / "out.csv"
    how = ["global", "local"][seed % 2]
    found = dv.generalize(pa.table(table), KNOWN, "ill", out, guarantees=["k=5", "lift=9/4"], hierarchies=AGES,
                          perturb="pml=0.4", recoding=how)  # fmt: skip
    receipt = json.loads((tmp_path / "out.receipt.json").read_text())
    (ran,) = receipt["mechanisms"]
    c = {(s, y): F(w, 2 ** ran["bits"]) for s, row in zip(ran["secrets"], ran["weights"], strict=True)
         for y, w in zip(ran["outcomes"], row, strict=True)}  # fmt: skip
    groups, whole = shares(found.rows, "ill"), Counter(table["ill"])
    rows = pyarrow.csv.read_csv(out)
    assert rows.column_names == [*KNOWN, "ill_perturbed"]
    assert {g: n.total() for g, n in shares(rows, "ill_perturbed").items()} == {g: n.total() for g, n in groups.items()}
    most = F(0)
    for inside in groups.values():
        for y in ran["outcomes"]:
            mean = sum(n * c[s, y] for s, n in inside.items())
            for s, n in inside.items():
                assert c[s, y] * inside.total() / mean <= math.exp(0.4) * (1 + 1e-12)
                most = max(most, n * c[s, y] / mean / F(whole[s], len(table["ill"])))
    assert found.both == most
    assert found.assessment.lift <= F(9, 4)
    assert F(1) < most <= F(9, 4) * F(math.exp(receipt["guarantees"]["pml"]))
    said = " ".join((tmp_path / "out.statement.txt").read_text().split())
    shown = f"{math.ceil(2.25 * math.exp(receipt['guarantees']['pml']) * 100 - 1e-9) / 100:.2f}".rstrip("0")
    assert f"none more than {shown} times" in said
    assert "k=5, lift=2.25" in said
    assert "in an order of chance within each group" in said
    assert "old order" not in said
    coarser = [name for name, level in found.levels.items() if level]
    assert receipt["coarsened"] == {name: found.levels[name] for name in coarser}
    assert receipt["untouched"] == [name for name in KNOWN if name not in coarser]
    assert dv.Receipt.read(tmp_path / "out.receipt.json").coarsened == receipt["coarsened"]
    for path in tmp_path.glob("out.*"):  # the true values and the certificate are the keeper's
        assert ("infeasible" in path.read_text()) is (path.name == "out.keeper.json")


@pytest.mark.parametrize("steps", [1, 2])
def test_where_a_row_stands_tells_nothing_of_its_true_value(steps: int, tmp_path: Path) -> None:
    """A perturbed table keeps the order of the coarser one: of a group in the order of its values it would tell all."""
    table = pa.table({"age": [30] * 4000, "ill": ["a", "b"] * 2000})
    if steps == 1:
        told = dv.generalize(table, "age", "ill", guarantees="k=5", perturb="ldp=4").table
    else:
        dv.generalize(table, "age", "ill", tmp_path / "coarse.csv", guarantees="k=5", ledger=None)
        told = dv.release(tmp_path / "coarse.csv", column="ill", guarantee="ldp=4", prior="groups=age", per_row=True,
                          purpose="record").table  # fmt: skip
    first = told.column("ill_perturbed").to_pylist()[:2000].count("a")
    assert abs(first - 1000) < 6 * math.sqrt(4000 * 0.25)  # 2,000 of 4,000 without replacement: deviation below 23


def deals(rows: list[dict[str, str]]) -> list[tuple[str, ...]]:
    """Return every way to deal the published values of each group to its people."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        groups[row["q"]].append(i)
    ways = [sorted(set(itertools.permutations(rows[i]["s"] for i in members))) for members in groups.values()]
    places = [i for members in groups.values() for i in members]
    found = []
    for parts in itertools.product(*ways):
        values = dict(zip(places, itertools.chain(*parts), strict=True))
        found.append(tuple(values[i] for i in range(len(rows))))
    return found


@pytest.mark.parametrize("recoding", ["global", "local"])
@pytest.mark.parametrize("seed", range(few(18)))
def test_who_has_the_coarse_table_and_all_known_columns_learns_what_the_statement_says(
    seed: int, recoding: str, tmp_path: Path
) -> None:
    """They have table and known columns of all, and hold every way to deal the answers out for alike."""
    rng = np.random.default_rng(seed)
    own = {"q": rng.choice(["11", "12", "21", "22"], 9).tolist(), "s": rng.choice(["x", "y", "z"], 9).tolist()}
    ladder = {"q": {q: [q[0] + "*", "*"] for q in ("11", "12", "21", "22")}}
    out = tmp_path / "out.csv"
    dv.generalize(pa.table(own), "q", "s", out, guarantees="k=3", hierarchies=ladder, per_row=True,
                  recoding=recoding)  # fmt: skip
    rows: list[Any] = pyarrow.csv.read_csv(
        out, convert_options=pyarrow.csv.ConvertOptions(column_types={"q": pa.string()})
    ).to_pylist()
    receipt = json.loads((tmp_path / "out.receipt.json").read_text())
    ways, whole = deals(rows), Counter(row["s"] for row in rows)
    certain = lift = beside = F(0)
    for i in range(len(rows)):
        for s in whole:
            hits = sum(way[i] == s for way in ways)
            certain, lift = max(certain, F(hits, len(ways))), max(lift, F(hits * 9, len(ways) * whole[s]))
            for j in range(len(rows)):
                for known in set(whole) - {s}:
                    left = [way for way in ways if way[j] == known] if i != j and rows[i]["q"] == rows[j]["q"] else []
                    beside = max(beside, F(sum(way[i] == s for way in left), len(left)) if left else F(0))
    assert (str(certain), str(lift)) == (receipt["certainty"], receipt["lift"])
    assert max(beside, certain) == F(receipt["certainty_beside_one"])
    said = " ".join((tmp_path / "out.statement.txt").read_text().split())
    shown = f"more than {math.ceil(float(certain) * 10000 - 1e-9) / 10:g} of 1,000"
    assert (shown if certain < 1 else "groups in which all rows have the same answer") in said


@pytest.mark.parametrize("seed", range(few(12, 4)))
def test_who_has_everybodys_release_too_learns_no_more_than_is_said(seed: int) -> None:
    """The coarse table with its true values is not theirs: they know the shares of groups, and see all that went out.

    Rows are drawn from the shares of their group, so that what others release says nothing of a person.
    """
    rng = np.random.default_rng(seed)
    table = pa.table({"age": [30, 31, 32, 50, 51, 52], "ill": rng.permutation(list("xxyyyx")).tolist()})
    found = dv.generalize(table, "age", "ill", guarantees="k=3", hierarchies={"age": H.ladder(20, start=10)},
                          perturb="ldp=1")  # fmt: skip
    assert found.perturbed is not None
    assert found.both is not None
    channel = found.perturbed.matrix_of("ill").channel
    secrets, c = list[Any](channel.secrets), channel.exact.matrix
    groups: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in found.rows.to_pylist():
        groups[row["age"]][row["ill"]] += 1
    seen = found.table.to_pylist()
    whole = Counter(table.column("ill").to_pylist())
    for i in range(len(seen)):
        belief: dict[Any, F] = defaultdict(F)
        for true in itertools.product(secrets, repeat=len(seen)):
            weight = F(1)
            for one, s in zip(seen, true, strict=True):
                y = channel.outcomes.index(one["ill_perturbed"])
                weight *= F(groups[one["age"]][s], 3) * c[secrets.index(s), y]
            belief[true[i]] += weight
        total = sum(belief.values())
        assert max(b / total / F(whole[s], 6) for s, b in belief.items()) <= found.both
        assert found.both <= found.assessment.lift * F(math.exp(found.perturbed.guarantees["pml"]))


@pytest.mark.parametrize("seed", range(few(12, 4)))
def test_the_largest_lift_of_both_is_that_of_the_whole_joint(seed: int) -> None:
    found = dv.generalize(pa.table(survey(seed, 60)), KNOWN, "ill", guarantees="k=4", hierarchies=AGES, perturb="ldp=1")
    assert found.perturbed is not None
    channel = found.perturbed.matrix_of("ill").channel
    joint = found.assessment.then(channel.exact)
    assert lift_of_both(found.assessment.by_group, channel) == joint.lift[:, joint.occurring].max() == found.both


def test_the_ledger_has_a_finite_loss_and_knows_the_people_again(tmp_path: Path) -> None:
    table, ledger = pa.table(survey(1)), tmp_path / "l.sqlite"
    asked: dict[str, Any] = {"ledger": ledger, "source_name": "survey", "hierarchies": AGES, "guarantees": "k=5"}
    dv.generalize(table, KNOWN, "ill", perturb="ldp=0.5", **asked)
    two = dv.release(table, column="ill", guarantee="ldp=0.5", ledger=ledger, source_name="survey", per_row=True)
    assert two.together is not None
    assert two.together["guarantees"]["ldp"] == pytest.approx(1.0)
    with pytest.raises(dv.DivulgeError, match="budget"):
        dv.generalize(table, KNOWN, "ill", perturb="ldp=0.5", budget="ldp=1.2", **asked)


@pytest.mark.parametrize(("options", "message"), [
    ({"secret": None}, "`secret` must be named with perturb"),
    ({"perturb": "k=3"}, "about what is said of a person"),
    ({"perturb": "ldp=x"}, "be a number"),
    ({"person": "age", "one_answer": True, "known": "sex"}, "left out with perturb"),
    ({"person": "age", "known": "sex"}, "come with rows_per_person or per_row"),
    ({"person": "age", "known": "sex", "rows_per_person": 1}, "no less than the rows that a person has"),
    ({"engine": "spark"}, "left out with Spark"),
    ({"guarantees": "k=1000"}, "hold at least where all rows are one group"),
])  # fmt: skip
def test_what_does_not_go_together_is_refused(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"known": KNOWN, "secret": "ill", "guarantees": "k=5", "perturb": "ldp=1"} | options
    with pytest.raises(dv.DivulgeError, match=message):
        dv.generalize(pa.table(survey(2)), given.pop("known"), given.pop("secret"), **given)


@pytest.mark.parametrize("asked", ["ldp=0.9", "pml=0.6", "lip=0.5"])
def test_several_rows_of_a_person_share_the_promise(asked: str, tmp_path: Path) -> None:
    """An attacker with any belief about the answers of all rows of a person, whose groups they know."""
    table, out = survey(5, 120), tmp_path / "out.csv"
    who = [f"p{i // 2}" for i in range(120)]
    found = dv.generalize(pa.table(table | {"who": who}), KNOWN, "ill", out, guarantees="k=4", hierarchies=AGES,
                          perturb=asked, person="who", rows_per_person=2)  # fmt: skip
    assert found.perturbed is not None
    assert found.assessment.k >= 8
    assert pyarrow.csv.read_csv(out).column_names == [*KNOWN, "ill_perturbed"]
    assert found.perturbed.protects == {"person": None, "rows_per_person": 2}
    c = np.array(found.perturbed.matrix_of("ill").channel.exact.matrix, dtype=float)
    rng, most = np.random.default_rng(3), float(asked.partition("=")[2])
    both = np.einsum("ay,bz->abyz", c, c)
    for _ in range(200):
        prior = rng.dirichlet(np.full(9, rng.choice([0.05, 0.3, 2.0]))).reshape(3, 3)
        mean = np.einsum("ab,abyz->yz", prior, both)
        lifts = (both / mean)[prior > 1e-12]
        assert lifts.max() <= math.exp(most) * (1 + 1e-9)
        assert lifts.min() >= math.exp(-most) * (1 - 1e-9)
    said = " ".join((tmp_path / "out.statement.txt").read_text().split())
    assert "together with what is said of the person" not in said  # of a person's rows in groups nothing is promised


def test_what_groups_do_not_keep_is_refused_and_goes_with_groups_alone() -> None:
    table = pa.table({"age": ["a"] * 6 + ["b"] * 6, "ill": list("xxxxxy") + list("yyyyyx")})
    asked: dict[str, Any] = {"column": "ill", "guarantee": "ldp=1", "per_row": True}
    with pytest.raises(dv.DivulgeError, match=r"be kept by the groups: lift=1\.5; its measured value is 5/3"):
        dv.release(table, prior="groups=age", within="lift=3/2", **asked)
    with pytest.raises(dv.DivulgeError, match="be kept by the groups: k=7; its measured value is 6"):
        dv.release(table, prior="groups=age", within="k=7", **asked)
    with pytest.raises(dv.DivulgeError, match="come with prior='groups=A,B'"):
        dv.release(table, within="lift=2", **asked)
    told = dv.release(table, prior="groups=age", within=["lift=5/3", "t=1/3"], **asked)
    assert told.mechanisms[0].assumed.within == ("lift=5/3", "t=1/3")
    assert dv.results.Receipt.from_dict(told.to_dict()).mechanisms[0].assumed.within == ("lift=5/3", "t=1/3")
    german = " ".join(dv.statement(told, "de").text().split())
    assert "deckt das Versprechen nicht ab" in german


def test_the_command_tells_both(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(pa.table(survey(3)), tmp_path / "t.csv")
    line = ["generalize", str(tmp_path / "t.csv"), "--known", "age,sex", "--secret", "ill", "--guarantee", "k=5",
            "--guarantee", "pml=1", "--perturb", "pml=0.5", "-o", str(tmp_path / "out.csv"), "--no-ledger"]  # fmt: skip
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert "largest lift by group and perturbed value together" in done.output
    assert CliRunner().invoke(app, ["statement", str(tmp_path / "out.receipt.json")]).exit_code == 0


def test_the_table_itself_is_not_replaced_by_what_is_made_of_it(tmp_path: Path) -> None:
    """Forced or not: a table in memory came between the file and the release, and the file was gone."""
    path = tmp_path / "own.csv"
    path.write_text("age,ill\n" + "1,a\n2,b\n" * 30)
    with pytest.raises(dv.DivulgeError, match="another file than source"):
        dv.generalize(path, "age", "ill", guarantees="k=2", perturb="pml=1", sink=path, force=True, per_row=True)
    assert path.read_text().startswith("age,ill\n1,a\n")

"""Releases of which the prior is what groups of known columns say: against counting, and who sees all that went out."""

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
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.reporting.statements.statement import statement

EPSILON = 0.4


def survey(seed: int, rows: int = 60) -> dict[str, list[str]]:
    """Return two known columns and a secret that depends on both."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(0, 3, rows), rng.integers(0, 2, rows)
    ill = np.where(rng.random(rows) < 0.5, (age + sex) % 3, rng.integers(0, 3, rows))
    return {
        name: [f"{name}{v}" for v in column.tolist()] for name, column in (("age", age), ("sex", sex), ("ill", ill))
    }


def inside(table: dict[str, list[str]], known: list[str]) -> dict[tuple[str, ...], Counter[str]]:
    """Return how often each secret stands in each group, counted row by row."""
    found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for i, secret in enumerate(table["ill"]):
        found[tuple(table[name][i] for name in known)][secret] += 1
    return found


def released(table: dict[str, list[str]], **options: Any) -> Any:
    wanted: dict[str, Any] = {
        "column": "ill", "guarantee": f"pml={EPSILON}", "prior": "groups=age,sex", "purpose": "record",
        "per_row": True,
    }  # fmt: skip
    return dv.release(pa.table(table), **(wanted | options))


@pytest.mark.parametrize("seed", range(few(12)))
def test_who_has_table_columns_and_everybodys_release_learns_what_the_receipt_says(seed: int, tmp_path: Path) -> None:
    """An attacker with the published files alone, and the shares of the groups, by Bayes' rule in fractions."""
    table, out = survey(seed), tmp_path / "out.csv"
    dv.release(pa.table(table), out, column="ill", guarantee=f"pml={EPSILON}", prior="groups=age,sex",
               purpose="record", per_row=True)  # fmt: skip
    receipt = json.loads((tmp_path / "out.receipt.json").read_text())
    (ran,) = receipt["mechanisms"]
    c = {(s, y): F(w, 2 ** ran["bits"]) for s, row in zip(ran["secrets"], ran["weights"], strict=True)
         for y, w in zip(ran["outcomes"], row, strict=True)}  # fmt: skip
    rows = pyarrow.csv.read_csv(out).to_pydict()
    assert {name: rows[name] for name in ("age", "sex")} == {name: table[name] for name in ("age", "sex")}
    learned = F(0)
    for known in (["age", "sex"], ["age"], ["sex"], []):
        counts = inside(table, known)
        for i, said in enumerate(rows["ill_perturbed"]):
            group = counts[tuple(rows[name][i] for name in known)]
            mean = sum(n * c[s, said] for s, n in group.items()) / F(group.total())
            learned = max(learned, *(c[s, said] / mean for s in group), *(mean / c[s, said] for s in group))
    assert 1 < float(learned) <= math.exp(EPSILON) * (1 + 1e-12)
    most = max(
        c[s, y] / (sum(n * c[t, y] for t, n in group.items()) / F(group.total()))
        for group in inside(table, ["age", "sex"]).values() for y in ran["outcomes"] for s in ran["secrets"]
    )  # fmt: skip
    assert receipt["guarantees"]["pml"] == pytest.approx(math.log(most), rel=1e-9)
    assert receipt["guarantees"]["pml"] >= math.log(most) * (1 - 1e-15)


def test_a_mechanism_for_the_whole_column_is_refused_where_a_group_breaks_the_guarantee() -> None:
    table = {"age": ["a"] * 6 + ["b"] * 6, "ill": list("xxxxxy") + list("yyyyyx")}
    whole = released(table, prior=None, prior_from_data=True).mechanisms[0].channel.exact
    with pytest.raises(dv.DivulgeError, match="under every prior of the set"):
        released(table, prior="groups=age", mechanism=whole)
    within = released(table, prior="groups=age").mechanisms[0].channel.exact
    assert released(table, prior="groups=age", mechanism=within).guarantees["pml"] <= EPSILON + 1e-12


@pytest.mark.parametrize("kind", ["pml", "pmc", "lip", "alip"])
def test_a_mechanism_beyond_a_level_in_its_tenth_digit_is_refused(kind: str) -> None:
    """Of two values, the rarer with a share of a tenth at least: by hand, pml = p / (.9 - .8 p) and so pmc."""
    high, least = F(math.exp(0.3 * (1 + 5e-10))), F(1, 10)
    if kind == "pml":  # p over the least mean, least p + (1 - least) (1 - p)
        right = (1 - least) * high / (1 + (1 - 2 * least) * high)
    else:  # the largest mean, (1 - least) p + least (1 - p), over 1 - p
        right = (high - least) / (high + 1 - 2 * least)
    table = {"ill": list("xy") * 5}
    asked = "alip=0.3:2" if kind == "alip" else f"{kind}=0.3"
    for found, kept in ((right, False), (right - F(1, 10**6), True)):
        matrix = dv.Channel([[found, 1 - found], [1 - found, found]], list("xy"), list("xy"))
        wanted: dict[str, Any] = {"column": "ill", "guarantee": asked, "mechanism": matrix, "prior": "lower=0.1"}
        if kept:
            assert dv.release(pa.table(table), per_row=True, **wanted).guarantees
        else:
            with pytest.raises(dv.DivulgeError, match="under every prior of the set"):
                dv.release(pa.table(table), per_row=True, **wanted)


def test_the_shares_of_groups_are_for_the_keeper_alone_and_come_back(tmp_path: Path) -> None:
    table, out, ledger = survey(1), tmp_path / "out.csv", tmp_path / "l.sqlite"
    wanted: dict[str, Any] = {"guarantee": "pml=0.4", "prior": "groups=age", "column": "ill", "per_row": True,
                              "ledger": ledger, "source_name": "survey"}  # fmt: skip
    dv.release(pa.table(table), out, **wanted)
    for path in tmp_path.glob("out.*"):
        assert path.suffix == ".csv" or ("beliefs" in path.read_text()) is (path.name == "out.keeper.json")
    public = json.loads((tmp_path / "out.receipt.json").read_text())
    assert public["mechanisms"][0]["prior"] is None
    again = dv.results.Receipt.from_dict(public)
    assert again.guarantees == pytest.approx(public["guarantees"])
    two = dv.release(pa.table(table), **wanted)
    assert two.together is not None
    assert two.together["releases"] == 2
    (first, _) = dv.Ledger(ledger).entries()
    ran: Any = first.mechanisms[0]
    counts = inside(table, ["age"]).values()
    assert sorted(map(tuple, ran.assumed.beliefs.corners.tolist())) == sorted(
        {tuple(F(one[s], one.total()) for s in ran.channel.secrets) for one in counts}
    )


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_statement_says_for_whom_it_holds_and_what_counting_a_group_adds(language: str) -> None:
    receipt = released(survey(2), guarantee=["pml=0.4", "ldp=0.5"])
    twice = math.exp(2 * receipt.guarantees["ldp"])
    said = " ".join(statement(receipt, language).text().split())
    shown = f"{math.ceil(twice * 100) / 100:.2f}".rstrip("0")
    assert (shown.replace(".", ",") if language == "de" else shown) in said
    assert ("alike in what is known of them" if language == "en" else "was man von ihnen weiß") in said
    assert ("counts the true answers of a group" if language == "en" else "wahren Antworten einer Gruppe zählt") in said
    assert ("counts the true" in " ".join(statement(released(survey(2), prior=None)).text().split())) is False


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"prior": "groups="}, "groups=COLUMNS"),
        ({"prior": "groups=age,age"}, "different names"),
        ({"prior": "groups=ill"}, "not the one that is released"),
        ({"prior": "groups=town"}, "no column 'town'"),
        ({"values": ["ill0", "ill1", "ill2", "ill3"]}, "list of answers"),
        ({"prior_from_data": True}, "prior_from_data"),
        ({"protect": "sex"}, "left out"),
        ({"outcomes": "sets"}, "'values' for a set of priors"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(dv.DivulgeError, match=word):
        released(survey(3), **options)


def test_the_command_coarsens_and_then_perturbs(tmp_path: Path) -> None:
    source, coarse, out = (tmp_path / f"{name}.csv" for name in ("people", "coarse", "out"))
    pyarrow.csv.write_csv(pa.table(survey(4, 90)), source)
    lines = [
        ["generalize", source, "--known", "age,sex", "--secret", "ill", "--guarantee", "k=5", "--guarantee", "pml=1",
         "-o", coarse, "--no-ledger"],
        ["release", coarse, "--column", "ill", "--prior", "groups=age,sex", "--guarantee", "pml=0.4", "--per-row", "-o",
         out, "--no-ledger"],
    ]  # fmt: skip
    for line in lines:
        found = CliRunner().invoke(app, list(map(str, line)))
        assert found.exit_code == 0, found.output
    assert json.loads((tmp_path / "out.receipt.json").read_text())["guarantees"]["pml"] <= 0.4 * (1 + 1e-9)
    wrong = CliRunner().invoke(
        app, [*map(str, lines[1][:4]), "--prior", "groups=ill", *map(str, lines[1][6:]), "--force"]
    )
    assert wrong.exit_code == 2

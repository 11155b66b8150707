"""Local recoding: guarantees by definition, each row above its own values, the bound against all recodings."""

import itertools
import json
import math
from collections import defaultdict
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from support import THOROUGH, few
from tables.certificates import ASKED, KEEPS, LADDERS, LOSSES, H, keeps, people
from tables.drawn import models
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.datasets import adult, adult_hierarchies

SMALL = {"a": H.table([["1", "x", "*"], ["2", "x", "*"], ["3", "y", "*"]]), "b": H.flat()}
TEXTS = list[list[tuple[str, Any]]]


def _entropy(table: dict[str, list[Any]], out: dict[str, list[str]], ladders: dict[str, H]) -> float:
    """Return the loss of published values by counting the rows of the table whose value lies below each."""
    total = 0.0
    for name, ladder in ladders.items():
        for own, seen in zip(table[name], out[name], strict=True):
            level = ladder.path(own).index(seen)
            below = sum(ladder.path(v)[level] == seen for v in table[name])
            total += math.log2(below / sum(v == own for v in table[name]))
    return total


def _every_recoding(table: dict[str, list[Any]], asked: list[tuple[str, Any]], loss: str) -> float:
    """Return the least loss over all ways to give each row levels of its own that keep what is asked."""
    rows = len(table["s"])
    heights = [range(ladder.height + 1) for ladder in SMALL.values()]
    best = math.inf
    for levels in itertools.product(itertools.product(*heights), repeat=rows):
        out = {n: [SMALL[n].path(table[n][r])[levels[r][i]] for r in range(rows)] for i, n in enumerate(SMALL)}
        whole = out | {"s": table["s"]}
        lost = _entropy(table, out, SMALL) if loss == "entropy" else _squares(out)
        if lost < best and keeps(whole, list(SMALL), asked):
            best = lost
    return best


def _squares(out: dict[str, list[str]]) -> float:
    sizes: dict[Any, int] = defaultdict(int)
    for key in zip(*out.values(), strict=True):
        sizes[key] += 1
    return float(sum(n * n for n in sizes.values()))


@pytest.mark.thin
@pytest.mark.parametrize("seed", range(few(36, 8)))
def test_no_recoding_at_all_is_below_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked: list[tuple[str, Any]] = [
        [("k", 2)], [("lift", "3/2")], [("t", "1/3")], [("distinct-l", 2)], [("pmc", 2)], [("enhanced-beta", 1)]
    ][seed % 6]  # fmt: skip
    table = {"a": rng.choice(["1", "2", "3"], 4).tolist(), "b": rng.choice(["u", "v"], 4).tolist(),
             "s": ["p", "q", *rng.choice(["p", "q"], 2).tolist()]}  # fmt: skip
    losses = ["entropy", "discernibility"]
    for loss in losses if THOROUGH else losses[seed // 2 % 2 :][:1]:
        best = _every_recoding(table, asked, loss)
        try:
            found = dv.generalize(pa.table(table), ["a", "b"], "s", guarantees=[f"{k}={v}" for k, v in asked],
                                  hierarchies=SMALL, loss=loss, recoding="local", per_row=True)  # fmt: skip
        except dv.DivulgeError:
            assert best == math.inf
            continue
        assert found.local is not None
        assert found.local.bound <= best + 1e-9
        assert best <= found.loss + 1e-9
        assert found.loss <= found.certificate.loss + 1e-9


@pytest.mark.parametrize("seed", range(few(56, 14)))
def test_every_group_keeps_what_is_asked_and_it_loses_no_more_than_the_best_levels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(rng, int(rng.integers(8, 60)))
    asked, loss = ASKED[seed % len(ASKED)], list(LOSSES)[seed // 2 % len(LOSSES)]
    options: dict[str, Any] = {"guarantees": [f"{k}={v}" for k, v in asked], "hierarchies": LADDERS, "loss": loss}
    try:
        best = dv.generalize(pa.table(table), list(LADDERS), "s", **options)
    except dv.DivulgeError:
        with pytest.raises(dv.DivulgeError, match="hold at least where all rows are one group"):
            dv.generalize(pa.table(table), list(LADDERS), "s", recoding="local", **options)
        return
    found = dv.generalize(pa.table(table), list(LADDERS), "s", recoding="local", **options)
    own = models(found.table.to_pydict() | {"s": found.table.column("s").to_pylist()}, list(LADDERS))
    assert all(KEEPS[kind](own, F(value)) for kind, value in asked)
    assert found.local is not None
    assert found.local.bound <= found.loss + 1e-9
    assert found.loss <= best.loss + 1e-9
    assert found.certificate.optimum == best.levels
    if loss == "discernibility":
        out = {name: found.table.column(name).to_pylist() for name in LADDERS}
        assert found.loss == _squares(out)


def test_each_row_goes_out_above_its_own_values() -> None:
    """The secret numbers the rows, so that each published one can be held against its own."""
    rng = np.random.default_rng(4)
    table = people(rng, 80) | {"s": list(range(80))}
    found = dv.generalize(pa.table(table), list(LADDERS), "s", guarantees="k=4", hierarchies=LADDERS, recoding="local")
    assert found.local is not None
    out: dict[str, list[str]] = {name: [""] * 80 for name in LADDERS}
    for row in found.table.to_pylist():
        for name, ladder in LADDERS.items():
            own = table[name][int(row["s"])]
            assert row[name] in ladder.path(own)[found.local.finest[name] : found.levels[name] + 1]
            out[name][int(row["s"])] = row[name]
    assert found.loss == pytest.approx(_entropy(table, out, LADDERS))
    assert found.loss < found.certificate.loss


def test_adult_loses_less_than_half_of_the_best_levels() -> None:
    names = ["sex", "age", "race", "education"]
    ladders = {name: adult_hierarchies()[name] for name in names}
    found = dv.generalize(adult(names), names, guarantees="k=5", hierarchies=ladders, recoding="local")
    assert found.local is not None
    assert found.assessment.k >= 5
    assert found.loss < found.certificate.loss / 2
    assert 0 < found.local.bound <= found.loss
    assert found.local.gap == pytest.approx(1 - found.local.bound / found.loss)
    assert "group by group; none is below" in repr(found)


@pytest.mark.parametrize(("options", "message"), [
    ({"recoding": "nearby"}, 'be "global" or "local"'), ({"recoding": None}, 'be "global" or "local"'),
    ({"recoding": "local", "suppress": 0.1}, "left out with recoding"),
    ({"recoding": "local", "levels": {"a": 1}}, "left out with recoding"),
])  # fmt: skip
def test_what_does_not_go_with_local_recoding_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.generalize(pa.table({"a": [1, 2, 2]}), "a", guarantees="k=1", **options)


def test_papers_say_that_levels_differ_and_nothing_of_a_best_one(tmp_path: Path) -> None:
    ages = [31, 34, 38, 39, 45, 46, 49, 71, 75, 88]
    pyarrow.csv.write_csv(pa.table({"age": ages, "ill": ["a", "b"] * 5}), tmp_path / "t.csv")
    (tmp_path / "age.csv").write_text("\n".join(f"{a};{a // 10 * 10}s;{a // 50 * 50} or more;*" for a in ages))
    line = ["generalize", str(tmp_path / "t.csv"), "--known", "age", "--secret", "ill", "--guarantee", "k=2",
            "--hierarchy", f"age={tmp_path / 'age.csv'}", "--recoding", "local", "--per-row",
            "-o", str(tmp_path / "out.csv"), "--no-ledger"]  # fmt: skip
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert "not said to be the best" in done.output
    said = (tmp_path / "out.statement.txt").read_text()
    assert "from level 1 to level 2 of 3, by group" in " ".join(said.split())
    assert "finer ones that keep it may exist" in " ".join(said.split())
    receipt = json.loads((tmp_path / "out.receipt.json").read_text())
    assert (receipt["finest"], receipt["levels"]) == ({"age": 1}, {"age": 2})
    assert "bound" not in receipt
    keeper = json.loads((tmp_path / "out.keeper.json").read_text())
    assert keeper["bound"] <= keeper["value"]
    assert "levels from 1 to 2 of 3" in (tmp_path / "out.codebook.md").read_text()
    again = CliRunner().invoke(app, ["statement", str(tmp_path / "out.receipt.json"), "--language", "de",
                                     "-o", str(tmp_path / "again.html")])  # fmt: skip
    assert again.exit_code == 0, again.output

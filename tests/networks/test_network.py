"""Bayesian networks against values worked out by hand and against sums over all their states."""

import math
from fractions import Fraction as F
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from networks.worlds import random_network
from support import few, fresh_seed

import divulge as dv
from divulge.networks import count_at_least, couple, ever, family
from divulge.networks.bayesian import elimination, search

TOLD = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
FOUR = dv.Channel([[F(4, 6) if i == k else F(1, 6) for k in range(3)] for i in range(3)])


def test_a_couple_by_hand() -> None:
    both = couple().release("Ann", TOLD).release("Bob", TOLD)
    assert couple().release("Ann", TOLD).worst("Ann").lower == F(5, 2)
    assert both.worst("Ann").lower == F(15, 4)
    assert couple().release("Bob", TOLD).worst("Ann").lower == F(5, 3)
    assert both.worst(("Ann", "Bob")).lower == both.worst("all").lower == F(45, 8)
    assert both.worst(ever(1)).lower == F(25, 8)


def test_a_family_by_hand() -> None:
    told = family().release("child", FOUR)
    assert told.worst("mother").lower == F(185, 77)
    assert told.worst("child").lower == F(400, 103)
    assert family().release("child").worst("mother").lower == 10
    assert family().release("child").worst("mother", "pmc").lower == math.inf


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "branch and bound"])
def test_worst_outputs_are_the_worst_of_all(monkeypatch: pytest.MonkeyPatch, listed: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    if not listed:
        monkeypatch.setattr(search, "LISTED", 0)
    for _ in range(few(60)):
        network, names, worlds, channels = random_network(rng)
        first, last = names[0], names[-1]
        for secret, law, event in (
            (first, itemgetter(first), False),
            ((first, last), itemgetter(first, last), False),
            (ever(1), lambda w: 1 in w.values(), True),
            (count_at_least(0, 2), lambda w: list(w.values()).count(0) >= 2, True),
        ):
            prior: dict[Any, F] = {}
            for world, p in worlds:
                prior[law(world)] = prior.get(law(world), F(0)) + p
            if event and True not in prior:
                continue
            high, low = F(0), F(1)
            for outputs in product(range(2), repeat=len(channels)):
                weights = dict.fromkeys(prior, F(0))
                for world, p in worlds:
                    seen = zip(channels.items(), outputs, strict=True)
                    weights[law(world)] += p * math.prod(c[world[v]][y] for (v, c), y in seen)
                if total := sum(weights.values()):
                    lifts = [weights[u] / total / prior[u] for u in prior if not event or u is True]
                    high, low = max(high, *lifts), min(low, *lifts)
            worst, cost = network.worst(secret), network.worst(secret, "pmc")
            right = high, 1 / low if low else math.inf
            if listed:
                assert (worst.lower, cost.lower) == right
                assert network.lift(secret, worst.outputs) == high
            for answer, truth in zip((worst, cost), map(float, right), strict=True):
                assert float(answer.lower) <= truth * (1 + 1e-12)
                assert float(answer.upper) >= truth * (1 - 1e-12)
                assert truth == math.inf or float(answer.upper) <= float(answer.lower) * (1 + 1e-7)


def test_the_joint_is_what_every_measure_applies_to() -> None:
    both = couple().release("Ann", TOLD).release("Bob", TOLD)
    assert dv.lift(both.joint("Ann")) == F(15, 4)
    assert dv.lift(both.joint(("Ann", "Bob"))) == F(45, 8)
    assert both.posterior("Ann", {"Ann": 1, "Bob": 1})[1] == F(3, 8)


def test_a_large_network_is_summed_and_one_too_entangled_is_refused_before() -> None:
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in range(50)]
    variables: dict[str, Any] = {}
    for i, name in enumerate(names):
        near = names[max(0, i - 8) : i]
        table = rng.dirichlet([1, 1], size=2 ** len(near))
        variables[name] = (near, table) if near else table[0]
    network = dv.Network(variables)
    for name in names[::5]:
        network = network.release(name, [[0.7, 0.3], [0.3, 0.7]])
    worst = network.worst("n20")
    assert 1 < worst.lower <= worst.upper < 1.7
    assert network.lift("n20", worst.outputs) == pytest.approx(worst.lower, rel=1e-8)
    tangled = dv.Network({f"x{i}": [0.5, 0.5] for i in range(26)} | {
        f"z{i}{k}": ([f"x{i}", f"x{k}"], [[0.5, 0.5]] * 3 + [[0.1, 0.9]]) for i in range(26) for k in range(i)
    })  # fmt: skip
    for i in range(26):
        for k in range(i):
            tangled = tangled.release(f"z{i}{k}", [[0.6, 0.4], [0.4, 0.6]])
    with pytest.raises(dv.DivulgeError, match="too entangled"):
        tangled.posterior("x0", {f"z{i}{k}": 0 for i in range(26) for k in range(i)})


def test_outputs_whose_table_would_be_too_large_are_fixed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """One table of all outputs ties together what is apart once outputs are known."""
    names = [f"n{i}" for i in range(11)]
    rng = np.random.default_rng(3)
    network = dv.Network({n: ([names[i - 1]], rng.dirichlet([1, 1], size=2)) if i else [0.5, 0.5]
                          for i, n in enumerate(names)})  # fmt: skip
    for name in names[:9]:
        network = network.release(name, [[0.7, 0.3], [0.3, 0.7]])
    listed = network.worst("n10")
    monkeypatch.setattr(elimination, "ENTRIES", 2**7)
    found = network.worst("n10")
    assert found.lower <= listed.lower * (1 + 1e-9)
    assert found.upper >= listed.lower
    assert network.lift("n10", found.outputs) == pytest.approx(found.lower, rel=1e-8)
    with pytest.raises(dv.DivulgeError, match="too entangled"):
        network.posterior(tuple(names[:9]), {})


BIF = """network lungs { property author nobody; }
// a comment
variable smoke { type discrete [ 2 ] { yes, no }; }
variable lung { type discrete [ 2 ] { ill, well }; }
variable xray { type discrete [ 2 ] { dark, clear }; }
probability ( smoke ) { table 0.5, 0.5; }
probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }
probability ( xray | lung ) { (ill) 0.98, 0.02; default 0.05, 0.95; }
"""


def test_a_file_is_read_to_the_last_digit(tmp_path: Path) -> None:
    path = tmp_path / "lungs.bif"
    path.write_text(BIF)
    network = dv.Network.from_bif(path).release("xray")
    assert network.exact
    assert network.posterior("lung", {"xray": "dark"})["ill"] == F(11 * 98, 11 * 98 + 189 * 5)
    table = BIF.replace("(yes) 0.1, 0.9; (no) 0.01, 0.99;", "table 0.1, 0.01, 0.9, 0.99;")
    path.write_text(table)
    assert dv.Network.from_bif(path).prior("lung") == dv.Network.from_bif(path).prior("lung")
    assert dv.Network.from_bif(path).release("xray").worst("lung").lower == network.worst("lung").lower
    with pytest.raises(dv.DivulgeError, match="`channel` must have the same labels as the states of 'lung'; 'ill' is"):
        dv.Network.from_bif(tmp_path / "lungs.bif").release("lung", dv.Channel([[1, 0], [0, 1]], ["sick", "well"]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.1, 0.9", "0.1, 0.8", "line 7: has a row that sums to 0.9"),
        ("(no) 0.01, 0.99;", "", "line 8: has 1 row for 'lung'"),
        ("[ 2 ] { ill, well }", "[ 3 ] { ill, well }", "line 4: names 2 states"),
        ("| smoke", "| smokes", "line 7: has a table about 'smokes'"),
        ("0.98", "many", "line 8 has"),
        ("probability ( smoke ) { table 0.5, 0.5; }\n", "", "has no table for 'smoke'"),
        ("network lungs { property author nobody; }", "{", "line 1: should have network"),
        ("default 0.05, 0.95; }", "", "ends too soon"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "lungs.bif"
    assert old in BIF
    path.write_text(BIF.replace(old, new))
    with pytest.raises(dv.InputFileError, match=message):
        dv.Network.from_bif(path)


def test_rows_that_were_rounded_are_renormalized_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "thirds.bif"
    path.write_text(
        "network t {} variable x { type discrete [ 3 ] { a, b, c }; } probability ( x ) { table .3333, .3333, .3333; }"
    )
    with pytest.raises(dv.InputFileError, match="tolerance"):
        dv.Network.from_bif(path)
    assert dv.Network.from_bif(path, tolerance=1e-3).prior("x")["a"] == F(1, 3)


def test_networks_of_pgmpy_are_read_by_their_tables() -> None:
    class Table:
        def __init__(self, variables: list[str], values: Any) -> None:
            self.variables, self.values = variables, np.array(values)
            self.state_names = {v: ["no", "yes"] for v in variables}

    class Model:
        def get_cpds(self) -> list[Table]:
            return [Table(["b", "a"], [[0.9, 0.2], [0.1, 0.8]]), Table(["a"], [0.75, 0.25])]

    network = dv.Network.from_pgmpy(Model()).release("b")
    assert network.posterior("a", {"b": "yes"})["yes"] == pytest.approx(0.2 / 0.275)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"a": (["b"], [[1, 0]] * 2), "b": (["a"], [[1, 0]] * 2)}, "no cycle"),
        ({"a": (["c"], [[1, 0]] * 2)}, "parents that are variables"),
        ({"a": ["1/2", "1/2"], "b": (["a"], [[1, 0]] * 3)}, "one row for each combination"),
        ({"a": [0.5, 0.4]}, "sum to 1"),
        ({"a": ["1/2", "1/2"], "b": (["a", "a"], [[1, 0]] * 4)}, r"`variables\['b'\]` must name each parent once"),
        ({"a": ["1/2", "1/2"], "b": ([["a"]], [[1, 0]] * 2)}, "text or whole numbers"),
        ({}, "map names to tables"),
    ],
)
def test_what_is_no_network_is_refused(variables: Any, message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.Network(variables)


def test_what_is_asked_wrongly_is_said() -> None:
    network = couple().release("Bob", TOLD)
    with pytest.raises(dv.DivulgeError, match="Did you mean 'Ann'"):
        network.worst("Anm")
    with pytest.raises(dv.DivulgeError, match="name what is put out"):
        network.posterior("Ann", {"Ann": 1})
    with pytest.raises(dv.DivulgeError, match="which is taken"):
        network.release("Bob")
    with pytest.raises(dv.DivulgeError, match="cannot occur together"):
        couple("0", "1/20").release("Ann").release("Bob").posterior("Ann", {"Ann": 1, "Bob": 1})


def test_the_picture_shades_every_variable() -> None:
    mpl.use("Agg")
    axes = family().release("child", FOUR).plot()
    assert {text.get_text().split("\n")[0] for text in axes.texts} == {"mother", "father", "child"}

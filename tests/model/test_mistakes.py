"""Mistakes of a first hour: each message names what is the matter and what to do instead."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import divulge as dv

ROWS = [[0.75, 0.25], [0.25, 0.75], [0.9, 0.1]]
CHANNEL = dv.Channel(ROWS, ["a", "b", "c"], ["x", "y"])
ANY: Any = dv
NOTHING: Any = None
ANY_ARRAY: Any = np.array([0.1, 0.2])
ANY_TEXT: Any = "a lot"
JOINT = dv.Joint([0.2, 0.3, 0.5], ROWS)
NOISE = dv.NoiseMechanism("laplace", "bernoulli(0.3)", scale=1.0)

FRAME = pd.DataFrame(ROWS, index=["a", "b", "c"], columns=["x", "y"])

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "transposed": (lambda: dv.Channel(np.array(ROWS).T), "give the transpose"),
    "transposed fractions": (lambda: dv.Channel([["3/4", "1/4", 1], ["1/4", "3/4", 0]]), "give the transpose"),
    "percent": (lambda: dv.Channel([[75, 25], [25, 75]]), "percent are divided by 100"),
    "percent in a prior": (lambda: dv.Prior([20, 80]), "percent are divided by 100"),
    "counts": (lambda: dv.Channel([[30, 10], [5, 15]]), "for counts use Joint.from_counts"),
    "a file": (lambda: dv.Channel("c.csv"), "read_channel"),
    "a file for a measure": (lambda: dv.pml("c.csv"), "read_joint"),
    "no prior": (lambda: dv.pml(CHANNEL), r"one argument, a pair: \(prior, channel\)"),
    "a prior alone": (lambda: ANY.pml([0.2, 0.3, 0.5], CHANNEL), r"one argument, a pair: \(prior, channel\)"),
    "swapped": (lambda: dv.pml((CHANNEL, [0.2, 0.3, 0.5])), "swap the two"),
    "a channel as a joint": (lambda: dv.pml(FRAME), "each row sums to 1, as in a channel"),
    "a joint as a prior": (lambda: dv.design(JOINT, dv.PML(0.2)), "joint.prior is that of its secret"),
    "short floats": (lambda: dv.Channel(np.array(ROWS, np.float32)), "its dtype is float32"),
    "short floats in a prior": (lambda: dv.Prior(np.array([0.1, 0.9], np.float32)), "its dtype is float32"),
    "a parameter that a kind has not": (lambda: dv.PML.of(JOINT, epsilom=1), "`epsilom` must be a parameter"),
    "a threshold left out": (lambda: dv.guarantees.TailPML.of(JOINT), "tail-pml=EPSILON"),
    "a list of releases": (lambda: dv.compose([(dv.dp.LaplaceMechanism(1.0), 20)]), "several go in one by one"),
    "a class": (lambda: dv.compose(dv.dp.GaussianMechanism), r"write GaussianMechanism\(...\)"),
    "a class, twice": (lambda: dv.compose((dv.dp.LaplaceMechanism, 2)), r"write LaplaceMechanism\(...\)"),
    "a sample of a class": (lambda: ANY.dp.PoissonSampled(dv.dp.GaussianMechanism, 0.1), "the class GaussianMechanism"),
    "a sample of rows": (lambda: ANY.dp.PoissonSampled(CHANNEL, 0.1), "no records to sample from"),
    "a sample of a promise": (lambda: ANY.dp.FixedSizeSampled(dv.PML(1), 1, 10), "it is a PML"),
    "a rate in words": (lambda: ANY.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), "0.1"), "`rate` must be between"),
    "a size in words": (lambda: ANY.dp.FixedSizeSampled(dv.dp.GaussianMechanism(1.0), "1", 9), "`sample` must be"),
    "gains beyond doubles": (lambda: dv.Gain([[10**400, 0]]), "have entries below 1.8e308"),
    "scores beyond doubles": (lambda: dv.design([0.5, 0.5], "pml=1", utility=[[10**400, 0], [0, 1]]), "`utility`"),
    "a polytope beyond doubles": (lambda: dv.measures.Polytope([[10**400, -1]], [0]), "finite numbers"),
    "a prior near 0": (lambda: dv.design([1e-305, 1.0], "pml=1"), "no probability between 0 and 1e-300"),
    "a set of priors near 0": (
        lambda: dv.design(dv.measures.L1Ball([5e-324, 1.0], 0), "pml=1", utility="hamming"),
        "no probability between 0 and 1e-300",
    ),
    **{
        f"no number: {name}": (call, "must be a (whole )?number")
        for name, call in {
            "delta": lambda: dv.compose(CHANNEL).delta(NOTHING),
            "epsilon": lambda: dv.compose(CHANNEL).epsilon(NOTHING),
            "worst pair": lambda: dv.compose(CHANNEL).worst_pair(NOTHING),
            "order": lambda: dv.compose(CHANNEL).renyi(NOTHING),
            "times": lambda: dv.compose(CHANNEL).times(NOTHING),
            "group": lambda: dv.compose(dv.dp.LaplaceMechanism(1.0)).group(NOTHING),
            "order of a loss": lambda: dv.dp.renyi_dp(CHANNEL, NOTHING),
            "tail": lambda: NOISE.tail(NOTHING),
            "envelope": lambda: NOISE.tail_envelope(NOTHING),
            "envelope's threshold": lambda: NOISE.envelope_threshold(NOTHING),
            "quantile": lambda: NOISE.quantile(NOTHING),
            "curve": lambda: NOISE.curve([NOTHING]),
            "adversary": lambda: NOISE.adversary(NOTHING),
            "within": lambda: NOISE.adversary(0.0, "pml", NOTHING),
            "tail of outcomes": lambda: dv.pml(JOINT).tail(NOTHING),
            "epsilon of outcomes": lambda: dv.pml(JOINT).epsilon(NOTHING),
            "quantile of outcomes": lambda: dv.pml(JOINT).quantile(NOTHING),
        }.items()
    },
    "several numbers": (lambda: dv.compose(CHANNEL).delta(ANY_ARRAY), "it is a ndarray"),
    "text that is no number": (lambda: dv.compose(CHANNEL).epsilon(ANY_TEXT), "text that is none"),
    "NaN": (lambda: NOISE.tail(float("nan")), "it is NaN"),
    "an outcome beyond doubles": (lambda: NOISE.pml(10**400), "hold numbers"),
    "edges in words": (lambda: NOISE.binned(ANY_TEXT), "hold numbers"),
    "a side of two": (lambda: NOISE.tail(1.0, ANY_ARRAY), '"pml" or "pmc"'),
    "a loss beyond doubles": (lambda: dv.dp.LaplaceMechanism(1.0).losses()[0].delta(10**400), "must be a number"),
    "a promise": (lambda: dv.compose(dv.LDP(1)), "AdpRelease"),
    "a distribution": (lambda: dv.NoiseMechanism("laplace", "bernouli(.2)", scale=1), "Did you mean 'bernoulli'"),
    "a word for a prior": (lambda: dv.design("uniform", "ldp=1"), r"Prior.uniform\(n\)"),
    "rows of people": (
        lambda: dv.Joint.from_counts(pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 3]})),
        "hold|finite",
    ),
    "a unit": (lambda: ANY.pml(([0.2, 0.3, 0.5], CHANNEL), "bit"), "Did you mean 'bits'"),
    "a kind with a colon": (lambda: dv.guarantees.parse("ldp:1"), "write ldp=1"),
    "letters swapped": (lambda: dv.guarantees.parse("lpd=1"), "Did you mean 'ldp'"),
    "no kind": (lambda: dv.guarantees.parse("epsilon=1"), "ldp=1 is about each answer"),
    "spaces": (
        lambda: dv.design([0.2, 0.8], "ldp=1", utility="mutual information"),
        "Did you mean 'mutual-information'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_what_to_do(name: str) -> None:
    call, words = MISTAKES[name]
    with pytest.raises(dv.DivulgeError, match=words):
        call()


NAMES = {
    "divulge": {
        "pmll": "Did you mean 'pml'", "parse": "There is divulge.guarantees.parse",
        "randomized_response": "There is .*divulge.mechanisms.randomized_response",
        "GaussianMechanism": "There is divulge.dp.GaussianMechanism", "nonsense_of_nobody": "has no attribute",
    },
    "divulge.dp": {"GausianMechanism": "Did you mean 'GaussianMechanism'", "pml": "There is divulge.pml"},
    "divulge.results": {"Profil": "Did you mean 'Profile'"},
}  # fmt: skip


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in NAMES.items() for name in names])
def test_a_name_that_is_not_there_says_where_it_is(module: str, name: str) -> None:
    with pytest.raises(AttributeError, match=NAMES[module][name]):
        getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(
    "frame", [FRAME.reset_index(), pa.Table.from_pandas(FRAME), FRAME], ids=["column", "arrow", "index"]
)
def test_labels_are_found_where_pandas_keeps_them(frame: Any) -> None:
    assert dv.Channel(frame) == CHANNEL


def test_text_of_numbers_is_no_label() -> None:
    fractions = pd.DataFrame({"x": ["3/4", "1/4"], "y": ["1/4", "3/4"]})
    assert dv.Channel(fractions).shape == (2, 2)


def test_missing_values_are_a_category_or_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("s,y\na,1\n,1\nb,2\n,2\n")
    assert set(dv.read_joint(path, "s", "y", null_as="none").secrets) == {"a", "b", "none"}
    with pytest.raises(dv.DivulgeError, match="null_as=LABEL"):
        dv.read_joint(path, "s", "y")
    with pytest.raises(dv.DivulgeError, match="another label than the values of column 's'"):
        dv.read_joint(path, "s", "y", null_as="a")


def test_one_column_is_named_by_itself() -> None:
    people = pa.table({"ill": ["yes", "no"] * 20, "age": [1, 2, 3, 4] * 10})
    assert [risk.columns for risk in dv.assess(people, "age", "ill").columns] == [("age",)]


def test_rows_of_people_are_no_labels_and_are_not_shown() -> None:
    with pytest.raises(dv.DivulgeError) as refused:
        dv.report(pd.DataFrame({"name": ["Ada", "Bob", "Ada"], "mark": [1, 2, 3]}))
    assert "Ada" not in str(refused.value)

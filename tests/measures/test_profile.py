"""The profile says what the single measures say, dense or sparse, small or blocked."""

import math
import pickle
import tracemalloc
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from support import RUNNING_CHANNEL, RUNNING_PRIOR, few, joints, random_channel, random_prior

import divulge as dv
from divulge import kernels, panels

SINGLE = {
    "ldp": dv.ldp, "lift_capacity": dv.lift_capacity, "bayes_capacity": dv.bayes_capacity,
    "maximal_leakage": dv.maximal_leakage, "maximal_cost_leakage": dv.maximal_cost_leakage, "lip": dv.lip,
    "alip": dv.alip, "lift": dv.lift, "mutual_information": dv.mutual_information,
    "min_entropy_leakage": dv.measures.min_entropy_leakage,
    "maximal_realizable_cost": dv.measures.maximal_realizable_cost,
    "mean_pml": lambda joint: dv.pml(joint).mean(), "mean_pmc": lambda joint: dv.pmc(joint).mean(),
}  # fmt: skip


@settings(max_examples=few(40), deadline=None)
@given(joints())
def test_the_profile_equals_the_measures(joint: dv.Joint) -> None:
    profile = dv.profile(joint)
    for name, measure in SINGLE.items():
        assert getattr(profile, name) == measure(joint), name
    assert profile.pml is not None
    assert profile.pmc is not None
    for ours, theirs in ((profile.pml, dv.pml(joint)), (profile.pmc, dv.pmc(joint))):
        assert ours.to_dict() == theirs.to_dict()
        assert ours.secrets == theirs.secrets
    assert profile.capacity.gap < 1e-10
    assert dv.profile(joint.channel).ldp == profile.ldp


def test_the_capacity_is_sought_when_it_is_asked_for_and_goes_with_a_copy() -> None:
    joint = dv.Joint([0.25, 0.75], [[0.75, 0.25], [0.25, 0.75]])
    profile = dv.profile(joint)
    assert "capacity" not in vars(profile)
    sent = pickle.loads(pickle.dumps(profile))
    assert sent == profile == dv.profile(joint)
    assert sent.capacity == profile.capacity == dv.measures.capacity(joint.channel)
    matrix = random_channel(np.random.default_rng(0), 30, 30).floats
    assert len(pickle.dumps(dv.profile(matrix))) < matrix.nbytes  # the matrix is not sent


def _dense_and_blocked(monkeypatch: pytest.MonkeyPatch, n: int, m: int, zeros: float) -> None:
    rng = np.random.default_rng(n * 100 + m)
    matrix, prior = random_channel(rng, n, m, zeros=zeros).floats, random_prior(rng, n, zeros=0.2)
    joint = dv.Joint(prior, matrix)
    whole = dv.profile(joint)
    monkeypatch.setattr(panels, "PANEL", 7 * m)
    monkeypatch.setattr(panels, "THREADED", 1)
    blocked, stored = dv.profile(joint), dv.profile(dv.Joint(prior, dv.Channel(sp.csr_array(matrix))))
    monkeypatch.undo()
    likely, some = np.flatnonzero(prior.support), joint.occurring
    for profile, tolerance in ((blocked, 1e-13), (stored, 1e-12)):
        for name in ("ldp", "lift", "bayes_capacity", "mutual_information", "min_entropy_leakage", "mean_pmc"):
            assert float(getattr(profile, name)) == pytest.approx(float(getattr(whole, name)), rel=tolerance)
        assert profile.pml is not None
        assert profile.pmc is not None
        assert list(profile.pml.secrets or ()) == likely[matrix[likely][:, some].argmax(axis=0)].tolist()
        assert list(profile.pmc.secrets or ()) == likely[matrix[likely][:, some].argmin(axis=0)].tolist()


@pytest.mark.parametrize(("n", "m", "zeros"), [(50, 9, 0.0), (50, 9, 0.3), (3, 40, 0.2), (64, 64, 0.0), (20, 1, 0.0)])
def test_blocked_threaded_and_sparse_passes_agree(
    monkeypatch: pytest.MonkeyPatch, n: int, m: int, zeros: float
) -> None:
    _dense_and_blocked(monkeypatch, n, m, zeros)


def test_memory_stays_under_a_tenth_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((2000, 2000))
    channel = dv.Channel(matrix / matrix.sum(axis=1, keepdims=True))
    joint = dv.Joint(dv.Prior(rng.dirichlet(np.ones(2000))), channel)
    if find_spec("numba"):  # whose loading, when work has added up to it, is no memory of the profile
        kernels.compiled(kernels.column_ends)
    dv.profile(joint)
    tracemalloc.start()
    dv.profile(joint)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * matrix.nbytes


@pytest.mark.long
def test_a_hundred_thousand_secrets() -> None:
    rng = np.random.default_rng(1)
    n, stored = 100_000, 1_000_000
    rows = np.concatenate([np.arange(n), rng.integers(n, size=stored - n)])
    weights = sp.csr_array((rng.random(stored) + 0.01, (rows, rng.integers(n, size=stored))), shape=(n, n))
    weights = sp.csr_array(weights.multiply(1 / weights.sum(axis=1)[:, None]))
    joint = dv.Joint(dv.Prior(np.full(n, 1 / n)), dv.Channel(weights))
    profile = dv.profile(joint)
    assert profile.ldp == math.inf
    assert profile.mutual_information is not None
    assert profile.capacity.lower <= profile.capacity.upper
    assert 0 < profile.mutual_information <= profile.capacity.upper
    assert dv.sibson(joint, 2) >= profile.mutual_information
    assert dv.measures.f_information(joint, "total-variation") <= 1
    assert 1 <= dv.measures.guesswork_after(joint).mean() <= n
    entry = weights.data.max()
    assert profile.lift >= entry


def test_the_contract_of_to_dict() -> None:
    named = dv.profile(dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)).to_dict()
    assert list(named) == ["secrets", "outcomes", "unit", "channel", "joint", "by_outcome"]
    assert list(named["channel"]) == [
        "ldp", "lift_capacity", "bayes_capacity", "maximal_leakage", "maximal_cost_leakage", "capacity"
    ]  # fmt: skip
    assert list(named["joint"]) == [
        "pml", "pmc", "lip", "alip", "lift", "mean_pml", "mean_pmc", "mutual_information", "min_entropy_leakage",
        "maximal_realizable_cost",
    ]  # fmt: skip
    assert named["by_outcome"][0] == {
        "outcome": "b", "probability": 0.55, "pml": math.log(19 / 11), "pmc": pytest.approx(math.log(11 / 5)),
        "pml_secret": "bg", "pmc_secret": "g",
    }  # fmt: skip
    bits = dv.profile(dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)).to_dict(unit="bits")
    assert bits["channel"]["ldp"] == pytest.approx(math.log2(15))
    assert bits["channel"]["bayes_capacity"] == 1.7
    assert bits["joint"]["lift"] == 19 / 11
    assert "joint" not in dv.profile(RUNNING_CHANNEL).to_dict()
    profile = dv.profile(dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL), unit="bits")
    assert profile.ldp == dv.ldp(RUNNING_CHANNEL, unit="bits")
    assert "ldp [bits]" in repr(profile)
    assert "<table>" in profile._repr_html_()
    assert profile.to_frame().loc["b", "pml_secret"] == "bg"
    assert dv.profile(RUNNING_CHANNEL).to_frame().loc["bayes_capacity", "value"] == 1.7
    assert pickle.loads(pickle.dumps(profile)).ldp == profile.ldp


def test_exact_measures_come_back_as_fractions() -> None:
    joint = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
    profile = dv.profile(joint)
    assert (profile.lift, profile.bayes_capacity, profile.lift_capacity) == (Fraction(19, 11), Fraction(17, 10), 15)
    assert isinstance(dv.measures.bayes_vulnerability(joint), Fraction)
    mixed = dv.profile(dv.Joint(RUNNING_PRIOR.floats, dv.Channel(RUNNING_CHANNEL.matrix)))
    assert mixed.lift == pytest.approx(19 / 11)
    assert isinstance(mixed.bayes_capacity, Fraction)

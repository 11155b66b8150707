"""What a release says about a correlated secret."""

from collections import Counter
from fractions import Fraction as F

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few, joints, random_channel

import divulge as dv


@settings(max_examples=few(30), deadline=None)
@given(joints(), st.integers(0, 2**32 - 1))
def test_both_bounds_of_the_lemma_and_the_capacities(about: dv.Joint, seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = random_channel(rng, len(about.outcomes), 4, exact=about.exact, zeros=0.3)
    answer = dv.adversaries.dalenius(about, channel)
    slack = 1 if about.exact else 1 + 1e-12
    assert answer.lift <= answer.bound * slack
    assert answer.bound == min(answer.lift_of_correlation, answer.lift_of_release)
    for of_z, of_x in (answer.lift_capacity, answer.bayes_capacity):
        assert of_z <= of_x * slack
    p_zy = about.prior.floats[:, None] * (about.channel.floats @ channel.floats)
    independent = p_zy.sum(axis=1)[:, None] * p_zy.sum(axis=0)
    seen = p_zy > 0
    assert abs(float(answer.lift) - (p_zy[seen] / independent[seen]).max()) <= 1e-9 * float(answer.lift)


def test_from_two_columns_with_labels_in_another_order() -> None:
    z = ["a", "a", "a", "b", "b", "b"]
    x = ["low", "low", "high", "high", "high", "low"]
    release = dv.Channel([["9/10", "1/10"], ["1/5", "4/5"]], ["high", "low"], ["h", "l"])
    answer = dv.adversaries.dalenius(dv.Joint.from_counts(Counter(zip(z, x, strict=True))), release)
    assert answer.joint.secrets == ("a", "b")
    assert answer.joint.channel.matrix[0, 0] == F(2, 3) * F(1, 5) + F(1, 3) * F(9, 10)
    assert "at most" in repr(answer)


@settings(max_examples=few(30), deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["average", "max"]))
def test_a_gain_about_the_correlated_secret_is_one_about_the_secret(seed, case):
    """L of D C under g is L of C under G(w, x) = sum_z P(z | x) g(w, z), exactly, each listed."""
    rng = np.random.default_rng(seed)
    z, x, y, w = (int(n) for n in rng.integers(2, 5, 4))
    counts = rng.integers(0, 9, (z, x)) + np.eye(z, x, dtype=int)
    rows = rng.integers(0, 9, (x, y)) + (np.arange(y) == 0)
    channel = dv.Channel([[F(int(v), int(row.sum())) for v in row] for row in rows])
    answer = dv.adversaries.dalenius(dv.Joint.from_counts(counts.tolist()), channel)
    gain = dv.Gain([[F(int(v), 7) for v in row] for row in rng.integers(0, 9, (w, z)) + 1])
    through = answer.gain(gain)
    total = int(counts.sum())
    for action, row in zip(gain.matrix.tolist(), through.matrix.tolist(), strict=True):
        occurring = [k for k in range(x) if counts[:, k].sum()]
        for k in occurring:
            share = [F(int(c), int(counts[:, k].sum())) for c in counts[:, k]]
            assert row[k] == sum(p * g for p, g in zip(share, action, strict=True))
    posterior = []
    for outcome in range(y):
        mass = [sum(F(int(counts[a, k]), total) * channel.matrix[k, outcome] for k in range(x)) for a in range(z)]
        q = sum(mass)
        if q:
            posterior.append(
                (q, max(sum(m * g for m, g in zip(mass, action, strict=True)) for action in gain.matrix) / q)
            )
    prior = [F(int(counts[a].sum()), total) for a in range(z)]
    before = max(sum(p * g for p, g in zip(prior, action, strict=True)) for action in gain.matrix)
    after = max(v for _, v in posterior) if case == "max" else sum(q * v for q, v in posterior)
    assert dv.leakage(answer.joint, gain, case=case) == after / before
    assert dv.leakage(answer.release, through, case=case) == after / before

"""What a release says about a correlated secret."""

from collections import Counter
from fractions import Fraction as F

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few, joints, random_channel

import divulge as dv


@settings(max_examples=few(60), deadline=None)
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

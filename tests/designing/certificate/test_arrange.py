"""Equal secrets take turns: the same convex combination, no level but those of the vertices, and at most N outcomes."""

import math

import numpy as np
import pytest
from support import THOROUGH, few

import divulge as dv
from divulge.designing.polytope.limits import Classes
from divulge.designing.polytope.symmetry import outcomes_of
from divulge.designing.polytope.vertices import Vertices


def test_turns_give_equal_secrets_one_mean_on_the_levels_of_the_vertices_in_few_outcomes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(few(300)):
        size = rng.integers(1, 6, int(rng.integers(1, 4)))
        members = tuple(np.split(rng.permutation(int(size.sum())), np.cumsum(size)[:-1]))
        classes = Classes(np.ones(len(size)), size, members)
        many = int(rng.integers(1, 7))
        counts, between = rng.integers(0, size + 1, (many, len(size))), rng.integers(-1, len(size), many)
        between[counts[np.arange(many), between] == size[between]] = -1
        vertices = Vertices(counts, between, *np.sort(rng.random((3, many)) * 2, axis=0))
        weights = np.sort(rng.dirichlet(np.ones(many)))  # outcomes come in this order
        lengths, lifts = outcomes_of(weights, vertices, classes)
        mean = (weights @ vertices.lifts(classes))[classes.of_secret]
        assert lifts @ lengths == pytest.approx(mean, abs=1e-12)
        assert lengths.min() > 0
        assert len(lengths) <= len(weights) + (size - 1).sum()
        of = np.searchsorted(np.cumsum(weights), np.cumsum(lengths) - lengths / 2)
        for column, k in zip(lifts.T, of.tolist(), strict=True):
            for c, rows in enumerate(members):
                high, middle = int(counts[k, c]), int(between[k] == c)
                levels = [vertices.low[k]] * (len(rows) - high - middle) + [vertices.middle[k]] * middle
                assert sorted(column[rows]) == levels + [vertices.high[k]] * high


@pytest.mark.thin
@pytest.mark.parametrize(
    "guarantees", [[dv.PML(0.5)], [dv.LDP(1)], [dv.ALIP(1, 0.5)], [dv.PML(0.6), dv.LDP(1.2)], [dv.PMC(0.7)]]
)
def test_designs_from_counts_use_at_most_as_many_outcomes_as_there_are_secrets(guarantees: list[dv.Guarantee]) -> None:
    rng = np.random.default_rng(1)
    for n, total in ((12, 30), (40, 100), (100, 2500))[: None if THOROUGH else 2]:
        counts = rng.multinomial(total - n, np.full(n, 1 / n)) + 1
        found = dv.design(dv.Prior.from_counts(counts.tolist()), *guarantees)
        assert len(found.outcomes) <= n
        assert found.relative_gap < 1e-9
        shares = counts / total
        q = shares @ found.channel.floats
        told = found.channel.floats / q
        information = math.fsum((shares[:, None] * q * told * np.log(np.where(told > 0, told, 1))).ravel().tolist())
        assert found.utility == pytest.approx(information, rel=1e-9)
    alike = dv.design(dv.Prior.uniform(12), *guarantees)
    assert len(alike.outcomes) <= 12
    assert alike.relative_gap < 1e-9

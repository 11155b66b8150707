"""Designs on a given alphabet: against all vertices of the channels, or of the outcomes of each kind."""

import math
from typing import Any

import numpy as np
import pytest
from designing.problems import holds, random_prior
from designing.vertices import optimum, vertices
from support import THOROUGH

import divulge as dv
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.designing.pricing.enumeration import Enumeration


def test_the_bound_of_three_outcomes_is_that_of_any_number() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(5))
    two, three, free = (dv.design(p, dv.PML(1), outcomes=names) for names in (["a", "b"], ["a", "b", "c"], None))
    assert three.bound == pytest.approx(free.bound, rel=1e-12)
    assert len(three.outcomes) == 3
    assert two.bound < three.utility < free.utility


@pytest.mark.thin
@pytest.mark.parametrize("utility", ["mutual-information", "chi-squared", "about"])
def test_forbidden_outcomes_equal_the_best_mixture_of_the_vertices_that_have_their_zeros(utility: str) -> None:
    rng = np.random.default_rng(len(utility))
    for n in (3, 4) if THOROUGH else (3,):
        p, high = random_prior(rng, n), math.exp(rng.uniform(0.3, 1.5))
        given = rng.dirichlet(np.ones(2), n)
        goal: Any = dv.About(given) if utility == "about" else utility
        banned = [{x} for x in range(n - 1)]
        names = [(k, copy) for k in range(len(banned)) for copy in range(n)]
        forbidden = [(x, (k, copy)) for k, copy in names for x in banned[k]]
        points = vertices(p, 0.0, high, math.inf)
        points = points[[any(all(v[x] < 1e-9 for x in some) for some in banned) for v in points]]
        f = SUBCONVEX["mutual-information" if utility == "about" else utility].f
        if utility == "about":
            w = p @ given
            back = (p[:, None] * given / w).T
            values = iter((f(points[:, :-1] @ back.T) * w).sum(axis=1).tolist())
            best = _best(p, points, values)
        else:
            best = _best(p, points, iter((f(np.maximum(points[:, :-1], 0)) * p).sum(axis=1).tolist()))
        if best is None:
            with pytest.raises(dv.DivulgeError, match="never releases what is forbidden"):
                dv.design(p, dv.PML(math.log(high)), utility=goal, outcomes=names, forbidden=forbidden)
            continue
        found = dv.design(p, dv.PML(math.log(high)), utility=goal, outcomes=names, forbidden=forbidden)
        assert found.utility == pytest.approx(best, rel=1e-8, abs=1e-11)
        assert found.bound == pytest.approx(best, rel=1e-8, abs=1e-11)
        assert found.bound >= found.utility
        assert holds(found)
        place = {y: j for j, y in enumerate(found.outcomes)}
        assert all(found.integers[x, place[y]] == 0 for x, y in forbidden if y in place)


def _best(p: np.ndarray, points: np.ndarray, values: Any) -> float | None:
    try:
        return optimum(p, lambda lifts: np.array([np.full(len(p), next(values)) for _ in lifts]), points, math.inf)
    except TypeError:  # the linear program has no solution
        return None


@pytest.mark.parametrize("counts", [True, pytest.param(False, marks=pytest.mark.long)])
def test_prices_of_kinds_agree_with_the_list_of_their_vertices(counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    prior: Any = dv.Prior.from_counts(rng.integers(1, 60, 9).tolist()) if counts else rng.dirichlet(np.ones(9))
    forbidden = [(x, (x + 1) % 9) for x in range(9)] + [(x, (x + 4) % 9) for x in range(0, 9, 2)]
    for guarantees in ([dv.PML(0.8)], [dv.PML(1.2), dv.guarantees.MaximalLeakage(0.6)]):
        known = dv.design(prior, *guarantees, forbidden=forbidden)
        with monkeypatch.context() as patch:
            patch.setattr(Enumeration, "fits", classmethod(lambda *_: False))
            found = dv.design(prior, *guarantees, forbidden=forbidden, time_limit=10 if counts else 0.1)
        assert (known.method, found.method) == ("enumeration", "column-generation")
        if counts:
            assert found.bound == pytest.approx(known.bound, rel=1e-8)
            assert found.utility == pytest.approx(known.utility, rel=0.05)
        assert max(found.utility, known.utility) <= min(found.bound, known.bound)


def test_a_time_that_is_over_leaves_a_channel_with_its_zeros_and_an_honest_bound() -> None:
    p, forbidden = np.random.default_rng(2).dirichlet(np.ones(12)), [(x, (x + 1) % 12) for x in range(12)]
    two = dv.design(p, dv.PML(0.8), outcomes=["a", "b"]).utility
    for options in ({"forbidden": forbidden}, {"outcomes": ["a", "b", "c"]}):
        late = dv.design(p, dv.PML(0.8), time_limit=0, **options)
        assert holds(late)
        assert late.utility <= late.bound
        assert late.bound >= two
    assert all(late.integers[x, late.outcomes.index(y)] == 0 for x, y in late.forbidden if y in late.outcomes)


def test_scores_and_informations_take_the_same_pairs() -> None:
    prior, pairs = dv.Prior({"a": "1/2", "b": "1/4", "c": "1/4"}), [("a", "b"), ("c", "a")]
    for utility in ("hamming", "mutual-information", dv.About([[1, 0], [0, 1], [1, 0]])):
        found = dv.design(prior, dv.PML(0.4), utility=utility, forbidden=pairs)
        place = {y: j for j, y in enumerate(found.outcomes)}
        rows = {x: k for k, x in enumerate("abc")}
        assert all(y not in place or found.integers[rows[x], place[y]] == 0 for x, y in pairs)
        assert found.bound >= found.utility
        assert found.forbidden == tuple(pairs)
        for row in found.compare().rows[1:]:
            assert all(row.channel.matrix[rows[x], list(row.channel.outcomes).index(y)] == 0
                       for x, y in pairs if y in row.channel.outcomes)  # fmt: skip
    absent = dv.design(dv.Prior(["1/2", "0", "1/2"]), dv.PML(0.5), forbidden=[(1, 0), (0, 2)])
    assert all(absent.integers[x, absent.outcomes.index(y)] == 0 for x, y in [(1, 0), (0, 2)] if y in absent.outcomes)


def test_what_cannot_be_is_refused() -> None:
    prior = ["1/2", "1/4", "1/4"]
    for options, words in (
        ({"forbidden": [(0, 1), (0, 2), (0, 0)]}, "every outcome is forbidden for 0"),
        ({"forbidden": [(7, 1)]}, "a pair is of the secret 7"),
        ({"forbidden": [(0, "x")]}, "a pair is and the outcome 'x'"),
        ({"forbidden": [3]}, "be pairs"),
        ({"forbidden": [(0, 1), (1, 2), (2, 0)], "method": "counting"}, "`method` must be enumeration"),
    ):
        with pytest.raises(dv.DivulgeError, match=words):
            dv.design(prior, dv.PML(0.5), **options)
    with pytest.raises(dv.DivulgeError, match="never releases what is forbidden; ldp=1 rules it out at every level"):
        dv.design(prior, dv.LDP(1), forbidden=[(0, 1), (1, 2), (2, 0)])
    only = dv.design(prior, dv.PML(0.5), outcomes=["only"])
    assert (only.channel.shape, list(only.outcomes)) == ((3, 1), ["only"])
    assert only.utility < 1e-15 < only.gap

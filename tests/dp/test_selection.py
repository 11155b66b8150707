"""Sparse vector and report noisy max, against integrals over the noise: no odds exceed the loss that is told."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, expon, gumbel_r, kstest, laplace

import divulge as dv
from divulge.dp.accounting.records import from_records
from divulge.releasing.drawing.chance import Chance
from divulge.releasing.drawing.selecting import Noisy, Uniform

NOISE: dict[str, Any] = {"laplace": laplace, "exponential": expon, "gumbel": gumbel_r}


def winners(values: np.ndarray, scale: float, noise: str) -> np.ndarray:
    """How often each of some values is the largest with noise, by a sum over where the largest lies."""
    law, x = NOISE[noise], np.linspace(-45.0, 60.0, 90_001)
    cdf = [law.cdf(x - v / scale) for v in values]
    steps = [np.diff(c) for c in cdf]
    middle = [(c[1:] + c[:-1]) / 2 for c in cdf]
    shares = [
        float(steps[i] @ np.prod([m for j, m in enumerate(middle) if j != i], axis=0)) for i in range(len(values))
    ]
    return np.array(shares)


def above(p: np.ndarray, q: np.ndarray, e: float) -> float:
    return float(np.maximum(p - math.exp(e) * q, 0).sum())


@pytest.mark.parametrize("noise", list(NOISE))
@pytest.mark.parametrize("monotone", [False, True])
def test_no_largest_value_tells_more(noise: str, monotone: bool) -> None:
    rng = np.random.default_rng(0)
    scale, s = 1.7, 0.8
    (loss,) = dv.dp.NoisyMax(scale, s, noise, monotone).losses()
    assert loss.highest == pytest.approx(s / scale * (1 if monotone else 2), rel=1e-14)
    reached = 0.0
    for _ in range(6):
        values = rng.normal(size=3) * 2
        moved = values + s * (rng.integers(0, 2, 3) if monotone else rng.choice([-1.0, 1.0], 3))
        p, q = winners(values, scale, noise), winners(moved, scale, noise)
        assert p.sum() == pytest.approx(1.0, abs=1e-7)
        for e in (0.0, loss.highest / 3, 0.9 * loss.highest):
            assert max(above(p, q, e), above(q, p, e)) <= loss.delta(e) + 1e-8
        reached = max(reached, float(np.abs(np.log(p / q)).max()))
    assert 0.4 * loss.highest < reached <= loss.highest * (1 + 1e-5)
    half = s / (2 if monotone else 1) / 2
    p, q = (winners(np.array([a, -a]), scale, noise) for a in (half, -half))
    attained = loss.attained
    assert attained is not None
    for e in (0.0, loss.highest / 5):
        assert attained.delta(e) == pytest.approx(above(p, q, e), abs=1e-6)


def stream(values: list[float], scale: float, threshold: float, answers: int) -> dict[str, float]:
    """How often a stream of questions is answered each way, by a sum over the noise of the threshold."""
    rho = np.linspace(-40.0, 40.0, 40_001) * threshold
    weights = np.diff(laplace.cdf(rho, scale=threshold))
    middle = (rho[1:] + rho[:-1]) / 2
    open_: dict[str, np.ndarray] = {"": weights}
    done: dict[str, float] = {}
    for value in values:
        yes = laplace.sf(middle - value, scale=scale)
        after: dict[str, np.ndarray] = {}
        for said, share in open_.items():
            after[said + "0"] = share * (1 - yes)
            if said.count("1") + 1 == answers:
                done[said + "1"] = float((share * yes).sum())
            else:
                after[said + "1"] = share * yes
        open_ = after
    return {**done, **{said: float(share.sum()) for said, share in open_.items()}}


@pytest.mark.parametrize("answers", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_no_stream_tells_more(answers: int, monotone: bool) -> None:
    scale, threshold, s = 2.0, 1.5, 1.0
    (loss,) = dv.dp.SparseVector(scale, answers, s, threshold, monotone).losses()
    times = answers * (1 if monotone else 2)
    assert loss.highest == pytest.approx(s / threshold + times * s / scale, rel=1e-14)
    reached = 0.0
    for values in ([-4.0] * 5 + [3.0], [-6.0] * 4 + [-2.0, -2.0], [1.0, -1.0, 0.0, 2.0]):
        for moves in ([1.0] * 6, *([] if monotone else [[1.0] * 4 + [-1.0] * 2])):
            first = stream(values, scale, threshold, answers)
            second = stream([v + s * m for v, m in zip(values, moves, strict=False)], scale, threshold, answers)
            p, q = (np.array([law[k] for k in sorted(first)]) for law in (first, second))
            for e in (0.0, loss.highest / 3, 0.9 * loss.highest):
                assert max(above(p, q, e), above(q, p, e)) <= loss.delta(e) + 1e-9
            reached = max(reached, float(np.abs(np.log(p / q)).max()))
    assert 0.35 * loss.highest < reached <= loss.highest * (1 + 1e-6)
    p, q = (np.array(list(stream([a], scale, threshold, 1).values())) for a in (s / 2, -s / 2))
    attained = loss.attained
    assert attained is not None
    assert attained.delta(0.1) == pytest.approx(above(p, q, 0.1), abs=1e-6)


def test_the_threshold_has_the_best_share() -> None:
    for answers, monotone in ((1, False), (10, False), (4, True)):
        best = dv.dp.SparseVector(1.0, answers, monotone=monotone).losses()[0].highest
        times = answers * (1 if monotone else 2)
        assert best == pytest.approx((1 + times ** (2 / 3)) * times ** (1 / 3), rel=1e-12)
        # of all shares with the same noise in a comparison, threshold^2 + scale^2
        size = 1 + times ** (-2 / 3)
        for angle in np.linspace(0.1, 1.4, 14).tolist():
            scale, threshold = math.sqrt(size) * math.cos(angle), math.sqrt(size) * math.sin(angle)
            assert dv.dp.SparseVector(scale, answers, 1.0, threshold, monotone).losses()[0].highest >= best - 1e-9


def test_in_lists_and_as_families() -> None:
    records = [
        {"mechanism": "noisy-max", "scale": 10.0, "noise": "gumbel", "monotone": True, "count": 20},
        {"mechanism": "sparse-vector", "scale": 40.0, "threshold": 20.0, "answers": 1},
    ]
    listed = from_records(json.loads(json.dumps(records)), lambda _: None)
    assert listed.pure_epsilon == pytest.approx(20 * 0.1 + 0.1)
    assert 0 < listed.epsilon(1e-5).lower <= listed.epsilon(1e-5).upper < listed.pure_epsilon
    assert dv.calibrate("noisy-max", "dp=1").value == pytest.approx(2.0, rel=1e-5)
    assert dv.calibrate("sparse-vector", "dp=1").value == pytest.approx((1 + 2 ** (2 / 3)) * 2 ** (1 / 3), rel=1e-5)
    assert dv.compose(dv.dp.NoisyMax(2.0)).group(2).pure_epsilon == 2.0
    assert dv.ADP(1, 0).holds_for(dv.dp.NoisyMax(2.0))
    assert not dv.guarantees.TV("0.1").holds_for(dv.dp.NoisyMax(2.0))
    wrong: Any = dv.dp.NoisyMax
    with pytest.raises(dv.DivulgeError, match="noise"):
        wrong(2.0, noise="gauss")
    with pytest.raises(dv.DivulgeError, match="`monotone` must be True or False"):
        wrong(2.0, monotone="yes")
    with pytest.raises(dv.DivulgeError, match="`answers` must be a whole number"):
        dv.dp.SparseVector(2.0, answers=0)


DRAWS = 3000
"""Draws of a test; a scale that is half as large again is seen in so many."""


def p_value(seen: list[Any], law: dict[Any, float]) -> float:
    """Pearson's test of draws against a law."""
    counts = np.array([seen.count(key) for key in law])
    assert counts.sum() == len(seen)
    expected = len(seen) * np.array(list(law.values()))
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(law) - 1))


@pytest.mark.parametrize("noise", list(NOISE))
def test_the_largest_value_is_drawn_by_its_law_and_by_no_other_scale(noise: str) -> None:
    values, scale = [0, Fraction(7, 4), 2.5, 3], 1.25
    law = dict(enumerate(winners(np.array(values, dtype=float), scale, noise).tolist()))
    seen = [dv.dp.NoisyMax(scale, noise=noise).draw(values) for _ in range(DRAWS)]
    assert p_value(seen, law) > 1e-6
    wrong = dict(enumerate(winners(np.array(values, dtype=float), scale * 1.5, noise).tolist()))
    assert p_value(seen, wrong) < 1e-6


def test_streams_are_answered_by_their_law_and_by_no_other_scale() -> None:
    values, at = [1.0, 3.0, 0.0, 2.5], 2.0

    def law(scale: float, threshold: float) -> dict[str, float]:
        return stream([v - at for v in values], scale, threshold, 2)

    mechanism = dv.dp.SparseVector(2.0, answers=2, threshold=1.5)
    seen = ["".join("01"[said] for said in mechanism.draw(values, at)) for _ in range(DRAWS)]
    assert p_value(seen, law(2.0, 1.5)) > 1e-6
    assert p_value(seen, law(3.0, 1.5)) < 1e-6
    assert p_value(seen, law(2.0, 3.0)) < 1e-6
    own = dv.dp.SparseVector(2.0, answers=2)
    assert dv.dp.SparseVector(2.0, 2, threshold=own.noise_of_threshold).losses()[0].highest == own.losses()[0].highest


def test_questions_may_depend_on_the_answers_and_end_with_them() -> None:
    told: list[bool] = []
    asked: list[float] = []

    def questions() -> Any:
        while True:
            asked.append(100.0 if told and not told[-1] else -100.0)
            yield asked[-1]

    for said in dv.dp.SparseVector(1e-3, answers=2, threshold=1e-3).draw(questions(), at=0):
        told.append(said)
    assert told == [False, True, False, True]
    assert len(asked) == 4


def test_exponential_noise_is_read_no_further_than_asked() -> None:
    """The halves of what is known of a number are its digits; its law is that of -log U."""
    chance = Chance()
    draws = [Noisy.of(Fraction(0), Fraction(1), chance) for _ in range(DRAWS)]
    values = [one.whole + one.rest.at_least(64).whole / 2.0**one.rest.digits for one in draws]
    assert kstest(values, "expon").pvalue > 1e-6
    assert kstest(values, "expon", args=(0, 1.15)).pvalue < 1e-6
    same = Uniform(chance, 5, 32), Uniform(chance, 5, 32)
    assert (same[0] < same[1]) != (same[1] < same[0])
    assert min(one.digits for one in same) > 32


def test_what_is_no_value_is_refused() -> None:
    best, above_ = dv.dp.NoisyMax(1.0), dv.dp.SparseVector(1.0)
    for values in ([], [1.0, math.nan], [math.inf], ["a"], [None], [True]):
        with pytest.raises(dv.DivulgeError, match="values"):
            best.draw(values)
    with pytest.raises(dv.DivulgeError, match="finite"):
        list(above_.draw([1.0], at=math.nan))

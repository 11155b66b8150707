"""Sparse vector and report noisy max, against integrals over the noise: no odds exceed the loss that is told."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2, expon, gumbel_r, kstest, laplace
from support import NEVER, few, plausible

import divulge as dv
from divulge.dp.accounting.records import from_records
from divulge.releasing.drawing.chance import Chance
from divulge.releasing.drawing.selecting import Noisy, Uniform, Weights

NOISE: dict[str, Any] = {"laplace": laplace, "exponential": expon, "gumbel": gumbel_r}


def winners(values: np.ndarray, scale: float, noise: str) -> np.ndarray:
    """How often each of some values is the largest with noise, by a sum over where the largest lies."""
    law, x = NOISE[noise], np.linspace(-22.0, 28.0, 42_858)
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
    for _ in range(few(12, least=3)):
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


DRAWS = 2000
"""Draws of a test; a scale that is twice as large escapes so many once in 10^12."""


def fits(seen: list[Any], law: dict[Any, float]) -> bool:
    """Whether each of all that may be drawn comes as often as the law lets it."""
    times = [seen.count(key) for key in law]
    assert sum(times) == len(seen)
    return all(plausible(hits, len(seen), share) for hits, share in zip(times, law.values(), strict=True))


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
    assert fits(seen, law)
    wrong = dict(enumerate(winners(np.array(values, dtype=float), scale * 2, noise).tolist()))
    assert p_value(seen, wrong) < 1e-6


def test_streams_are_answered_by_their_law_and_by_no_other_scale() -> None:
    values, at = [1.0, 3.0, 0.0, 2.5], 2.0

    def law(scale: float, threshold: float) -> dict[str, float]:
        return stream([v - at for v in values], scale, threshold, 2)

    mechanism = dv.dp.SparseVector(2.0, answers=2, threshold=1.5)
    seen = ["".join("01"[said] for said in mechanism.draw(values, at)) for _ in range(DRAWS)]
    assert fits(seen, law(2.0, 1.5))
    assert p_value(seen, law(4.0, 1.5)) < 1e-6
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
    assert kstest(values, "expon").pvalue > NEVER
    assert kstest(values, "expon", args=(0, 1.5)).pvalue < 1e-6
    same = Uniform(chance, 5, 32), Uniform(chance, 5, 32)
    assert (same[0] < same[1]) != (same[1] < same[0])
    assert min(one.digits for one in same) > 32


def test_what_is_no_value_is_refused() -> None:
    best, above_ = dv.dp.NoisyMax(1.0), dv.dp.SparseVector(1.0)
    wrong: list[Any] = [[], [1.0, math.nan], [math.inf], ["a"], [None], [True]]
    for values in wrong:
        with pytest.raises(dv.DivulgeError, match="values"):
            best.draw(values)
    with pytest.raises(dv.DivulgeError, match="finite"):
        list(above_.draw([1.0], at=math.nan))


class Given(Chance):
    """Words that were written down before; what is read behind them is one word again and again."""

    def __init__(self, words: list[int], behind: int = 0) -> None:
        self.given, self.behind = words, behind

    def words(self, count: int) -> np.ndarray:
        taken, self.given = self.given[:count], self.given[count:]
        return np.array(taken + [self.behind] * (count - len(taken)), dtype=np.uint64)


WORD, ONES = 1 << 64, (1 << 64) - 1
SCALES = [0.3, 2.0, 41.5]


def shaken(weights: Weights, rng: np.random.Generator) -> Weights:
    """The same weights, of which the doubles are off by far more than rounding."""
    off = rng.choice([-0.9e-12, 0.9e-12], len(weights.doubles))
    return replace(weights, doubles=np.maximum(weights.doubles * (1 + off) + off * 1e-289, 0.0))


@pytest.mark.parametrize("scale", SCALES)
def test_every_word_chooses_the_place_of_its_share(scale: float) -> None:
    """The exponential mechanism: the words of a place are those between 2^64 times the sums of shares, by mpmath."""
    rng = np.random.default_rng(3)
    with mpmath.workdps(60):
        for scores in ([0, 1, 3, 1], [5, 5, 5], [300, 0, 700], rng.integers(0, 60, 12).tolist(), [2000, 7, 2000]):
            law = [mpmath.exp(-(score - min(scores)) / mpmath.mpf(scale)) for score in scores]
            sums = list(accumulate(law))
            weights = shaken(Weights.of_scores(np.array(scores), scale), rng)
            for word, behind in [(0, 0), (ONES, ONES)] + [
                (min(max(int(mpmath.floor(one / sums[-1] * WORD)) + more, 0), ONES), behind)
                for one in sums
                for more in (-1, 0, 1)
                for behind in (0, ONES)
            ]:
                at = (word + mpmath.mpf(behind) / ONES) / WORD
                expected = next(k for k, one in enumerate(sums) if at < one / sums[-1] or k == len(sums) - 1)
                assert weights.exponential_mechanism(Given([word], behind)) == expected


@pytest.mark.parametrize("scale", SCALES)
def test_every_word_keeps_a_place_or_not(scale: float) -> None:
    """Permute and flip: a place is kept by the words below 2^64 times its weight, and is one of those kept."""
    rng = np.random.default_rng(4)
    with mpmath.workdps(60):
        for score in (1, 2, 17, 40, 900):
            line: Any = mpmath.exp(-score / mpmath.mpf(scale)) * WORD
            for more, behind in [(-1, 0)] * (line > 1) + [(0, 0), (0, ONES), (1, 0)]:
                word = int(mpmath.floor(line)) + more
                # the best one is kept by any word; of two that are kept, words of 0 take the first, of ones the second
                place = 1 if behind else 0
                scores, words = np.full(2, 0), [ONES, ONES]
                scores[place], words[place] = score, word
                weights = shaken(Weights.of_scores(scores, scale), rng)
                kept = word + mpmath.mpf(behind) / ONES < line
                assert (weights.permute_and_flip(Given(words, behind)) == place) == kept


def test_the_laws_of_a_choice_are_those_that_are_told() -> None:
    """Against the definitions: weights over their sum, and a random order in which each is kept or not."""
    scores, scale, draws = np.array([0, 2, 2, 5]), 1.5, 4000
    weights, chance = Weights.of_scores(scores, scale), Chance()
    p = np.exp(-scores / scale)
    flipped = winners(-scores.astype(float), scale, "exponential")
    assert flipped == pytest.approx([flip(p, y) for y in range(4)], abs=1e-6)
    for draw, law, other in [
        (weights.exponential_mechanism, p / p.sum(), flipped),
        (weights.permute_and_flip, flipped, p / p.sum()),
    ]:
        seen: list[Any] = [draw(chance) for _ in range(draws)]
        assert fits(seen, dict(enumerate(law.tolist())))
        assert p_value(seen, dict(enumerate(other.tolist()))) < 1e-7


def flip(p: np.ndarray, y: int) -> float:
    """P(y) of permute and flip: kept, and first of those kept, which are as probable as each other."""
    others = np.delete(p, y)
    total = 0.0
    for kept in range(1 << len(others)):
        which = np.array([kept >> k & 1 for k in range(len(others))], dtype=bool)
        total += p[y] * float(np.where(which, others, 1 - others).prod()) / (1 + int(which.sum()))
    return total

"""Noise on places: the law of the draws and of no other, bits decided by balls, and cells, box and refusals."""

import math
from fractions import Fraction as F

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from support import NEVER, few, plausible

import divulge as dv
from divulge.model.metrics.geography import EARTH, Box, great_circle
from divulge.releasing.drawing import planar
from divulge.releasing.drawing.chance import WORD, Chance

DRAWS = 100_000
PARIS = (48.7, 2.1, 49.0, 2.6)


def misfit(found: np.ndarray, law: np.ndarray) -> float:
    """Chi-squared over its critical value; cells of which fewer than 50 are expected count with the next one."""
    order = np.argsort(-law)
    expected = (law * found.sum())[order]
    cuts = np.arange(max(1, np.count_nonzero(expected >= 50)))
    seen, wanted = (np.add.reduceat(a, cuts) for a in (found[order], expected))
    return ((seen - wanted) ** 2 / wanted).sum() / stats.chi2.isf(NEVER, len(cuts) - 1)


def lattice_law(a: float, reach: int) -> np.ndarray:
    """P(z) for |z_1|, |z_2| <= reach, and of all beyond, by adding up far more of the lattice."""
    at = np.arange(-4 * reach, 4 * reach + 1)
    weights = np.exp(-a * np.sqrt(at[:, None] ** 2 + at[None, :] ** 2))
    inner = weights[3 * reach : 5 * reach + 1, 3 * reach : 5 * reach + 1] / weights.sum()
    return np.append(inner.ravel(), 1 - inner.sum())


def counts(z: np.ndarray, reach: int) -> np.ndarray:
    near = (np.abs(z) <= reach).all(axis=1)
    index = (z[near] + reach) @ [2 * reach + 1, 1]
    return np.append(np.bincount(index, minlength=(2 * reach + 1) ** 2), (~near).sum())


def test_the_law_of_the_tests_has_the_sum_that_is_known() -> None:
    assert 1 / lattice_law(1, 12)[12 * 25 + 12] == pytest.approx(6.5072416861384, abs=1e-12)


@pytest.mark.parametrize("a", [F(1, 2), F(1), F(2), F(1.1)])
def test_draws_have_the_law_at_the_right_scale_and_at_no_other(a: F) -> None:
    reach = math.ceil(12 / a)
    found = counts(planar.planar_geometric_draws(a, DRAWS), reach)
    assert misfit(found, lattice_law(float(a), reach)) < 1
    for wrong in (0.94, 1.06):
        assert misfit(found, lattice_law(float(a) * wrong, reach)) > 1


def test_balls_alone_draw_the_same_law(monkeypatch) -> None:
    monkeypatch.setattr(planar, "_ERROR", 10.0)  # no bit is certain in doubles
    found = counts(planar.planar_geometric_draws(F(1), few(60_000)), 12)
    assert misfit(found, lattice_law(1, 12)) < 1
    assert misfit(found, lattice_law(1.2, 12)) > 1


@pytest.mark.parametrize(("a", "share"), [(F(1, 2), 0.773), (F(1), 0.750), (F(2), 0.739)])
def test_as_many_proposals_are_kept_as_sums_over_the_lattice_say(a: F, share: float) -> None:
    rate, chance = planar.proposal_rate(a), Chance()
    z = planar.discrete_laplace(rate, 2 * DRAWS, chance).reshape(-1, 2)
    at = np.arange(-200, 201)
    target = np.exp(-float(a) * np.sqrt(at[:, None] ** 2 + at[None, :] ** 2)).sum()
    expected = target / np.exp(-float(rate) * np.abs(at)).sum() ** 2
    assert expected == pytest.approx(share, abs=6e-4)
    assert plausible(int(planar.kept(a, rate, z, chance).sum()), DRAWS, expected)


@pytest.mark.parametrize("rate", [F(7, 10), F(3), F(1, 3), planar.proposal_rate(F(1, 50))])
def test_discrete_laplace_draws_have_the_closed_form(rate: F) -> None:
    reach = math.ceil(8 / rate)
    found = planar.discrete_laplace(rate, DRAWS, Chance())

    def law(s: float) -> np.ndarray:
        inner = (1 - math.exp(-s)) / (1 + math.exp(-s)) * np.exp(-s * np.abs(np.arange(-reach, reach + 1)))
        return np.append(inner, 1 - inner.sum())

    near = np.abs(found) <= reach
    seen = np.append(np.bincount(found[near] + reach, minlength=2 * reach + 1), (~near).sum())
    assert misfit(seen, law(float(rate))) < 1
    assert misfit(seen, law(float(rate) * 1.1)) > 1


@pytest.mark.parametrize("a", [F(1, 1000), F(1), F(3, 7), F(10**5), F(10**6), F(1, 10**6), F(0.1)])
def test_proposals_are_no_steeper_than_the_target(a: F) -> None:
    """Else e^-x would be above 1 somewhere, and the law another."""
    rate = planar.proposal_rate(a)
    assert 2 * rate * rate <= a * a
    assert rate == 1 << 20 or a < 1 << 20
    assert rate == 1 << 20 or 2 * rate * rate >= a * a * F(998, 1000)


class Words(Chance):
    """A chance whose words are given."""

    def __init__(self, words: list[int]) -> None:
        self.given = words

    def words(self, count: int) -> np.ndarray:
        taken, self.given = self.given[:count], self.given[count:]
        return np.array(taken, dtype=np.uint64)


def test_each_bit_is_decided_by_the_probability_itself() -> None:
    """Words beside the threshold, to the third one, against 120 digits."""
    rng = np.random.default_rng(5)
    for _ in range(few(60, least=20)):
        a = F(int(rng.integers(1, 400)), int(rng.integers(1, 100)))
        z = rng.integers(-12, 13, 2)
        z = z if z.any() else z + 1
        rate = planar.proposal_rate(a)
        with mp.workdps(120):
            x = mp.mpf(a.numerator) / a.denominator * mp.sqrt(int(z[0]) ** 2 + int(z[1]) ** 2)
            x -= mp.mpf(rate.numerator) / rate.denominator * int(abs(z).sum())
            threshold = int(mp.floor(mp.exp(-x) * mp.mpf(2) ** 192))
        for off in (-(1 << 90), -(1 << 20), -1, 0, 1, 1 << 20, 1 << 90, 1 << 140, -(1 << 140)):
            drawn = threshold + off
            if off == 0 or not 0 <= drawn < 1 << 192:
                continue
            words = [drawn >> 128, drawn >> 64 & WORD - 1, drawn & WORD - 1]
            found = planar.kept(a, rate, z[None, :], Words(words))
            assert bool(found[0]) == (off < 0), (a, z, off)


def test_where_it_stands_is_always_kept() -> None:
    a = F(3, 2)
    for word in (0, WORD // 2, WORD - 1):
        assert planar.kept(a, planar.proposal_rate(a), np.zeros((1, 2), dtype=np.int64), Words([word]))[0]


@pytest.mark.parametrize("rows", [1, 2])
def test_places_come_out_as_the_clamped_channel_says_at_their_share_of_the_rate(rows: int) -> None:
    box, n = (0.0, 0.0, 0.03, 0.02), DRAWS // 2  # 3.34 by 2.22 km: 3 columns, 4 rows
    region = Box.of(box)
    assert region.size(F(1)) == (3, 4)
    x = 1 + 3 * 2
    lat, lon = (np.full(n, axis[0]) for axis in region.centers(np.array([[1, 2]]), F(1)))
    found = dv.noisy_places(lat, lon, "1.2/km", grid="1km", box=box, rows_per_person=rows)
    cells = region.cells(*found, F(1))
    seen = np.bincount(cells @ [1, 3], minlength=12)
    for epsilon in (1.2, 0.6):
        law = dv.mechanisms.planar_geometric(dv.Metric.grid(3, 4, step="1km"), f"{epsilon}/km").matrix[x]
        assert (misfit(seen, law) < 1) == (epsilon == 1.2 / rows)
    middles = region.centers(cells, F(1))
    np.testing.assert_allclose(found, middles, atol=1e-12)


def test_cells_are_no_further_apart_than_their_places_and_a_diagonal() -> None:
    rng, step = np.random.default_rng(2), F(1, 4)
    for box in (PARIS, (-17.0, 179.6, -16.5, -179.8), (0.0, 0.0, 0.5, 0.4)):
        region = Box.of(box)
        lat = rng.uniform(box[0], box[2], 200)
        lon = (box[1] + rng.uniform(0, (box[3] - box[1]) % 360, 200) + 180) % 360 - 180
        cells = region.cells(lat, lon, step)
        assert (cells >= 0).all()
        assert (cells < region.size(step)).all()
        middles = np.array(region.centers(cells, step))
        for i, j in rng.integers(200, size=(100, 2)).tolist():
            flat = float(step) * math.dist(cells[i], cells[j])
            great = great_circle(lat[i], lon[i], lat[j], lon[j])
            assert flat <= great * 1.01 + math.sqrt(2) * float(step)
        off = [great_circle(lat[i], lon[i], *middles[:, i]) for i in range(200)]
        assert max(off) <= 1.01 * float(step) / math.sqrt(2)


def test_places_outside_count_as_in_the_nearest_cell() -> None:
    region, step = Box.of((0, 179.9, 0.2, -179.9)), F(1)
    width, height = region.size(step)
    assert width == math.ceil(math.radians(0.2) * EARTH * math.cos(math.radians(0.1)))
    found = region.cells([-5, 50, 0.1, 0.1], [179.95, -179.95, 100, -100], step)
    assert found[0, 1] == 0
    assert found[1, 1] == height - 1
    assert found[2:, 0].tolist() == [0, width - 1]


GOOD = {"lat": [48.8], "lon": [2.3], "epsilon": "1/km", "grid": "500m", "box": PARIS}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *(({"epsilon": e}, "`epsilon`") for e in ("1", 1, 0.5, None, "0/km", "-1/km", "inf/km", "nan/km", "1/h", "km")),
        *(({"epsilon": e}, "1e-6 to 1e6") for e in ("1e400/km", "1e-9/km")),
        *(({"grid": g}, "`grid`") for g in ("500", 500, "0m", "-5m", "5h", "nanm", None, "1e-9m", "1e300km")),
        ({"grid": "0.01m"}, "at most 1,000,000 cells"),
        *(({"box": b}, "`box`") for b in (
            None, (1, 2, 3), (49, 2, 48, 3), (48, 2, 49, 2), (math.nan,) * 4, (0, -180, 1, 180), (0, 0, 90, 10),
            (89.99, 0, 90, 1), (0, 5, 1, 4), (-10, -10, 10, "x"), (48, 2, 49, 200),
        )),
        ({"lat": [91]}, "`lat` must be from -90 to 90 degrees; that of place 0 is beyond"),
        ({"lat": [math.nan]}, "`lat` .*missing"),
        ({"lon": [181]}, "`lon`"),
        ({"lon": [2.3, 2.4]}, "`lon`"),
        ({"lat": ["a"]}, "`lat`"),
        *(({"rows_per_person": n}, "`rows_per_person`") for n in (0, -1, 1.5, True, None, 10**9)),
    ],
)  # fmt: skip
def test_what_is_no_release_is_refused_in_words(wrong: dict, message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        dv.noisy_places(**{**GOOD, **wrong})

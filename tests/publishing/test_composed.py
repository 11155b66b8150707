"""What several statistics under approximate privacy tell together: every change of a record, by the law."""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from support import THOROUGH, few, some

import divulge as dv
from divulge.publishing.counting.groups import Categories
from divulge.publishing.noising import composed, families
from divulge.publishing.noising.calibration import calibrated
from divulge.publishing.noising.composed import adp_epsilon
from divulge.publishing.noising.families import FAMILIES, Gaussian, Laplace, Noise
from divulge.publishing.noising.moves import moves_of
from divulge.publishing.queries import Query, Unit, plan_of

DELTA = 1e-5

GROUPS, FULL = {"g": Categories(("0", "1")), "h": Categories(("0", "1"))}, ["v"]

ASKED: dict[str, tuple[list[Any], list[tuple[Any, ...]]]] = {
    # statistics, and the records there are as values of (g, h, v)
    "two margins": ([dv.Count("g"), dv.Count("g", "h")], list(product((0, 1), (0, 1), (0,)))),
    "counts and sums": ([dv.Count("h"), dv.Sum("v", (-1, 2), by="g")], list(product((0, 1), (0, 1), (-1, 0, 2)))),
    "mean by group": ([dv.Mean("v", (0, 3), by="g")], list(product((0, 1), (0,), (0, 1, 3)))),
    "variance": ([dv.Variance("v", (0, 2))], list(product((0,), (0,), (0, 1, 2)))),
    "mean with gaps": ([dv.Mean("u", (0, 4), by="g")], list(product((0, 1), (0,), (None, 0, 1, 4)))),
    "mean of all": ([dv.Mean("u", (0, 4))], list(product((0,), (0,), (None, 0, 4)))),
    "share": ([dv.Proportion("g", 0, by="h"), dv.Count("h")], list(product((0, 1), (0, 1), (0,)))),
}  # fmt: skip


def added(query: Query, record: tuple[Any, ...]) -> np.ndarray:
    """Return what one row adds to the cells, from the definition."""
    at = dict(zip("ghv", record, strict=True))
    at["u"] = at["v"]  # a column that may have gaps
    cells = np.zeros(query.shape, dtype=int)
    place = tuple(at[name] for name in query.by)
    if any(at[name] is None for name in query.by) or (query.column == "u" and at["u"] is None):
        return cells.ravel()  # in no group, or without a number
    if query.only is not None:
        hit = at[query.column] == query.only
        if len(query.shape) > len(query.by):
            cells[(*place, 0 if hit else 1)] = 1
        else:
            cells[place] = hit
    else:
        value = (at["v"] or 0) - query.middle
        cells[place] = {"rows": 1, "values": value, "squares": value**2}[query.kind]
    return cells.ravel()


def cut(query: Query, record: tuple[Any, ...]) -> np.ndarray:
    """Return what one row adds to the cells, its value brought between the bounds."""
    g, h, v = record
    ends = (query.bottom, query.bottom + query.candidates - 1)
    return added(query, (g, h, v if v is None or query.candidates == 1 else min(max(v, ends[0]), ends[1])))


def losses_of(noise: Noise, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses of one noisy number that moves by so much, and their probabilities."""
    reach = math.ceil(40 * noise.scale) + abs(shift)
    k = np.arange(-reach, reach + 1, dtype=float)
    exponent = abs(k) / noise.scale if noise.bounded else k**2 / (2 * noise.scale**2)
    other = abs(k - shift) / noise.scale if noise.bounded else (k - shift) ** 2 / (2 * noise.scale**2)
    law = np.exp(-exponent)
    return other - exponent, law / law.sum()


def delta_of(parts: list[tuple[np.ndarray, np.ndarray]], epsilon: float) -> float:
    """Return E (1 - e^(epsilon - L))_+ of independent losses, sums rounded to twelve digits so that equal ones meet."""
    total, law = np.zeros(1), np.ones(1)
    for losses, p in parts:
        sums = np.add.outer(total, losses).ravel().round(12)
        total, place = np.unique(sums, return_inverse=True)
        law = np.bincount(place.ravel(), np.multiply.outer(law, p).ravel())
        keep = law > 1e-18
        total, law = total[keep], law[keep]
    return float((law * np.maximum(-np.expm1(np.minimum(epsilon - total, 0.0)), 0)).sum())


@pytest.mark.thin
@pytest.mark.parametrize("neighbors", ["replaced", "added"])
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", ASKED)
def test_no_change_of_a_record_has_a_larger_delta(name: str, family: str, neighbors: Any) -> None:
    statistics, records = ASKED[name]
    unit = Unit(neighbors=neighbors)
    queries = plan_of(statistics, GROUPS, FULL, unit).queries
    found = calibrated(queries, unit, [dv.ADP(3.0, DELTA)], None, family, "equal")
    worst, less = 0.0, 0.0
    before = records if neighbors == "replaced" else [None]
    for x, y in product(before, records):
        shifts = [
            (noise, int(shift))
            for query, noise in zip(queries, found.noises, strict=True)
            for shift in (added(query, y) - (0 if x is None else added(query, x)))
            if shift and noise.scale
        ]
        if shifts:
            laws = [losses_of(*one) for one in shifts]
            worst, less = max(worst, delta_of(laws, 3.0)), max(less, delta_of(laws, 2.95))
    assert worst <= DELTA * (1 + 1e-6)
    if name in ("two margins", "share", "mean by group", "mean with gaps") and (family, neighbors) != (
        "laplace",
        "added",
    ):
        # some record changes in the way that was composed
        assert less > DELTA


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("persons", [False, True])
def test_what_stands_for_too_many_changes_is_no_less(
    monkeypatch: pytest.MonkeyPatch, family: Any, persons: bool
) -> None:
    """Where changes are too many, or a person has several rows in several groups, every one of them is covered."""
    monkeypatch.setattr(composed, "_MOST_WAYS", 0)
    unit = Unit("who", 2) if persons else Unit()
    query = Query("values", ("g",), (2,), "v", low=-2, high=2)
    noise = FAMILIES[family](6.0)
    said = adp_epsilon((query,), (noise,), unit, DELTA)
    rows = [np.eye(2, dtype=int)[g] * v for g in (0, 1) for v in (-2, -1, 0, 2)]
    several = [sum(one) for one in combinations_with_replacement(rows, 2)] if persons else rows
    changes = {tuple(sorted(abs(np.asarray(x - y)).tolist())) for x, y in product(several, several)}
    for change in sorted(changes)[-few(12) :]:  # the largest
        assert delta_of([losses_of(noise, shift) for shift in change if shift], said) <= DELTA * (1 + 1e-9)


@pytest.mark.parametrize(
    ("family", "scale", "name"), [("gaussian", 40.0, "_WIDEST_GAUSSIAN"), ("laplace", 500.0, "_MOST_ATOMS")]
)
def test_noise_too_wide_for_its_law_goes_by_that_on_real_numbers(
    monkeypatch: pytest.MonkeyPatch, family: Any, scale: float, name: str
) -> None:
    queries, noises = (Query("rows", ("g",), (3,)), Query("rows", ("h",), (2,), low=0)), (FAMILIES[family](scale),) * 2
    wide = tuple(Query("values", one.by, one.shape, "v", 0, 20 if family == "gaussian" else 400) for one in queries)
    by_law = adp_epsilon(wide, noises, Unit(), DELTA)
    monkeypatch.setattr(families, name, 1)
    adp_epsilon.cache_clear()
    near = adp_epsilon(wide, noises, Unit(), DELTA)
    adp_epsilon.cache_clear()
    assert by_law <= near <= by_law * 1.02


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_squares_beyond_the_whole_numbers_of_doubles_have_noise(family: str) -> None:
    """Numbers to a billion: their squares move by 2.5e17. The normal law says how much of delta is used."""
    queries = plan_of([dv.Variance("v", (0, 10**9))], {}, ["v"], Unit()).queries
    found = calibrated(queries, Unit(), [dv.ADP(1.0, 1e-6)], None, family, "equal")
    moved = [(query.changes(Unit()), noise.scale) for query, noise in zip(queries, found.noises, strict=True)]
    assert max(scale for _, scale in moved) > 2.0**53
    if family == "laplace":
        assert sum(l1 / scale for (l1, _), scale in moved) < 1.05
        return
    mu = math.sqrt(sum(l2 / scale**2 for (_, l2), scale in moved))
    assert 0.99e-6 < ndtr(mu / 2 - 1 / mu) - math.e * ndtr(-mu / 2 - 1 / mu) <= 1e-6


def test_several_groupings_cover_every_change_of_a_record() -> None:
    unit = Unit()
    asked = [dv.Mean("v", (0, 3), by=by) for by in ("g", ("g", "h"))]
    queries = plan_of(asked, GROUPS, FULL, unit).queries
    noises = tuple(Gaussian(9.0 + i) for i in range(len(queries)))
    said = adp_epsilon(queries, noises, unit, DELTA)
    assert len(moves_of(queries, unit) or ()) == 3  # stays in both, leaves the fine one, leaves both
    moves = {
        tuple(
            (noise.scale, abs(int(far)))
            for query, noise in zip(queries, noises, strict=True)
            for far in sorted(abs(added(query, x) - added(query, y)))
            if far
        )
        for x, y in combinations(product((0, 1), (0, 1), (0, 3)), 2)
    }
    laws = [[dv.dp.DiscreteGaussianMechanism(*one) for one in moved] for moved in moves if moved]
    told = [dv.compose(*moved, tolerance=1e-3).epsilon(DELTA).lower for moved in laws]
    assert 0.5 * said < max(told) <= said


def test_masses_of_whole_numbers_exceed_those_of_real_ones_by_no_more_than_is_said() -> None:
    k = np.arange(-4000, 4001)
    for sigma in (families._SMOOTH, 300.0):
        p = np.exp(-(k**2) / (2 * sigma**2))
        real = ndtr((k + 0.5) / sigma) - ndtr((k - 0.5) / sigma)
        near = abs(k) < 6 * sigma  # beyond, differences of doubles are not what they are of
        assert 0 < np.log((p / p.sum())[near] / real[near]).max() <= families._MASS_GAUSSIAN / sigma**2


@pytest.mark.parametrize(("sigma", "moved"), [(3.0, 1), (3.0, 7), (20.0, 5), (300.0, 90)])
def test_losses_of_whole_numbers_are_as_near_to_those_of_rounded_real_ones_as_is_said(sigma: float, moved: int) -> None:
    far = math.floor(families._FAR * sigma)
    normal = mpmath.mp.clone()
    normal.dps = 80

    def mass(k: int) -> Any:
        return (normal.erfc((abs(k) - 0.5) / sigma / normal.sqrt(2))
                - normal.erfc((abs(k) + 0.5) / sigma / normal.sqrt(2)))  # fmt: skip

    said = Gaussian(sigma).on_reals(Counter({moved: 1}))
    apart = []
    for k in {-far, -far // 2, 0, far // 2, far, moved}:
        rounded = normal.log(mass(k) / mass(k - moved))
        whole = (normal.mpf(k - moved) ** 2 - normal.mpf(k) ** 2) / (2 * normal.mpf(sigma) ** 2)
        apart.append(abs(float(whole - rounded)))
    assert said.shift / (2 if sigma > 10 else 9) < max(apart) <= said.shift
    assert Gaussian(sigma).tail(far) <= said.outside


def test_masses_of_laplace_noise_exceed_by_no_more() -> None:
    for scale in (families._LEAST_SCALE, 30.0):
        most = math.log(math.tanh(1 / (2 * scale)) / -math.expm1(-1 / (2 * scale)))
        assert 0.4 * families._MASS_LAPLACE / scale < most <= families._MASS_LAPLACE / scale


def test_many_quantiles_by_group_have_two_ways_together() -> None:
    """A row leaves its group, or stays: not so for one quantile, and otherwise for the next."""
    unit, nine = Unit(), tuple(f"0.{i}" for i in range(1, 10))
    queries = plan_of([dv.Quantiles("v", (0, 9), "g", probabilities=nine)], GROUPS, FULL, unit).queries
    noises = (Gaussian(40.0),) * 9
    assert len(composed.compositions(queries, noises, unit) or ()) == 2
    promised = dv.compose(dv.dp.ZcdpRelease(float(composed.concentration(queries, noises, unit)))).epsilon(DELTA).upper
    assert adp_epsilon(queries, noises, unit, DELTA) <= promised * (1 + 1e-12)


@pytest.mark.parametrize("name", ["count and mean by group", "count and quantiles"])
def test_the_law_of_several_is_below_what_each_promises(name: str) -> None:
    """Composing the laws asks for less noise than adding up zCDP did."""
    asked: dict[str, list[Any]] = {
        "count and mean by group": [dv.Count("g"), dv.Mean("v", (0, 90), by="g")],
        "count and quantiles": [dv.Count("g"), dv.Quantiles("v", (0, 90))],
    }
    queries = plan_of(asked[name], GROUPS, FULL, Unit()).queries
    found = calibrated(queries, Unit(), [dv.ADP(1.0, 1e-6)], None, "gaussian", "equal")
    rho = found.guarantees["zcdp"]
    assert dv.compose(dv.dp.ZcdpRelease(rho)).epsilon(1e-6).upper > 1.02
    assert adp_epsilon(queries, found.noises, Unit(), 1e-6) <= 1.0


def test_a_choice_among_scores_composes_as_the_law_of_the_choice() -> None:
    """Gumbel noise on scores that move by at most a step each, in the worst directions: delta over all choices."""
    noise, moved = Gaussian(2.0), 1
    query = Query("ranks", (), (), "v", only=dv.Quantiles("v", (0, 2)).probabilities[1], candidates=3)
    said = adp_epsilon((query,), (noise,), Unit(), 1e-3)
    rng = np.random.default_rng(4)
    for _ in range(few(300)):
        scores = rng.integers(0, 4, 3).astype(float)
        other = scores + rng.integers(-moved, moved + 1, 3)
        p, q = (np.exp(-s / noise.scale) / np.exp(-s / noise.scale).sum() for s in (scores, other))
        assert np.maximum(p - math.exp(said) * q, 0).sum() <= 1e-3 + 1e-12


def no_more(moved: list[int], most: list[int]) -> bool:
    return all(far <= allowed for far, allowed in zip(moved, [*most, *[0] * len(moved)], strict=False))


@pytest.mark.thin
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("column", ["v", "u"])
@pytest.mark.parametrize("finest", [("g", "h"), ("g",)])
def test_each_change_of_a_record_is_in_some_way(column: str, complete: bool, finest: tuple[str, ...]) -> None:
    """All pairs of records, in groups or in none, with numbers or gaps, of statistics by coarse and fine groups."""
    groups = {"g": Categories(("0", "1"), complete=complete), "h": Categories(("0", "1"), complete=complete)}
    asked = [
        dv.Count("g"), dv.Count("h", "g"), dv.Mean(column, (-1, 3)), dv.Variance(column, (0, 3), by="g"),
        dv.Sum(column, (-1, 2), by=finest), dv.Mean(column, (0, 3), by="h"), dv.Proportion("h", 1, by="g"),
    ]  # fmt: skip
    queries = plan_of(asked, groups, FULL, Unit()).queries
    ways = [[sorted(far or (), reverse=True) for far in way] for way in moves_of(queries, Unit()) or ()]
    sides = (0, 1) if complete else (0, 1, None)
    values = {"v": (-1, 0, 3), "u": (None, -1, 0, 3)}[column]
    records = list(product(sides, sides, values))
    for x, y in product(records, records):
        moved = [sorted(abs(cut(query, x) - cut(query, y)), reverse=True) for query in queries]
        assert any(all(map(no_more, moved, way)) for way in ways), (x, y)


def test_no_way_that_is_passed_over_tells_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What zCDP bounds below the worst is not composed, and alike ways are composed once."""
    monkeypatch.setattr(composed, "_MOST_WAYS", 16)
    queries = plan_of([dv.Mean(c, (0, 4), by="g") for c in ("u", "w")], GROUPS, [], Unit()).queries
    for scales in ((9.0, 2.0, 9.0, 2.0), (3.0, 6.0, 3.0, 6.0), (3.0, 2.0, 8.0, 1.5)):
        noises = tuple(Gaussian(scale) for scale in scales)
        every = composed.compositions(queries, noises, Unit())
        assert every
        assert adp_epsilon(queries, noises, Unit(), DELTA) == max(one.epsilon(DELTA) for one in every)
        assert all(one.epsilon(DELTA) <= composed._promised(one.rho, DELTA) * (1 + 1e-3) for one in every)
        assert len(every) == len(moves_of(queries, Unit()) or ()) - (scales[:2] == scales[2:])


@pytest.mark.parametrize(("scale", "moved", "delta"), [(2.0, 1, 0.01), (2.0, 3, 1e-5), (5.0, 2, 0.01)])
def test_a_loss_of_whole_numbers_lies_above_that_of_real_ones(
    monkeypatch: pytest.MonkeyPatch, scale: float, moved: int, delta: float
) -> None:
    monkeypatch.setattr(families, "_MOST_ATOMS", 0)
    noise = Laplace(scale)
    way = noise.moved(Counter([moved]))
    near = dv.compose(*[part for part, _ in way.parts], tolerance=1e-4)
    law = [losses_of(noise, moved)]
    assert delta_of(law, composed.Composed(near, way.shift, way.more).epsilon(delta)) <= delta
    assert delta_of(law, composed.Composed(near, 0.0, way.more).epsilon(delta)) > delta
    more = composed.Composed(near, 0.25, math.log(2))  # masses twice as large: half of delta is left
    assert more.epsilon(delta) == pytest.approx(0.25 + near.epsilon(delta / 2).upper, rel=1e-12)


FIVE = {"g": Categories(tuple("01234")), "h": Categories(("0", "1"))}

OF_PERSONS: dict[str, tuple[list[Any], Unit, list[tuple[Any, ...]], float]] = {
    # statistics, whose rows, the records there are, and how much of delta is used at least
    "counts": ([dv.Count("g"), dv.Count("g", "h")], Unit("who", 2), list(product((0, 1), (0, 1), (0,))), 0.9),
    "sum": ([dv.Sum("v", (0, 3), by="g")], Unit("who", 3), list(product((0, 1), (0,), (0, 3))), 0.9),
    "mean with gaps": ([dv.Mean("u", (0, 4), by="g")], Unit("who", 2), list(product((0, 1), (0,), (None, 0, 4))), 0.9),
    "means": ([dv.Mean("v", (0, 9)), dv.Count("g")], Unit("who", 2), list(product((0, 1), (0,), (0, 9))), 0.5),
    "added": ([dv.Mean("v", (0, 3), by="g")], Unit("who", 2, "added"), list(product((0, 1), (0,), (0, 3))), 0.9),
    "groups": ([dv.Mean("v", (0, 3), by="g")], Unit("who", 4, groups=2, per_group=2, by=("g",)),
               list(product(range(4), (0,), (0, 3))), 0.9),
    "three": ([dv.Mean("v", (0, 3), by="g")], Unit("who", 3, groups=2, per_group=2, by=("g",)),
              list(product(range(4), (0,), (0, 3))), 0.9),
    "five": ([dv.Sum("v", (0, 3), by="g"), dv.Count("g")], Unit("who", 5, per_group=2, by=("g",)),
             list(product(range(5), (0,), (3,))), 0.9),
    "people too": ([dv.Sum("v", (-2, 3), by="g"), dv.People("g")], Unit("who", 2),
                      list(product((0, 1), (0,), (-2, 3))), 0.0),
}  # fmt: skip


HEAVY = {"groups": pytest.mark.long}
"""`three` and `five` have few rows in a group too, and `three` fewer of them, so that there are fewer persons."""


@pytest.mark.parametrize(
    ("name", "family"),
    [
        *(pytest.param(name, "gaussian", marks=HEAVY.get(name, ())) for name in OF_PERSONS),
        *((name, "laplace") for name in some(list(OF_PERSONS)) if name not in HEAVY or THOROUGH),
    ],
)
def test_persons_with_several_rows_use_up_delta_and_no_more(name: str, family: str) -> None:
    """All that persons can have before and after, the worst of them by the composition of the discrete laws."""
    statistics, unit, records, least = OF_PERSONS[name]
    queries = plan_of(statistics, FIVE, FULL, unit).queries
    found = calibrated(queries, unit, [dv.ADP(1.0, DELTA)], None, family, "equal")
    laws: Any = dv.dp.DiscreteGaussianMechanism if family == "gaussian" else dv.dp.DiscreteLaplaceMechanism
    persons = [rows for k in range(1, unit.rows + 1) for rows in combinations_with_replacement(records, k)
               if max(Counter(row[0] for row in rows).values()) <= (unit.per_group or unit.rows)]  # fmt: skip
    tables = [[of_person(query, rows) for query in queries] for rows in persons]
    nobody = [[np.zeros(query.cells, dtype=int) for query in queries]]
    moves: dict[Any, float] = {}
    for x, y in product(tables, tables if unit.neighbors == "replaced" else nobody):
        moved = tuple(tuple(sorted(abs(int(far)) for far in a - b if far)) for a, b in zip(x, y, strict=True))
        power = 1 / found.noises[0].power
        moves[moved] = sum((far / noise.scale) ** power for far_, noise in zip(moved, found.noises, strict=True)
                           for far in far_)  # fmt: skip
    worst = 0.0
    for moved in sorted(moves, key=lambda one: -moves[one])[:3]:
        parts = [laws(noise.scale, far) for far_, noise in zip(moved, found.noises, strict=True) for far in far_]
        worst = max(worst, dv.compose(*parts, tolerance=1e-4).delta(1.0).lower)
    assert worst <= DELTA
    assert family == "laplace" or worst >= least * DELTA


OF_CAPPED: dict[str, tuple[list[Any], list[Any]]] = {
    # statistics, and the values of (h, v) that rows may have
    "means": ([dv.Mean("v", (-2, 4), by="g")], [(0, -2), (0, 4)]),
    "gaps": ([dv.Mean("u", (1, 4), by="g")], [(0, None), (0, 1), (0, 4)]),
    "shares": ([dv.Proportion("h", 0, by="g"), dv.Sum("v", (0, 3), by="g")], list(product((0, 1), (0, 3)))),
}


@pytest.mark.parametrize("neighbors", ["replaced", "added"])
@pytest.mark.parametrize(("groups", "rows", "most"), [(2, 3, 2), (3, 3, 1), (4, 3, 2), (3, 4, 3), (2, 4, 3)])
@pytest.mark.parametrize("name", OF_CAPPED)
@pytest.mark.thin
def test_the_norm_of_persons_with_few_rows_in_each_group_is_the_largest(
    name: str, groups: int, rows: int, most: int, neighbors: Any
) -> None:
    """All persons before and after, where as many rows as count do not divide as many as count in a group."""
    statistics, values = OF_CAPPED[name]
    unit = Unit("who", rows, neighbors, per_group=most, by=("g",))
    cells = {"g": Categories(tuple(map(str, range(groups)))), "h": Categories(("0", "1"))}
    queries = plan_of(statistics, cells, FULL, unit).queries
    noises = [Gaussian(7.0 + 9 * i) for i in range(len(queries))]
    records = [(g, *value) for g, value in product(range(groups), values)]
    persons = [one for k in range(1, rows + 1) for one in combinations_with_replacement(records, k)
               if max(Counter(row[0] for row in one).values()) <= most]  # fmt: skip
    pairs = list(zip(queries, noises, strict=True))
    tables = np.unique([np.concatenate([of_person(query, one) / noise.scale for query, noise in pairs])
                        for one in persons], axis=0)  # fmt: skip
    others = tables if neighbors == "replaced" else tables[:1] * 0
    largest = max(float(((tables - one) ** 2).sum(axis=1).max()) for one in others)
    assert 1 - 1e-9 < composed._squared_norm(pairs, unit) / largest < (1.04 if name == "shares" else 1 + 1e-9)


def of_person(query: Query, rows: Any) -> np.ndarray:
    """Return what the rows of a person add to the cells; a person counts once in each cell of people."""
    cells = sum((added(replace(query, kind="rows") if query.kind == "people" else query, row) for row in rows),
                np.zeros(query.shape, dtype=int).ravel())  # fmt: skip
    return np.minimum(cells, 1) if query.kind == "people" else cells


def test_alike_noise_composes_as_one_mechanism() -> None:
    """A hundred sums take what one takes: sums go by the law on real numbers."""
    queries = plan_of([dv.Sum(f"v{i}", (0, 90 + i)) for i in range(100)], {}, [], Unit()).queries
    noises = [Gaussian(20_000.0 + i) for i in range(100)]
    found = composed.compositions(queries, noises, Unit())
    assert found
    (one,) = found
    assert len(one.composition.releases) == 100
    assert all(len(turn.parts) == 1 for turn in one.composition.directions)

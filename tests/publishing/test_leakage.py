"""What a table tells about one record: formulas against every outcome of small tables, in fractions."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support import few

import divulge as dv
from divulge.publishing.noising.calibration import calibrated, weights_of
from divulge.publishing.noising.families import FAMILIES, Laplace
from divulge.publishing.noising.leakage import RecordPrior, largest_loss, leakages, leakages_of_records
from divulge.publishing.queries import Query, Unit

HALF = 1 / math.log(2)
"""The scale at which one step of noise halves a likelihood."""

ROW = Unit()

Records = Sequence[tuple[int, ...]]


def likelihoods(
    added: Records, steps: Sequence[int], others: Sequence[int]
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Return every outcome near the cells, and w(y | x) of discrete Laplace noise that halves every 1/steps, as
    fractions.

    Farther away all likelihoods fall alike: the ratios of those here are all there are.
    """
    cells = list(zip(*added, strict=True))
    spans = [range(min(cell) + c - 1, max(cell) + c + 2) for cell, c in zip(cells, others, strict=True)]
    outcomes = list(product(*spans))
    table = [
        [
            Fraction(1, 2) ** sum(k * abs(y - c - a) for y, c, a, k in zip(outcome, others, x, steps, strict=True))
            for outcome in outcomes
        ]
        for x in added
    ]
    return outcomes, np.array(table, dtype=object)


def brute(
    added: Records, steps: Sequence[int], prior: Sequence[Fraction], others: Sequence[int] | None = None
) -> tuple[float, float]:
    """Return PML and PMC about one record, the others known, over every outcome."""
    _, w = likelihoods(added, steps, others or [0] * len(steps))
    outer = np.array(prior, dtype=object) @ w
    held = [x for x, p in enumerate(prior) if p]
    return (math.log(max(w[x, y] / outer[y] for x in held for y in range(w.shape[1]))),
            math.log(max(outer[y] / w[x, y] for x in held for y in range(w.shape[1]))))  # fmt: skip


def one_hot(place: int, size: int) -> tuple[int, ...]:
    return tuple(int(i == place) for i in range(size))


@pytest.mark.parametrize("prior", [["1/10", "9/10"], ["1/4", "1/4", "1/2"], ["1/100", "19/100", "30/100", "50/100"]])
def test_a_table_of_counts_tells_exactly_what_the_formula_says(prior: list[str]) -> None:
    shares = [Fraction(p) for p in prior]
    n = len(shares)
    query = Query("rows", ("x",), (n,))
    noise = Laplace(HALF)
    loss = largest_loss([query], [noise], ROW)
    found = leakages(loss, RecordPrior(min(shares)))
    pml, pmc = brute([one_hot(i, n) for i in range(n)], [1] * n, shares, list(range(n)))
    assert found["pml"] == pytest.approx(pml, rel=1e-14)
    assert found["pmc"] == pytest.approx(pmc, rel=1e-14)
    assert found["pml"] >= pml - 1e-15
    assert found["lip"] == max(found["pml"], found["pmc"])
    assert float(loss) == pytest.approx(2 * math.log(2), rel=1e-15)


def test_overlapping_margins_tell_exactly_what_the_distance_says() -> None:
    rng = np.random.default_rng(5)
    records = list(product(("a", "b"), ("c", "d", "e")))
    counts = rng.integers(1, 30, len(records))
    shares = [Fraction(int(c), int(counts.sum())) for c in counts]
    queries = [Query("rows", ("u",), (2,)), Query("rows", ("v",), (3,)), Query("rows", ("u", "v"), (2, 3))]
    added = [
        (*one_hot("ab".index(u), 2), *one_hot("cde".index(v), 3), *one_hot(3 * "ab".index(u) + "cde".index(v), 6))
        for u, v in records
    ]
    # Outcomes of 11 cells: each either at or one above what the others add up to; beyond, ratios no longer change.
    steps = [1] * 2 + [2] * 3 + [1] * 6
    greatest = {"pml": Fraction(0), "pmc": Fraction(0)}
    for outcome in product((0, 1), repeat=11):
        w = [Fraction(1, 2) ** sum(k * abs(y - a) for y, a, k in zip(outcome, x, steps, strict=True)) for x in added]
        q = sum((p * v for p, v in zip(shares, w, strict=True)), Fraction(0))
        greatest = {"pml": max(greatest["pml"], max(w) / q), "pmc": max(greatest["pmc"], q / min(w))}
    noises = [Laplace(HALF), Laplace(HALF / 2), Laplace(HALF)]
    prior = RecordPrior(min(shares), "records", ("u", "v"), dict(zip(records, shares, strict=True)))
    found = leakages_of_records(queries, noises, ROW, prior)
    assert found is not None
    for kind, ratio in greatest.items():
        assert math.log(ratio) <= found[kind] <= math.log(ratio) + 1e-10
    loose = leakages(largest_loss(queries, noises, ROW), prior)
    assert loose["pml"] > found["pml"] + 0.01


@pytest.mark.parametrize("correlated", [True, False])
def test_a_secret_of_the_record_is_told_at_most_what_its_least_probability_says(correlated: bool) -> None:
    """The secret is one column; the other column depends on it, or is independent of it and unknown."""
    p = Fraction(1, 10)
    queries = [Query("rows", ("u",), (2,)), Query("rows", ("v",), (2,))]
    noises = [Laplace(HALF)] * 2
    bound = leakages(largest_loss(queries, noises, ROW), RecordPrior(p))
    greatest = Fraction(0)
    for outcome in product((0, 1), repeat=4):

        def weight(u: int, v: int, outcome: tuple[int, ...] = outcome) -> Fraction:
            x = (*one_hot(u, 2), *one_hot(v, 2))
            return Fraction(1, 2) ** sum(abs(y - a) for y, a in zip(outcome, x, strict=True))

        rows = [weight(u, u) if correlated else (weight(u, 0) + weight(u, 1)) / 2 for u in (0, 1)]
        q = p * rows[0] + (1 - p) * rows[1]
        greatest = max(greatest, max(rows) / q)
    assert bound["pml"] >= math.log(greatest) - 1e-15
    assert (bound["pml"] - math.log(greatest) < 1e-12) == correlated  # and no less will do


def test_sums_tell_exactly_what_the_formula_says() -> None:
    values, shares = range(-2, 4), [Fraction(1, 6)] * 6
    query = Query("values", (), (), "v", low=-2, high=3)
    pml, _ = brute([(v,) for v in values], [1], shares)
    loss = largest_loss([query], [Laplace(HALF)], ROW)
    assert float(loss) == pytest.approx(5 * math.log(2), rel=1e-15)
    assert leakages(loss, RecordPrior(Fraction(1, 6)))["pml"] >= pml
    ends = [Fraction(1, 6), *[Fraction(0)] * 4, Fraction(5, 6)]  # the worst prior: all others at the far end
    worst, cost = brute([(v,) for v in values], [1], ends)
    found = leakages(loss, RecordPrior(Fraction(1, 6)))
    assert found["pml"] == pytest.approx(worst, rel=1e-14)
    assert found["pmc"] == pytest.approx(cost, rel=1e-14)


@pytest.mark.parametrize("independent", [1, 2, 3])
def test_independent_others_change_nothing_at_the_worst_outcome(independent: int) -> None:
    """Over every outcome up to beyond all that the others add up to, their sums taken with their probabilities."""
    p, shares = Fraction(1, 5), [Fraction(1, 5), Fraction(4, 5)]
    found = leakages(largest_loss([Query("rows", ("x",), (2,))], [Laplace(HALF)], ROW), RecordPrior(p))
    greatest = {"pml": Fraction(0), "pmc": Fraction(0)}
    sums = {k: math.comb(independent, k) * p**k * (1 - p) ** (independent - k) for k in range(independent + 1)}
    for outcome in product(range(-2, independent + 4), repeat=2):
        w = [
            sum(
                (
                    share * Fraction(1, 2) ** (abs(outcome[0] - k - a) + abs(outcome[1] - (independent - k) - b))
                    for k, share in sums.items()
                ),
                Fraction(0),
            )
            for a, b in ((1, 0), (0, 1))
        ]  # fmt: skip
        q = shares[0] * w[0] + shares[1] * w[1]
        greatest = {"pml": max(greatest["pml"], max(w) / q), "pmc": max(greatest["pmc"], q / min(w))}
    for kind, ratio in greatest.items():
        assert found[kind] == pytest.approx(math.log(ratio), rel=1e-14)


def changed_by(query: Query, unit: Unit) -> tuple[int, int]:
    """Return the largest L1 and squared L2 change, over all pairs of units with at most `at_most` rows."""
    options = [(g, v) for g in range(query.cells) for v in {query.low, query.high, (query.low + query.high) // 2}]
    least = 1 if unit.neighbors == "replaced" else 0
    units = set()
    for rows in range(least, unit.at_most + 1):
        for chosen in product(options, repeat=rows):
            cells = [0] * query.cells
            for g, v in chosen:
                cells[g] += v
            units.add(tuple(cells))
    pairs = product(units, repeat=2) if unit.neighbors == "replaced" else ((x, (0,) * query.cells) for x in units)
    changes = [[abs(a - b) for a, b in zip(x, y, strict=True)] for x, y in pairs]
    return max(sum(c) for c in changes), max(sum(v * v for v in c) for c in changes)


@pytest.mark.parametrize("neighbors", ["replaced", "added"])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize(
    "query",
    [Query("rows", ("x",), (3,)), Query("rows", (), ()),
     Query("values", (), (), "v", -2, 3), Query("rows", (), (), "v", 0, 1),
     Query("values", ("x",), (2,), "v", -2, 2), Query("values", (), (), "v", 1, 4),
     Query("squares", ("x",), (2,), "v", 0, 4)],
)  # fmt: skip
def test_what_one_unit_can_change_is_what_the_search_finds(query: Query, rows: int, neighbors: str) -> None:
    unit = Unit("who" if rows > 1 else None, rows, neighbors)
    l1, l2 = query.changes(unit)
    assert (l1, l2) == changed_by(query, unit)


@pytest.mark.parametrize("kind", ["pml", "pmc", "lip"])
@pytest.mark.parametrize("level", ["0.1", "1", "3/2"])
@pytest.mark.parametrize("p", ["1/100", "1/7"])
def test_the_noise_is_the_least_that_keeps_it(kind: str, level: str, p: str) -> None:
    query, prior = Query("rows", ("x",), (4,)), RecordPrior(Fraction(p))
    asked = dv.guarantees.parse(f"{kind}={level}")
    found = calibrated([query], ROW, [asked], prior, None, "mean-squared")
    assert leakages(largest_loss([query], found.noises, ROW), prior)[kind] <= Fraction(level)
    assert found.guarantees[kind] == float(Fraction(level))
    assert kind in found.exact
    smaller = Laplace(found.noises[0].scale * (1 - 1e-9))
    assert leakages(largest_loss([query], [smaller], ROW), prior)[kind] > Fraction(level)


def test_under_dp_scales_are_those_of_the_textbook() -> None:
    queries = [Query("rows", ("x",), (10,)), Query("values", (), (), "v", 0, 90)]
    found = calibrated(queries, ROW, [dv.DP(1)], None, None, "equal")
    assert [noise.scale for noise in found.noises] == [4.0, 180.0]
    assert found.guarantees == {"dp": 1.0}
    concentrated = calibrated(queries[:1], ROW, [dv.ZCDP("1/2")], None, "gaussian", "equal")
    assert concentrated.noises[0].scale == pytest.approx(math.sqrt(2), rel=1e-15)
    assert concentrated.guarantees["zcdp"] <= 0.5


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_what_is_told_of_adp_holds_for_the_law_of_the_noise(family: str) -> None:
    query = Query("rows", ("x",), (10,))
    found = calibrated([query], ROW, [dv.ADP(0.2, 1e-6)], None, family, "equal")
    sigma = found.noises[0].scale
    k = np.arange(-400, 401, dtype=float)
    law = np.exp(-(k**2) / (2 * sigma**2)) if family == "gaussian" else np.exp(-abs(k) / sigma)
    law /= law.sum()
    pairs = np.outer(law, law)  # one cell rises by one, another falls by one
    moved = np.zeros_like(pairs)
    moved[1:, :-1] = pairs[:-1, 1:]
    epsilon = found.guarantees["adp"]["epsilon"]
    assert epsilon == 0.2
    assert np.maximum(pairs - math.exp(epsilon) * moved, 0).sum() <= 1e-6 * (1 + 1e-6)
    assert np.maximum(pairs - math.exp(epsilon * 0.999) * moved, 0).sum() > 1e-6  # no epsilon 0.1 % less would do


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
def test_the_split_has_the_least_error(family: str) -> None:
    rng = np.random.default_rng(3)
    queries = [Query("rows", ("x",), (5,)), Query("rows", ("y",), (700,)), Query("values", ("x",), (5,), "v", -50, 50)]

    def loss(weights: np.ndarray) -> float:
        changes = [q.changes(ROW) for q in queries]
        if family == "laplace":
            return sum(q.cells * (c[0] / q.span / w) ** 2 for q, c, w in zip(queries, changes, weights, strict=True))
        return sum(q.cells * c[1] / q.span**2 / w for q, c, w in zip(queries, changes, weights, strict=True))

    best = np.array(weights_of(queries, ROW, FAMILIES[family], "mean-squared"))
    assert best.sum() == pytest.approx(1)
    assert loss(best) < 0.9 * loss(np.full(3, 1 / 3))
    for _ in range(few(200)):
        other = best * np.exp(rng.normal(0, 0.3, 3))
        assert loss(other / other.sum()) >= loss(best) * (1 - 1e-12)


def test_the_relative_split_gives_all_cells_the_same_relative_error() -> None:
    queries = [Query("rows", ("x",), (5,)), Query("rows", ("y",), (700,))]
    found = calibrated(queries, ROW, [dv.DP(1)], None, "laplace", "relative")
    errors = [noise.scale * query.cells for noise, query in zip(found.noises, queries, strict=True)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-9)


def test_with_neighbors_that_are_added_being_there_is_a_secret_too() -> None:
    """A sum of values from 100 to 110, and a count of all rows: what they tell of a record that may be absent."""
    unit = Unit(neighbors="added")
    queries = [Query("values", (), (), "v", 3, 4), Query("rows", (), ())]
    noises = [Laplace(HALF)] * 2
    pml, pmc = brute([(3, 1), (4, 1), (0, 0)], [1, 1], [Fraction(1, 10), Fraction(0), Fraction(9, 10)])
    found = leakages(largest_loss(queries, noises, unit, unit.secrets), RecordPrior(Fraction(1, 10)))
    assert found["pml"] >= pml
    assert found["pmc"] >= pmc
    far, cost = brute([(4, 1), (0, 0)], [1, 1], [Fraction(1, 10), Fraction(9, 10)])
    assert found["pml"] == pytest.approx(far, rel=1e-14)
    assert found["pmc"] == pytest.approx(cost, rel=1e-14)
    assert leakages(largest_loss(queries, noises, unit, "replaced"), RecordPrior(Fraction(1, 10)))["pml"] < pml

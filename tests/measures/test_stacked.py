"""A stack of channels has the numbers of each, digit by digit, and refuses what each refuses."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from support import few

import divulge as dv
from divulge.measures import Stack

KINDS = ("plain", "sharp", "near", "rare", "absent", "unlikely")


def drawn(rng: np.random.Generator, kind: str) -> tuple[np.ndarray, np.ndarray]:
    count, n, m = 6, int(rng.integers(1, 6)), int(rng.integers(1, 20))
    c = rng.dirichlet(np.ones(m), (count, n))
    p = rng.dirichlet(np.ones(n), count)
    if kind == "sharp":
        c[rng.random(c.shape) < 0.4] = 0.0
        c[..., 0] += (c.sum(axis=2) == 0) * 1.0
    if kind == "near" and m > 1:
        c = np.repeat(rng.dirichlet(np.ones(m), (count, 1)), n, axis=1)
        shift = 10.0 ** rng.uniform(-13, -3) * rng.random((count, n)) * c[..., :2].min(axis=2)
        c[..., 0] += shift
        c[..., 1] -= shift
    if kind == "rare":
        c[..., 0] *= 10.0 ** rng.uniform(-300, -1)
    if kind == "absent":
        c[..., 0] = 0.0
        c[..., -1] += (c.sum(axis=2) == 0) * 1.0
    if kind == "unlikely" and n > 1:
        p[:, 0] = 0.0
    c /= c.sum(axis=2, keepdims=True)
    return c, p / p.sum(axis=1, keepdims=True)


def truth(c: np.ndarray, p: np.ndarray) -> dict[str, Any]:
    """Return the measures by their definitions in 60 digits, of doubles that are taken as they are, renormalized."""
    n, m = c.shape
    rows = [[mp.mpf(v) for v in row] for row in c.tolist()]
    rows = [[v / mp.fsum(row) for v in row] for row in rows]
    prior = [mp.mpf(v) / mp.fsum(map(mp.mpf, p.tolist())) for v in p.tolist()]
    q = [mp.fsum(prior[x] * rows[x][y] for x in range(n)) for y in range(m)]
    some = [x for x in range(n) if prior[x] > 0]
    ups = [mp.log(max(rows[x][y] for x in some) / q[y]) if q[y] else None for y in range(m)]
    lows = [min(rows[x][y] for x in some) for y in range(m)]
    downs = [None if not q[y] else mp.inf if not lows[y] else mp.log(q[y] / lows[y]) for y in range(m)]
    ratios = [(max(column), min(column)) for column in zip(*rows, strict=True)]
    return {
        "pml": ups, "pmc": downs,
        "ldp": max((mp.inf if low == 0 else mp.log(top / low) for top, low in ratios if top > 0)),
        "maximal_leakage": mp.log(mp.fsum(top for top, _ in ratios)),
        "mutual_information": mp.fsum(
            prior[x] * rows[x][y] * mp.log(rows[x][y] / q[y]) for x in range(n) for y in range(m)
            if prior[x] and rows[x][y]
        ),
    }  # fmt: skip


def close(got: float, want: Any, relative: float, absolute: float) -> bool:
    if want is None:
        return bool(np.isnan(got))
    return got == want or abs(mp.mpf(got) - want) <= absolute + relative * abs(want)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(few(6, least=2)))
def test_the_numbers_are_those_of_the_definitions(kind: str, seed: int) -> None:
    with mp.workdps(60):
        c, p = drawn(np.random.default_rng([seed, *kind.encode()]), kind)
        stack = Stack(c, p)
        found = {
            name: getattr(stack, name)() for name in ("pml", "pmc", "ldp", "maximal_leakage", "mutual_information")
        }
        for b in range(len(stack)):
            wanted = truth(stack.c[b], stack.p[b])
            for name, want in wanted.items():
                got = found[name][b]
                pairs = zip(got, want, strict=True) if name in ("pml", "pmc") else [(got, want)]
                for a, w in pairs:
                    # rows sum to 1 but for 1e-16, of which a leakage near 0 is made as well
                    assert close(float(a), w, 1e-11, 1e-15), (name, a, w)


@pytest.mark.parametrize("kind", KINDS)
def test_each_alone_has_the_same(kind: str) -> None:
    c, p = drawn(np.random.default_rng([9, *kind.encode()]), kind)
    stack = Stack(c, p)
    for b in range(len(stack)):
        joint = dv.Joint(dv.Prior(stack.p[b]), dv.Channel(stack.c[b]))
        for name in ("pml", "pmc"):
            together = getattr(stack, name)("bits")[b]
            np.testing.assert_allclose(together[~np.isnan(together)], getattr(dv, name)(joint, "bits").values, 1e-12)
        for name in ("lip", "mutual_information"):
            alone = getattr(dv if hasattr(dv, name) else dv.measures, name)
            np.testing.assert_allclose(getattr(stack, name)()[b], alone(joint), 1e-10, 1e-15)
        np.testing.assert_allclose(stack.ldp()[b], dv.ldp(joint.channel), 1e-12)


def test_what_is_near_to_a_bound_is_decided_exactly() -> None:
    """A channel at the level itself, and those that are a last digit to either side of it."""
    a = np.nextafter(0.75, 1)
    c = [[[0.75, 0.25], [0.25, 0.75]], [[a, 1 - a], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]]
    stack = Stack(c)
    for guarantee in (
        dv.PML("0.4054651081081644"),
        dv.LDP("1.0986122886681098"),
        dv.PMC("0.6931471805599453"),
        dv.LIP("0.6931471805599454"),
        dv.LDP("1.0986122886681096"),
        dv.guarantees.parse("mean-pml=0.4"),
    ):
        one_by_one = [bool(guarantee.holds_for(dv.Joint([0.5, 0.5], one))) for one in c]
        assert stack.holds(guarantee).tolist() == one_by_one, str(guarantee)


def test_channels_may_be_made_before() -> None:
    coins = [dv.mechanisms.randomized_response(3, epsilon) for epsilon in (0.5, 1.0, 2.0)]
    np.testing.assert_allclose(Stack(coins).ldp(), [0.5, 1.0, 2.0], 1e-12)
    np.testing.assert_allclose(Stack(coins, [0.2, 0.3, 0.5]).pml().max(axis=1),
                               [dv.pml(([0.2, 0.3, 0.5], coin)).max() for coin in coins], 1e-12)  # fmt: skip


REFUSED: list[tuple[Any, Any, str]] = [
    ([[0.5, 0.5]], None, "3 axes"),
    ([[[0.5, 0.5], [0.7, 0.2]]], None, "row 1 of channel 0 sums to 0.9"),
    ([[[0.5, 0.5]], [[float("nan"), 1.0]]], None, "channel 1, row 0, column 0"),
    ([[[1.5, -0.5]]], None, "channel 0, row 0, column 1"),
    ([[[0.5, 0.5], [0.5]]], None, "one shape"),
    ([[["a", "b"]]], None, "numbers"),
    (np.zeros((0, 2, 2)), None, "none of length 0"),
    ([[[0.5, 0.5], [0.5, 0.5]]], [0.5, 0.4], "prior 0 sums to"),
    ([[[0.5, 0.5], [0.5, 0.5]]], [0.5, 0.25, 0.25], "shape"),
    ([[[0.5, 0.5], [0.5, 0.5]]], [[0.5, 0.5], [0.5, 0.5]], "shape"),
    ([[[0.5, 0.5], [0.5, 0.5]]], [[0.5, -0.5]], "at least 0"),
    ([[[0.5, 0.5], [0.5, 0.5]]], 1.0, "axes"),
]


@pytest.mark.parametrize(("channels", "priors", "message"), REFUSED)
def test_what_is_no_stack_is_refused_with_its_place(channels: Any, priors: Any, message: str) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        Stack(channels, priors)


def test_units_and_guarantees_are_known() -> None:
    stack = Stack([[[0.75, 0.25], [0.25, 0.75]]])
    with pytest.raises(dv.DivulgeError, match="unit"):
        stack.pml("dits")  # pyright: ignore[reportArgumentType]
    with pytest.raises(dv.DivulgeError, match="guarantee"):
        stack.holds("ldp=1")  # pyright: ignore[reportArgumentType]


def test_the_order_of_entries_in_memory_does_not_count() -> None:
    c, p = drawn(np.random.default_rng(5), "plain")
    c = c * (1 + 1e-10)  # sums that are renormalized
    turned = np.asfortranarray(c)
    stack = Stack(turned, np.asfortranarray(p))
    assert np.abs(stack.c.sum(axis=2) - 1).max() < 1e-14
    assert (stack.c == Stack(c, p).c).all()
    assert (stack.pml() == Stack(c, p).pml()).all()
    assert (turned == c).all()  # what was given stays as it is

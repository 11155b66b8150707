"""Rounding to what can be drawn lands on the safe side: what a mechanism keeps before, it keeps when it is released."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import some

import divulge as dv
from divulge.model.integer import IntegerChannel

NAMES = [f"v{i}" for i in range(200)]


def families(values: list[str], prior: dv.Prior, epsilon: float) -> dict[str, dv.Channel]:
    """Standard mechanisms of a strength, one outcome a value."""
    at = np.arange(len(values))
    far = -np.abs(np.subtract.outer(at, at)) / max(1, len(values) - 1)
    made = {
        "randomized response": dv.mechanisms.randomized_response(values, epsilon),
        "resample": dv.mechanisms.resample(prior, 1 - float(np.exp(-epsilon))),
        "exponential": dv.mechanisms.exponential(far, epsilon),
    }
    return {name: dv.Channel(one.floats, values, values) for name, one in made.items()}


@pytest.mark.parametrize("epsilon", some([0.1, 0.5, 1.0, 2.0, 4.0, 8.0]))
@pytest.mark.parametrize("size", some([2, 3, 7, 13, 44]))
def test_what_is_kept_before_rounding_is_kept_after_it(size: int, epsilon: float) -> None:
    values = NAMES[:size]
    prior = dv.Prior(np.random.default_rng(size).dirichlet(np.ones(size)), values)
    table = pa.table({"v": values})
    for name, channel in families(values, prior, epsilon).items():
        joint = dv.Joint(prior, channel)
        for kept in (dv.LDP(dv.ldp(channel)), dv.PML(dv.pml(joint).max()), dv.PMC(dv.pmc(joint).max())):
            if not kept.holds_for(joint):
                continue
            more: dict[str, Any] = {} if kept.kind == "ldp" else {"prior": prior}
            receipt: Any = dv.release(table, column="v", mechanism=channel, guarantee=kept, ledger=None, **more)
            ran = receipt.mechanisms[0].channel
            assert kept.holds_for(dv.Joint(dv.Prior(prior.probabilities, values), ran.exact)), name
            assert np.abs(ran.weights / 2.0**ran.bits - channel.floats).max() < 1e-9


def test_forty_four_values_at_the_level_they_were_made_for() -> None:
    values = NAMES[:44]
    channel = dv.mechanisms.randomized_response(values, 1.0)
    found: Any = dv.release(pa.table({"v": values}), column="v", mechanism=channel, guarantee="ldp=1", ledger=None)
    weights = found.mechanisms[0].channel.weights
    assert Fraction(int(weights.max()), int(weights.min())) <= Fraction(np.e)  # the double below e


def test_what_exceeds_a_level_itself_is_refused_and_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    values, moved = NAMES[:44], list[int]()
    monkeypatch.setattr(IntegerChannel, "moved", lambda self, units: moved.append(units) or self)
    channel = dv.mechanisms.randomized_response(values, 1.0)
    with pytest.raises(dv.DivulgeError, match=r"must keep ldp=0.999999999"):
        dv.release(pa.table({"v": values}), column="v", mechanism=channel, guarantee="ldp=0.999999999", ledger=None)
    whole = IntegerChannel.of([["3/4", "1/4"], ["1/4", "3/4"]])
    exactly = dv.Channel(whole.exact.matrix, values[:2], values[:2])
    level = dv.LDP(float(np.nextafter(np.log(3), 0)) * (1 - 1e-15))
    with pytest.raises(dv.DivulgeError, match="must keep"):
        dv.release(pa.table({"v": values[:2]}), column="v", mechanism=exactly, guarantee=level, ledger=None)
    assert not moved


def test_moved_rows_stay_rows_and_come_nearer() -> None:
    rng = np.random.default_rng(5)
    for n, m in ((2, 2), (3, 5), (9, 4)):
        p = rng.dirichlet(np.ones(m), n)
        p[:, 0] *= rng.random(n) > 0.5
        whole = IntegerChannel.of(p / p.sum(axis=1, keepdims=True))
        after = whole.moved(1000)  # sums of rows are checked by the class
        assert ((after.weights == 0) == (whole.weights == 0)).all()
        free = (whole.weights > 0).all(axis=0)
        share = after.weights - (whole.weights * (1 - 1000 * free.sum() / 2.0**53) + 1000 * free)
        assert np.abs(share).max() <= 2


def test_mechanisms_of_several_columns_keep_their_sum_after_rounding() -> None:
    moved = 0
    for size, epsilon in ((3, 0.1), (3, 0.7), (5, 0.3), (5, 1.1)):
        values, x = NAMES[:size], float(np.exp(epsilon))
        rows = np.where(np.eye(size, dtype=bool), x, 1.0) / (x + size - 1)
        one, table = dv.Channel(rows, values, values), pa.table({"v": values, "w": values})
        asked: dict[str, Any] = {"column": ["v", "w"], "mechanism": {"v": one, "w": one}, "ledger": None}
        found: Any = dv.release(table, guarantee=dv.LDP(2 * epsilon), **asked)
        ran = [made.channel.weights for made in found.mechanisms]
        assert sum(np.log(float(Fraction(int(w.max()), int(w.min())))) for w in ran) <= 2 * epsilon * (1 + 1e-15)
        assert found.guarantees["ldp"] <= 2 * epsilon * (1 + 1e-15)
        assert all(np.abs(w / 2.0**53 - rows).max() < 1e-9 for w in ran)
        moved += any((w != IntegerChannel.of(one).weights).any() for w in ran)
        with pytest.raises(dv.DivulgeError, match="must keep"):
            dv.release(table, guarantee=dv.LDP(2 * epsilon * 0.999), **asked)
    assert moved


def test_what_is_protected_keeps_its_level_after_rounding() -> None:
    for size, epsilon in ((3, 1.1), (5, 0.7), (7, 0.3)):
        values = NAMES[:size]
        x = float(np.exp(epsilon))
        one = dv.Channel(np.where(np.eye(size, dtype=bool), x, 1.0) / (x + size - 1), values, values)
        table = pa.table({"v": values * 3, "s": values * 3})  # what is protected is the column itself
        asked: dict[str, Any] = {"column": "v", "protect": "s", "mechanism": one, "per_row": True, "ledger": None}
        found: Any = dv.release(table, guarantee=dv.LDP(dv.ldp(one)), **asked)
        weights = found.mechanisms[0].channel.weights
        assert dv.LDP(dv.ldp(one)).holds_for(found.mechanisms[0].channel.exact)
        assert np.abs(weights / 2.0**53 - one.floats).max() < 1e-9
        with pytest.raises(dv.DivulgeError, match="must keep"):
            dv.release(table, guarantee=dv.LDP(epsilon * 0.999), **asked)

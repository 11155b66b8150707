"""Fewer columns for the same blend, and never at a higher price."""

import numpy as np
import pytest
from scipy.optimize import linprog

from divulge.designing.purify import purified


@pytest.mark.parametrize("seed", range(12))
def test_the_blend_stays_its_price_does_not_grow_and_few_columns_are_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, many = int(rng.integers(2, 7)), int(rng.integers(8, 150))
    columns, weights = rng.dirichlet(np.ones(rows), many).T, rng.dirichlet(np.ones(many))
    losses = rng.random(many) * float(rng.choice([1e-6, 1.0, 1e3]))
    kept = purified(weights, columns, losses)
    assert kept.min() >= 0
    assert np.count_nonzero(kept) <= rows
    assert columns @ kept == pytest.approx(columns @ weights, abs=1e-12)
    assert losses @ kept <= losses @ weights * (1 + 1e-12)
    least = linprog(losses, A_eq=columns, b_eq=columns @ weights).fun
    assert losses @ kept >= least * (1 - 1e-9)

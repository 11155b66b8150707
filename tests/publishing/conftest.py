"""A small table of people, with a row each and with several rows of some."""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

VALUES = {"race": ["a", "b", "c"], "sex": ["f", "m"]}


@pytest.fixture(scope="session")
def people() -> Any:
    return table()


@cache
def table() -> Any:
    """Return the table, the same for all."""
    rng = np.random.default_rng(7)
    n = 600
    return pa.table({
        "race": [VALUES["race"][i] for i in rng.choice(3, n, p=[0.7, 0.29, 0.01])],
        "sex": [VALUES["sex"][i] for i in rng.integers(0, 2, n)],
        "age": rng.integers(0, 91, n),
        "height": np.round(rng.uniform(1.4, 2.1, n), 2),
        "who": [f"p{i}" for i in rng.integers(0, 300, n)],
    })  # fmt: skip

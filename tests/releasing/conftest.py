"""What the release tests share: a mechanism, a table, and the test that a released column came from a mechanism."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from support import NEVER

import divulge as dv

VALUES = ("north", "south", "east", "west")


@pytest.fixture
def mechanism() -> dv.Channel:
    rows = [[["1/8", "5/8"][x == y] for y in range(4)] for x in range(4)]
    return dv.Channel(rows, VALUES, VALUES)


@pytest.fixture(scope="session")
def people() -> pa.Table:
    """40,000 people with a region, an age and an untouched note."""
    rng = np.random.default_rng(7)
    n = 40_000
    region = np.array(VALUES)[rng.choice(4, size=n, p=[0.4, 0.3, 0.2, 0.1])]
    return pa.table({"region": region, "age": rng.integers(18, 90, size=n), "note": [f"n{i}" for i in range(n)]})


def conforms(secret: list, released: list, mechanism: dv.Channel) -> bool:
    """Say whether pairs of values could come from the mechanism: no cell is farther off than chance lets one be."""
    table = np.zeros(mechanism.shape)
    rows, columns = ({label: i for i, label in enumerate(labels)} for labels in (mechanism.secrets, mechanism.outcomes))
    for x, y in zip(secret, released, strict=True):
        table[rows[x], columns[y]] += 1
    law = stats.binom(table.sum(axis=1, keepdims=True), mechanism.floats)
    return float(np.minimum(law.cdf(table), law.sf(table - 1)).min()) > NEVER / table.size


@pytest.fixture(name="conforms")
def _conforms():
    return conforms


def leftovers(folder: Path) -> list[str]:
    """Return the names of temporary files in a folder."""
    return [path.name for path in folder.rglob("*") if ".partial" in path.name]

"""A row whose bound is too small is caught: by a mechanism that has more, or the docs say why none is known."""

import re
from pathlib import Path

import pytest
from guarantees.sharp import shares

from divulge.guarantees.calculus.theorem import Theorem
from divulge.guarantees.theorems import THEOREMS

FACTORS = (0.99, 0.9, 0.5)
"""What a bound is multiplied by."""

NEARLY = 1 - 1e-6
"""What bounds that some mechanism attains are multiplied by, and caught."""

ELSEWHERE = ("zCDP with rho 0 is pure DP", "a small distance is approximate DP with epsilon 0")
"""Rows whose bound is 0 or a promise itself: `test_dp_theorems` has a test for each."""

PAGE = Path(__file__).parents[2] / "docs" / "theorems-dp.md"


def told() -> dict[str, tuple[float, ...]]:
    """Rows of the table of survivors -> the factors that nothing catches."""
    _, _, section = PAGE.read_text().partition("## Which wrong bound would be caught?")
    rows = re.findall(r"^\| ([^|]+?) \| ([0-9., ]+?) \| [^|]+ \|$", section.partition("\n## ")[0], re.MULTILINE)
    return {name: tuple(map(float, factors.split(","))) for name, factors in rows}


SURVIVORS = told()


@pytest.mark.parametrize("row", [r for r in THEOREMS if r.name not in ELSEWHERE], ids=lambda r: r.name)
def test_a_bound_that_is_too_small_is_caught_at_every_sort_of_parameter(row: Theorem) -> None:
    found = list(shares(row))
    assert found, "no mechanism comes near this row"
    assert max(found) <= 1 + 1e-8, "a mechanism has more than its bound"
    assert row.tight in ("limit", "no") or min(found) > NEARLY, "nothing shows that this bound is attained"
    survives = tuple(factor for factor in FACTORS if min(found) <= factor)
    assert survives == SURVIVORS.get(row.name, ()), min(found)


def test_the_table_of_survivors_names_rows() -> None:
    assert set(SURVIVORS) <= {row.name for row in THEOREMS}
    assert SURVIVORS

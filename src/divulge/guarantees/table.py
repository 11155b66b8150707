"""All theorems the calculus searches."""

from divulge.guarantees.dp_theorems import DIFFERENTIAL_PRIVACY
from divulge.guarantees.theorem import Theorem
from divulge.guarantees.theorems import INFORMATION_DENSITY

THEOREMS: tuple[Theorem, ...] = (*INFORMATION_DENSITY, *DIFFERENTIAL_PRIVACY)
"""Rows about information density, and about variants of differential privacy."""

"""The theorems of the calculus as data: what is given, what follows, under which condition, how tight, and who says so.

A bound is a function of what is known of the secret (`c`) and of the guarantees given, with parameters as
python-flint balls; it returns a ball, or a tuple of balls in the order of the parameters of what follows. Every bound
is monotone: it grows with the given parameters and falls with p_min. Adding a theorem is adding a row.

Every guarantee of a variant of differential privacy holds for both orders of every pair of neighbors, which several
rows use: a bound on the mean loss of both orders gives more total variation privacy than Pinsker's inequality.
"""

from divulge.guarantees.calculus.theorem import Theorem
from divulge.guarantees.theorems.approximate import APPROXIMATE
from divulge.guarantees.theorems.average import AVERAGE
from divulge.guarantees.theorems.concentrated import CONCENTRATED
from divulge.guarantees.theorems.curve import CURVE
from divulge.guarantees.theorems.divergences import DIVERGENCES
from divulge.guarantees.theorems.metric import METRIC
from divulge.guarantees.theorems.pointwise import POINTWISE
from divulge.guarantees.theorems.pure import PURE
from divulge.guarantees.theorems.tables import TABLES
from divulge.guarantees.theorems.tail import TAIL

INFORMATION_DENSITY: tuple[Theorem, ...] = (*POINTWISE, *AVERAGE, *TAIL)
"""Rows about information density."""

DIFFERENTIAL_PRIVACY: tuple[Theorem, ...] = (*PURE, *APPROXIMATE, *CONCENTRATED, *CURVE, *DIVERGENCES)
"""Rows between variants of differential privacy, and from them to information density and back."""

FAMILIES: dict[str, tuple[Theorem, ...]] = {
    "At every outcome": POINTWISE,
    "On average over outcomes": AVERAGE,
    "Tails, and what holds for every mechanism": TAIL,
    "Published tables": TABLES,
    "Distances between secrets": METRIC,
    "Pure differential privacy": PURE,
    "Approximate differential privacy and distances": APPROXIMATE,
    "Renyi, concentrated and Gaussian differential privacy": CONCENTRATED,
    "Approximate differential privacy at every delta": CURVE,
    "Divergences, restricted queries and quantum states": DIVERGENCES,
}
"""What a table is about -> its rows."""

THEOREMS: tuple[Theorem, ...] = tuple(theorem for rows in FAMILIES.values() for theorem in rows)
"""All theorems the calculus searches."""


def all_theorems() -> tuple[Theorem, ...]:
    """Return the whole table."""
    return THEOREMS

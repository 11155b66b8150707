"""Log densities of frozen scipy distributions in scipy's own digits, without what it checks anew at each call.

For the few outcomes that a search or a quadrature asks about at a time, these checks take most of the time. Of scipy's
names with an underscore only formulas are used, which its documentation gives to whoever writes a distribution
(`_logpdf`, `_pdf`, `_ppf`, `_isf`): it asks them in no public way without the checks, nor says whether there is one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def log_density_of(distribution: Any) -> Callable[[Any], Any]:
    """Return the log density of a frozen distribution: scipy's formula in its support, -inf outside, NaN at NaN.

    What scipy does not call in its usual way (shapes that are arrays, a density of another make) is asked as it is.

    >>> from scipy import stats
    >>> z = np.array([-1.0, 0.5, 2.0])
    >>> (log_density_of(stats.gamma(2.0, scale=3.0))(z) == stats.gamma(2.0, scale=3.0).logpdf(z)).tolist()
    [True, True, True]
    """
    dist: Any = getattr(distribution, "dist", None)
    if not _asks_its_formula(dist):
        return distribution.logpdf
    shapes, loc, scale = parameters_of(distribution)
    if any(np.ndim(one) for one in (*shapes, loc, scale)) or not scale > 0:
        return distribution.logpdf
    ends = np.array(dist.support(*shapes), dtype=np.float64)
    if np.isnan(ends).any():  # shapes that scipy does not allow
        return distribution.logpdf
    inner = np.nextafter(ends, ends[::-1])  # of some the density holds up to an end and not at it
    with np.errstate(all="ignore"):
        first, last = np.where(dist.logpdf(ends, *shapes) != -np.inf, ends, inner).tolist()
    return _LogDensity(dist, shapes, loc, scale, first, last)


def parameters_of(distribution: Any) -> tuple[tuple[Any, ...], Any, Any]:
    """Return the shapes of a frozen distribution, its loc and its scale.

    >>> from scipy import stats
    >>> parameters_of(stats.gamma(2.0, scale=3.0))
    ((2.0,), 0, 3.0)
    """
    shapes = [name.strip() for name in (distribution.dist.shapes or "").split(",") if name.strip()]
    given = {"loc": 0, "scale": 1}
    given |= dict(zip((*shapes, "loc", "scale"), distribution.args, strict=False)) | distribution.kwds
    return tuple(given[name] for name in shapes), given["loc"], given["scale"]


def _asks_its_formula(dist: Any) -> bool:
    from scipy.stats import rv_continuous

    return isinstance(dist, rv_continuous) and type(dist).logpdf is rv_continuous.logpdf


@dataclass(frozen=True, eq=False)
class _LogDensity:
    """A distribution with its parameters, and the ends of its density at loc 0 and scale 1."""

    dist: Any
    shapes: tuple[Any, ...]
    loc: Any
    scale: Any
    first: float
    last: float

    def __call__(self, x: Any) -> Any:
        z = (np.asarray(x, dtype=np.float64) - self.loc) / self.scale
        seen = (self.first <= z) & (z <= self.last)
        if z.size and seen.all():
            return self._inside(z.ravel()).reshape(z.shape)[()]
        found = np.where(np.isnan(z), np.nan, -np.inf)
        if seen.any():
            found[seen] = self._inside(z[seen])
        return found[()]

    def _inside(self, z: np.ndarray) -> np.ndarray:
        return self.dist._logpdf(z, *(np.full(len(z), one) for one in self.shapes)) - math.log(self.scale)

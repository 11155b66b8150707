"""The shares of many values: as doubles for transforms, as whole numbers where they fit, and summed exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from divulge import exact
from divulge.model.prior import Prior

FITS = 1 << 62
"""Whole numbers whose sum stays below this are added, subtracted and transformed in 64 bits without overflow."""

_HALF = 26
"""Mantissas of 53 bits are summed in two halves, so that 2^31 of them fit 64 bits."""


@dataclass(frozen=True, eq=False)
class Shares:
    """A prior over K values, aligned with the values of a protocol."""

    prior: Prior

    @cached_property
    def p(self) -> np.ndarray:
        """The shares as float64, shape (K,)."""
        return self.prior.floats

    @cached_property
    def support(self) -> np.ndarray:
        """Which values can occur, boolean of shape (K,)."""
        return self.prior.support

    @cached_property
    def whole(self) -> np.ndarray | None:
        """Whole numbers in proportion to the shares, int64, where their sum stays below 2^62; else None."""
        found = self._of_fractions() if self.prior.exact else self._of_floats()
        if found is None:
            return None
        found //= max(1, int(np.gcd.reduce(found)))
        return found

    @cached_property
    def total(self) -> int:
        """The sum of the whole numbers."""
        assert self.whole is not None
        return int(self.whole.sum())

    def _of_fractions(self) -> np.ndarray | None:
        shares = self.prior.probabilities.tolist()
        common = 1
        for denominator in {share.denominator for share in shares}:
            common = math.lcm(common, denominator)
            if common >= FITS:
                return None
        return np.array([share.numerator * (common // share.denominator) for share in shares], dtype=np.int64)

    def _of_floats(self) -> np.ndarray | None:
        mantissas, exponents = _parts(self.p)
        mantissas //= max(1, int(np.gcd.reduce(mantissas)))
        shift = np.where(self.support, exponents - int(exponents[self.support].min()), 0)
        bits = int(mantissas.max()).bit_length() + int(shift.max()) + len(self.p).bit_length()
        return mantissas << shift if bits <= FITS.bit_length() - 1 else None

    def exactly(self, members: np.ndarray) -> Fraction:
        """Return the sum of the shares of the members (a mask, or positions), over the sum of all: a Fraction."""
        if self.whole is not None:
            return Fraction(int(self.whole[members].sum()), self.total)
        if self.prior.exact:
            return exact.total(self.prior.probabilities[members].tolist())
        return _sum(self.p[members]) / self._everything

    @cached_property
    def _everything(self) -> Fraction:
        return _sum(self.p)

    @cached_property
    def rising(self) -> np.ndarray:
        """Positions of the values in order of rising share, equal ones by position."""
        return np.argsort(self.p, kind="stable")


def _parts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whole m and e with values = m 2^e and m below 2^53."""
    mantissas, exponents = np.frexp(values)
    return (mantissas * 2.0**53).astype(np.int64), exponents.astype(np.int64) - 53


def _sum(values: np.ndarray) -> Fraction:
    """Return the exact sum of doubles of at least 0, exponent by exponent."""
    mantissas, exponents = _parts(values[values > 0])
    found = Fraction(0)
    for exponent in np.unique(exponents).tolist():
        part = mantissas[exponents == exponent]
        whole = (int((part >> _HALF).sum()) << _HALF) + int((part & ((1 << _HALF) - 1)).sum())
        found += Fraction(whole) * Fraction(2) ** exponent
    return found

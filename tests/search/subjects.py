"""Random subjects in whole numbers, from which floats, fractions and the oracles' numbers are made without rounding."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import scipy.sparse as sp

import divulge as dv

ONE = 1 << 50


@dataclass(frozen=True)
class Drawn:
    """A prior and a channel as Fractions with denominator 2^50, and one of the forms in which a user may give them."""

    prior: list[Fraction]
    rows: list[list[Fraction]]
    form: str

    @property
    def p(self) -> list[mp.mpf]:
        """The prior in 60 digits."""
        return [mp.mpf(v.numerator) / v.denominator for v in self.prior]

    @property
    def c(self) -> list[list[mp.mpf]]:
        """The channel in 60 digits."""
        return [[mp.mpf(v.numerator) / v.denominator for v in row] for row in self.rows]

    @property
    def q(self) -> list[mp.mpf]:
        """The distribution of the outcome."""
        return [mp.fsum(p * row[y] for p, row in zip(self.p, self.c, strict=True)) for y in range(len(self.rows[0]))]

    @property
    def seen(self) -> list[int]:
        """The outcomes that occur."""
        return [y for y, q in enumerate(self.q) if q > 0]

    @property
    def support(self) -> list[int]:
        """The secrets that occur."""
        return [x for x, p in enumerate(self.prior) if p > 0]

    def channel(self) -> dv.Channel:
        """Return the channel in its form."""
        if self.form == "exact":
            return dv.Channel(self.rows)
        floats = np.array([[float(v) for v in row] for row in self.rows])
        return dv.Channel(sp.csc_array(floats) if self.form == "sparse" else floats)

    def joint(self) -> dv.Joint:
        """Return the joint in its form."""
        return dv.Joint(self.prior if self.form == "exact" else [float(v) for v in self.prior], self.channel())


def whole(rng: np.random.Generator, m: int, zeros: float, span: float) -> list[int]:
    """Return m whole numbers that sum to 2^50; they spread over `span` decades, each is 0 with probability `zeros`."""
    weights = np.exp(-rng.uniform(0, span * np.log(10), size=m)) * (rng.random(m) >= zeros)
    weights[rng.integers(m)] += 1e-300 if weights.any() else 1.0
    parts = [int(w) for w in weights / weights.sum() * (ONE // 2)]
    parts[int(np.argmax(parts))] += ONE - sum(parts)
    return parts


def distribution(rng: np.random.Generator, m: int, zeros: float = 0.0, span: float = 2.0) -> list[Fraction]:
    """Return a random distribution in Fractions."""
    return [Fraction(v, ONE) for v in whole(rng, m, zeros, span)]


def drawn(
    rng: np.random.Generator,
    *,
    most: int = 6,
    zeros: bool = True,
    positive_prior: bool = False,
    form: str | None = None,
) -> Drawn:
    """Return a random prior and channel: with zeros, rows that are nearly alike, columns that repeat, small secrets."""
    n, m = int(rng.integers(2, most + 1)), int(rng.integers(2, most + 1))
    share = float(rng.choice([0.0, 0.0, 0.3])) if zeros else 0.0
    span = float(rng.choice([0.3, 2.0, 9.0]))
    rows = [whole(rng, m, share, span) for _ in range(n)]
    if rng.random() < 0.2:
        for row in rows[1:]:
            row[:] = rows[0]
            shift = int(rng.integers(0, max(min(row[0], 1 << int(rng.integers(1, 40))), 1)))
            row[0], row[-1] = row[0] - shift, row[-1] + shift
    if rng.random() < 0.2:
        rows[-1] = rows[0][::-1]
    prior = whole(rng, n, 0.0 if positive_prior else share / 2, span)
    if positive_prior:
        low = [max(v, 1) for v in prior]
        low[int(np.argmax(low))] -= sum(low) - ONE
        prior = low
    chosen = form or str(rng.choice(["float", "exact", "sparse"]))
    return Drawn([Fraction(v, ONE) for v in prior], [[Fraction(v, ONE) for v in row] for row in rows], chosen)


def pick(rng: np.random.Generator, options: Any) -> Any:
    """Return one of several things."""
    return options[int(rng.integers(len(options)))]

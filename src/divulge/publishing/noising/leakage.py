"""What published whole numbers with noise tell about one record, from the law of the noise.

Let a record x add f_j(x) to cell j, all other records be known, and cell j get discrete Laplace noise of scale s_j.
Then P(y | x') >= e^-d(x, x') P(y | x) for every outcome y, where d(x, x') = sum_j |f_j(x) - f_j(x')| / s_j, with
equality for all x' at once at the outcome y = c + f(x) (the others add up to c). So the outcomes tell of the record

    PML = max_x -log E exp(-d(x, X)),     X ~ prior,

exactly, and PMC <= max_x log E exp(d(x, X)), with equality for counts, whose cells can all lie on the far side of x at
once. With E = max d, a secret of which every value has prior p or more is told at most -log(p + (1 - p) e^-E), whatever
else of the record is known or unknown and however it depends on the secret; it is told exactly this where the rest of
the record is a function of the secret, or where there is one table of counts.

If the other records are unknown, independent draws, nothing changes at the worst outcome: beyond all that the others
can add, the ratio of two likelihoods is the same for each of their sums. What changes is how probable it is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.guarantees.formulas.density import pmc_of_ldp, pml_of_ldp
from divulge.publishing.noising.families import Noise
from divulge.publishing.queries import Query, Unit

_MOST_PAIRS = 4_000_000
"""So many pairs of records are compared one by one; beyond, the largest distance stands for every other."""

_ROUNDED = 1 + 1e-11
"""Sums of so many positive doubles are right within this factor."""


@dataclass(frozen=True)
class RecordPrior:
    """What is known before of a secret about one record.

    least : every value of the secret has at least this probability
    secret : the secret in words
    columns : where the prior of whole records is known: the columns they are made of
    shares : dict of record -> Fraction, or empty
    about : the columns that the secret is made of, where it is some of them
    """

    least: Fraction
    secret: str = "anything about the record"
    columns: tuple[str, ...] = ()
    shares: Any = None
    about: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.least <= Fraction(1, 2):
            raise DivulgeError.of(
                "record_prior", "give every value of the secret a probability in (0, 1/2]", "the least",
                f"{float(self.least):g}",
                "two values or more share 1.",
            )  # fmt: skip


def loss_of(query: Query, noise: Noise, unit: Unit, neighbors: Any = None) -> Fraction | float:
    """Return the most that the log-likelihood of a query's outcome changes with one unit; inf with Gaussian noise."""
    l1, _ = query.changes(unit, neighbors)
    if not l1:
        return Fraction(0)
    return noise.loss_of_choice(l1) if query.kind == "ranks" else noise.loss(l1)


def largest_loss(
    queries: Sequence[Query], noises: Sequence[Noise], unit: Unit, neighbors: Any = None
) -> Fraction | float:
    """Return E = max d, the most that the log-likelihood of an outcome changes with one unit; inf with Gaussian
    noise."""
    losses = [loss_of(query, noise, unit, neighbors) for query, noise in zip(queries, noises, strict=True)]
    return math.inf if math.inf in losses else sum(losses, Fraction(0))


def concentration(queries: Sequence[Query], noises: Sequence[Noise], unit: Unit, neighbors: Any = None) -> Fraction:
    """Return rho of zCDP: sum L2^2 / (2 sigma^2), and of discrete Laplace noise the square of its loss halved."""
    total = Fraction(0)
    for query, noise in zip(queries, noises, strict=True):
        l1, l2 = query.changes(unit, neighbors)
        total += noise.concentration(l1, l2) if l1 else 0
    return total


def leakages(loss: Fraction | float, prior: RecordPrior) -> dict[str, float]:
    """Return {"pml", "pmc", "lip"} of a secret whose values have at least the prior's probability, rounded up.

    >>> found = leakages(Fraction(2), RecordPrior(Fraction(1, 100)))
    >>> round(found["pml"], 6), round(found["pmc"], 6)  # -log(0.01 + 0.99 e^-2), log(0.01 + 0.99 e^2)
    (1.938067, 1.991316)
    """
    pml = exact.round_up(_precisely(lambda: pml_of_ldp(exact.ball(loss), exact.arb(prior.least))))
    pmc = (
        math.inf
        if loss == math.inf
        else exact.round_up(_precisely(lambda: pmc_of_ldp(exact.ball(loss), exact.arb(prior.least))))
    )
    return {"pml": pml, "pmc": pmc, "lip": max(pml, pmc)}


def _precisely(ball: Any) -> Any:
    import flint

    with flint.ctx.workprec(192):
        return ball()


def leakages_of_records(
    queries: Sequence[Query], noises: Sequence[Noise], unit: Unit, prior: RecordPrior
) -> dict[str, float] | None:
    """Return {"pml", "pmc", "lip"} of whole records with a known prior, from the law; None where `leakages` is as much.

    The records differ in d(x, x') = sum of 2 / s_m over the margins m in which they lie in different cells.
    """
    if not prior.shares or unit.at_most != 1 or unit.neighbors == "added" or len(prior.shares) ** 2 > _MOST_PAIRS:
        return None
    if any(q.kind != "rows" or q.only is not None or not set(q.by) <= set(prior.columns) for q in queries):
        return None
    if not all(noise.bounded for noise in noises):
        return None
    keys, shares = list(prior.shares), np.array([float(p) for p in prior.shares.values()])
    distance = np.zeros((len(keys), len(keys)))
    for query, noise in zip(queries, noises, strict=True):
        if query.changes(unit, "replaced")[0]:
            places = [prior.columns.index(name) for name in query.by]
            cells: dict[Any, int] = {}
            cell = np.array([cells.setdefault(tuple(key[i] for i in places), len(cells)) for key in keys])
            distance += (cell[:, None] != cell[None, :]) * (2 / noise.scale)
    pml = -math.log(float((np.exp(-distance) @ shares).min()) / _ROUNDED)
    with np.errstate(over="ignore"):
        pmc = math.log(float((np.exp(distance) @ shares).max()) * _ROUNDED)
    return {"pml": pml, "pmc": pmc, "lip": max(pml, pmc)}

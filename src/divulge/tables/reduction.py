"""The joint of secret and group with the groups that decide a guarantee, all others merged into one outcome.

Merging groups makes the lifts of the new one a convex combination of theirs, so that no kind that is the maximum over
groups of a quasi-convex number rises by it: what holds for the groups at the extremes holds for all.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.guarantees.guarantee import Guarantee
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.tables import models
from divulge.tables.groups import MISSING, Groups

OTHERS = "all other groups"
"""What the outcome of the groups that do not decide is called."""


def _ends(groups: Groups) -> list[int]:
    beyond = models.beyond_surprise(groups)
    first = [int(groups.cell_group[beyond[0]])] if len(beyond) else []
    return [models.lift(groups).group, models.least_lift(groups).group, *first]


def _recursive(groups: Groups) -> list[int]:
    """Return the group that decides for each l: of fewest values, and of the largest ratio as long as all have l."""
    fewest = models.distinct_l(groups)
    return [fewest.group, *(models.recursive_c(groups, l).group for l in range(1, fewest.value + 1))]


DECIDING: dict[str, Callable[[Groups], list[int]]] = {
    **dict.fromkeys(
        ("pml", "pmc", "lip", "alip", "lift", "max-g-leakage", "beta", "enhanced-beta", "delta-disclosure"), _ends
    ),
    "t": lambda groups: [models.t(groups).group],
    "ordered-t": lambda groups: [models.ordered_t(groups).group],
    "distinct-l": lambda groups: [models.distinct_l(groups).group],
    "entropy-l": lambda groups: [models.entropy_l(groups).group],
    "recursive-l": _recursive,
}
"""Kind -> the groups that decide it; another kind is decided on all."""


def extremes(groups: Groups, kind: type[Guarantee]) -> np.ndarray | None:
    """Return the groups that decide a kind; None where all do."""
    if kind.kind not in DECIDING:
        return None
    return np.unique(DECIDING[kind.kind](groups))


def joint_of(groups: Groups, chosen: np.ndarray) -> Joint:
    """Return the exact joint of the secret with the chosen groups and all others."""
    counts = (
        np.concatenate([groups.dense(g, g + 1) for g in chosen.tolist()])
        if len(chosen) < len(groups)
        else (groups.dense())
    )
    labels: list[Any] = [label(groups, g) for g in chosen.tolist()]
    rest = groups.totals - counts.sum(axis=0)
    if rest.any():
        others = OTHERS
        while others in labels:  # a value of the table is called so
            others = f"{others} (all others)"
        counts, labels = np.vstack([counts, rest]), [*labels, others]
    totals = groups.totals.tolist()
    matrix = np.empty((len(groups.values), len(labels)), dtype=object)
    for s, column in enumerate(counts.T.tolist()):
        parts = {rows: Fraction(rows, totals[s]) for rows in set(column)}
        matrix[s] = [parts[rows] for rows in column]
    prior = [Fraction(rows, groups.rows) for rows in totals]
    return Joint(Prior(prior, groups.values), Channel(matrix, groups.values, labels))


def label(groups: Groups, place: int) -> Any:
    """Return the name of a group: the value of a known column, or a tuple of several."""
    values = tuple(MISSING if value is None else value for value in groups.group(place).values())
    return values[0] if len(values) == 1 else values

"""The joint of secret and group with the groups that decide a guarantee, all others merged into one outcome.

Merging groups makes the lifts of the new one a convex combination of theirs, so that no kind that is the maximum over
groups of a quasi-convex number rises by it: what holds for the groups at the extremes holds for all. So a receipt holds
the sizes of all groups, and of each subject (all sensitive columns as one, and each alone) the rows of every value, in
all and in these groups: from that its numbers are computed again when it is read. No label is among them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.files.forms import Form, Some, whole
from divulge.guarantees.catalog import parse
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


SIZES: Form = {"*": whole}
SUBJECT: Form = {"totals": Some(whole), "groups": Some({"*": whole})}

MOST_ROWS = math.isqrt(models.MOST_SUM)
"""Products of two counts fit into 64 bits."""

NUMBERS = {
    "lift": models.lift,
    "least_lift": models.least_lift,
    "certainty": models.certainty,
    "certainty_beside_one": lambda groups: models.certainty_beside(groups, 1),
}
"""What is said of the sensitive columns together."""

Contradiction = tuple[str, Any, Any]
"""What does not follow: its name, what is said, and what it is."""


def sizes(groups: Groups) -> dict[str, int]:
    """Return how many groups there are of each size."""
    return {str(size): many for size, many in sorted(Counter(groups.sizes.tolist()).items())}


def subjects(several: Sequence[Groups], asked: Sequence[Guarantee]) -> list[dict[str, Any]]:
    """Return the counts that decide what was asked and what is said beside it, of each subject."""
    return [_counts(groups, asked) for groups in several]


def _counts(groups: Groups, asked: Sequence[Guarantee]) -> dict[str, Any]:
    chosen = {number(groups).group for number in NUMBERS.values()}
    for one in asked:
        if one.kind != "k":
            deciding = extremes(groups, type(one))
            chosen |= set(range(len(groups)) if deciding is None else deciding.tolist())
    rows = {tuple(groups.dense(place, place + 1)[0].tolist()) for place in chosen}
    listed = [{str(value): many for value, many in enumerate(row) if many} for row in sorted(rows)]
    return {"totals": groups.totals.tolist(), "groups": listed}


def contradictions(found: Mapping[str, Any]) -> Iterator[Contradiction]:
    """Yield what a receipt says of its groups and guarantees that does not follow from its sizes and counts."""
    counts = {_whole(size): many for size, many in found["sizes"].items()}
    pairs = {
        "rows": (found["rows"], sum(size * many for size, many in counts.items())),
        "groups": (found["groups"], sum(counts.values())),
        "k": (found["k"], min((size for size, many in counts.items() if many), default=0)),
        "the number of sensitive columns": (len(found["subjects"]), _subjects(found["secret"])),
    }
    yield from ((what, said, is_) for what, (said, is_) in pairs.items() if said != is_)
    if not 0 < found["rows"] <= MOST_ROWS or 0 in counts:
        yield "rows", found["rows"], f"1 to {MOST_ROWS}"
        return
    several = [_groups(one, found["rows"], counts) for one in found["subjects"]]
    for name, number in NUMBERS.items() if several else ():
        value = number(several[0]).value
        if found.get(name) != str(value):  # as it is written: a text such as 1e99999999 is never made a number
            yield name, found.get(name, "missing"), value
    joints = [joint_of(groups, np.arange(len(groups))) for groups in several]
    for text in found["guarantees"]:
        asked = parse(text)
        if asked.kind == "k":
            if found["people"] < asked.values()["k"]:
                yield text, asked.values()["k"], found["people"]
            continue
        if not joints:
            yield text, "promised", "about no sensitive column"
        for verdict in map(asked.holds_for, joints):
            if not verdict.holds:
                yield f"the level of {asked.kind}", text.partition("=")[2], verdict.measured


def _subjects(secret: Sequence[str]) -> int:
    """Return how many subjects there are: several columns together, and each alone."""
    return len(secret) + (len(secret) > 1)


def _groups(found: Mapping[str, Any], rows: int, counts: Mapping[int, int]) -> Groups:
    """Return the groups of a subject, all others as one; refuse counts that are not those of so many rows."""
    totals = np.array(found["totals"], dtype=np.int64)
    listed = np.zeros((len(found["groups"]), len(totals)), dtype=object)
    for row, group in zip(listed, found["groups"], strict=True):
        for value, many in group.items():
            row[_whole(value)] = many
    rest = totals - listed.sum(axis=0)
    lacking = [size for size in listed.sum(axis=1).tolist() if size not in counts]
    if sum(totals.tolist()) != rows or (rest < 0).any() or lacking or (totals == 0).any():
        raise DivulgeError("must have the counts of its groups and rows among its subjects; it has been edited.")
    matrix = (np.vstack([listed, rest]) if rest.any() else listed).astype(np.int64)
    group, value = np.nonzero(matrix)
    places = tuple(range(len(matrix)))
    return Groups(("group",), ("value",), (places,), tuple(range(len(totals))), np.array(places)[:, None], group, value,
                  matrix[group, value])  # fmt: skip


def _whole(text: str) -> int:
    """Return the whole number that a key writes."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError("no whole number")
    return int(text)

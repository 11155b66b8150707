"""What the noises on several queries tell together under approximate privacy, by their laws.

The noise on each number that a unit moves is a mechanism whose sensitivity is how far: the hockey-stick divergences of
shifted log-concave noise grow with the shift, and independent noises compose. Which numbers move together `moves` says.

References
----------
Zhu, Dong, Wang, "Optimal Accounting of Differential Privacy via Characteristic Function", arXiv:2106.08567; Dong, Roth,
Su, "Gaussian Differential Privacy", arXiv:1905.02383.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from divulge.dp.accounting.composition import Composition, compose
from divulge.dp.accounting.promises import ZcdpRelease
from divulge.dp.mechanisms import GaussianMechanism
from divulge.publishing.noising.families import Noise, Way, above
from divulge.publishing.noising.leakage import concentration, largest_loss
from divulge.publishing.noising.moves import Questions, Shifts, moves_of
from divulge.publishing.noising.searching import Block, Search
from divulge.publishing.queries import Query, Unit

_MOST_WAYS = 2
"""So many combinations of the ways in which a unit changes several queries are composed each; of more the worst one is
searched, which takes as long as composing one."""

_ROUNDED = 1e-12
"""What is left of delta is rounded to its safe side by this share: of a dozen roundings."""


@dataclass(frozen=True)
class Composed:
    """The composition of one way for each query; `rho` is what it promises in zCDP."""

    composition: Composition
    shift: float
    more: float
    outside: float = 0.0
    rho: float = math.inf

    @classmethod
    def of(cls, ways: Iterable[Way], rho: float = math.inf) -> "Composed":
        """Return the composition of what several queries tell."""
        one = Way.of(ways)
        return cls(compose(*one.parts, tolerance=1e-4), one.shift, one.more, one.outside, rho)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at this delta."""
        left = (delta - self.outside) * math.exp(-self.more) * (1 - _ROUNDED)
        if not left > 0:
            return math.inf
        found = self.composition.epsilon(left if self.more else delta).upper
        return math.nextafter(found + self.shift, math.inf) if self.shift else found


@lru_cache(maxsize=256)
def adp_epsilon(queries: tuple[Query, ...], made: tuple[Noise, ...], unit: Unit, delta: float) -> float:
    """Return a bound from above on epsilon at this delta, for the worst way in which a unit can change.

    It is no more than what follows from pure or concentrated privacy of all queries together.
    """
    pure = largest_loss(queries, made, unit)
    known = [] if pure == math.inf else [above(Fraction(pure))]
    if rho := concentration(queries, made, unit):
        known.append(_promised(above(rho), delta))
    every, worst = compositions(queries, made, unit), 0.0
    if every is None:
        worst = searched(queries, made, unit, delta)
    for one in sorted(every or (), key=lambda one: -one.rho):
        if _promised(one.rho, delta) > worst:
            worst = max(worst, one.epsilon(delta))
    if unit.rows > 1 and (together := of_persons(queries, made, unit)) is not None:
        known.append(together.epsilon(delta))
    return min([worst, *known])


def of_persons(queries: Sequence[Query], made: Sequence[Noise], unit: Unit) -> Composed | None:
    """Return what tells no less than any change of a person with several rows, where the noise on numbers is Gaussian.

    On real numbers it is told by the norm of the change alone, each number in units of its sigma. None where noise is
    too narrow for that, or nothing but choices is asked for.
    """
    asked = _asked(queries, made, unit)
    joint = [pair for pair in asked if pair[0].kind not in ("ranks", "people", "bins") and not pair[1].bounded]
    if not joint or not all(noise.smooth for _, noise in joint):
        return None
    norm = math.sqrt(_squared_norm(joint, unit)) * (1 + _ROUNDED)
    numbers = [query.changes(unit)[0] for query, _ in joint]
    near = [noise.on_reals(Counter({far: 1})) for far, (_, noise) in zip(numbers, joint, strict=True)]
    more, outside = (math.fsum(getattr(way, name) * many for way, many in zip(near, numbers, strict=True))
                     for name in ("more", "outside"))  # fmt: skip
    whole = Way(((GaussianMechanism(1.0, norm), 1),), math.fsum(way.shift for way in near), more, outside)
    others = [_alone(query, noise, unit) for query, noise in asked if (query, noise) not in joint]
    return Composed.of([whole, *others])


def _squared_norm(joint: Sequence[tuple[Query, Noise]], unit: Unit) -> float:
    """Return the square of the largest norm of a person's change of all queries, in sigmas, but for roundings.

    A person's change is the sum of K changes of one row each, replaced or, where one of two has fewer rows, there or
    not there. The norm is convex, and so largest where those of a kind are all the same: K times what a row changes
    that is replaced, or once that and K - 1 times what one changes that is not there in the other; K times if all may
    be so.

    Where no group has more than r of the rows, groups by the same columns are as `_squared_norm_by_group` says, and
    groups by fewer columns each at their own worst.
    """
    replaced, added = (_norms(joint, Unit(neighbors=kind)) for kind in ("replaced", "added"))
    k, capped = unit.rows, [pair for pair in joint if unit.in_cells(pair[0])[1] < unit.in_cells(pair[0])[0] ** 2]
    if capped:
        ways = [*(replaced if unit.neighbors == "replaced" else []), *added]
        alone = [max(way[i] for way in ways) for i, pair in enumerate(joint) if pair not in capped]
        return _squared_norm_by_group(capped, unit) + math.fsum((k * norm) ** 2 for norm in alone)
    if unit.neighbors == "added":
        return max(math.fsum((k * norm) ** 2 for norm in way) for way in added)
    sums = [[k * norm for norm in way] for way in replaced]
    sums += [[a + (k - 1) * b for a, b in zip(one, other, strict=True)] for one in replaced for other in added]
    return max(math.fsum(norm**2 for norm in way) for way in sums)


def _squared_norm_by_group(joint: Sequence[tuple[Query, Noise]], unit: Unit) -> float:
    """Return the same of queries by one grouping, of a person with at most r of K rows in a group.

    Let n rows of a group be others before, and m after. All n are alike at the worst, and all m, for the norm is convex
    in each row. It is convex in all n together, and in all m, too, and so largest where as many groups as can be have r
    rows, and one has the rest: 2 + 2 + 1 of 5. What is left is which groups of before are groups of after.
    """
    query, _ = joint[0]
    groups, r = math.prod(query.shape[: len(query.by)]), unit.per_group or unit.rows
    whole, rest = divmod(min(unit.rows, r * groups), r)
    inside = [(replace(one, by=(), shape=one.shape[len(one.by) :], low=1 if one.counts_rows else one.low), noise)
              for one, noise in joint]  # fmt: skip
    staying, (added,) = _norms(inside, Unit()), _norms(inside, Unit(neighbors="added"))

    def of(n: int, m: int) -> float:
        """Return the square of the norm of the change of a group with n >= m rows: m are replaced, others added."""
        ways = [[m * a + (n - m) * b for a, b in zip(way, added, strict=True)] for way in staying]
        return max(math.fsum(norm**2 for norm in way) for way in ways)

    full, part, ends, come, left = of(r, r), of(r, rest), of(rest, rest), of(r, 0), of(rest, 0)
    many = sorted({whole, 0, *(min(whole, max(0, groups - whole - d)) for d in range(3))})
    after, rests = (many, range(2 if rest else 1)) if unit.neighbors == "replaced" else ([0], range(1))
    most = 0.0
    for a, b, x, y in product(many, after, range(2 if rest else 1), rests):  # groups with r and with the rest
        for u, v, w in [(u, v, w) for u, v, w in product(range(2), repeat=3) if u + w <= x and v + w <= y]:
            # of before and after: the rest beside r, r beside the rest, both rests
            used = x + y - w
            low, high = max(0, a + b - u - v + used - groups), min(a - v, b - u)
            for both in (low, high) if low <= high else ():
                alone = a - v - both + b - u - both
                total = both * full + (u + v) * part + w * ends + alone * come + (x + y - u - v - 2 * w) * left
                most = max(most, total)
    return most


def _norms(joint: Sequence[tuple[Query, Noise]], row: Unit) -> list[list[float]]:
    """Return the norm of the change of each query in sigmas, for each way of one row; where they are very many, the
    largest of each query."""
    ways = moves_of(tuple(query for query, _ in joint), row)
    return [
        [
            math.sqrt(query.changes(row)[1] if far is None else sum(each * each for each in far)) / noise.scale
            for (query, noise), far in zip(joint, way, strict=True)
        ]
        for way in ways or [(None,) * len(joint)]
    ]


def _alone(query: Query, noise: Noise, unit: Unit) -> Way:
    """Return what tells no less than any change of one query, of a person with several rows."""
    shifts = query.shifts(unit)
    return _of(query, noise, Counter(shifts[0])) if len(shifts) == 1 else _largest(query, noise, unit)


def _promised(rho: float, delta: float) -> float:
    """Return what zCDP promises at this delta: at once, and no less than what the law would."""
    return compose(ZcdpRelease(rho), tolerance=1e-4).epsilon(delta).upper if rho < math.inf else math.inf


def compositions(queries: Sequence[Query], made: Sequence[Noise], unit: Unit) -> list[Composed] | None:
    """Return what the noises of all queries add up to, for each combination of the ways in which one unit changes them.

    None where there are too many.
    """
    asked = _asked(queries, made, unit)
    every = moves_of(tuple(query for query, _ in asked), unit)
    if every is None or len(every) > _MOST_WAYS:
        return None
    out: dict[Any, Composed] = {}
    for moves in every:
        moved = [(i, *of, far) for i, (of, far) in enumerate(zip(asked, moves, strict=True)) if far != ()]
        alike = Counter((query.kind == "ranks", noise, i if far is None else far) for i, query, noise, far in moved)
        if (key := frozenset(alike.items())) in out:
            continue
        parts = [_way(query, noise, far, unit) for _, query, noise, far in moved]
        rho = sum(
            concentration([query], [noise], unit) if far is None else _concentration(query, noise, far)
            for _, query, noise, far in moved
        )
        out[key] = Composed.of(parts, above(Fraction(rho)))
    return list(out.values())


def _concentration(query: Query, noise: Noise, far: Shifts) -> Fraction:
    """Return rho of zCDP of numbers, or scores, that move so far."""
    return noise.concentration(sum(far) * (2 if query.kind == "ranks" else 1), sum(each * each for each in far))


def _asked(queries: Sequence[Query], made: Sequence[Noise], unit: Unit) -> list[tuple[Query, Noise]]:
    """Return the queries that a unit changes, with their noise."""
    return [(query, noise) for query, noise in zip(queries, made, strict=True) if query.changes(unit)[0]]


def searched(queries: Sequence[Query], made: Sequence[Noise], unit: Unit, delta: float) -> float:
    """Return a bound from above on epsilon at this delta, for the worst of any number of ways."""
    asked = _asked(queries, made, unit)
    questions = Questions(tuple(query for query, _ in asked), unit)
    alike: dict[tuple[int, ...], list[int]] = {}
    for place in range(len(asked)):
        alike.setdefault(questions.about(place), []).append(place)

    def block(about: tuple[int, ...], places: Sequence[int]) -> Block:
        def way(answers: tuple[bool, ...]) -> Way:
            given = dict(zip(about, answers, strict=True))
            return Way.of(_way(*asked[i], questions.shifts(i, given), unit) for i in places)

        return Block(about, way)

    blocks = [block(about, places) for about, places in alike.items()]
    rho = above(sum((concentration([query], [noise], unit) for query, noise in asked), Fraction(0)))
    most = float(largest_loss(queries, made, unit))
    return Search(blocks, questions.follows, rho, most, delta).epsilon(questions.none)


def _way(query: Query, noise: Noise, far: Shifts | None, unit: Unit) -> Way:
    """Return what numbers tell that move so far; None stands for whatever the query can do."""
    return _largest(query, noise, unit) if far is None else _of(query, noise, Counter(far))


def _of(query: Query, noise: Noise, moved: Counter[int]) -> Way:
    """Return the mechanisms on numbers, or choices among scores, that move so far."""
    if query.kind != "ranks":
        return noise.moved(moved)
    losses = {far: math.nextafter(2 * far / noise.scale, math.inf) for far in moved}
    return Way(tuple((noise.choice(losses[far]), times) for far, times in moved.items()))


def _largest(query: Query, noise: Noise, unit: Unit) -> Way:
    """Return what tells no less than any change of the query does."""
    norms = query.changes(unit)
    known = None if query.kind == "ranks" else noise.most(*norms)
    return known or Way(((noise.promise(*norms), 1),))

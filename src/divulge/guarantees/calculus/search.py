"""The search for the tightest chain of theorems, in balls.

Rows of the table are applied in rounds until none improves anything. What a kind with a chosen parameter (an order, a
delta) says differs with that parameter, so that the best one between two theorems is not known before: a first search
runs over a grid of them, and along the chain it finds each is then moved to where the end is tightest.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from operator import lt
from types import SimpleNamespace
from typing import Any

from divulge import exact
from divulge.dp.loss.divergences import DIVERGENCES
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.theorem import CONDITIONS, Theorem
from divulge.guarantees.formulas.density import INFINITY
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.density import LDP
from divulge.guarantees.kinds.divergences import FDivergence
from divulge.guarantees.kinds.loss import ADP, GDP, KL, MCDP, PDP, RDP, TV, ZCDP, AbsChi, LossGuarantee, RelaxedDP
from divulge.guarantees.parameters import PARAMETERS
from divulge.late import Kept, late
from divulge.roots import valley

Index = tuple[tuple[str, Any], ...]
Key = tuple[type[Guarantee], Index]
Settings = dict[type[Guarantee] | None, list[tuple[Index, SimpleNamespace]]]
"""Of each kind the parameters it is looked at, with what the theorems are told there."""

PRECISION = 320
"""Bits carried along a chain; a result is rounded once, at its end, and up."""

_COARSE = 96
"""Bits while a parameter is moved."""

_MOST_ROUNDS = 200
"""Bounds that improve each other for ever are cut off here: what is known by then is true, and all but tightest."""

_STEPS, _SWEEPS = 24, 3
"""How often a parameter is tried as its interval shrinks by the golden ratio, and how often each gets its turn.

24 leave 1e-5 of the interval between two values of the grid; in the middle of a valley the bound is off by the square.
"""

_NEAR, _MOST_CHAINS = 1.5, 6
"""Chains within this factor of the best on the grid are looked at more closely, the best few of them."""

_FINEST = Fraction(1, 2**80)
"""Bounds that differ by a smaller share are the same: no digit of a double tells them apart."""

_WORTH = 1 - 1e-9
"""A parameter is moved where the end becomes tighter by more than the search could mistake."""

_BESIDE = 1e-6
"""How far on its scale a parameter is moved to see whether it serves at one value alone."""

_FARTHEST = 1e300
"""A parameter is moved from here where it lies beyond."""


@dataclass(frozen=True)
class Chosen:
    """How a parameter that is chosen runs: the values tried first, and a scale on which it is moved between them.

    `names` are parameters of other kinds that are of the same sort: their values are tried too.
    """

    grid: tuple[Any, ...]
    to_scale: Callable[[float], float]
    from_scale: Callable[[float], float]
    names: tuple[str, ...]


def _beyond_one(x: float) -> float:
    return math.log(x - 1) if x > 1 else -60.0


ORDERS = Chosen(
    (1, *(Fraction(n, 64) for n in (65, 68, 80, 96)), 2, 3, 4, 6, 10, 16, 32, 64, 256, 2048, math.inf),
    lambda a: _beyond_one(a) if a < math.inf else 60.0,
    lambda t: 1.0 if t <= -60.0 else math.inf if t >= 60.0 else 1 + math.exp(t),
    ("alpha", "order", "omega"),
)
DELTAS = Chosen(
    (
        0,
        *(Fraction(1, 10**k) for k in (15, 12, 9, 7, 5, 4, 3, 2)),
        *(Fraction(k, 20) for k in (1, 2, 4, 8, 12, 16, 19)),
    ),
    lambda d: math.log(d) if d > 0 else -750.0,
    lambda t: 0.0 if t <= -745.0 else min(1.0, math.exp(t)),
    ("delta", "outside"),
)
BETWEEN: dict[type[Guarantee], tuple[str, Chosen]] = {
    RDP: ("alpha", ORDERS),
    ADP: ("delta", DELTAS),
    AbsChi: ("alpha", replace(ORDERS, grid=(1, Fraction(5, 4), Fraction(3, 2), 2, 3, 5))),
    PDP: ("delta", replace(DELTAS, grid=DELTAS.grid[:9])),
    ZCDP: ("xi", Chosen((0,), float, float, ("xi",))),
    FDivergence: ("f", Chosen(tuple(DIVERGENCES), lambda _: 0.0, lambda _: 0.0, ())),
}
"""Kind that stands between theorems -> the parameter that is chosen, and how."""


@dataclass(frozen=True, eq=False)
class Known:
    """A guarantee on the way, in balls; `merged` is what it took single parameters from."""

    kind: type[Guarantee]
    index: Index
    values: tuple[Any, ...]
    theorem: Theorem | None = None
    parents: tuple["Known", ...] = ()
    original: Guarantee | None = None
    merged: "Known | None" = None

    @Kept
    def terms(self) -> SimpleNamespace:
        """Its parameters by name, in balls."""
        bounded = zip(self.kind.bounded(), self.values, strict=True)
        return SimpleNamespace(**_in_balls(self.index), **{name: falling(name, value) for name, value in bounded})

    @Kept
    def passed(self) -> frozenset[type[Guarantee]]:
        """The kinds that it was before, where each was derived from one alone: none is passed by twice."""
        if len(self.parents) != 1 or self.merged is not None:
            return frozenset()
        before = self.parents[0]
        return before.passed | {before.kind}


def closure(
    theorems: Sequence[Theorem], given: Sequence[Guarantee], context: Context, asked: Sequence[Key], share: Any = 1
) -> dict[Key, Known]:
    """Return the tightest known guarantee of each kind, at the parameters asked for and those between.

    One takes the place of another when it is below a `share` of it.
    """
    import flint

    usable = [t for t in theorems if _met(t, context)]
    with flint.ctx.workprec(_precision(context)):
        premises = [_premise(guarantee) for guarantee in given]
        known: dict[Key, Known] = {}
        for premise in premises:
            _learn(known, premise, exact.ball(1))
        setting = _setting(context)
        if _directly(known, usable, premises, asked, context):
            return known
        settings = _settings(_indexes(usable, asked, premises), setting)
        ends = {(p.kind, p.index) for p in premises} | {(RDP, (("alpha", 1),)), (RDP, (("alpha", math.inf),))}
        changed: set[int] | None = None
        least = exact.ball(Fraction(share) * (1 - _FINEST))
        for _ in range(_MOST_ROUNDS):
            by_kind = _by_kind(known)
            fresh = by_kind.keys() if changed is None else {k.kind for k in known.values() if id(k) in changed}
            rows = [
                row
                for row in usable
                if not (row.given and fresh.isdisjoint(row.given)) and all(kind in by_kind for kind in row.given)
            ]
            bars = {key: tuple(value * least for value in one.values) for key, one in known.items()}
            bars_of = {kind: _bars(kind, settings, bars) for kind in {row.implies for row in rows}}
            found = [
                new
                for row in rows
                for new in _applied(row, known, by_kind, settings, bars_of[row.implies], ends, changed)
            ]
            better = {(new.kind, new.index) for new in found if _learn(known, new, least)}
            changed = {id(known[key]) for key in better}
            if not changed:
                break
        return known


def tightest(
    theorems: Sequence[Theorem], known: Mapping[Key, Known], key: Key, context: Context, share: Any = 1
) -> Known:
    """Return what is known of one kind, the parameters between moved to where each of its own is smallest.

    Every chain of theorems that comes near the best on the grid is tried, at the best of its parameters on the grid.
    """
    import flint

    best = known[key]
    if _reached(best, known, context):
        return best
    with flint.ctx.workprec(_precision(context)):
        setting, least = _setting(context), exact.ball(Fraction(min(share, _WORTH)))
        for place in range(len(best.values)):
            first = known[key]
            for chain in (first, *_alternatives(theorems, known, key, context, place)):
                same = chain is not first and first.merged is None and _alike(chain, first)
                if not same and _movable(chain):
                    best = _merge(_moved(chain, place, setting), best, least) or best
    return best


def _directly(
    known: dict[Key, Known],
    theorems: Sequence[Theorem],
    premises: Sequence[Known],
    asked: Sequence[Key],
    context: Context,
) -> bool:
    """Learn what one theorem says of all that is asked, where a known mechanism attains each; say whether all are."""
    if len(premises) != 1 or context != Context():
        return False
    setting, found = _setting(context), {}
    by_kind = _by_kind(known)
    for kind, index in asked:
        best = known.get((kind, index))
        if best is None:
            start = premises[0].kind
            rows = [row for row in theorems if row.implies is kind and row.given == (start,)]
            rows *= start in _said_at_once()[kind]
            settings = _settings({kind: [index]}, setting)
            for new in (n for row in rows for n in _applied(row, known, by_kind, settings, [None], set(), None)):
                if _finite(new) and _reached(new, known, context):
                    found[kind, index] = new
        if best is None and (kind, index) not in found:
            return False
    known.update(found)
    return True


def _reached(best: Known, known: Mapping[Key, Known], context: Context) -> bool:
    """Say whether a known mechanism attains the bound: one theorem, from all that was given, whatever the secret."""
    if best.theorem is None or best.merged is not None or context != Context():
        return False
    given = [one for one in known.values() if one.original is not None]
    return best.theorem.tight in ("equal", "attained") and len(given) == 1 and list(best.parents) == given


def _alike(one: Known, other: Known) -> bool:
    """Say whether two were derived by one theorem from the very same."""
    return one.theorem is other.theorem and list(one.parents) == list(other.parents)


def _alternatives(
    theorems: Sequence[Theorem], known: Mapping[Key, Known], key: Key, context: Context, place: int
) -> list[Known]:
    """Return other chains to a kind whose value comes near the best, each theorem and premise kind once."""
    rows = [t for t in theorems if t.implies is key[0] and t.given and _met(t, context)]
    if not any(kind in BETWEEN for row in rows for kind in row.given) or not known[key].values[place].is_finite():
        return []
    limit = known[key].values[place] * _NEAR
    found: dict[tuple[str, ...], Known] = {}
    settings, by_kind = _settings({key[0]: [key[1]]}, _setting(context)), _by_kind(known)
    for new in (n for row in rows for n in _applied(row, known, by_kind, settings, [None], set(), None)):
        if new.values[place] <= limit:
            names = (str(new.theorem and new.theorem.name), *(p.theorem.name if p.theorem else "" for p in new.parents))
            if names not in found or new.values[place] < found[names].values[place]:
                found[names] = new
    ranked = sorted(found.values(), key=lambda one: float(one.values[place].mid()))
    return ranked[:_MOST_CHAINS]


def _precision(context: Context) -> int:
    """Return the bits carried: more where 1 - p_min is close to 1, from which p_min is told by its last bits."""
    return PRECISION if context.p_min is None else PRECISION + 2 * int(1 / context.p_min).bit_length()


def _met(theorem: Theorem, context: Context) -> bool:
    return all(CONDITIONS[name][1](context) for name in theorem.needs)


def _indexes(
    theorems: Sequence[Theorem], asked: Sequence[Key], premises: Sequence[Known]
) -> dict[type[Guarantee], list[Index]]:
    """Return the parameters at which each kind is looked at: those asked for and given, and of losses those between."""
    indexes: dict[type[Guarantee], list[Index]] = {}
    # Every row that starts from pure differential privacy is attained, so that one promise of it needs no stops.
    for kind, index in asked:
        if kind.index:
            indexes.setdefault(kind, []).append(index)
    whole = any(issubclass(p.kind, LossGuarantee) for p in premises)
    if not whole and not any(issubclass(kind, LossGuarantee) for kind, _ in asked):
        return indexes
    said = [pair for index in (*(p.index for p in premises), *(index for _, index in asked)) for pair in index]
    # Who says all with probability delta keeps what has this delta, and breaks all that has less.
    most = max(dict(index)["delta"] for _, index in asked) if {kind for kind, _ in asked} <= {ADP, PDP} else None
    for kind, (name, chosen) in BETWEEN.items():
        if not any(kind in row.given for row in theorems):
            continue
        alike = [value for other, value in said if other in chosen.names]
        tried = chosen.grid if whole else chosen.grid[:1]
        between = [((name, value),) for value in (*tried, *alike, *_natural(kind, premises))]
        if most is not None and name == "delta":
            between = [index for index in between if index[0][1] <= most]
        at = indexes.setdefault(kind, [])
        at += [index for index in dict.fromkeys(between) if index not in at]
    for p in premises:
        if p.kind.index and p.kind not in BETWEEN:
            at = indexes.setdefault(p.kind, [])
            at += [p.index] * (p.index not in at)
    return indexes


def _natural(kind: type[Guarantee], premises: Sequence[Known]) -> Iterator[Any]:
    """Yield the xi at which mean-concentrated privacy is zCDP without loss, mean - tau^2 / 2; the least delta after all
    that relaxed privacy leaves open."""
    for p in premises:
        if kind is ADP and p.kind is RelaxedDP:
            yield min(Fraction(1), sum(Fraction(value) for _, value in p.index))
        if kind is ZCDP and p.original is not None and p.kind.kind == "mcdp":
            mean, tau = p.original.values().values()
            if mean < math.inf and tau < math.inf:
                yield Fraction(mean) - Fraction(tau) ** 2 / 2


def _premise(guarantee: Guarantee) -> Known:
    index = tuple((name, getattr(guarantee, name)) for name in guarantee.index)
    values = tuple(falling(name, exact.ball(getattr(guarantee, name))) for name in guarantee.bounded())
    return Known(type(guarantee), index, values, original=guarantee)


def falling(name: str, ball: Any) -> Any:
    """Return a parameter so that less of it is stronger, and back: of one that is kept from above its inverse."""
    return 1 / ball if PARAMETERS[name].at_least else ball


def _setting(context: Context) -> SimpleNamespace:
    """Return what is known of the secret, in balls."""
    return SimpleNamespace(
        p=None if context.p_min is None else exact.ball(context.p_min),
        n=None if context.n_max is None else exact.ball(context.n_max),
        prior=None if context.prior is None else [exact.ball(v) for v in context.prior if v > 0],
        whole=context.prior,
        number=exact.ball,
    )


def _tight(known: Known) -> bool:
    """Say whether one theorem said this, and the tightest there is, at every index of its own."""
    return known.theorem is not None and known.theorem.tight != "no" and known.merged is None


def _finite(known: Known | None) -> bool:
    return known is not None and all(value.is_finite() for value in known.values)


def _applied(
    row: Theorem,
    known: Mapping[Key, Known],
    by_kind: Mapping[type[Guarantee], Sequence[Known]],
    settings: Settings,
    bars: Sequence[tuple[Any, ...] | None],
    ends: set[Key],
    changed: set[int] | None,
) -> Iterator[Known]:
    """Yield what the row gives from what is known and has changed (by `id`), for every choice of its premises.

    Where a bar is set for an index, what is nowhere below it is left out.

    A row of several premises of one kind looks at those given, and at the first and last order: between them the others
    lie on curves that are known already.
    """
    if changed is not None and not row.given:
        return
    several = len(set(row.given)) < len(row.given)
    choices = [by_kind.get(kind, ()) for kind in row.given]
    if several:
        choices = [[k for k in some if (k.kind, k.index) in ends] for some in choices]
    targets, of_its_own = settings.get(row.implies if row.implies.index else None, ()), row.implies in row.given
    for parents in product(*choices):
        if changed is not None and changed.isdisjoint(map(id, parents)):
            continue
        said = len(parents) == 1 and (
            not parents[0].passed.isdisjoint(_said_at_once()[row.implies]) or (of_its_own and _tight(parents[0]))
        )
        for (index, here), bar in zip(targets, bars, strict=True):
            if of_its_own and any(p.kind is row.implies and p.index == index for p in parents):
                continue
            if said and _finite(known.get((row.implies, index))):
                continue
            values = _bound(row, here, parents)
            if bar is None or any(map(lt, values, bar)):
                yield Known(row.implies, index, values, row, parents)


def _by_kind(known: Mapping[Key, Known]) -> dict[type[Guarantee], list[Known]]:
    found: dict[type[Guarantee], list[Known]] = {}
    for one in known.values():
        found.setdefault(one.kind, []).append(one)
    return found


def _bars(
    kind: type[Guarantee], settings: Settings, bars: Mapping[Key, tuple[Any, ...]]
) -> list[tuple[Any, ...] | None]:
    """Return for each index that a kind is looked at what its values must be below to be news, None where all are."""
    return [bars.get((kind, index)) for index, _ in settings.get(kind if kind.index else None, ())]


def _settings(indexes: Mapping[type[Guarantee], Sequence[Index]], setting: SimpleNamespace) -> Settings:
    """Return what is known at each index of each kind; of kinds without an index, under None, of the secret alone."""
    at: Settings = {kind: [(index, _at(index, setting)) for index in some] for kind, some in indexes.items()}
    return {**at, None: [((), setting)]}


def _at(index: Index, setting: SimpleNamespace) -> SimpleNamespace:
    """Return what is known of the secret, and the chosen parameters, in balls."""
    return SimpleNamespace(**vars(setting), **_in_balls(index)) if index else setting


def _bound(row: Theorem, here: SimpleNamespace, parents: Sequence[Known]) -> tuple[Any, ...]:
    found = row.bound(here, *[p.terms for p in parents])
    values = found if type(found) is tuple else (found,)
    if _rises(row.implies):
        values = tuple(falling(name, v) for name, v in zip(row.implies.bounded(), values, strict=True))
    return tuple([v if v.is_finite() else INFINITY() for v in values])


@cache
def _said_at_once() -> dict[type[Guarantee], set[type[Guarantee]]]:
    """Return for each kind those of which one row says all that they say of it: chains by way of others say no more.

    The row is attained whatever the numbers, and a kind without parameters says nothing new of itself. Other rows are
    attained at some of their numbers only.
    """
    exactly = {(ADP, ADP), (PDP, PDP), (RDP, RDP), (PDP, ADP), (GDP, ADP)}
    found: dict[type[Guarantee], set[type[Guarantee]]] = defaultdict(set, {kind: {kind} for kind in (LDP, KL, TV)})
    for row in late("divulge.guarantees.theorems:all_theorems")():
        alone = row.tight in ("equal", "attained") and not row.needs and len(row.given) == 1
        if alone and (row.given[0] is LDP or (row.given[0], row.implies) in exactly):
            found[row.implies].add(row.given[0])
    return found


@cache
def _rises(kind: type[Guarantee]) -> bool:
    """Return whether a parameter of this kind is kept from above."""
    return any(PARAMETERS[name].at_least for name in kind.bounded())


def _in_balls(index: Index) -> dict[str, Any]:
    """Return chosen parameters, numbers in balls and names and metrics as they are."""
    numbers = (Fraction, float, int)
    return {name: exact.ball(value) if isinstance(value, numbers) else value for name, value in index}


def _learn(known: dict[Key, Known], new: Known, least: Any) -> bool:
    """Keep what is below a share (a ball) of the old, parameter by parameter; say whether anything changed."""
    old = known.get((new.kind, new.index))
    best = new if old is None else _merge(new, old, least)
    if best is not None:
        known[new.kind, new.index] = best
    return best is not None


def _merge(new: Known, old: Known, least: Any) -> Known | None:
    """Return the new where it is below a share (a ball) of the old, by parameters; None where it nowhere is."""
    better = [bool(a < b * least) for a, b in zip(new.values, old.values, strict=True)]
    if not any(better):
        return None
    if all(better):
        return new
    values = tuple(a if good else b for good, a, b in zip(better, new.values, old.values, strict=True))
    return replace(new, values=values, merged=old)


def _movable(known: Known) -> list[Known]:
    """Return the derived guarantees before this one whose parameter is chosen from a scale, the nearest first."""
    found: dict[Key, Known] = {}
    seen: set[int] = set()

    def walk(one: Known, end: bool) -> None:
        if id(one) in seen:
            return
        seen.add(id(one))
        if not end and one.theorem is not None and one.kind in BETWEEN and one.kind is not FDivergence:
            found.setdefault((one.kind, one.index), one)
        for parent in (*one.parents, *((one.merged,) if one.merged else ())):
            walk(parent, end and parent is one.merged)

    walk(known, True)
    return list(found.values())


def _again(known: Known, moved: Mapping[Key, Index], setting: SimpleNamespace, done: dict[int, Known]) -> Known:
    """Return the guarantee derived again by the same chain, some of the parameters between having moved."""
    if id(known) in done:
        return done[id(known)]
    if known.theorem is None:
        new = _premise(known.original) if known.original is not None else known
    else:
        parents = tuple(_again(p, moved, setting, done) for p in known.parents)
        index = moved.get((known.kind, known.index), known.index) if known.index else known.index
        values = _bound(known.theorem, _at(index, setting), parents)
        new = Known(known.kind, index, values, known.theorem, parents, known.original)
        if known.merged is not None:
            old = _again(known.merged, moved, setting, done)
            new = _merge(new, old, exact.ball(1)) or old
    done[id(known)] = new
    return new


def _moved(known: Known, place: int, setting: SimpleNamespace) -> Known:
    """Return the same chain with its parameters where one value at its end is least, by golden sections in turn."""
    import flint

    moved: dict[Key, Index] = {}
    movable = {(one.kind, one.index): one.theorem for one in _movable(known)}
    keys = [
        key for key, theorem in movable.items() if theorem and theorem.given != (MCDP,)
    ]  # `_natural` knows its best

    def at(chain: Known) -> float:
        value = chain.values[place]
        return float(value.upper()) if value.is_finite() else math.inf

    with flint.ctx.workprec(_COARSE):
        done: dict[int, Known] = {}
        best = at(_again(known, moved, setting, done))
        for _ in range(_SWEEPS if len(keys) > 1 else 1):
            before = dict(moved)
            for key in keys:
                name, chosen = BETWEEN[key[0]]
                moves = _depending(known, key)
                kept = {place: one for place, one in done.items() if place not in moves}

                def end(t: float, name: str = name, chosen: Chosen = chosen, key: Key = key, kept: Any = kept) -> float:
                    trial = {**moved, key: ((name, chosen.from_scale(t)),)}
                    return at(_again(known, trial, setting, dict(kept)))

                here = chosen.to_scale(min(exact.as_float(moved.get(key, key[1])[0][1]), _FARTHEST))
                if math.isinf(end(here - _BESIDE)) and math.isinf(end(here + _BESIDE)):
                    continue  # it serves at this value alone
                t = valley(end, *_around(chosen, here), _STEPS)
                if (found := end(t)) < best:
                    moved[key], best, done = ((name, chosen.from_scale(t)),), found, {}
                    _again(known, moved, setting, done)
            if moved == before:
                break
    return _again(known, moved, setting, {})


def _depending(known: Known, key: Key) -> set[int]:
    """Return (by `id`) what in a chain is derived from the guarantee of one kind and index, itself included."""
    found: dict[int, bool] = {}

    def walk(one: Known) -> bool:
        if id(one) not in found:
            before = [walk(parent) for parent in (*one.parents, *((one.merged,) if one.merged else ()))]
            found[id(one)] = (one.kind, one.index) == key or any(before)
        return found[id(one)]

    walk(known)
    return {place for place, depends in found.items() if depends}


def _around(chosen: Chosen, here: float) -> tuple[float, float]:
    """Return the neighbors on the grid of a value on its scale."""
    scale = sorted({chosen.to_scale(float(v)) for v in chosen.grid})
    below, above = [t for t in scale if t < here - 1e-9], [t for t in scale if t > here + 1e-9]
    return below[-1] if below else here - 1, above[0] if above else here + 1

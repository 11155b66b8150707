"""The tightest consequence of guarantees over all chains of theorems, with the chain as its derivation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import SimpleNamespace
from typing import Any

from divulge import exact
from divulge.errors import DivulgeError
from divulge.guarantees.catalog import kind_named
from divulge.guarantees.context import ULP, Context
from divulge.guarantees.guarantee import Guarantee, Unknown
from divulge.guarantees.parameters import PARAMETERS
from divulge.guarantees.theorem import CONDITIONS, Theorem
from divulge.guarantees.theorems import THEOREMS
from divulge.units import Unit

_PRECISION = 320
"""Bits carried along a chain; a result is rounded once, at its end, and up."""
_MOST_ROUNDS = 200
"""Bounds that improve each other for ever are cut off here: what is known by then is true, and all but tightest."""


@dataclass(frozen=True, repr=False)
class Step:
    """One application of a theorem: from these guarantees follows that one.

    Examples
    --------
    >>> from divulge import LDP, PML
    >>> step = PML("1/4").implies(LDP, p_min="1/2").derivation[0]
    >>> step.to_dict()["from"], type(step.gives).__name__
    ('pml=0.25', 'PMC')
    """

    theorem: Theorem
    given: tuple[Guarantee, ...]
    gives: Guarantee

    def to_dict(self, unit: Unit = "nats") -> dict[str, str]:
        """Return {"theorem", "from", "to", "source"} as text, with logarithmic parameters in `unit`.

        Examples
        --------
        >>> from divulge import LDP, PML
        >>> [step.to_dict()["theorem"] for step in LDP(1).implies(PML, p_min="1/2").derivation]
        ['LDP bounds leakage']
        """
        given = " and ".join(g.text(unit) for g in self.given) or "the context"
        return {
            "theorem": self.theorem.name,
            "from": given,
            "to": self.gives.text(unit),
            "source": self.theorem.source,
        }

    def __repr__(self) -> str:
        text = self.to_dict()
        return f"{text['from']}  =>  {text['to']}    ({text['theorem']}; {text['source']})"


_Index = tuple[tuple[str, Any], ...]
"""The chosen parameters of a kind that has some, such as the threshold of a tail."""

_Key = tuple[type[Guarantee], _Index]


@dataclass(frozen=True, eq=False)
class _Known:
    """A guarantee on the way, in balls; `near` are its values had the inputs been one rounding worse."""

    kind: type[Guarantee]
    index: _Index
    values: tuple[Any, ...]
    near: tuple[Any, ...]
    theorem: Theorem | None = None
    parents: tuple["_Known", ...] = ()
    original: Guarantee | None = None


def implied(
    given: Guarantee | Sequence[Guarantee],
    kind: Any,
    *,
    prior: Any = None,
    p_min: Any = None,
    n: Any = None,
    uniform: bool = False,
    general: bool = False,
    **index: Any,
) -> Guarantee | Unknown:
    """Return the tightest guarantee of `kind` that follows from `given`, with its derivation; or Unknown.

    Parameters
    ----------
    given : Guarantee, or several that hold at once
    kind : class of guarantee, or its name
    prior : Prior or what converts to it, optional
        The whole prior.
    p_min : number in (0, 1/2], or 1, optional
        Instead of a prior, the probability of the least likely secret (or a lower bound of it).
    n : int, optional
        The number of secrets.
    uniform : bool
        Whether the prior is uniform (with n or p_min).
    general : bool
        Whether the secret lives on a general alphabet, continuous or countable, where there is no p_min.
    **index
        The chosen parameters of kinds that have some, such as the threshold `epsilon` of `TailPML`.

    Returns
    -------
    Guarantee or Unknown
        Parameters are upper bounds: computed at 320 bits from the exact values of what was given and rounded up once,
        so never below the true bound and within one unit in the last place of it. A bound with a pole (PMC from PML
        at the edge log 1/(1 - p_min) of the high-privacy regime) is +inf when an input one rounding (2^-53,
        relative) worse would reach the pole.

    Raises
    ------
    DivulgeError
        When the context contradicts itself or an index is missing.

    Examples
    --------
    >>> from divulge import ALIP, LIP, PMC, PML
    >>> found = implied([PML("0.25"), PMC("0.5")], ALIP, p_min="1/3")
    >>> found
    ALIP(0.5, 0.25)
    >>> for step in found.derivation:
    ...     print(step.theorem.name)
    both bounds together are ALIP
    """
    return consequences(given, [(kind, index)], Context.of(prior, p_min, n, uniform, general))[0]


def consequences(
    given: Guarantee | Sequence[Guarantee],
    kinds: Sequence[tuple[Any, Mapping[str, Any]]],
    context: Context,
    unit: Unit = "nats",
    theorems: Sequence[Theorem] | None = None,
    rounding: float = 0.0,
) -> list[Guarantee | Unknown]:
    """Return what follows for each (kind, index) asked, indexes in `unit`; Unknown where nothing does.

    `theorems` is the table to search, all of `THEOREMS` when not given. A chain that is tighter by no more than a share
    `rounding` takes no one's place: of measured levels, the last bits would name another chain on another processor.
    """
    rows = THEOREMS if theorems is None else theorems
    guarantees = (given,) if isinstance(given, Guarantee) else tuple(given)
    for one in guarantees:
        DivulgeError.unless(one, Guarantee, "given", "be a guarantee, or a list of them")
    asked = [(kind_named(kind), index) for kind, index in kinds]
    return [_tightest(rows, guarantees, context, kind, _index_of(kind, index, unit), rounding) for kind, index in asked]


def _tightest(
    theorems: Sequence[Theorem],
    given: tuple[Guarantee, ...],
    context: Context,
    kind: type[Guarantee],
    index: _Index,
    rounding: float,
) -> Guarantee | Unknown:
    found = _closure(theorems, given, context, {kind: index}, rounding).get((kind, index))
    if found is None or (not any(v.is_finite() for v in found.values) and given and not _rests_on(found)):
        return Unknown(kind, _reason(given, context, kind))
    return _with_derivation(found)


def _rests_on(known: _Known) -> bool:
    """Return whether something that was given is among the premises, so that even +inf is what a theorem says of it."""
    return known.original is not None or any(map(_rests_on, known.parents))


def _index_of(kind: type[Guarantee], index: Mapping[str, Any], unit: Unit) -> _Index:
    for name in index:
        if name not in kind.index:
            raise DivulgeError.of(name, f"be a parameter that is chosen for {kind.kind}", "it", "not one of them")
    missing = [name for name in kind.index if name not in index]
    if missing:
        written = max((*kind.forms, kind.parameters()), key=len)
        form = ":".join(name.upper() if name in kind.index else "?" for name in written)
        hint = f"give {missing[0]}=..., or {kind.kind}={form} on the command line."
        raise DivulgeError.of(missing[0], f"be given, to say which {kind.kind} is asked for", "it", "absent", hint)
    probe = kind(**{name: PARAMETERS[name].high for name in kind.bounded()}, **index)
    probe = probe.read_in(unit)
    return tuple((name, getattr(probe, name)) for name in kind.index)


def _closure(
    theorems: Sequence[Theorem],
    given: tuple[Guarantee, ...],
    context: Context,
    asked: dict[type[Guarantee], _Index],
    rounding: float = 0.0,
) -> dict[_Key, _Known]:
    """Return the tightest known guarantee of each kind: rows are applied in rounds until none improves anything."""
    import flint

    usable = [t for t in theorems if all(CONDITIONS[name][1](context) for name in t.needs)]
    with flint.ctx.workprec(_PRECISION):
        settings = (_setting(context), _setting(context.nudged))
        known: dict[_Key, _Known] = {}
        for guarantee in given:
            _learn(known, _premise(guarantee), 1.0)
        rows = [t for t in usable if not t.given or {type(g) for g in given}.intersection(t.given)]
        for _ in range(_MOST_ROUNDS):
            found = [new for row in rows for new in _applied(row, known, settings, asked)]
            changed = {new.kind for new in found if _learn(known, new, 1 - rounding)}
            rows = [t for t in usable if changed.intersection(t.given)]
            if not rows:
                break
        return known


def _premise(guarantee: Guarantee) -> _Known:
    index = tuple((name, getattr(guarantee, name)) for name in guarantee.index)
    values = tuple(exact.ball(getattr(guarantee, name)) for name in guarantee.bounded())
    near = tuple(value * (1 + exact.ball(ULP)) for value in values)
    return _Known(type(guarantee), index, values, near, original=guarantee)


def _setting(context: Context) -> SimpleNamespace:
    """Return what is known of the secret, in balls."""
    return SimpleNamespace(
        p=None if context.p_min is None else exact.ball(context.p_min),
        n=None if context.n_max is None else exact.ball(context.n_max),
        prior=None if context.prior is None else [exact.ball(v) for v in context.prior if v > 0],
    )


def _applied(
    row: Theorem,
    known: dict[_Key, _Known],
    settings: tuple[SimpleNamespace, SimpleNamespace],
    asked: dict[type[Guarantee], _Index],
) -> Iterator[_Known]:
    """Yield what the row gives from what is known, for every choice of its premises."""
    import flint

    if row.implies.index and row.implies not in asked:
        return
    index = asked.get(row.implies, ())
    choices = [[k for k in known.values() if k.kind is kind] for kind in row.given]
    for parents in product(*choices):
        values, near = (
            _balls(row.bound(_indexed(setting, index), *(_names(p, part) for p in parents)))
            for setting, part in zip(settings, ("values", "near"), strict=True)
        )
        safe = tuple(flint.arb("inf") if not worse.is_finite() else v for v, worse in zip(values, near, strict=True))
        yield _Known(row.implies, index, safe, near, row, parents)


def _indexed(setting: SimpleNamespace, index: _Index) -> SimpleNamespace:
    return SimpleNamespace(**vars(setting), **_chosen(index))


def _names(known: _Known, part: str) -> SimpleNamespace:
    """Return the parameters of a known guarantee by name, in balls."""
    bounded = dict(zip(known.kind.bounded(), getattr(known, part), strict=True))
    return SimpleNamespace(**bounded, **_chosen(known.index))


def _chosen(index: _Index) -> dict[str, Any]:
    """Return chosen parameters, numbers in balls and names as they are."""
    return {name: value if isinstance(value, str) else exact.ball(value) for name, value in index}


def _balls(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _learn(known: dict[_Key, _Known], new: _Known, share: float) -> bool:
    """Keep what is below a share of the old, parameter by parameter; say whether anything changed."""
    old = known.get((new.kind, new.index))
    if old is None:
        known[new.kind, new.index] = new
        return True
    better = [bool(a < b * share) for a, b in zip(new.values, old.values, strict=True)]
    if not any(better):
        return False
    if not all(better):
        pairs = list(zip(better, new.values, old.values, new.near, old.near, strict=True))
        values = tuple(a if good else b for good, a, b, _, _ in pairs)
        near = tuple(a if good else b for good, _, _, a, b in pairs)
        parents = new.parents if old in new.parents or old.theorem is None else (*new.parents, old)
        new = replace(new, values=values, near=near, parents=parents)
    known[new.kind, new.index] = new
    return True


def _guarantee(known: _Known) -> Guarantee:
    """Return the guarantee with its parameters rounded up."""
    if known.original is not None:
        return known.original
    values = dict(zip(known.kind.bounded(), (_rounded(v, n) for v, n in _named(known)), strict=True))
    return known.kind(**values, **dict(known.index))


def _named(known: _Known) -> list[tuple[Any, str]]:
    return list(zip(known.values, known.kind.bounded(), strict=True))


def _rounded(ball: Any, name: str) -> float:
    """Return the ball rounded up, and back into the range of the parameter where its radius left it."""
    return PARAMETERS[name].clamped(exact.round_up(ball))


def _with_derivation(known: _Known) -> Guarantee:
    steps: list[Step] = []
    _collect(known, steps, {})
    return replace(_guarantee(known), derivation=tuple(steps))


def _collect(known: _Known, steps: list[Step], seen: dict[int, Guarantee]) -> Guarantee:
    """Append the steps that lead to `known`, premises first, each once; return its guarantee."""
    if id(known) in seen:
        return seen[id(known)]
    given = tuple(_collect(parent, steps, seen) for parent in known.parents)
    gives = _guarantee(known)
    if known.theorem is not None:
        steps.append(Step(known.theorem, given, gives))
    seen[id(known)] = gives
    return gives


def _reason(given: tuple[Guarantee, ...], context: Context, target: type[Guarantee]) -> str:
    """Say why nothing follows: no theorem at all, or which knowledge of the secret would let one apply."""
    start = {type(g) for g in given}
    if context.general and target in _reachable(start, set(CONDITIONS), target):
        return f"{_GENERAL} leads to {target.kind} from {' and '.join(g.kind for g in given)}."
    met = {name for name, (_, test) in CONDITIONS.items() if test(context)}
    helps = [name for name in CONDITIONS if name not in met and target in _reachable(start, met | {name}, target)]
    names = " and ".join(g.kind for g in given) or "nothing"
    if helps:
        words = " or ".join(CONDITIONS[name][0] for name in helps)
        return f"nothing known leads to {target.kind} from {names} without {words}."
    if target in _reachable(start, set(CONDITIONS), target):
        return f"nothing known leads to {target.kind} from {names} without more knowledge of the prior."
    return f"nothing known leads to {target.kind} from {names}."


_GENERAL = (
    "a secret on a general alphabet has no p_min, so a bound on the leakage says nothing about the cost, and a bound "
    "on the cost gives some bound on the leakage and on the ratio of rows, but no number: nothing known"
)


def _reachable(start: set[type[Guarantee]], granted: set[str], target: type[Guarantee]) -> set[type[Guarantee]]:
    """Return the kinds that rows lead to when the conditions `granted` hold, whatever the values."""
    rows = [t for t in THEOREMS if granted.issuperset(t.needs) and (not t.implies.index or t.implies is target)]
    reached = set(start)
    while True:
        new = {t.implies for t in rows if t.given and reached.issuperset(t.given)} - reached
        if not new:
            return reached
        reached |= new

"""The tightest consequence of guarantees over all chains of theorems, with the chain as its derivation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from typing import Any

from divulge import exact
from divulge.errors import DivulgeError
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.inverse import least_delta
from divulge.guarantees.calculus.rationally import Rationally
from divulge.guarantees.calculus.search import BETWEEN, Index, Key, Known, closure, falling, tightest
from divulge.guarantees.calculus.theorem import CONDITIONS, Theorem
from divulge.guarantees.catalog import kind_named
from divulge.guarantees.guarantee import Guarantee, Unknown, checked_index
from divulge.guarantees.kinds.density import LDP
from divulge.guarantees.kinds.divergences import FDivergence
from divulge.guarantees.kinds.loss import KL, RDP, AbsChi
from divulge.guarantees.parameters import PARAMETERS
from divulge.guarantees.theorems import THEOREMS
from divulge.model.accepted import PriorLike
from divulge.model.arraylike import Number
from divulge.model.shown import Shown
from divulge.units import Unit

_SAMPLES = (0.0, 1e-12, 1e-6, 1e-2, 0.3)
"""Deltas at which is seen by which theorems the epsilon follows, before the delta of an epsilon is searched for."""


@dataclass(frozen=True, repr=False)
class Step(Shown):
    """One application of a theorem: from these guarantees follows that one.

    Examples
    --------
    >>> step = dv.PML("1/4").implies(dv.LDP, p_min="1/2").derivation[0]
    >>> step.to_dict()["from"], type(step.gives).__name__
    ('pml=0.25', 'PMC')
    """

    theorem: Theorem
    given: tuple[Guarantee, ...]
    gives: Guarantee
    assumed: tuple[str, ...] = ()

    def to_dict(self, unit: Unit = "nats") -> dict[str, str]:
        """Return {"theorem", "from", "to", "source"} as text, logarithms in `unit`; and what is assumed, if anything.

        Examples
        --------
        >>> [step.to_dict()["theorem"] for step in dv.LDP(1).implies(dv.PML, p_min="1/2").derivation]
        ['LDP bounds leakage']
        """
        given = " and ".join(g.text(unit) for g in self.given) or "the context"
        assumed = {"assuming": ", ".join(self.assumed)} if self.assumed else {}
        return {
            "theorem": self.theorem.name,
            "from": given,
            "to": self.gives.text(unit),
            "source": self.theorem.source,
            **assumed,
        }

    def __repr__(self) -> str:
        text = self.to_dict()
        assumed = f"; assuming {text['assuming']}" if self.assumed else ""
        return f"{text['from']}  =>  {text['to']}    ({text['theorem']}; {text['source']}{assumed})"


"""The chosen parameters of a kind that has some, such as the threshold of a tail."""


def implied(
    given: Guarantee | Sequence[Guarantee],
    kind: type[Guarantee] | str,
    *,
    prior: PriorLike | None = None,
    p_min: Number | None = None,
    n: int | None = None,
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
        Parameters are upper bounds: exact where the bound is a rational number, else computed at 320 bits from the
        exact values of what was given and rounded up once, so never below the true bound and within one unit in the
        last place of it. The orders and deltas of what stands
        between are searched for, to about 1e-8 of the best bound.

    Raises
    ------
    DivulgeError
        When the context contradicts itself or an index is missing.

    Examples
    --------
    >>> found = implied([dv.PML("0.25"), dv.PMC("0.5")], dv.ALIP, p_min="1/3")
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
    named = [(kind_named(kind), index) for kind, index in kinds]
    turned = {i for i, (kind, index) in enumerate(named) if kind.dual and set(index) == {kind.dual}}
    keys = [(kind, _index_of(kind, index, unit)) for i, (kind, index) in enumerate(named) if i not in turned]
    known = closure(rows, guarantees, context, keys, 1 - rounding)
    chained = _Derivations(context)
    straight = iter([_answer(rows, known, key, guarantees, chained, 1 - rounding) for key in keys])
    return [
        _turned(rows, guarantees, kind, index, context, unit) if i in turned else next(straight)
        for i, (kind, index) in enumerate(named)
    ]


def _turned(
    theorems: Sequence[Theorem],
    given: tuple[Guarantee, ...],
    kind: type[Guarantee],
    index: Mapping[str, Any],
    context: Context,
    unit: Unit,
) -> Guarantee | Unknown:
    """Return the guarantee of least delta at the epsilon chosen, by the theorems that serve at some deltas."""
    chosen: dict[str, Any] = {**index, **dict.fromkeys(kind.index, 0)}
    epsilon = getattr(kind(**chosen).read_in(unit), kind.dual)
    found: dict[float, Guarantee | Unknown] = {}
    rows = theorems

    def epsilon_at(delta: float) -> float:
        found[delta] = consequences(given, [(kind, {kind.index[0]: delta})], context, theorems=rows)[0]
        answer = found[delta]
        return float(getattr(answer, kind.dual)) if isinstance(answer, Guarantee) else math.inf

    used: set[str] = set()
    for delta in _SAMPLES:
        epsilon_at(delta)
        used.update(step.theorem.name for step in getattr(found[delta], "derivation", ()))
    rows = [row for row in theorems if row.name in used]
    named = ("delta", "outside", "distance")
    own = [exact.as_float(value) for g in given for name, value in g.values().items() if name in named]
    delta = least_delta(epsilon_at, float(epsilon), own)
    if delta == math.inf:
        return _nothing(given, context, kind)
    return replace(found[delta], **{kind.dual: epsilon})


def _answer(
    theorems: Sequence[Theorem],
    known: Mapping[Key, Known],
    key: Key,
    given: tuple[Guarantee, ...],
    chained: "_Derivations",
    share: float,
) -> Guarantee | Unknown:
    found, context = known.get(key), chained.context
    if found is None or (not any(v.is_finite() for v in found.values) and given and not _rests_on(found)):
        return _nothing(given, context, key[0])
    return chained.derived(tightest(theorems, known, key, context, share))


def _rests_on(known: Known) -> bool:
    """Return whether something that was given is among the premises, so that even +inf is what a theorem says of it."""
    return known.original is not None or any(map(_rests_on, known.parents))


def _index_of(kind: type[Guarantee], index: Mapping[str, Any], unit: Unit) -> Index:
    checked_index(kind, index)
    probe = kind(**{name: PARAMETERS[name].weakest for name in kind.bounded()}, **index)
    probe = probe.read_in(unit)
    return tuple((name, getattr(probe, name)) for name in kind.index)


def _in_range(index: Index) -> dict[str, Any]:
    """Return the parameters that are chosen; one below all doubles, as xi can be, is raised to the least of them."""
    return {name: max(value, PARAMETERS[name].low) if isinstance(value, Real) else value for name, value in index}


def _rounded(ball: Any, exactly: Any, name: str) -> Any:
    """Return the exact value, or the ball rounded to the safe side and back into the range that its radius left."""
    ball = falling(name, ball)
    if isinstance(exactly, Fraction) and ball.overlaps(exact.arb(exactly)):
        double = exact.as_float(exactly)
        return double if double in (exactly, math.inf) else exactly
    rounded = exact.round_down if PARAMETERS[name].at_least else exact.round_up
    return PARAMETERS[name].clamped(rounded(ball))


class _Derivations:
    """What is known in a context, as guarantees with rounded parameters: each once, whatever follows from it."""

    def __init__(self, context: Context) -> None:
        self.context, self._assumed = context, context.assumed
        self._rationally = Rationally(context)
        self._gives: dict[Known, Guarantee] = {}

    def derived(self, known: Known) -> Guarantee:
        """Return a guarantee with the steps that lead to it."""
        steps: list[Step] = []
        return replace(self._collect(known, steps, set()), derivation=tuple(steps))

    def _collect(self, known: Known, steps: list[Step], seen: set[Known]) -> Guarantee:
        """Append the steps that lead to `known`, premises first, each once; return its guarantee."""
        gives = self._guarantee(known)
        if known in seen:
            return gives
        premises = known.parents
        if known.merged is not None and known.merged not in premises:
            premises = (*premises, known.merged)
        given = tuple(self._collect(parent, steps, seen) for parent in premises)
        if known.theorem is not None:
            needed = tuple(self._assumed[name] for name in known.theorem.needs if name in self._assumed)
            steps.append(Step(known.theorem, given, gives, needed))
        seen.add(known)
        return gives

    def _guarantee(self, known: Known) -> Guarantee:
        """Return the guarantee with its parameters rounded to the safe side, but for those that are rational."""
        if known not in self._gives:
            self._gives[known] = self._rounded(known) if known.original is None else known.original
        return self._gives[known]

    def _rounded(self, known: Known) -> Guarantee:
        found = zip(known.values, self._rationally.values(known), known.kind.bounded(), strict=True)
        values = {name: _rounded(ball, exactly, name) for ball, exactly, name in found}
        return known.kind(**values, **_in_range(known.index))


def _nothing(given: tuple[Guarantee, ...], context: Context, target: type[Guarantee]) -> Unknown:
    """Return why no number follows: theorems lead there and say nothing at these numbers, or none does."""
    start, met = {type(g) for g in given}, {name for name, (_, test) in CONDITIONS.items() if test(context)}
    if target in _reachable(start, met, target):
        names = " and ".join(g.kind for g in given)
        reason = f"theorems lead to {target.kind} from {names}, and at these numbers none of them promises anything."
        return Unknown(target, reason, vacuous=True)
    return Unknown(target, _reason(given, context, target))


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
    "on the cost bounds the total variation of rows and each event by its own probability, but neither the leakage nor "
    "the ratio of rows (the truth with probability 1/2, else a draw from the prior): nothing known"
)


def _reachable(start: set[type[Guarantee]], granted: set[str], target: type[Guarantee]) -> set[type[Guarantee]]:
    """Return the kinds that rows lead to when the conditions `granted` hold, whatever the values.

    A kind whose parameter was chosen on the way has but one value of it from which a row leads back (a delta of 0 or an
    order of +inf to pure privacy, an order of 2 to Renyi divergences), and that came from there: such rows count for
    what was given.
    """
    rows = [t for t in THEOREMS if granted.issuperset(t.needs) and t.given]
    rows = [t for t in rows if not t.implies.index or t.implies is target or t.implies in BETWEEN]
    rows = [t for t in rows if start.issuperset(t.given) or not _leads_back(t)]
    reached = set(start)
    while True:
        new = {t.implies for t in rows if reached.issuperset(t.given)} - reached
        if not new:
            return reached
        reached |= new


def _leads_back(row: Theorem) -> bool:
    """Return whether a row serves at one value alone of a parameter that is chosen on the way."""
    pure = row.implies is LDP and not BETWEEN.keys().isdisjoint(row.given)
    return pure or (row.implies in (KL, RDP, AbsChi) and not {FDivergence, AbsChi}.isdisjoint(row.given))

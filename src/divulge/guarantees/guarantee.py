"""What a guarantee is: terms that say how much there is of it in a mechanism, and whether a mechanism keeps it."""

import html
import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from numbers import Rational
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np

from divulge import exact
from divulge.adversaries.attack import Attack
from divulge.dp.subjects import Losses, SubjectLike
from divulge.errors import DivulgeError, printable
from divulge.guarantees.deciding.levels import Level, Witness
from divulge.guarantees.parameters import PARAMETERS
from divulge.guarantees.terms import Terms, promise_text
from divulge.late import late
from divulge.model.accepted import JointLike, NoiseOnNumbers, UnderPrior, WithoutMatrix
from divulge.model.convert import as_channel, as_joint, is_pair, of_structure
from divulge.model.joint import Joint
from divulge.model.shown import Shown, promised, reached
from divulge.ties import first_smallest
from divulge.units import Unit, nats_per


class HasSubject(Protocol):
    """A result that says what of it a kind of guarantee is about, as the assessment of a table does."""

    def subject_of(self, kind: Any) -> Any:
        """Return what the kind is decided on."""
        ...


Released: TypeAlias = JointLike | SubjectLike | HasSubject
"""What may keep a guarantee: a mechanism with its prior or without, its privacy losses, the assessment of a table."""
Subject: TypeAlias = (
    Joint | Losses | dict[Hashable, np.ndarray] | np.ndarray | NoiseOnNumbers | WithoutMatrix | UnderPrior
)
"""What kinds are decided on: a joint, a channel, privacy losses, states of secrets, sizes of groups; noise, a protocol
without or with a prior."""


@dataclass(frozen=True, repr=False)
class Guarantee(Terms):
    """A promise with parameters. Each kind is a frozen subclass; equal kind and parameters are equal guarantees.

    Beside what it says (`Terms`), a kind says `about` (whether it is a property of a "joint" or of a "channel" alone)
    and `levels`: how much of it there is in a mechanism, one level for each parameter that is not an index.

    Examples
    --------
    >>> dv.PML("1/4"), dv.PML("1/4") == dv.PML(0.25), str(dv.PML(0.25))
    (PML('0.25'), True, 'pml=0.25')
    >>> dv.PML(1).meaning.split(",")[0], dv.PML(1).values()
    ('Whatever outcome is seen', {'epsilon': Fraction(1, 1)})
    """

    about: ClassVar[str] = "joint"
    strict: ClassVar[bool] = False
    """Whether what is bounded stays below its parameter, and may not be equal."""

    dual: ClassVar[str] = ""
    """The bounded parameter that may be chosen in place of the index, of a kind that is a curve: epsilon of delta."""

    @abstractmethod
    def levels(self, subject: Any) -> tuple[Level, ...]:
        """Return how much there is of each bounded parameter in a Joint or Channel, in the order of `bounded`.

        Examples
        --------
        >>> joint = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
        >>> [round(level.value, 6) for level in dv.PML(1).levels(joint)]  # log 3/2
        [0.405465]
        """

    def levels_in(self, unit: Unit, subject: Any) -> tuple[Level, ...]:
        """Return the levels, in nats, with the index in `unit`: a logarithm that is irrational in nats rounded down.

        Examples
        --------
        >>> joint = Joint(["1/2", "1/2"], [[1, 0], [0, 1]])
        >>> dv.guarantees.TailPML(1, 0).levels_in("bits", joint)[0].value  # the leakage is one bit, and no more
        Fraction(0, 1)
        """
        asked = self if unit == "nats" else self._read_in(unit, self.index, to_keep=True)
        return asked.levels(subject)

    @classmethod
    def subject(cls, released: Released) -> Subject:
        """Return `released` as the object the kind is a property of.

        Examples
        --------
        >>> dv.LDP.subject([["3/4", "1/4"], ["1/4", "3/4"]]).shape
        (2, 2)
        """
        own = getattr(of_structure(released) or released, "subject_of", None)
        if own is not None:
            return own(cls)
        if cls.about == "joint":
            return as_joint(released)
        return as_channel(as_joint(released) if is_pair(released) else released)

    def holds_for(self, released: Released, unit: Unit = "nats") -> "Verdict":
        """Return whether a mechanism keeps this guarantee, with the measured value, the slack and a witness.

        Parameters
        ----------
        released : Joint (or what converts to it), a Channel for kinds that need no prior, or a NoiseMechanism
        unit : "nats" or "bits"
            What the logarithmic parameters of this guarantee and the measured values are in.

        Returns
        -------
        Verdict
            Decided exactly, at equality too: ratios of fractions are compared with e^epsilon in ball arithmetic, and a
            float parameter counts at its exact value. Float entries stand for the fractions they are in proportion
            to, each distribution over its exact sum. Suprema over orders, tests and priors are decided so too. Of
            named mechanisms and promises what has a closed form is; what is computed in doubles must lie below the
            bound by more than it may be off, and what cannot be decided does not hold. Of noise on a number suprema,
            tails and means are known in brackets: where one has the bound inside, the verdict is `undecided`.

        Examples
        --------
        >>> verdict = dv.LDP(1).holds_for([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> verdict.holds, verdict.measured, verdict.witness.outcome
        (False, 1.098612288..., 0)
        """
        subject = self.subject(released)
        levels = zip(self.bounded(), _levels(self, unit, subject), strict=True)
        found = {name: level.to(unit) if PARAMETERS[name].logarithmic else level for name, level in levels}
        slack = {name: _slack(name, getattr(self, name), level.value) for name, level in found.items()}
        hardest = list(slack)[first_smallest(list(slack.values())) if len(slack) > 1 else 0]
        values = {name: level.value for name, level in found.items()}
        broken = [name for name, level in found.items() if not self._keeps(name, level)]
        undecided = bool(broken) and all(found[name].open(getattr(self, name)) for name in broken)
        return Verdict(not broken, self, values, slack[hardest], found[hardest], unit, subject, hardest, undecided)

    def _keeps(self, name: str, level: Level) -> bool:
        bound = getattr(self, name)
        if PARAMETERS[name].at_least:
            return level.at_least(bound)
        return level.below(bound) if self.strict else level.at_most(bound)

    @classmethod
    def of(cls, released: Released, **index: Any) -> Self:
        """Return the strongest guarantee of this kind that a mechanism keeps: its measured values, rounded up.

        Of floats it covers the fractions they stand for, and their values as they are, whose rows may not sum to 1.

        Kinds with an index (such as the threshold of a tail) take it by name.

        Examples
        --------
        >>> dv.guarantees.BayesCapacity.of([["3/4", "1/4"], ["1/4", "3/4"]])
        BayesCapacity('1.5')
        """
        usual = {f.name: f.default for f in fields(cls) if f.name in cls.index and f.default is not MISSING}
        checked_index(cls, {**usual, **index})
        loosest = cls(**{name: PARAMETERS[name].weakest for name in cls.bounded()}, **index)
        levels = zip(cls.bounded(), _levels(loosest, "nats", cls.subject(released)), strict=True)
        return cls(**{name: PARAMETERS[name].clamped(cls._safe(name, level)) for name, level in levels}, **index)

    @classmethod
    def _safe(cls, name: str, level: Level) -> Any:
        """Return the strongest parameter that a level keeps."""
        if PARAMETERS[name].at_least:
            return level.floor()
        return level.above() if cls.strict else level.bound()

    def implies(self, kind: "type[Guarantee] | str", *others: "Guarantee", **context: Any) -> "Guarantee | Unknown":
        """Return the tightest guarantee of `kind` that follows, with its derivation; or Unknown with the reason.

        Parameters
        ----------
        kind : class of guarantee, such as `LDP`, or its name
        *others : guarantees that hold as well
        **context
            What is known of the secret: `prior`, `p_min`, `n`, `uniform`; see `implied`. Index parameters of `kind`
            are given here too.

        Returns
        -------
        Guarantee or Unknown
            Parameters are rounded up, so the guarantee is never stronger than what was proved.

        Examples
        --------
        >>> dv.PML("1/4").implies(dv.LDP, p_min="1/2")
        LDP(0.584110610...)
        >>> print(dv.PML(1).implies(dv.LDP))
        unknown: nothing known leads to ldp from pml without p_min.
        """
        return late("divulge.guarantees.calculus.implication:implied")((self, *others), kind, **context)

    def stronger_than(self, other: "Guarantee", **context: Any) -> bool:
        """Say whether a theorem shows that this guarantee implies `other` in the context; False means not shown.

        Examples
        --------
        >>> dv.LDP(1).stronger_than(dv.PML(1)), dv.PML(1).stronger_than(dv.LDP(1))
        (True, False)
        """
        index = {name: getattr(other, name) for name in other.index}
        found = self.implies(type(other), **index, **context)
        if not isinstance(found, Guarantee):
            return False
        pairs = [(name, getattr(found, name), getattr(other, name)) for name in other.bounded()]
        return all(own >= asked if PARAMETERS[name].at_least else own <= asked for name, own, asked in pairs)


def checked_index(kind: type[Guarantee], index: Mapping[str, Any]) -> None:
    """Refuse parameters that are not chosen for a kind, and one that is and is absent."""
    for name in index:
        if name not in kind.index:
            chosen = ", ".join(kind.index) or "none"
            raise DivulgeError.of(name, f"be a parameter that is chosen for {kind.kind}", "it", f"not one ({chosen})")
    for name in kind.index:
        if name not in index:
            written = max((*kind.forms, kind.parameters()), key=len)
            form = ":".join(one.upper() if one in kind.index else "?" for one in written)
            hint = f"give {name}=..., or {kind.kind}={form} on the command line."
            raise DivulgeError.of(name, f"be given, to say which {kind.kind} is asked for", "it", "absent", hint)


@dataclass(frozen=True)
class Unknown(Shown):
    """Nothing is claimed: no chain of theorems leads to this kind, or one does and says nothing. It counts as False.

    Attributes
    ----------
    kind : class of guarantee
    reason : str
    vacuous : bool
        Whether theorems lead to the kind, and promise nothing at the numbers given.

    Examples
    --------
    >>> answer = dv.PML(1).implies(dv.LDP)  # nothing is known of the prior
    >>> bool(answer), answer.reason
    (False, 'nothing known leads to ldp from pml without p_min.')
    >>> dv.ADP("0.3", "0.4").implies(dv.guarantees.PDP, epsilon="0.6").vacuous  # a delta of 1 follows, and says nothing
    True
    """

    kind: type[Guarantee]
    reason: str
    vacuous: bool = False

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"{'vacuous' if self.vacuous else 'unknown'}: {self.reason}"


@dataclass(frozen=True, repr=False)
class Verdict:
    """Whether a guarantee holds for a mechanism. Its truth value is `holds`.

    Attributes
    ----------
    holds : bool
    guarantee : Guarantee
        What was asked.
    levels : dict
        {parameter: measured value}.
    slack : float
        Allowed minus measured, of the parameter with the least room; negative when the guarantee fails.
    level : Level
        The measurement with the least room.
    unit : "nats" or "bits"
        What logarithmic numbers are in.
    subject : Joint, Channel or mechanism
        What was measured.
    tested : str
        The parameter with the least room.
    undecided : bool
        Whether it does not hold only because a bracket of the measurement has the bound inside.

    Examples
    --------
    >>> verdict = dv.guarantees.BayesCapacity("4/3").holds_for([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> verdict.holds, verdict.measured, verdict.margin
    (False, Fraction(3, 2), 0.0)
    >>> verdict.slack < 0
    True
    """

    holds: bool
    guarantee: Guarantee
    levels: dict[str, float | Fraction] = field(hash=False)
    slack: float
    level: Level
    unit: Unit = "nats"
    subject: Subject | None = field(default=None, compare=False)
    tested: str = ""
    undecided: bool = False

    def __reduce__(self) -> Any:
        """Travel between processes as the question, which is decided there again: levels hold functions."""
        return type(self.guarantee).holds_for, (self.guarantee, self.subject, self.unit)

    @property
    def attack(self) -> "Attack | None":
        """The adversary who attains what was measured, at the witness; None for means and tails.

        For kinds that hold whatever the prior, one who was almost sure of another secret, and was wrong.

        Examples
        --------
        >>> attack = dv.PML(0.3).holds_for([["3/8", "1/8"], ["1/8", "3/8"]]).attack
        >>> attack.before, attack.after
        (Fraction(1, 1), Fraction(3, 2))
        """
        return late("divulge.guarantees.deciding.attacks:attack_of")(self)

    @property
    def measured(self) -> float | Fraction | dict[str, float | Fraction]:
        """The measured value; for kinds that bound several parameters a dict {parameter: value}."""
        return next(iter(self.levels.values())) if len(self.levels) == 1 else dict(self.levels)

    @property
    def witness(self) -> Witness:
        """Where the guarantee fails, or is tested hardest when it holds."""
        return self.level.witness

    @property
    def margin(self) -> float:
        """A bound of how far the measured value may be from the exact one: 0 when it is exact or correctly rounded.

        The verdict does not depend on it.
        """
        return self.level.margin

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return {"holds", "guarantee", "measured", "slack", "margin", "witness"} with floats; fractions as text too.

        The logarithms of a verdict in nats are given in `unit`.

        Examples
        --------
        >>> verdict = dv.LDP(1).holds_for([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> verdict.to_dict()["holds"], verdict.to_dict()["measured"]
        (False, 1.098612288...)
        """
        scales = {name: nats_per(unit) if PARAMETERS[name].logarithmic else 1.0 for name in self.levels}
        levels = {name: float(value) / scales[name] for name, value in self.levels.items()}
        exact_levels = {
            name: str(value) for name, value in self.levels.items() if isinstance(value, Rational) and scales[name] == 1
        }
        exactly = self.witness.exactly(self.subject)
        return {
            "holds": self.holds,
            "guarantee": self.guarantee.to_dict(unit),
            "measured": next(iter(levels.values())) if len(levels) == 1 else levels,
            "slack": self.slack / scales.get(self.tested, 1.0),
            "margin": self.margin / scales.get(self.tested, 1.0),
            "witness": self.witness.to_dict() | ({"exact": exactly} if exactly else {}),
            **({"exact": exact_levels} if exact_levels else {}),
            **({"undecided": True} if self.undecided else {}),
        }

    def __bool__(self) -> bool:
        return self.holds

    def _repr_html_(self) -> str:
        head, *rest = repr(self).split("\n")
        color = "#007a33" if self.holds else "#b00020"
        lines = "".join(f"<br>{html.escape(printable(line))}" for line in rest)
        return f'<p><strong style="color: {color}">{html.escape(printable(head))}</strong>{lines}</p>'

    def __repr__(self) -> str:
        measured = ", ".join(f"{name} {promise_text(name, value)}" for name, value in self.levels.items())
        measured += "" if self.unit == "nats" else f" in {self.unit}"
        bracketed = self.level.least is not None
        how = "bracketed" if bracketed else "decided exactly" if self.level.certain else "compared as computed"
        verdict = "holds" if self.holds else "is undecided" if self.undecided else "does not hold"
        close = not self.holds and abs(self.slack) <= self.margin < math.inf
        missed = ", more than claimed by less than the entries are rounded" if close else ""
        if self.undecided:
            least = 0.0 if self.level.least is None else self.level.least
            measured, missed = f"{self.tested} at least {reached(least)}, at most {promised(self.level.bound())}", ""
        head = f"{self.guarantee.label} {verdict}: measured {measured}{missed} ({how})"
        return f"{head}\n{self.witness.adversary}" if self.witness.adversary else head


def _levels(guarantee: Guarantee, unit: Unit, subject: Subject) -> tuple[Level, ...]:
    """Return the levels, in nats, with the index in `unit`; of noise on a number by its suprema, tails and means."""
    if hasattr(subject, "pml_supremum"):
        return late("divulge.guarantees.deciding.noisy:levels")(guarantee, subject, unit)
    if of_structure(subject) is not None:
        return late("divulge.guarantees.deciding.protocols:levels")(guarantee, subject)
    return guarantee.levels_in(unit, subject)


def _slack(name: str, allowed: Any, measured: Any) -> float:
    """Return allowed less measured; of what is at least its parameter measured less allowed."""
    if PARAMETERS[name].at_least:
        allowed, measured = measured, allowed
    if exact.is_infinite(allowed):
        return math.inf
    if exact.is_infinite(measured):
        return -math.inf
    if isinstance(allowed, Rational) and isinstance(measured, Rational):
        slack = Fraction(allowed) - Fraction(measured)
        return exact.as_float(slack) if slack >= 0 else -exact.as_float(-slack)
    return exact.as_float(allowed) - exact.as_float(measured)


GuaranteeLike: TypeAlias = Guarantee | str
"""A guarantee, or text such as "pml=0.5"."""
GuaranteesLike: TypeAlias = GuaranteeLike | Sequence[GuaranteeLike]
"""One, or several."""

"""What a table tells somebody who knows some columns: who could be found, and what would be learned about them."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError, number_of
from divulge.guarantees.catalog import as_guarantees
from divulge.guarantees.guarantee import Guarantee, GuaranteesLike, Verdict
from divulge.measures.robust import ConvexHull
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.entries import whole_number
from divulge.model.joint import Joint
from divulge.model.labels import alignment
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled
from divulge.tables import models, population, reduction
from divulge.tables.columns import ColumnRisk, Disclosure, disclosure, risks, share_bounds
from divulge.tables.groups import Groups
from divulge.tables.notes import caveats

if TYPE_CHECKING:
    from divulge.files.hierarchies import Hierarchy

MOST_ENTRIES = 1 << 22
"""Entries of the joint of secret and group, each a Fraction: half a gigabyte; larger ones are not written out."""


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Tabled, Record):
    """What a table tells those who know some columns of a person: exact, about the rows of this table.

    A row is drawn uniformly; its group, the values of the known columns, is what somebody sees of it.

    Attributes
    ----------
    by_group : Groups
        The groups, and the rows of each secret value in them.
    alone : tuple of Assessment
        Of several sensitive columns the assessment of each alone; this one is about all of them jointly.
    confidence : float
        Of the bounds about people like these, all at once.
    outside : Fraction or None
        With a second table for the population: the journalist's risk, one over the smallest group of the population
        that a row of this table is in.
    size : int or None
        The number of people of whom the rows are a sample, for estimates.
    left_out : {column: why}
        Columns that were not named and whose values cannot be told apart.

    Examples
    --------
    >>> people = {"age": ["old"] * 3 + ["young"] * 5, "ill": ["yes", "yes", "no", "yes"] + ["no"] * 4}
    >>> found = dv.assess(people, known=["age"], secret="ill")
    >>> found.k, found.groups, found.marketer, found.lift, found.t
    (3, 2, Fraction(1, 4), Fraction(16, 9), Fraction(7, 24))
    >>> found.worst.group, found.worst.value, found.worst.before, found.worst.after
    ({'age': 'old'}, 'yes', Fraction(3, 8), Fraction(2, 3))
    >>> found.holds("k=3"), found.holds(["k=3", "pml=0.5"])
    (True, False)
    """

    by_group: Groups
    alone: tuple["Assessment", ...] = ()
    confidence: float = 0.95
    outside: Fraction | None = None
    size: int | None = None
    hierarchy: "Hierarchy | None" = field(default=None, compare=False)
    pairs: bool = True
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that somebody may know."""
        return self.by_group.known

    @property
    def secret(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.by_group.secret

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.by_group.rows

    @property
    def groups(self) -> int:
        """The number of groups, combinations of known values that occur: the multiplicative leakage of the row."""
        return len(self.by_group)

    @cached_property
    def k(self) -> int:
        """The rows of the smallest group; 1/k is the prosecutor's risk."""
        return models.k(self.by_group).value

    @cached_property
    def uniques(self) -> Fraction:
        """The share of rows that share their known values with no other row."""
        return Fraction(int((self.by_group.sizes == 1).sum()), self.rows)

    @property
    def marketer(self) -> Fraction:
        """The marketer's risk, groups / rows: the Bayes vulnerability of the row."""
        return Fraction(self.groups, self.rows)

    @property
    def journalist(self) -> Fraction | None:
        """The journalist's risk, one over the smallest group in the population; None without a table of it."""
        return self.outside

    @cached_property
    def _lift(self) -> models.Extreme:
        return models.lift(self._sensitive)

    @cached_property
    def _least_lift(self) -> models.Extreme:
        return models.least_lift(self._sensitive)

    @property
    def _sensitive(self) -> Groups:
        if not self.secret:
            raise DivulgeError.of("secret", "name a sensitive column for this", "it", "absent")
        return self.by_group

    @property
    def lift(self) -> Fraction:
        """The largest factor by which a value becomes more likely in a group."""
        return self._lift.value

    @property
    def least_lift(self) -> Fraction:
        """The smallest factor; 0 where a group rules a value out."""
        return self._least_lift.value

    @cached_property
    def pml(self) -> float:
        """The largest pointwise maximal leakage of a group, log of the largest lift; nats."""
        return exact.log(self.lift)

    @cached_property
    def pmc(self) -> float:
        """The largest pointwise maximal cost of a group, -log of the smallest lift; nats, inf where that is 0."""
        return exact.log(1 / self.least_lift) if self.least_lift else math.inf

    @property
    def lip(self) -> float:
        """The larger of the two: delta-disclosure privacy holds for every delta above it."""
        return max(self.pml, self.pmc)

    @cached_property
    def t(self) -> Fraction:
        """The largest total variation of group and table: t-closeness with equal distances."""
        return models.t(self._sensitive).value

    @cached_property
    def ordered_t(self) -> Fraction:
        """The largest distance of cumulative shares, over m - 1: t-closeness of ordered values."""
        return models.ordered_t(self._sensitive).value

    @cached_property
    def hierarchical_t(self) -> Fraction:
        """The largest earth mover's distance over the hierarchy of the secret: t-closeness, hierarchical distance."""
        if self.hierarchy is None:
            raise DivulgeError.of("hierarchies", f"have one of {', '.join(self.secret)!r}", "it", "without")
        return models.hierarchical_t(self._sensitive, self.hierarchy).value

    @cached_property
    def certainty(self) -> Fraction:
        """The largest share of a value in a group: alpha of (alpha, k)-anonymity."""
        return models.certainty(self._sensitive).value

    def certainty_beside(self, others: int) -> Fraction:
        """Return the largest share of a value for somebody who knows so many others of the group, with other values.

        Examples
        --------
        >>> people = {"age": ["old"] * 4, "ill": ["yes", "yes", "no", "no"]}
        >>> found = dv.assess(people, known=["age"], secret="ill")
        >>> found.certainty_beside(0), found.certainty_beside(1), found.certainty_beside(2)
        (Fraction(1, 2), Fraction(2, 3), Fraction(1, 1))
        """
        others = whole_number(others, "others", 0)
        return models.certainty_beside(self._sensitive, min(others, self.rows)).value

    @cached_property
    def distinct_l(self) -> int:
        """The fewest values in a group: distinct l-diversity."""
        return models.distinct_l(self._sensitive).value

    @cached_property
    def entropy_l(self) -> float:
        """The least e^H(S | g): entropy l-diversity, correctly rounded."""
        return models.entropy_l(self._sensitive).value

    def recursive_c(self, l: int) -> float | Fraction:
        """Return the largest r_1 / (r_l + ... + r_m), an exact Fraction; inf where a group has fewer than l values.

        Recursive (c, l)-diversity holds for every c above it.

        Examples
        --------
        >>> people = {"age": ["old"] * 6, "ill": ["a", "a", "a", "b", "b", "c"]}
        >>> dv.assess(people, known=["age"], secret="ill").recursive_c(2)
        Fraction(1, 1)
        """
        l = whole_number(l, "l")
        return models.recursive_c(self._sensitive, min(l, self.rows + 1)).value

    @property
    def beta(self) -> Fraction:
        """The largest lift less 1: basic beta-likeness."""
        return self.lift - 1

    @cached_property
    def enhanced_beta(self) -> Fraction | None:
        """The least beta of enhanced beta-likeness; None where no beta is enough."""
        found = models.enhanced_beta(self._sensitive)
        return None if found is None else found.value

    @cached_property
    def information(self) -> float:
        """The mutual information of secret and group, in nats."""
        return models.information(self._sensitive)

    @cached_property
    def worst(self) -> Disclosure:
        """The group and value with the largest lift."""
        groups = self._sensitive
        here = (groups.cell_group == self._lift.group) & (groups.cell_value == self._lift.secret)
        (cell,) = np.flatnonzero(here)
        low, high = share_bounds(groups, np.array([cell]), self.confidence)
        return disclosure(groups, int(cell), float(low[0]), float(high[0]))

    @cached_property
    def columns(self) -> tuple[ColumnRisk, ...]:
        """What each known column says, alone and with one other, and what it adds; the most telling first."""
        return risks(self._sensitive, self.confidence, self.pairs)

    @cached_property
    def joint(self) -> Joint:
        """The exact joint of secret and group, an ordinary Joint."""
        groups = self._sensitive
        entries = len(groups) * len(groups.values)
        if entries > MOST_ENTRIES:
            raise DivulgeError.of(
                "table", f"have at most {MOST_ENTRIES:,} pairs of group and value for their joint to be written out",
                "it", f"with {entries:,}", "the attributes of the assessment and its claims need no joint.",
            )  # fmt: skip
        return reduction.joint_of(groups, np.arange(len(groups)))

    @cached_property
    def posteriors(self) -> ConvexHull:
        """What is believed of the secret in the groups, and all mixtures of it, exact.

        Who knows all known columns of a person believes what its group says; who knows fewer, or none, believes a
        mixture. A channel that is designed for all of these keeps its guarantee for each: the lift of `then` is at
        most that of the groups times the promised one.

        Examples
        --------
        >>> people = {"age": [1] * 4 + [2] * 4, "ill": list("aaabaabb")}
        >>> found = dv.assess(people, known="age", secret="ill")
        >>> made = dv.design(found.posteriors, "pml=0.3", utility="hamming")
        >>> bool(found.posteriors.pml(made.channel).max() <= 0.3)
        True
        """
        groups = self._sensitive
        entries = len(groups) * len(groups.values)
        if entries > MOST_ENTRIES:
            raise DivulgeError.of(
                "table", f"have at most {MOST_ENTRIES:,} pairs of group and value for the beliefs in its groups", "it",
                f"with {entries:,}", "coarsen it first.",
            )  # fmt: skip
        counts = groups.dense()
        counts = np.unique(counts // np.gcd.reduce(counts, axis=1)[:, None], axis=0)
        rows = [[Fraction(n, sum(row)) for n in row] for row in counts.tolist()]
        return ConvexHull(rows, groups.values)

    def then(self, channel: ChannelLike) -> Joint:
        """Return the joint of the secret and (group, value released by a channel), exact where the channel is.

        One bound holds for both, i(s; g, y) = i(s; g) + log C(y | s) / sum_t q_t C(y | t): the largest lift is at most
        that of the groups times e^epsilon of the channel's LDP, and what a group rules out stays ruled out. What others
        release adds nothing where rows are drawn from the shares of their group. Who knows how many rows of the group
        have each value, and sees what all of them release, may see odds change by up to e^(2 epsilon).

        Examples
        --------
        >>> people = {"age": [1, 1, 2, 2], "ill": ["a", "a", "a", "b"]}
        >>> found = dv.assess(people, known="age", secret="ill")
        >>> both = found.then(dv.mechanisms.randomized_response(["a", "b"], ratio=3))
        >>> both.outcomes[0], found.lift, both.lift[:, both.occurring].max()
        ((1, 'a'), Fraction(2, 1), Fraction(3, 1))
        """
        joint, noise = self.joint, as_channel(channel)
        order = alignment(joint.secrets, noise.secrets, "channel", "the sensitive values")
        groups, c = (joint.c, noise.matrix) if noise.exact else (joint.channel.floats, noise.floats)
        c = c if order is None else c[order]
        matrix = (groups[:, :, None] * c[:, None, :]).reshape(len(joint.secrets), -1)
        outcomes = [(g, y) for g in joint.outcomes for y in noise.outcomes]
        return Joint(joint.prior, Channel(matrix, joint.secrets, outcomes))

    def subject_of(self, kind: type[Guarantee]) -> Joint | np.ndarray:
        """Return what a kind of guarantee is decided on: the sizes of groups, or a joint with the groups that matter.

        Examples
        --------
        >>> people = {"age": [1, 2, 3, 3], "ill": ["a", "a", "a", "b"]}
        >>> dv.assess(people, known="age", secret="ill").subject_of(dv.PML).outcomes
        (1, 3, 'all other groups')
        """
        if kind.kind == "k":
            return self.by_group.sizes
        chosen = reduction.extremes(self._sensitive, kind)
        return self.joint if chosen is None else reduction.joint_of(self._sensitive, chosen)

    def verdicts(self, claims: GuaranteesLike) -> tuple[Verdict, ...]:
        """Return for each claim whether it holds, with a witness: for each sensitive column alone, and for all jointly.

        Examples
        --------
        >>> people = {"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "a"]}
        >>> (verdict,) = dv.assess(people, known="age", secret="ill").verdicts("distinct-l=2")
        >>> verdict.holds, verdict.measured, verdict.witness.outcome
        (False, Fraction(1, 1), 2)
        """
        asked = as_guarantees(claims, "claims")
        return tuple(one.holds_for(subject) for one in asked for subject in self._subjects(one))

    def _subjects(self, claim: Guarantee) -> tuple["Assessment", ...]:
        return (self,) if claim.kind == "k" else (self, *self.alone)

    def holds(self, claims: GuaranteesLike) -> bool:
        """Return whether all claims hold, decided exactly: guarantees, or texts such as "k=5".

        Examples
        --------
        >>> people = {"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]}
        >>> dv.assess(people, known="age", secret="ill").holds(["k=2", "distinct-l=2", "pml=0", "t=0"])
        True
        """
        return all(verdict.holds for verdict in self.verdicts(claims))

    def population_uniques(self, size: int | None = None) -> dict[str, float]:
        """Return estimates of how many of `size` people are alone with their known values: Zayatz's and Pitman's.

        They are estimates from the sizes of the sample's groups, and no bounds.

        Examples
        --------
        >>> people = {"age": [1, 1, 2, 3], "ill": ["a", "b", "a", "b"]}
        >>> dv.assess(people, known="age", secret="ill").population_uniques(4)["zayatz"]
        2.0
        """
        many = self.size if size is None else size
        if type(many) is not int:
            raise DivulgeError.of("size", "be the number of people of the population", "it", str(many)[:40])
        sizes = self.by_group.sizes
        return {"zayatz": population.zayatz(sizes, many), "pitman": population.pitman(sizes, many)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Against whom the numbers hold, and against whom they do not."""
        return caveats(self)

    def measures(self) -> dict[str, Any]:
        """Return all models of the table by name, exact.

        Examples
        --------
        >>> people = {"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]}
        >>> found = dv.assess(people, known="age", secret="ill").measures()
        >>> found["k"], found["lift"], found["enhanced_beta"]
        (2, Fraction(1, 1), Fraction(0, 1))
        """
        names = ["rows", "groups", "k", "uniques", "marketer"]
        names += ["journalist"] if self.outside is not None else []
        if self.secret:
            names += ["lift", "least_lift", "pml", "pmc", "lip", "t", "ordered_t", "certainty", "distinct_l",
                      "entropy_l", "beta", "enhanced_beta", "information"]  # fmt: skip
            names += ["hierarchical_t"] if self.hierarchy is not None else []
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data: numbers as floats, exact ones as text beside them.

        Examples
        --------
        >>> people = {"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "a"]}
        >>> found = dv.assess(people, known="age", secret="ill").to_dict()
        >>> found["measures"]["uniques"], found["exact"]["lift"], found["worst"]["group"]
        (0.0, '2', {'age': 1})
        """
        found = self.measures()
        exactly = {name: str(value) for name, value in found.items() if isinstance(value, Fraction)}
        return {
            "known": list(self.known),
            "secret": list(self.secret),
            "measures": {n: exact.as_float(v) if isinstance(v, Fraction) else v for n, v in found.items()},
            "exact": exactly,
            **({"worst": self.worst.to_dict()} if self.secret else {}),
            **({"population": self.population_uniques()} if self.size is not None else {}),
            **({"alone": [one.to_dict() for one in self.alone]} if self.alone else {}),
            **({"left_out": self.left_out} if self.left_out else {}),
            "notes": list(self.notes),
        }

    def _shown(self) -> tuple[str, Table]:
        about = f", and of {' and '.join(map(repr, self.secret))}" if self.secret else ""
        head = f"What {', '.join(map(repr, self.known)) or 'no column'} tells of {number_of(self.rows, 'row')}{about}"
        shown = {name: math.inf if value is None else value for name, value in self.measures().items()}
        values = np.empty((len(shown), 1), dtype=object)
        values[:, 0] = [value if isinstance(value, (Fraction, float)) else Fraction(value) for value in shown.values()]
        return head, (list(shown), ["value"], values)

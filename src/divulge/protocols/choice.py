"""Which protocol for how many values: each at the largest ratio that keeps a guarantee, side by side, and why."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError, number_of
from divulge.extras import drawable, legend
from divulge.late import late
from divulge.model.accepted import Claim, LabelsLike
from divulge.model.entries import whole_number
from divulge.model.labels import Labels
from divulge.model.prior import Prior
from divulge.model.shown import Table, Tabled, raised
from divulge.protocols import families
from divulge.protocols.information import Enclosed, most_information
from divulge.protocols.protocol import Protocol
from divulge.protocols.sets.family import Sets
from divulge.protocols.sets.ordered import Subsets
from divulge.protocols.sets.transformed import HadamardRows, Hyperplanes
from divulge.protocols.shares import Shares
from divulge.roots import turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOSE = 1.05
"""Errors within so many times the least count as equal: 10 % more reports make up for it."""

ROUNDS = 3
"""A space, a number of buckets or of values is fitted to the ratio that the last one allowed, so many times."""

SIZES = 4096
"""Sizes of subsets that are compared: all of a few thousand values, of more each within a quarter of a percent."""

FIRST_EPSILON = 1.0
"""Where the first sets come from."""

HALVINGS = 60
"""Of the interval in which the largest level under a Bayes capacity lies: to the last digit."""

LEAST_EPSILON = 2.0**-20
"""Below it a million million reports estimate nothing."""


@dataclass(frozen=True, eq=False)
class Option:
    """A protocol at the largest ratio a/b that keeps the guarantee, and what speaks for or against it.

    Attributes
    ----------
    protocol : Protocol
    error : float
        The root of the mean squared error of the estimated shares, over all values, of n reports.
    bits : float
        Of a report.
    steps : float
        Operations of a server that estimates the shares of all values from n reports: counted, not measured.
    pml, pmc : float
        The largest leakages of a report in nats under the prior; without one those under every prior, log a/b.
    information : Enclosed
        Mutual information in nats under the prior; without one, between 0 and what no prior exceeds.
    reason : str

    Examples
    --------
    >>> [option.protocol.name for option in dv.protocols.choose(10**6, "ldp=1", bits=64) if option.bits <= 64]
    ['randomized-response', 'hadamard', 'projective']
    """

    protocol: Protocol
    error: float
    bits: float
    steps: float
    pml: float
    pmc: float
    information: Enclosed
    reason: str = ""

    @property
    def compact(self) -> bool:
        """Whether reports go out in about as many bits as are counted: all but subset selection, a bit for a value."""
        return _compact(self.protocol)


@dataclass(frozen=True, repr=False, eq=False)
class Choice(Tabled):
    """Protocols side by side under one guarantee; a sequence of `Option`.

    Attributes
    ----------
    best : Option
        Of those with at most 1.05 times the least error the one of fewest bits.

    Examples
    --------
    >>> found = dv.protocols.choose(10**6, "ldp=1", n=10**6)
    >>> found.best.protocol.name, len(found), round(found.best.error, 4)
    ('projective', 7, 0.0019)
    """

    rows: tuple[Option, ...]
    best: Option
    guarantee: str
    n: int
    with_prior: bool

    def __iter__(self) -> Iterator[Option]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> Option:
        return self.rows[at]

    def _shown(self) -> tuple[str, Table]:
        under = "under the prior" if self.with_prior else "under every prior"
        head = (
            f"{self.best.protocol.name} for {number_of(self.best.protocol.size, 'value')} under {self.guarantee}, of "
            f"{number_of(self.n, 'report')}; leakage [nats] at most, {under}; steps of the server are counted, not "
            "measured\n" + "\n".join(f"  {row.protocol.name}: {row.reason}" for row in self.rows)
        )
        columns = ["epsilon", "error", "bits", "steps", "pml", "pmc", "information", "Bayes capacity"]
        cells = [
            [
                row.protocol.ldp, row.error, row.bits, row.steps, row.pml, row.pmc, row.information.upper,
                exact.as_float(row.protocol.bayes_capacity()),
            ]
            for row in self.rows
        ]  # fmt: skip
        return head, ([row.protocol.name for row in self.rows], columns, raised(cells))

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the options as plain records, leakages in nats.

        Examples
        --------
        >>> dv.protocols.choose(4, "ldp=1").to_dict()[0]["protocol"]
        'randomized-response'
        """
        return [
            {
                "protocol": row.protocol.name, "chosen": row is self.best, "epsilon": row.protocol.ldp,
                "error": row.error, "bits": row.bits, "steps": row.steps, "pml": float(row.pml), "pmc": float(row.pmc),
                "mutual_information": {"lower": row.information.lower, "upper": row.information.upper},
                "bayes_capacity": exact.as_float(row.protocol.bayes_capacity()), "reason": row.reason,
            }
            for row in self.rows
        ]  # fmt: skip

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the error of each protocol beside the bits of its reports; return the axes.

        Examples
        --------
        >>> dv.protocols.choose(1000, "ldp=1").plot().get_xlabel()
        'bits of a report'
        """
        ax = drawable(ax)
        for row in self.rows:
            chosen = row is self.best
            ax.plot([row.bits], [row.error], "*" if chosen else "o", markersize=14 if chosen else 7,
                    label=row.protocol.name + (" (chosen)" if chosen else ""))  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("bits of a report")
        ax.set_ylabel(f"error of an estimated share, {number_of(self.n, 'report')}")
        ax.set_title(f"under {self.guarantee}")
        legend(ax)
        return ax


def choose(values: LabelsLike, guarantee: Claim | str, n: int = 1, bits: float | None = None) -> Choice:
    """Return all protocols side by side, each at the largest ratio a/b that keeps a guarantee, and which one to take.

    The largest lift of a report is (a/b) / (1 + (a/b - 1) min T), its largest inverse 1 + (a/b - 1) max T, with the
    shares T of the sets of the protocol; both bounds are solved for a/b in fractions. Without a prior min T is 0 and
    max T is 1.

    Parameters
    ----------
    values : int, sequence of labels, or Prior
        K values, or what is known of how frequent each is. Of a protocol under "pml=1" much depends on it.
    guarantee : Guarantee or text such as "ldp=1", "pml=1"
        ldp, dp, pml, pmc, lip, alip, lift, lift capacity, Bayes capacity, maximal leakage.
    n : int
        Number of reports.
    bits : float, optional
        The most bits that a report may have.

    Returns
    -------
    Choice
        A sequence of `Option` with `best`, `plot()`. Each protocol keeps the guarantee exactly, by its own verdict.

    Raises
    ------
    DivulgeError
        For a guarantee of another kind or one that only silence keeps, and where no report is as short as asked for.

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", 2017 (variance); Ye,
    Barg 2018; Acharya, Sun, Zhang 2019; Feldman, Nelson, Nguyen, Talwar 2022.

    Examples
    --------
    >>> found = dv.protocols.choose(dv.Prior.uniform(13), "pml=1", n=1000)
    >>> all(option.pml <= 1 < option.protocol.ldp for option in found)
    True
    """
    promised = late("divulge.guarantees.catalog:as_guarantee")(guarantee)
    limits = late("divulge.designing.polytope.limits:limits_of")((promised,))
    n = whole_number(n, "n")
    if bits is not None and not bits > 0:  # nor NaN
        raise DivulgeError.of("bits", "be above 0", "it", f"{bits:g}")
    labels = families.values_of(values)
    prior = values if isinstance(values, Prior) else None
    allowed = _Allowed(limits, None if prior is None else Shares(prior))
    rows = [_option(protocol, prior, n) for protocol in _fitted(labels, allowed, promised.label)]
    rows, best = _judged(rows, bits)
    return Choice(tuple(rows), best, promised.label, n, prior is not None)


def fitted(
    name: str, values: Labels | None, guarantees: Any, prior: Prior | None = None, lengths: Any = None
) -> Protocol:
    """Return the protocol of a name, or with "auto" the one to take, at the largest ratio that keeps all guarantees.

    Without values it is local hashing of any text, or of prefixes of some lengths, whatever the prior.

    >>> fitted("auto", range(10**6), [dv.LDP(1), dv.PML("1/2")]).ldp <= 0.5
    True
    """
    promised = tuple(map(late("divulge.guarantees.catalog:as_guarantee"), guarantees))
    allowed = _Allowed(late("divulge.designing.polytope.limits:limits_of")(promised),
                       None if prior is None else Shares(prior))  # fmt: skip
    said = ", ".join(one.label for one in promised)
    if values is None:
        if allowed.limits.capacity < math.inf:
            raise DivulgeError.of("guarantee", "be about odds or beliefs where any text goes through", "it", said)
        made = _largest(allowed, _maker_of_text(name, lengths))
    elif name == "subset-selection":
        made = _best_subsets(values, allowed)
    elif name == "auto":
        rows = [_option(protocol, None, 1) for protocol in _fitted(values, allowed, said)]
        made = _judged(rows, None)[1].protocol
    else:
        made = _largest(allowed, _makers(values)[name])
    if made is None:
        raise DivulgeError.of("guarantee", "leave room for a report", "it", said,
                              "at this level it says nothing that could be estimated.")  # fmt: skip
    return made


def _maker_of_text(name: str, lengths: Any) -> Callable[[float, Any], Protocol]:
    """Return what makes a protocol over text, of a level and of one whose buckets it takes over."""
    if name != "prefix-extension":
        return lambda e, p: families.local_hashing(None, e, p and p.sets.q.denominator)
    whole = families.lengths_of(families.USUAL_LENGTH if lengths is None else lengths)
    return lambda e, p: families.prefix_extension(e, whole, p and p.sets.q.denominator)


@dataclass(frozen=True, eq=False)
class _Allowed:
    """What bounds on the lift leave of the ratio of the two levels."""

    limits: Any
    shares: Shares | None

    @cached_property
    def _known(self) -> dict[Sets, tuple[Fraction, Fraction]]:
        return {}

    def between(self, sets: Sets) -> tuple[Fraction, Fraction]:
        """Return the least and the greatest share T of a set that tells something."""
        if self.shares is None:
            return Fraction(0), Fraction(1)
        if sets not in self._known:
            least, greatest = sets.ends(self.shares)
            self._known[sets] = (
                Fraction(1) if least is None else least.share,
                (Fraction(0) if greatest is None else greatest.share),
            )
        return self._known[sets]

    def keeps(self, protocol: Protocol) -> bool:
        """Say, in fractions, whether a protocol keeps the bounds."""
        limits, (least, greatest), a, b = self.limits, self.between(protocol.sets), protocol.a, protocol.b
        return (
            a <= limits.high * (b + (a - b) * least)
            and b >= limits.low * (b + (a - b) * greatest)
            and protocol.ratio <= limits.ratio
            and (limits.capacity == math.inf or protocol.bayes_capacity() <= limits.capacity)
        )

    def most(self, sets: Sets) -> float:
        """Return log of the largest ratio r = a/b that keeps the bounds, rounded down, at most 40.

        With T between l and t: r / (1 + (r - 1) l) <= high, 1 + (r - 1) t <= 1 / low, and r <= ratio.
        """
        limits, (least, greatest) = self.limits, self.between(sets)
        bounds: list[Fraction] = []
        if limits.high < math.inf and limits.high * least < 1:
            bounds.append(Fraction(limits.high) * (1 - least) / (1 - limits.high * least))
        if limits.low > 0 and greatest > 0:
            bounds.append(1 + (1 / Fraction(limits.low) - 1) / greatest)
        if limits.ratio < math.inf:
            bounds.append(Fraction(limits.ratio))
        enough = _log_below(max(Fraction(1), min(bounds))) if bounds else math.inf
        return min(families.MOST_EPSILON, enough)

    def largest(self, make: Callable[[float], Protocol], sets: Sets) -> Protocol | None:
        """Return the protocol at the largest level that keeps the bounds, None where that says nothing.

        A Bayes capacity depends on sets that change with the level, as those of unary encoding: it is bisected.
        """
        high = self.most(sets)
        if high < LEAST_EPSILON:
            return None
        found = make(high)
        if self.keeps(found):
            return found
        low, _ = turn(lambda level: not self.keeps(make(level)), LEAST_EPSILON, high, steps=HALVINGS)
        kept = make(low)
        return kept if low > LEAST_EPSILON or self.keeps(kept) else None


def _log_below(ratio: Fraction) -> float:
    import flint

    with flint.ctx.workprec(256):
        level = -exact.round_up(-exact.ball(ratio).log())
    return max(0.0, level)


def _makers(labels: Labels) -> dict[str, Callable[[float, Any], Protocol]]:
    """Return what makes each protocol but subset selection, of a level and of one whose sets it takes over."""
    return {
        "randomized-response": lambda e, _: families.randomized_response(labels, e),
        "symmetric-unary": lambda e, _: families.unary(labels, e, symmetric=True),
        "optimized-unary": lambda e, _: families.unary(labels, e),
        "local-hashing": lambda e, p: families.local_hashing(labels, e, p and p.sets.q.denominator),
        "hadamard": lambda e, _: families.hadamard(labels, e),
        "projective": lambda e, p: families.projective(labels, e, p and p.sets.field, p and p.sets.dimension),
    }


def _fitted(labels: Labels, allowed: _Allowed, promised: str) -> list[Protocol]:
    """Return each protocol at the largest level that keeps the guarantee."""
    first, *others = (_largest(allowed, make) for make in _makers(labels).values())
    found = [one for one in (first, _best_subsets(labels, allowed), *others) if one is not None]
    if not any(map(_compact, found)):
        raise DivulgeError.of("guarantee", "leave room for a report", "it", promised,
                              "at this level no protocol says anything that could be estimated.")  # fmt: skip
    return found


def _compact(protocol: Protocol) -> bool:
    return protocol.name != "subset-selection"


def _error(protocol: Protocol) -> float:
    """Return n times the mean over the values of the squared error of an estimated share, whatever the shares."""
    return protocol.variance(Fraction(1, protocol.size))


def _largest(allowed: _Allowed, make: Callable[[float, Any], Protocol]) -> Protocol | None:
    """Return the best of some protocols, each with the sets for the level that the one before it allows."""
    level, best = FIRST_EPSILON, None
    for _ in range(ROUNDS):
        first = make(level, None)
        kept = allowed.largest(lambda e, first=first: make(e, first), first.sets)
        if kept is None:
            return best
        best = kept if best is None or _error(kept) < _error(best) else best
        if kept.epsilon == level or kept.sets == make(kept.epsilon, None).sets:
            break
        level = kept.epsilon
    return best


def _best_subsets(labels: Labels, allowed: _Allowed) -> Protocol | None:
    """Return subset selection of the size with the least error, each size at the ratio that it allows."""
    size, limits = len(labels), allowed.limits
    d = np.unique(np.rint(np.geomspace(1, max(1, size - 1), SIZES)).astype(np.int64)).astype(np.float64)
    least, greatest = np.zeros(len(d)), np.ones(len(d))
    if allowed.shares is not None:
        below = np.cumsum(allowed.shares.p[allowed.shares.rising])
        least = np.maximum(below[d.astype(np.int64) - 1], allowed.shares.p[allowed.shares.support].min())
        greatest = 1 - below[np.maximum(size - d.astype(np.int64) - 1, 0)]
    high, low = float(limits.high), float(limits.low)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.full(len(d), min(math.exp(families.MOST_EPSILON), float(limits.ratio)))
        r = np.where(high * least < 1, np.minimum(r, high * (1 - least) / (1 - high * least)), r)
        r = np.where((low > 0) & (greatest > 0), np.minimum(r, 1 + (1 / max(low, 1e-300) - 1) / greatest), r)
    q, both, f = d / size, d * (d - 1) / (size * (size - 1)), 1 / size
    b = 1 / (1 + q * (r - 1))
    p, other = r * b * q, (r - 1) * b * both + b * q
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (f * p * (1 - p) + (1 - f) * other * (1 - other)) / (p - other) ** 2
    best = int(d[int(np.nanargmin(error))])
    return allowed.largest(lambda e: families.subset_selection(labels, e, best), Subsets(size, best))


def _steps(protocol: Protocol, n: int) -> float:
    """Return how many operations it takes to estimate the shares of all values from n reports."""
    sets, size = protocol.sets, protocol.size
    if isinstance(sets, HadamardRows):
        return n + sets.outcomes * math.log2(sets.outcomes)
    if isinstance(sets, Hyperplanes):
        return n + sets.outcomes * sets.dimension * math.log2(sets.field)
    if isinstance(sets, Subsets):
        return float(n) * sets.chosen + size
    return float(n) * size  # a bit, or a hash, of every value in every report


def _option(protocol: Protocol, prior: Prior | None, n: int) -> Option:
    error, steps = math.sqrt(_error(protocol) / n), _steps(protocol, n)
    if prior is not None:
        under = protocol.under(prior)
        pml, pmc = under.leakage("pml"), under.leakage("pmc")
        return Option(protocol, error, protocol.bits, steps, pml, pmc, under.mutual_information())
    most = Enclosed(0.0, most_information(protocol))
    return Option(protocol, error, protocol.bits, steps, protocol.ldp, protocol.ldp, most)


def _judged(rows: list[Option], bits: float | None) -> tuple[list[Option], Option]:
    """Return the options with their reasons, and the best of those that can be had."""
    possible = [row for row in rows if row.compact and (bits is None or row.bits <= bits)]
    if not possible:
        shortest = min((row for row in rows if row.compact), key=lambda row: row.bits)
        raise DivulgeError.of("bits", "leave room for a report", "the fewest",
                              f"{shortest.bits:.6g}, of {shortest.protocol.name}")  # fmt: skip
    least = min(row.error for row in possible)
    best = min((row for row in possible if row.error <= CLOSE * least), key=lambda row: (row.bits, row.steps))
    most_exact = "the least error" if best.error == least else f"an error within {CLOSE - 1:.0%} of the least"
    judged = []
    for row in rows:
        against = []
        if row is best:
            against.append(f"{most_exact}, and the shortest reports of those so exact")
        else:
            if not row.compact:
                against.append("reports are sets, which go out as a bit for each value")
            if bits is not None and row.bits > bits:
                against.append(f"reports of {row.bits:.4g} bits, more than {bits:g}")
            if row.error > best.error * (1 + 1e-9):
                against.append(f"{row.error / best.error:.4g} times the error")
            if row.bits > best.bits:
                against.append(f"{row.bits / best.bits:.4g} times the bits")
        judged.append(replace(row, reason="; ".join(against) or "as good; named later"))
    return judged, judged[rows.index(best)]

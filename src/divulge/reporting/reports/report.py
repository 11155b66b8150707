"""Everything a report tells about one release, as data; `content` puts it into words, `page` and `text` show it."""

import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.adversaries.attack import Attack
from divulge.auditing.audit import Audit, audit
from divulge.designing.alternatives import Alternative
from divulge.designing.tradeoff.comparison import best_member
from divulge.errors import DivulgeError, printable
from divulge.guarantees import kinds as k
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.implication import Unknown, consequences
from divulge.guarantees.catalog import INFORMATION_DENSITY, as_typed
from divulge.guarantees.guarantee import PARAMETERS, Guarantee, Verdict
from divulge.guarantees.regions import Region, privacy_region
from divulge.late import late
from divulge.measures.average.entropies import entropy
from divulge.measures.average.information import mutual_information
from divulge.measures.pointwise.tails import tail_envelope
from divulge.measures.profiles import Profile, profile
from divulge.model import mechanisms
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.model.shown import Shown
from divulge.networks.bayesian.network import Network
from divulge.networks.chain import Chain
from divulge.releasing.output.sinks import place, publish, refuse_taken, staged
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.statements.voice import Voice
from divulge.staging import recover
from divulge.ties import RELATIVE, falling, first_largest, first_smallest
from divulge.units import Unit, levels_in, nats_per

MOST_COMPARED = 32
"""Up to so many secrets the named mechanisms are tuned for a comparison."""
MOST_EXACT = 1 << 12
"""Up to so many entries of the channel a receipt is reported on in fractions."""
MOST_ENTRIES = 1 << 18
"""Up to so many entries of the channel everything is computed that looks at it again and again."""
MOVED = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of the belief that may be moved when the prior is not quite what was assumed."""
_FROM = "from "
"""What stands before the name of the file that a prior is from."""
_THRESHOLDS = 24
"""Points of the curve of tails: enough for a picture of it; each may take a linear program of a tenth of a second."""


def around(
    prior: np.ndarray, matrix: np.ndarray, shares: Sequence[float], unit: Unit
) -> tuple[tuple[float, float, float], ...]:
    """Return (share, pml, pmc), the largest over all priors that are reached by moving `share` of the belief.

    The least mean of a column has the share taken from its largest entries, and laid on its smallest; the largest mean
    the other way round. Both are interpolated in the cumulated belief, for all shares at once.

    >>> found = around(np.array([0.5, 0.5]), np.array([[0.75, 0.25], [0.25, 0.75]]), (0.0, 1.0), "nats")
    >>> [tuple(round(v, 4) for v in row) for row in found]  # log 3/2 and log 2; all belief moved: log 3 for both
    [(0.0, 0.4055, 0.6931), (1.0, 1.0986, 1.0986)]
    """
    moved, held = np.array(shares, dtype=float), prior > 0
    mean = prior @ matrix
    gains, losses = (np.zeros((len(moved), matrix.shape[1])) for _ in range(2))
    seen = np.flatnonzero(np.where(moved.max() > 0, matrix.max(axis=0), mean) > 0)
    for j in seen.tolist():
        column = matrix[:, j]
        order = np.argsort(column, kind="stable")
        mass, values = prior[order], column[order]
        least = values[0] + _taken(mass, values - values[0], 1.0 - moved)  # what is left: no digits cancel near 0
        most = mean[j] + _taken(mass, values[-1] - values, moved)
        top = np.where(moved > 0, values[-1], column[held].max())
        bottom = np.where(moved > 0, values[0], column[held].min())
        with np.errstate(divide="ignore", invalid="ignore"):
            gains[:, j] = np.where(top > 0, np.log(top) - np.log(least), 0.0)
            losses[:, j] = np.where(most > 0, np.log(most) - np.log(bottom), 0.0)
    gain, loss = (np.maximum(v.max(axis=1), 0.0) / nats_per(unit) for v in (gains, losses))
    return tuple(zip(moved.tolist(), gain.tolist(), loss.tolist(), strict=True))


def _taken(mass: np.ndarray, differences: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Return by how much the mean changes when so much mass is moved, the largest differences first."""
    return np.interp(moved, np.append(0.0, np.cumsum(mass)), np.append(0.0, np.cumsum(mass * differences)))


@dataclass(frozen=True)
class Belief(Shown):
    """How sure of one value of the secret an adversary is: before, and at most and at least after an outcome.

    `often` is the probability of the outcome `up_at`, after which it is likeliest; `confirmed` says whether some
    outcome leaves no other value.

    Examples
    --------
    >>> dv.report(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])).beliefs[0].down
    0.25
    """

    secret: Hashable
    before: float
    up: float
    down: float
    up_at: Hashable
    down_at: Hashable
    often: float
    confirmed: bool


@dataclass(frozen=True, eq=False, repr=False)
class Report(Record):
    """What one release reveals, to whom, and what that means: prints as its summary, saves as a page.

    Attributes
    ----------
    about : str
        What is reported on, such as the names of the files.
    joint : Joint
        The prior and the mechanism; for data, their frequencies in the rows.
    prior_source : str
        Where the prior is from.
    asked : tuple of Guarantee
        The promises that are checked.
    unit : "nats" or "bits"
    receipt : Receipt or None
    column : tuple of str
        The columns of the receipt that are reported on.
    audit : Audit or None
        The counts and the bounds, when the report is made from data.
    spent : dict or None
        What all releases on record about the same columns guarantee together, in nats.
    language : "en" or "de"
    model : Chain, Network or None
        What the joint is of, where it is a secret in time or in a network and all that goes out.
    secret : str
        What the secret of the model is called.

    Examples
    --------
    >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["ill", "well"], ["yes", "no"])
    >>> found = dv.report(dv.Joint(["1/10", "9/10"], coin))
    >>> found.beliefs[0].before, round(found.beliefs[0].up, 4)  # P(ill | yes) = 3/40 / (3/40 + 9/40)
    (0.1, 0.25)
    >>> print(repr(found).splitlines()[6])
    * Largest rise of a belief: × 2.5. After “yes” (30% of cases), “ill”: 10 → 25 in 100.
    """

    about: str
    joint: Joint
    prior_source: str
    asked: tuple[Guarantee, ...] = ()
    unit: Unit = "nats"
    receipt: Receipt | None = None
    column: tuple[str, ...] = ()
    audit: Audit | None = None
    spent: Mapping[str, float] | None = None
    language: str = "en"
    model: Chain | Network | None = None
    secret: str = ""

    @property
    def voice(self) -> Voice:
        """What says the sentences of the report in its language."""
        return Voice(self.language)

    @property
    def source_words(self) -> str:
        """Where the prior is from, in the language of the report."""
        known = self.voice.known(self.prior_source)
        if known == self.prior_source and known.startswith(_FROM):
            return self.voice.text("source_file", file=known.removeprefix(_FROM))
        return known

    @property
    def estimated(self) -> bool:
        """Whether the numbers are estimates from rows."""
        return self.audit is not None

    @property
    def exactly(self) -> bool:
        """Whether there are few enough entries to decide everything exactly."""
        return len(self.joint.secrets) * len(self.joint.outcomes) <= MOST_EXACT

    @property
    def small(self) -> bool:
        """Whether the channel is small enough for all that looks at it again and again."""
        return len(self.joint.secrets) * len(self.joint.outcomes) <= MOST_ENTRIES

    @cached_property
    def profile(self) -> Profile:
        """Every headline measure."""
        return profile(self.joint, self.unit)

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """What happens to each possible value of the secret, the one that can gain most first."""
        joint = self.joint
        y, support = joint.y, joint.x
        c, q = joint.channel.floats, exact.as_floats(joint.outer[y])
        rows = c.tocsr() if joint.channel.sparse else c
        lone = np.asarray((c[support] > 0).sum(axis=0)).ravel()[y] == 1
        found = list[Belief]()
        for i in support.tolist():
            row = np.asarray(rows[[i]].todense() if joint.channel.sparse else rows[i]).ravel()[y]
            lift, before = row / q, float(joint.prior.floats[i])
            up, down = first_largest(lift), first_smallest(lift, absolute=0.0)
            at_up, at_down = (joint.outcomes[int(y[j])] for j in (up, down))
            high, low = (min(before * float(lift[j]), 1.0) for j in (up, down))
            confirmed = bool((lone & (row > 0)).any())
            found.append(Belief(joint.secrets[i], before, high, low, at_up, at_down, float(q[up]), confirmed))
        return tuple(found[i] for i in falling([belief.up / belief.before for belief in found]))

    @cached_property
    def adversaries(self) -> dict[str, Attack]:
        """The adversaries who attain pml, pmc, one guess, one guess at the worst prior, and ldp, by kind."""
        found = {kind.kind: self._verdict(self.kept(kind)).attack for kind in _ATTACKED}
        return {kind: attack for kind, attack in found.items() if attack is not None}

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether each promise is kept; of data, nothing: rows only refute."""
        return () if self.estimated else tuple(map(self._verdict, self.asked))

    @cached_property
    def refutations(self) -> tuple[Audit, ...]:
        """What the rows say about each promise."""
        if self.audit is None:
            return ()
        rows = self.audit
        return tuple(
            audit(rows.counts, secret=rows.secrets, released=rows.outcomes, claim=claim, confidence=rows.confidence)
            for claim in self.asked
        )

    @cached_property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The promises that are kept; without any, what is finite of pml, pmc and ldp; of data, nothing."""
        if self.estimated:
            return ()
        kept = tuple(verdict.guarantee for verdict in self.verdicts if verdict.holds)
        return kept or tuple(filter(bounds_something, (self.kept(kind) for kind in (k.PML, k.PMC, k.LDP))))

    @cached_property
    def implied(self) -> tuple[Guarantee, ...]:
        """What follows from the guarantees under this prior, kind by kind, with derivations."""
        asked = [(kind, {}) for kind in INFORMATION_DENSITY if not kind.index]
        context = Context.of(self.joint.prior)
        found = consequences(self.guarantees, asked, context, rounding=RELATIVE) if self.guarantees else []
        return tuple(g for g in found if not isinstance(g, Unknown))

    @cached_property
    def measured(self) -> dict[str, Guarantee]:
        """Kind -> the strongest guarantee of that kind that the release has, for each kind that is implied."""
        return {g.kind: self.kept(type(g)) for g in self.implied}

    @cached_property
    def region(self) -> Region:
        """How many values an outcome can rule out."""
        return privacy_region(self.joint)

    @cached_property
    def resolved(self) -> float:
        """The share of the uncertainty about the secret that the outcome resolves on average, in [0, 1]."""
        uncertain = entropy(self.joint.prior, self.unit)
        return min(float(self.profile.mutual_information or 0.0) / uncertain, 1.0) if uncertain > 0 else 0.0

    @cached_property
    def compared(self) -> tuple[Alternative, ...]:
        """Named mechanisms that reveal no more than this one at any outcome, the most useful first; none of data."""
        if self.estimated or not 1 < len(self.joint.secrets) <= MOST_COMPARED or not self.small:
            return ()
        likely = self.joint.x
        names = [self.joint.secrets[i] for i in likely.tolist()]
        prior, level = Prior(self.joint.prior.floats[likely], names), self.kept(k.PML)

        def information(channel: Channel) -> float:
            return mutual_information(Joint(prior, channel.floats))

        found = [best_member(name, prior, (level,), information) for name in _FAMILIES]
        kept = [row for row in found if row is not None]
        rows = [kept[i] for i in falling([row.utility for row in kept])]
        this, truth = self.joint, Joint(prior, mechanisms.identity(names))
        return (
            Alternative.of("this release", this, mutual_information(this)),
            *rows,
            Alternative.of("the secret itself", truth, entropy(prior)),
        )

    @cached_property
    def envelope(self) -> tuple[tuple[float, float], ...]:
        """(t, an upper bound on the chance that pml reaches t, however outcomes are merged)."""
        pml = self.profile.pml
        if pml is None or not self.small or not pml.max() > 0:
            return ()
        thresholds = np.linspace(pml.max() / _THRESHOLDS, pml.max(), _THRESHOLDS).tolist()
        return tuple((t, tail_envelope(self.joint, t, self.unit).upper) for t in thresholds)

    @cached_property
    def sensitivity(self) -> tuple[tuple[float, float, float], ...]:
        """(share of the belief that is moved, the largest pml and pmc over all such priors)."""
        if not self.small:
            return ()
        matrix = self.joint.channel.floats
        whole = np.asarray(matrix.toarray() if self.joint.channel.sparse else matrix)
        return around(self.joint.prior.floats, whole, MOVED, self.unit)

    def kept(self, kind: type[Guarantee]) -> Guarantee:
        """Return the strongest guarantee of a kind that the release has; of many floats, up to twice their rounding.

        Examples
        --------
        >>> dv.report(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])).kept(dv.LDP)  # log 3
        LDP(1.098612288...)
        """
        if self.joint.exact or self.exactly:
            return kind.of(self._subject(kind))
        highest: Any = {name: PARAMETERS[name].high for name in kind.bounded()}
        loosest = kind(**highest)
        levels = zip(kind.bounded(), loosest.levels(self._subject(kind)), strict=True)
        found: Any = {n: PARAMETERS[n].clamped(float(v.value) + 2 * v.margin) for n, v in levels}
        return kind(**found)

    def _verdict(self, guarantee: Guarantee) -> Verdict:
        return guarantee.holds_for(self._subject(type(guarantee)))

    def _subject(self, kind: type[Guarantee]) -> Joint | Channel:
        return self.joint if kind.about == "joint" else self.joint.channel

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data; logarithms in its unit.

        Keys: those of `Profile.to_dict`, and about, prior, estimated, beliefs, adversaries, guarantees, implied,
        compared, sensitivity, caveats, sources, receipt, audit, spent.

        Examples
        --------
        >>> found = dv.report([[0.75, 0.25], [0.25, 0.75]], prior=[0.1, 0.9])
        >>> found.to_dict()["beliefs"][0]["secret"]
        0
        """
        from divulge.reporting.wording import in_unit

        nats = nats_per(self.unit)
        return {
            "about": self.about,
            "prior": {"source": self.prior_source, "probabilities": self.joint.prior.floats.tolist()},
            "estimated": self.estimated,
            **self.profile.to_dict(),
            "beliefs": [vars(belief) for belief in self.beliefs],
            "adversaries": [
                {"kind": kind, "words": a.words, "before": a.before, "after": a.after, "factor": a.leakage}
                for kind, a in self.adversaries.items()
            ],
            "guarantees": [
                {"holds": v.holds, "guarantee": v.guarantee.to_dict(self.unit),
                 "measured": in_unit(v.guarantee, v.levels, self.unit), "witness": v.witness.to_dict()}
                for v in self.verdicts
            ],
            "implied": [
                {**g.to_dict(self.unit), "measured": self.measured[g.kind].to_dict(self.unit),
                 "derivation": [step.to_dict(self.unit) for step in g.derivation]}
                for g in self.implied
            ],
            "region": self.region.words,
            "compared": [
                {"name": row.name, **{name: getattr(row, name) / nats for name in ("utility", "pml", "pmc", "ldp")}}
                for row in self.compared
            ],
            "sensitivity": [{"moved": s, "pml": pml, "pmc": pmc} for s, pml, pmc in self.sensitivity],
            "caveats": list(late("divulge.reporting.reports.promises:caveats")(self)),
            "sources": list(late("divulge.reporting.reports.promises:sources")(self)),
            "receipt": None if self.receipt is None else _head(self.receipt, self.unit),
            "audit": None if self.audit is None else self.audit.to_dict(self.unit),
            "claims": [{"violated": a.violated, **a.claim.to_dict(self.unit)} for a in self.refutations if a.claim],
            "spent": None if self.spent is None else {kind: v / nats for kind, v in self.spent.items()},
        }  # fmt: skip

    def text(self) -> str:
        """Return the report as text, without its pictures.

        Examples
        --------
        >>> found = dv.report([[0.75, 0.25], [0.25, 0.75]], prior=[0.1, 0.9])
        >>> print(found.text().splitlines()[0])
        In short
        """
        from divulge.reporting.text import as_text

        return as_text(late("divulge.reporting.reports.content:contents")(self))

    def html(self) -> str:
        """Return the report as one HTML page that holds all it needs: style and pictures, no script (extra: plot).

        Examples
        --------
        >>> found = dv.report([[0.75, 0.25], [0.25, 0.75]], prior=[0.1, 0.9])
        >>> found.html()[:15]
        '<!doctype html>'
        """
        from divulge.reporting.page import as_page

        return as_page(self.voice, self.about, late("divulge.reporting.reports.content:contents")(self))

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page; it appears whole or not at all, and replaces another file only when forced.

        A page about rows of data holds exact numbers of them: only its owner may read it.

        Examples
        --------
        >>> found = dv.report([[0.75, 0.25], [0.25, 0.75]], prior=[0.1, 0.9])
        >>> found.save(folder / "report.html")
        """
        write_page(self.html, path, force, private=self.estimated)

    def __repr__(self) -> str:
        from divulge.reporting.text import as_text

        return as_text(late("divulge.reporting.reports.content:contents")(self)[:1])

    def _repr_html_(self) -> str:
        from divulge.reporting.page import as_frame

        return as_frame(self.html(), self.voice.text("r_kind"))


def write_page(page: Callable[[], str], path: str | os.PathLike[str], force: bool, *, private: bool = False) -> None:
    """Write a page under its name, whole or not at all; it is made when its name has been found good.

    Only its owner may read a private one.
    """
    target = place(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise DivulgeError.of(
            "path", "have a name that ends in .html", "it", printable(repr(target.name)),
            "a browser prints the page, to PDF too.",
        )  # fmt: skip
    recover(target.parent)
    refuse_taken(target, force)
    content = page().encode()
    with staged(target) as temporary:
        temporary.touch(0o600 if private else 0o666, exist_ok=False)
        temporary.write_bytes(content)
        publish(temporary, target, force)


_ATTACKED: tuple[type[Guarantee], ...] = (k.PML, k.PMC, k.MinEntropyLeakage, k.BayesCapacity, k.LDP)
_FAMILIES = ("randomized response", "geometric", "subset selection", "unary encoding", "resample", "watchdog",
             "subset merging")  # fmt: skip


def bounds_something(guarantee: Guarantee) -> bool:
    """Say whether a guarantee bounds something: an infinite one does not."""
    return all(getattr(guarantee, name) != math.inf for name in guarantee.bounded())


def _head(receipt: Receipt, unit: Unit) -> dict[str, Any]:
    """Return what a receipt says, but its mechanisms, its levels in a unit."""
    found = {key: value for key, value in receipt.to_dict().items() if key != "mechanisms"}
    asked = [as_typed(one).to_dict(unit) for one in receipt.asked]
    whole = found["together"] and found["together"] | {"guarantees": levels_in(found["together"]["guarantees"], unit)}
    return found | {"asked": asked, "guarantees": levels_in(found["guarantees"], unit), "together": whole}

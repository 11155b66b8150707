"""Does a release keep what it claims? Bounds from the data alone, or a test of the data against a known mechanism."""

import html
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.auditing.bounds import MEASURES, Bounds, Cells, refutable
from divulge.auditing.chosen import BY_EVENT, ChosenEvent, chosen_event
from divulge.auditing.conformity import Conformity, aligned, conformity
from divulge.errors import DivulgeError, number_of
from divulge.files.tables.source import TableLike
from divulge.guarantees.catalog import as_guarantee
from divulge.guarantees.guarantee import Guarantee, Verdict
from divulge.guarantees.parameters import PARAMETERS
from divulge.late import late
from divulge.measures.average.capacities import bayes_capacity, maximal_leakage
from divulge.measures.pointwise.density import ldp, lift, lift_capacity, lip, pmc, pml
from divulge.model.accepted import ChannelLike
from divulge.model.arraylike import Matrix
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.entries import open_share
from divulge.model.joint import Joint
from divulge.model.labels import key_of
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.model.shown import html_table, lowered, percent, printable, promised, raised, reached
from divulge.releasing.estimating.counting import EngineName, contingency
from divulge.releasing.estimating.estimate import oracle_of
from divulge.releasing.records.receipt import Receipt
from divulge.units import Unit, nats_per

MOST_CELLS = 1 << 24
"""Up to so many combinations of a secret and an outcome are bounded: 128 MB of counts."""
MOST_ROWS = 1 << 53
"""Rows that are counted: doubles hold all whole numbers up to this one."""

EXACT: dict[str, Callable[[Joint], Any]] = {
    "ldp": lambda joint: ldp(joint.channel),
    "pml": lambda joint: pml(joint).max(),
    "pmc": lambda joint: pmc(joint).max(),
    "lip": lip,
    "lift": lift,
    "lift_capacity": lambda joint: lift_capacity(joint.channel),
    "bayes_capacity": lambda joint: bayes_capacity(joint.channel),
    "maximal_leakage": lambda joint: maximal_leakage(joint.channel),
}
"""Measure -> its value for a known mechanism."""

CLAIMS: dict[str, dict[str, str]] = {
    "ldp": {"epsilon": "ldp"},
    "pml": {"epsilon": "pml"},
    "pmc": {"epsilon": "pmc"},
    "lip": {"epsilon": "lip"},
    "alip": {"lower": "pmc", "upper": "pml"},
    "lift": {"ratio": "lift"},
    "lift-capacity": {"ratio": "lift_capacity"},
    "bayes-capacity": {"ratio": "bayes_capacity"},
    "maximal-leakage": {"epsilon": "maximal_leakage"},
}
"""Kind of claim -> {its parameter: the measure that decides it}."""


@dataclass(frozen=True)
class Witness:
    """The cell that proves a claim wrong: an outcome, the secrets compared there, and their rows.

    `rows` counts, for each of `secrets`, (rows with that secret and this outcome, rows with that secret). For claims
    about events `outcome` is the tuple of outcomes in the event, or says where the numbers in it lie, and `rows` are
    those of the half that tests.
    """

    measure: str
    outcome: Hashable
    secrets: tuple[Hashable, ...]
    rows: tuple[tuple[int, int], ...]
    claimed: float
    lower: float

    def to_dict(self, scale: float = 1.0) -> dict[str, Any]:
        """Return the witness as plain data; logarithms are divided by `scale`."""
        cells = [
            {"secret": x, "rows": hits, "of": total} for x, (hits, total) in zip(self.secrets, self.rows, strict=True)
        ]
        return {
            "measure": self.measure,
            "outcome": self.outcome,
            "secret": self.secrets[0],
            "cells": cells,
            "claimed": self.claimed / scale,
            "lower": self.lower / scale,
        }


@dataclass(frozen=True)
class Known:
    """What a known mechanism adds to an audit.

    values : {measure: float}; of the mechanism itself, for secrets as frequent as in the rows; logarithms in nats
    conformity : whether the rows look like draws from it
    verdict : whether the mechanism keeps the claim, decided exactly
    """

    values: Mapping[str, float]
    conformity: Conformity
    verdict: Verdict | None

    def to_dict(self, scales: Mapping[str, float], unit: Unit = "nats") -> dict[str, Any]:
        """Return it as plain data; each value is divided by its scale, the verdict in a unit."""
        return {
            "values": {name: value / scales[name] for name, value in self.values.items()},
            "conformity": self.conformity.to_dict(),
            "verdict": None if self.verdict is None else self.verdict.to_dict(unit),
        }


@dataclass(frozen=True, eq=False)
class Audit(Record):
    """What the rows show about leakage.

    Attributes
    ----------
    rows : int
    confidence : float
        All bounds hold at once with this confidence, when rows are independent.
    measures : {measure: Bounds}
        Logarithms in nats.
    secrets, outcomes : labels that occur
    counts : int64 array of shape (N, M)
    claim : Guarantee or None
    violated : bool
        Whether a lower bound exceeds the claim, or the known mechanism does. Rows that conform to a mechanism that
        keeps the claim do not refute it by chance.
    witness : Witness or None
    known : Known or None
        Exact values and a test of the rows, when the mechanism is known.
    refutable : {measure: float}
        The largest lower bound that any table with so many rows of each secret could have: claims from there on cannot
        be refuted with so many rows, whatever they hold.
    remarks : what a reader must know of an audit of reports, in the place of `notes` on other rows
    chosen : ChosenEvent or None
        For claims about any set of outcomes, the set that was chosen on one half of the rows, and what the other half
        shows of it.

    Examples
    --------
    >>> found = audit([[900, 100], [100, 900]], secret=None, released=None)
    >>> found.rows, found.counts.tolist(), found.violated
    (2000, [[900, 100], [100, 900]], False)
    >>> found.measures["ldp"].lower < 2.197 < found.measures["ldp"].upper  # log 9, of 900 / 100
    True
    """

    rows: int
    confidence: float
    measures: Mapping[str, Bounds]
    secrets: tuple[Hashable, ...]
    outcomes: tuple[Hashable, ...]
    counts: np.ndarray
    claim: Guarantee | None = None
    violated: bool = False
    witness: Witness | None = None
    known: Known | None = None
    refutable: Mapping[str, float] = field(default_factory=dict[str, float])
    remarks: tuple[str, ...] = ()
    chosen: ChosenEvent | None = None

    @property
    def power(self) -> str | None:
        """What a claim that is not refuted was tested against: what these rows refute, and what so many rows could."""
        if self.claim is None or self.violated:
            return None
        return self._power("nats")

    def _power(self, unit: Unit) -> str:
        assert self.claim is not None
        parts: list[str] = []
        for name in dict.fromkeys(CLAIMS.get(self.claim.kind, {"": self.claim.kind}).values()):
            scale = self._scale(name, unit)
            nothing = 1.0 if name in self.measures and not self.measures[name].logarithmic else 0.0
            low, most = self._lower(name) / scale, self.refutable[name] / scale
            if not most > nothing:
                parts.append(f"so few rows cannot refute any claim of {name}")
            else:
                now = f"claims of {name} below {reached(low, 4)}" if low > nothing else f"no claim of {name}"
                parts.append(f"these rows refute {now}; as many could at best refute those below {promised(most, 4)}")
        return "; ".join(parts)

    def _lower(self, name: str) -> float:
        """Return the lower bound on a measure, or on the parameter of a claim about events."""
        if name in self.measures:
            return self.measures[name].lower
        return 0.0 if self.chosen is None else self.chosen.level

    def _scale(self, name: str, unit: Unit) -> float:
        """Return what a number is divided by: logarithms are told in the unit."""
        if name in self.measures:
            logarithmic = self.measures[name].logarithmic
        else:
            logarithmic = self.chosen is not None and PARAMETERS[self.chosen.parameter].logarithmic
        return nats_per(unit) if logarithmic else 1.0

    @property
    def thinnest(self) -> int:
        """The number of rows in the thinnest cell; at 0, upper bounds of pmc and ldp are infinite."""
        return int(self.counts.min())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know: what is assumed, and why a bound is infinite."""
        if self.remarks:
            return self.remarks
        found = [
            "rows are taken to be independent",
            "secrets and outcomes that never occurred are not in the upper bounds, and could leak more",
        ]
        if self.claim is not None and self.claim.kind in BY_EVENT:
            found.append(
                "the claim is about any set of outcomes: one was chosen on half of the rows and tested on the other "
                "half, by itself at this confidence; the bounds are of single outcomes, from all rows"
            )
        if self.thinnest == 0:
            empty = int((self.counts == 0).sum())
            found.append(
                f"{empty} of {self.counts.size} cells {'is' if empty == 1 else 'are'} empty: no upper bound on pmc and "
                "ldp, however many rows"
            )
        return tuple(found)

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return {"rows", "confidence", "measures", "claim", "violated", "witness", ...}; logarithms in `unit`.

        Examples
        --------
        >>> found = dv.audit([[900, 100], [100, 900]], secret=None, released=None).to_dict()
        >>> found['rows'], round(found['measures']['bayes_capacity']['estimate'], 9)
        (2000, 1.8)
        """
        scales = {name: self._scale(name, unit) for name in {**self.measures, **self.refutable}}

        def numbers(name: str) -> dict[str, float]:
            found = self.measures[name]
            return {part: getattr(found, part) / scales[name] for part in ("estimate", "lower", "upper")}

        return {
            "rows": self.rows,
            "confidence": self.confidence,
            "unit": unit,
            "measures": {name: numbers(name) for name in self.measures},
            "claim": None if self.claim is None else self.claim.to_dict(unit),
            "violated": self.violated,
            "witness": None if self.witness is None else self.witness.to_dict(scales[self.witness.measure]),
            "refutable": {name: value / scales[name] for name, value in self.refutable.items()},
            "power": None if self.power is None else self._power(unit),
            "thinnest_cell": self.thinnest,
            "mechanism": None if self.known is None else self.known.to_dict(scales, unit),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines = [
            f"{name:>16}  {reached(b.lower, 4)} <= . <= {promised(b.upper, 4)}   (plug-in estimate {b.estimate:.4g})"
            for name, b in self.measures.items()
        ]
        return "\n".join([self._head, *lines, *self._verdicts])

    def _repr_html_(self) -> str:
        ends = ([b.lower for b in self.measures.values()], [b.upper for b in self.measures.values()])
        bounds = np.column_stack([lowered(ends[0]), raised(ends[1]), [b.estimate for b in self.measures.values()]])
        table = html_table(list(self.measures), ["at least", "at most", "plug-in (biased up)"], bounds)
        return "".join(
            [f"<p>{self._head}</p>{table}", *(f"<p>{html.escape(printable(line))}</p>" for line in self._verdicts)]
        )

    @property
    def _head(self) -> str:
        rows = number_of(self.rows, "row")
        return f"audit of {rows}, all bounds at {percent(self.confidence)} confidence (nats; ratios for lifts)"

    @property
    def _verdicts(self) -> list[str]:
        """What stands below the table of measures."""
        lines: list[str] = []
        if self.claim is not None:
            lines.append(f"claim {self.claim}: {'VIOLATED' if self.violated else 'not refuted'}")
        if self.power is not None and self.known is None:
            lines.append(self.power)
        if self.known is not None:
            fit = self.known.conformity
            lines.append(
                f"rows {'conform' if fit.conforms else 'DO NOT conform'} to the mechanism: p = {fit.p_value:.4g}"
            )
        return lines + [f"note: {note}" for note in self.notes]


def audit(
    data: TableLike | Matrix,
    *,
    secret: str | Sequence[Hashable] | None,
    released: str | Sequence[Hashable] | None,
    claim: Guarantee | str | None = None,
    mechanism: ChannelLike | Receipt | str | os.PathLike[str] | None = None,
    null_as: Hashable = None,
    confidence: float = 0.95,
    engine: EngineName = "local",
) -> Audit:
    """Return what observed pairs of secret and outcome show about leakage, with bounds that hold with confidence.

    Parameters
    ----------
    data : path, table, PySpark DataFrame, or counts of shape (N, M)
        For counts, `secret` and `released` are their labels (or None).
    secret, released : str
        Columns of the original value and of the released one; tuples of str for columns released together.
    claim : Guarantee or text such as "ldp=1" or "adp=0.5:1e-5", optional
        What the release says of itself. Refuted when a lower bound exceeds it; never confirmed by data alone. Those
        of kinds dp, adp, tv, kl, rdp, zcdp and its like, and gdp are about any set of outcomes: a set is chosen on
        half of the rows, also of outcomes that are numbers, and tested on the other half.
    mechanism : Channel, Receipt or path of a receipt, optional
        When it is known, the claim is decided exactly and the rows are tested against it.
    null_as : label, optional
        Of missing values, as a category of their own; that of the receipt when not given.
    confidence : float in (0, 1)
    engine : "local" or "spark"
        Where the rows are counted; everything after that is the same.

    Returns
    -------
    Audit
        Estimates (plug-in, biased upward) and simultaneous lower and upper bounds for every measure.

    Raises
    ------
    DivulgeError
        For missing values, unknown columns, or a claim that rows cannot refute.

    References
    ----------
    Bichsel, Steffen, Bogunovic, Vechev, "DP-Sniper: Black-Box Discovery of Differential Privacy Violations using
    Classifiers", 2021; Ding, Wang, Wang, Zhang, Kifer, "Detecting Violations of Differential Privacy",
    arXiv:1805.10277 (events that are chosen).

    Examples
    --------
    >>> found = audit([[900, 100], [100, 900]], secret=None, released=None, claim="ldp=1")
    >>> found.violated, found.measures["ldp"].lower > 1
    (True, True)
    >>> table = [[400, 300, 200, 100], [100, 200, 300, 400]]
    >>> found = audit(table, secret=None, released=None, claim="tv=0.2")  # it is 0.4, of the first two outcomes
    >>> found.violated, found.witness.outcome
    (True, (0, 1))
    """
    confidence = open_share(confidence, "confidence")
    claimed = None if claim is None else as_guarantee(claim, "claim")
    if claimed is not None and claimed.kind not in (*CLAIMS, *BY_EVENT):
        kinds = ", ".join((*CLAIMS, *BY_EVENT))
        raise DivulgeError.of("claim", f"be of a kind that rows can refute ({kinds})", "it", claimed.kind)
    receipt = Receipt.of(mechanism)
    if null_as is None and receipt is not None:
        null_as = receipt.null_as
    if receipt is not None and (oracle := oracle_of(receipt, _names(released, "released"))) is not None:
        return late("divulge.auditing.protocols.reports:audit_reports")(
            data,
            oracle,
            _names(secret, "secret"),
            _names(released, "released"),
            claim=claimed,
            null_as=null_as,
            confidence=confidence,
        )
    if isinstance(data, (np.ndarray, list, tuple)):
        table = _labeled(data, secret, released)
    else:
        table = _counted(data, _names(secret, "secret"), _names(released, "released"), null_as, engine)
    counts, secrets, outcomes = _occurring(*table)
    channel = mechanism if receipt is None else _ran(receipt, secret, released)
    channel = None if channel is None else as_channel(channel)
    cells = Cells.of(counts, confidence, len(table[2]) if channel is None else len(channel.outcomes))
    measures = {name: measure(cells) for name, measure in MEASURES.items()}
    by_event = claimed is not None and claimed.kind in BY_EVENT
    chosen = chosen_event(counts, outcomes, claimed, 1 - confidence) if claimed is not None and by_event else None
    if claimed is None or by_event:
        witness = None if claimed is None or chosen is None else _by_event(claimed, chosen, secrets, outcomes)
    else:
        witness = _refuted(claimed, measures, counts, secrets, outcomes)
    known = None if channel is None else _known(channel, counts, secrets, outcomes, claimed, 1 - confidence)
    if known is None:
        violated = witness is not None
    else:
        broken = known.verdict is not None and not known.verdict.holds
        violated = broken or (witness is not None and not known.conformity.conforms)
    most = refutable(counts.sum(axis=1), cells.outcomes, confidence)
    if claimed is not None and by_event:
        most = {**most, claimed.kind: 0.0 if chosen is None else chosen.most}
    return Audit(
        int(counts.sum()), confidence, measures, secrets, outcomes, counts, claimed, violated, witness, known, most,
        chosen=chosen,
    )  # fmt: skip


_Table = tuple[np.ndarray, tuple[Hashable, ...], tuple[Hashable, ...]]
"""Counts, the labels of their rows, and of their columns."""


def _names(given: Any, argument: str) -> tuple[str, ...]:
    names: Sequence[Any] = [given] if isinstance(given, str) else given if isinstance(given, (list, tuple)) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise DivulgeError.of(argument, "name a column of the data, or several released together", "it", "no name")
    return tuple(names)


def _counted(data: Any, secret: tuple[str, ...], released: tuple[str, ...], null_as: Hashable, engine: Any) -> _Table:
    """Return the counts of a table, labels in the order of their text, whichever engine counted."""
    found = contingency(data, (*secret, *released), engine=engine)
    for name, missing in zip(found.columns, found.missing, strict=True):
        if missing and null_as is None:
            raise DivulgeError.of(
                "data", f"have no missing value in {name!r}", "their number", f"{missing:,}",
                "null_as=LABEL (--null-as) names the category that they are.",
            )  # fmt: skip
    k = len(secret)
    found.keep_missing_apart(null_as)
    secrets, rows = _axis(found.labels[:k], found.cells[:, :k], null_as)
    outcomes, columns = _axis(found.labels[k:], found.cells[:, k:], null_as)
    if len(secrets) * len(outcomes) > MOST_CELLS:
        raise DivulgeError.of(
            "data", f"have at most {MOST_CELLS:,} combinations of secret and outcome to bound", "their number",
            f"{len(secrets):,} x {len(outcomes):,}", "merge rare values, or audit numbers with guessability.",
        )  # fmt: skip
    counts = np.zeros((len(secrets), len(outcomes)), dtype=np.int64)
    np.add.at(counts, (rows, columns), found.counts)
    return counts, secrets, outcomes


def _axis(
    labels: Sequence[Sequence[Hashable]], cells: np.ndarray, null_as: Hashable
) -> tuple[tuple[Hashable, ...], np.ndarray]:
    """Return the combinations of labels that occur, in the order of their text, and where each cell is among them."""
    filled = [[null_as if label is None else label for label in column] for column in labels]
    found = [tuple(column[i] for column, i in zip(filled, cell, strict=True)) for cell in cells.tolist()]
    ordered: list[tuple[Hashable, ...]] = sorted(
        set(found), key=lambda parts: [(str(p), type(p).__name__) for p in parts]
    )
    places = {parts: i for i, parts in enumerate(ordered)}
    where = np.array([places[parts] for parts in found], dtype=np.int64)
    return tuple(parts if len(labels) > 1 else parts[0] for parts in ordered), where


def _labeled(data: Any, secret: Any, released: Any) -> _Table:
    """Return counts that were given, with their labels."""
    counts = _whole(data)
    secrets, outcomes = (
        tuple(range(size)) if given is None else tuple(given)
        for given, size in zip((secret, released), counts.shape, strict=True)
    )
    if (len(secrets), len(outcomes)) != counts.shape:
        raise DivulgeError.of("secret", "label every row of the counts, and released every column", "they", "do not")
    for argument, labels in (("secret", secrets), ("released", outcomes)):
        if len({key_of(label) for label in labels}) < len(labels):
            raise DivulgeError.of(argument, "have no label twice", "the labels of the counts", "repeated")
    return counts, secrets, outcomes


def _occurring(counts: np.ndarray, secrets: tuple[Hashable, ...], outcomes: tuple[Hashable, ...]) -> _Table:
    """Leave out the secrets and outcomes without a row."""
    if not counts.sum() > 0:
        raise DivulgeError.of("data", "have at least one row", "it", "empty")
    rows, columns = np.flatnonzero(counts.any(axis=1)), np.flatnonzero(counts.any(axis=0))
    return counts[np.ix_(rows, columns)], tuple(secrets[i] for i in rows), tuple(outcomes[j] for j in columns)


def _whole(data: Any) -> np.ndarray:
    array = np.asarray(data)
    if array.ndim != 2 or array.dtype.kind not in "iu" or not (array >= 0).all():
        raise DivulgeError.of("data", "be a table with two named columns, or counts of shape (N, M)", "it", "neither")
    if not sum(array.ravel().tolist()) <= MOST_ROWS:
        raise DivulgeError.of("data", f"have at most {MOST_ROWS:,} rows", "their number", "larger")
    return array.astype(np.int64)


def _refuted(
    claim: Guarantee,
    measures: Mapping[str, Bounds],
    counts: np.ndarray,
    secrets: tuple[Hashable, ...],
    outcomes: tuple[Hashable, ...],
) -> Witness | None:
    """Return the cells whose lower bound exceeds the claim, if any do."""
    for parameter, name in CLAIMS[claim.kind].items():
        found, allowed = measures[name], float(getattr(claim, parameter))
        if found.lower > allowed:
            rows = tuple((int(counts[x, found.outcome]), int(counts[x].sum())) for x in found.secrets)
            at = tuple(secrets[x] for x in found.secrets)
            return Witness(name, outcomes[found.outcome], at, rows, allowed, found.lower)
    return None


def _by_event(
    claim: Guarantee, chosen: ChosenEvent, secrets: tuple[Hashable, ...], outcomes: tuple[Hashable, ...]
) -> Witness | None:
    """Return the event that was chosen, if the half that tests refutes the claim by it."""
    if not chosen.refuted:
        return None
    held = tuple(outcomes[y] for y in chosen.outcomes) if chosen.words is None else chosen.words
    at = tuple(secrets[x] for x in chosen.secrets)
    return Witness(claim.kind, held, at, chosen.rows, float(getattr(claim, chosen.parameter)), chosen.level)


def _ran(receipt: Receipt, secret: Any, released: Any) -> Channel:
    """Return the mechanism of a receipt that was run on these columns, whichever name they have now."""
    if len(receipt.mechanisms) == 1:
        return receipt.channel
    run = {names for m in receipt.mechanisms for names in (m.columns, receipt.names_of(m))}
    now = _names(released, "released")
    return receipt.matrix_of(now if now in run else _names(secret, "secret")).channel.exact


def _known(
    channel: Channel,
    counts: np.ndarray,
    secrets: tuple[Hashable, ...],
    outcomes: tuple[Hashable, ...],
    claim: Guarantee | None,
    risk: float,
) -> Known:
    """Return what the mechanism itself says, for secrets as frequent as in the rows."""
    shares = aligned(counts, secrets, outcomes, channel).sum(axis=1).tolist()
    joint = Joint(Prior.from_counts(shares, channel.secrets), channel)
    verdict = None if claim is None else claim.holds_for(joint if claim.about == "joint" else channel)
    values = {name: float(measure(joint)) for name, measure in EXACT.items()}
    return Known(values, conformity(counts, secrets, outcomes, channel, risk), verdict)

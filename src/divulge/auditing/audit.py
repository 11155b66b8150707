"""Does a release keep what it claims? Bounds from the data alone, or a test of the data against a known mechanism."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.auditing.bounds import MEASURES, Bounds, Cells
from divulge.auditing.conformity import Conformity, conformity
from divulge.errors import DivulgeError
from divulge.guarantees.catalog import parse
from divulge.guarantees.guarantee import Guarantee, Verdict
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.releasing.counting import contingency
from divulge.releasing.receipt import Receipt
from divulge.units import Unit, nats_per

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

    `rows` counts, for each of `secrets`, (rows with that secret and this outcome, rows with that secret).
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


@dataclass(frozen=True, eq=False)
class Audit:
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
        Whether a lower bound exceeds the claim (black box), or the mechanism itself does (known mechanism).
    witness : Witness or None
    verdict : Verdict or None
        The exact decision, when the mechanism is known.
    conformity : Conformity or None
        Whether the rows look like draws from the known mechanism.
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
    verdict: Verdict | None = None
    conformity: Conformity | None = None

    @property
    def thinnest(self) -> int:
        """The number of rows in the thinnest cell; at 0, upper bounds of pmc and ldp are infinite."""
        return int(self.counts.min())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know: what is assumed, and why a bound is infinite."""
        found = ["rows are taken to be independent"]
        if self.thinnest == 0:
            empty = int((self.counts == 0).sum())
            found.append(
                f"{empty} of {self.counts.size} cells are empty: no upper bound on pmc and ldp, however many rows"
            )
        return tuple(found)

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return {"rows", "confidence", "measures", "claim", "violated", "witness", ...}; logarithms in `unit`."""
        scale = nats_per(unit)

        def numbers(found: Bounds) -> dict[str, float]:
            by = scale if found.logarithmic else 1.0
            return {name: getattr(found, name) / by for name in ("estimate", "lower", "upper")}

        witness = None
        if self.witness is not None:
            witness = self.witness.to_dict(scale if self.measures[self.witness.measure].logarithmic else 1.0)
        return {
            "rows": self.rows,
            "confidence": self.confidence,
            "unit": unit,
            "measures": {name: numbers(found) for name, found in self.measures.items()},
            "claim": None if self.claim is None else self.claim.to_dict(unit),
            "violated": self.violated,
            "witness": witness,
            "thinnest_cell": self.thinnest,
            "mechanism": None
            if self.conformity is None
            else {
                "conformity": self.conformity.to_dict(),
                "verdict": None if self.verdict is None else self.verdict.to_dict(),
            },
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines = [
            f"audit of {self.rows:,} rows, all bounds at {self.confidence:.0%} confidence (nats; ratios for lifts)"
        ]
        for name, b in self.measures.items():
            lines.append(f"{name:>16}  {b.lower:.4g} <= . <= {b.upper:.4g}   (plug-in estimate {b.estimate:.4g})")
        if self.claim is not None:
            lines.append(f"claim {self.claim}: {'VIOLATED' if self.violated else 'not refuted'}")
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def audit(
    data: Any,
    *,
    secret: Any,
    released: Any,
    claim: Guarantee | str | None = None,
    mechanism: Any = None,
    confidence: float = 0.95,
) -> Audit:
    """Return what observed pairs of secret and outcome show about leakage, with bounds that hold with confidence.

    Parameters
    ----------
    data : path, table, PySpark DataFrame, or counts of shape (N, M)
        For counts, `secret` and `released` are their labels (or None).
    secret, released : str
        Columns of the original value and of the released one.
    claim : Guarantee or text such as "ldp=1", optional
        What the release says of itself. Refuted when a lower bound exceeds it; never confirmed by data alone.
    mechanism : Channel, Receipt or path of a receipt, optional
        When it is known, the claim is decided exactly and the rows are tested against it.
    confidence : float in (0, 1)

    Returns
    -------
    Audit
        Estimates (plug-in, biased upward) and simultaneous lower and upper bounds for every measure.

    Raises
    ------
    DivulgeError
        For missing values, unknown columns, or a claim that rows cannot refute.

    Examples
    --------
    >>> found = audit([[900, 100], [100, 900]], secret=None, released=None, claim="ldp=1")
    >>> found.violated, found.measures["ldp"].lower > 1
    (True, True)
    """
    if not 0 < confidence < 1:
        raise DivulgeError.of("confidence", "be between 0 and 1", "it", str(confidence))
    claimed = parse(claim) if isinstance(claim, str) else claim
    if claimed is not None and claimed.kind not in CLAIMS:
        raise DivulgeError.of("claim", f"be of a kind that rows can refute ({', '.join(CLAIMS)})", "it", claimed.kind)
    counts, secrets, outcomes = _table(data, secret, released)
    cells = Cells.of(counts, confidence)
    measures = {name: measure(cells) for name, measure in MEASURES.items()}
    witness = None if claimed is None else _refuted(claimed, measures, counts, secrets, outcomes)
    verdict, fit = None, None
    if mechanism is not None:
        channel = _channel(mechanism, (secret, released))
        fit = conformity(counts, secrets, outcomes, channel, 1 - confidence)
        if claimed is not None:
            verdict = claimed.holds_for(_joint(channel, counts, secrets) if claimed.about == "joint" else channel)
    violated = witness is not None if verdict is None else not verdict.holds
    return Audit(
        int(counts.sum()), confidence, measures, secrets, outcomes, counts, claimed, violated, witness, verdict, fit
    )


def _table(data: Any, secret: Any, released: Any) -> tuple[np.ndarray, tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Return (counts, secrets, outcomes) of the rows and columns that occur."""
    if isinstance(secret, str) and isinstance(released, str):
        found = contingency(data, (secret, released))
        for name, missing in zip(found.columns, found.missing, strict=True):
            if missing:
                raise DivulgeError.of(
                    "data", f"have no missing value in {name!r}", "their number", f"{missing:,}",
                    "name them as a category of their own first.",
                )  # fmt: skip
        counts, labels = found.dense(), found.labels
    else:
        counts = _whole(data)
        axes = zip((secret, released), counts.shape, strict=True)
        labels = tuple(tuple(range(size)) if given is None else tuple(given) for given, size in axes)
        if tuple(map(len, labels)) != counts.shape:
            raise DivulgeError.of(
                "secret", "label every row of the counts, and released every column", "they", "do not"
            )
    if not counts.sum() > 0:
        raise DivulgeError.of("data", "have at least one row", "it", "empty")
    rows, columns = counts.sum(axis=1) > 0, counts.sum(axis=0) > 0
    kept = (
        tuple(label for label, seen in zip(axis, there, strict=True) if seen)
        for axis, there in zip(labels, (rows, columns), strict=True)
    )
    return counts[rows][:, columns], *kept  # type: ignore[return-value]


def _whole(data: Any) -> np.ndarray:
    array = np.asarray(data)
    if array.ndim != 2 or array.dtype.kind not in "iu" or not (array >= 0).all():
        raise DivulgeError.of("data", "be a table with two named columns, or counts of shape (N, M)", "it", "neither")
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


def _channel(mechanism: Any, columns: tuple[Any, Any]) -> Channel:
    if isinstance(mechanism, (str, Receipt)) or hasattr(mechanism, "__fspath__"):
        receipt = mechanism if isinstance(mechanism, Receipt) else Receipt.read(mechanism)
        if len(receipt.mechanisms) == 1:
            return receipt.channel
        return receipt.mechanism_of(columns[1] if columns[1] in receipt.columns else columns[0]).channel.exact
    return as_channel(mechanism)


def _joint(channel: Channel, counts: np.ndarray, secrets: tuple[Hashable, ...]) -> Joint:
    """Return the joint of the mechanism with the secrets as the rows have them."""
    by_text = {str(x): int(c) for x, c in zip(secrets, counts.sum(axis=1), strict=True)}
    prior = Prior.from_counts([by_text.get(str(x), 0) for x in channel.secrets], channel.secrets)
    return Joint(prior, channel)

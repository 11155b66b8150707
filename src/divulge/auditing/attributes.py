"""Audits of attributes: does somebody who has the model guess a secret better than somebody who fills it in?"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.dp.special.one_run import risk_of
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.guarantees.catalog import as_guarantee
from divulge.guarantees.guarantee import Guarantee
from divulge.model.arraylike import HasArray
from divulge.model.labels import text_of
from divulge.model.shown import Shown
from divulge.releasing.estimating.intervals import clopper_pearson
from divulge.units import Unit, nats_per

CLAIMS = {"lift": "lift", "pml": "pml"}
"""Kind of claim -> the number that refutes it."""


@dataclass(frozen=True)
class AttributeAudit(Shown):
    """How much oftener an attack is right than an imputation of the same people, with confidence.

    Attributes
    ----------
    targets : int
    right, baseline_right, both_right : int
        How many the attack, the imputation, and both guess.
    others : int
        People who are not in the data, whom the same attack guesses; 0 where there are none.
    others_right : int
    p_value : float
        Of the exact test of McNemar: how probable it is, if attack and imputation are right equally often, that the
        attack is right alone so often among those whom one of them guesses.
    lift : float
        The attack is right at least so many times as often as the imputation.
    pml : float
        Its logarithm, nats: what is leaked about the secret, where nobody guesses better than the imputation without
        the model.
    others_lift : float or None
        The attack is right at least so many times as often about people in the data as about others.
    confidence : float
        All bounds hold together with it.
    claim : Guarantee or None
    violated : bool

    Examples
    --------
    >>> found = AttributeAudit.of_counts(500, 260, 200, 150)
    >>> round(found.p_value, 9), round(found.pml, 5)
    (1.194e-06, 0.06695)
    """

    targets: int
    right: int
    baseline_right: int
    both_right: int
    others: int
    others_right: int
    p_value: float
    lift: float
    pml: float
    others_lift: float | None
    confidence: float
    claim: Guarantee | None
    violated: bool

    @classmethod
    def of_counts(
        cls,
        targets: int,
        right: int,
        baseline_right: int,
        both_right: int,
        others: tuple[int, int] | None = None,
        claim: Guarantee | str | None = None,
        confidence: float = 0.95,
    ) -> "AttributeAudit":
        """Return the audit of so many guesses; `others` is (how many people who are not in the data, how many right).

        Examples
        --------
        >>> AttributeAudit.of_counts(500, 260, 200, 150, others=(500, 190), claim="pml=0.01").violated
        True
        """
        given: tuple[Any, ...] = (targets, right, baseline_right, both_right, *(others or ()))
        counts = all(isinstance(n, (int, np.integer)) and n >= 0 for n in given)
        either = right + baseline_right - both_right if counts else 0
        if not counts or not targets or not both_right <= min(right, baseline_right) or not either <= targets:
            raise DivulgeError.of("right", "be counts of targets, those of both in each", "they", "others")
        if others is not None and not 0 <= others[1] <= others[0] > 0:
            raise DivulgeError.of("others", "be (how many, how many right)", "they", str(others)[:60])
        risk = risk_of(confidence)
        claimed = None if claim is None else as_guarantee(claim, "claim")
        if claimed is not None and claimed.kind not in CLAIMS:
            raise DivulgeError.of(
                "claim", f"be of a kind that guesses can refute ({', '.join(CLAIMS)})", "it", claimed.kind
            )
        alone, without = right - both_right, baseline_right - both_right
        special = require("scipy.special", "science")
        p_value = float(special.betainc(alone, without + 1, 0.5)) if alone else 1.0
        each = risk * (2 if others is None else 2 * 2 / 3)  # of both sides of an interval, of which one is used
        low = _end(0, right, targets, each / 2)
        lift = max(1.0, low / _end(1, baseline_right, targets, each / 2))
        apart = None if others is None else max(1.0, low / _end(1, others[1], others[0], each / 2))
        violated = claimed is not None and {"lift": lift, "pml": math.log(lift)}[claimed.kind] > next(
            iter(claimed.values().values())
        )
        return cls(
            int(targets), int(right), int(baseline_right), int(both_right), *(others or (0, 0)), p_value, lift,
            math.log(lift), apart, confidence, claimed, violated,
        )  # fmt: skip

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return the audit as plain data; logarithms in `unit`.

        Examples
        --------
        >>> AttributeAudit.of_counts(500, 260, 200, 150).to_dict()["targets"]
        500
        """
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        claim = None if self.claim is None else self.claim.to_dict(unit)
        return {**found, "pml": self.pml / nats_per(unit), "claim": claim, "unit": unit}


def _end(side: int, hits: int, trials: int, risk: float) -> float:
    """Return a Clopper-Pearson bound that misses with probability risk / 2 at most."""
    return float(clopper_pearson(np.array([hits]), np.array([trials]), risk)[side][0])


def audit_attribute(
    guesses: Sequence[Hashable] | HasArray,
    baseline: Sequence[Hashable] | HasArray,
    truth: Sequence[Hashable] | HasArray,
    *,
    others: tuple[Sequence[Hashable] | HasArray, Sequence[Hashable] | HasArray] | None = None,
    claim: Guarantee | str | None = None,
    confidence: float = 0.95,
) -> AttributeAudit:
    r"""Return how much oftener an attack guesses a secret than an imputation of the same people does.

    Being right often is no leak: whoever knows the population fills in what is likely. The attack has to beat an
    imputation without the model on the same people (exact test of McNemar), and its own success about people who are
    not in the data. lift = P(attack right) / P(imputation right), from below, by Clopper-Pearson ends.

    Parameters
    ----------
    guesses : n labels
        What the attack says of people in the data.
    baseline : n labels
        What somebody without the model fills in: the best imputation that there is.
    truth : n labels
    others : (labels, labels), optional
        Guesses of the same attack, and the truth, for people who are not in the data.
    claim : Guarantee or text, "lift=..." or "pml=...", optional
        Refuted where the lift exceeds it, taking it that nobody guesses better than the imputation without the model.
    confidence : float in (0, 1)

    Returns
    -------
    AttributeAudit

    Raises
    ------
    DivulgeError
        For labels that are missing, or as many as there are not people, and claims of other kinds.

    References
    ----------
    McNemar, "Note on the sampling error of the difference between correlated proportions or percentages", 1947.
    Jayaraman, Evans, "Are Attribute Inference Attacks Just Imputation?", arXiv:2209.01292.

    Examples
    --------
    >>> truth = ["ill", "well"] * 100
    >>> found = audit_attribute(truth, ["well"] * 200, truth, claim="lift=1.2")
    >>> found.right, found.baseline_right, found.violated
    (200, 100, True)
    """
    said, filled, true = (
        _labels(given, name) for given, name in ((guesses, "guesses"), (baseline, "baseline"), (truth, "truth"))
    )
    if not len(said) == len(filled) == len(true):
        raise DivulgeError.of(
            "truth", "have one label for each guess, and for each of the baseline", "their number", "another"
        )
    right, without = (
        [a == b for a, b in zip(said, true, strict=True)],
        [a == b for a, b in zip(filled, true, strict=True)],
    )
    counted = None
    if others is not None:
        pair: Any = others
        if not isinstance(pair, (tuple, list)) or len(others) != 2:
            raise DivulgeError.of(
                "others", "be guesses and the truth, of people who are not in the data", "it", "no pair"
            )
        told, real = _labels(others[0], "others"), _labels(others[1], "others")
        if len(told) != len(real):
            raise DivulgeError.of("others", "have as many guesses as labels", "their number", "another")
        counted = len(real), sum(a == b for a, b in zip(told, real, strict=True))
    both = sum(a and b for a, b in zip(right, without, strict=True))
    return AttributeAudit.of_counts(len(true), sum(right), sum(without), both, counted, claim, confidence)


def _labels(given: Any, name: str) -> list[str]:
    """Return labels as texts; at least one, none missing."""
    array = np.asarray(given, dtype=object)
    found = [text_of(one) for one in array.tolist()] if array.ndim == 1 else []
    if not found or any(text is None for text in found):
        raise DivulgeError.of(name, "be a column of labels, none missing", "one of them", "none")
    return [str(text) for text in found]

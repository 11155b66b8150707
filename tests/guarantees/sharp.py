"""How much of the bound of each theorem some mechanism has, at every sort of parameter."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from guarantees.attaining import ATTAINED, LIMITS, of_one_order, two_outcomes
from guarantees.test_dp_theorems import ATTAINED as LOSS_ATTAINED
from guarantees.test_dp_theorems import GAUSS, RR, RR3, measured, rr, say_or_rr
from guarantees.test_dp_theorems import LIMITS as LOSS_LIMITS
from guarantees.test_metric_theorems import ATTAINED as METRIC_ATTAINED
from guarantees.test_table_theorems import ATTAINED as TABLE_ATTAINED
from guarantees.test_table_theorems import PLAIN

import divulge as dv
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.implication import consequences
from divulge.guarantees.calculus.theorem import Theorem
from divulge.guarantees.theorems.tables import TABLES

TINY = (1e-6, 1e-12)


def named_or_even(n: int) -> dv.Channel:
    """The secret with probability 1/2, else any other value."""
    return dv.Channel(np.where(np.eye(n) > 0, 0.5, 0.5 / (n - 1)))


MORE: dict[str, list[tuple[Any, Any, dict[str, Any]]]] = {
    # row: (mechanism, chosen parameters of the premise or of each, of the consequence)
    "pure DP is approximate DP with less epsilon": [(rr(0.5), {}, {"delta": d}) for d in TINY],
    "pure DP has the Renyi curve of randomized response": [
        (rr(e), {}, {"alpha": a}) for e in (0.01, 4.0) for a in (1.0, 1.1, 64.0)
    ],
    "pure DP bounds abs-chi": [(rr(e), {}, {"alpha": a}) for e in (0.01, 4.0) for a in (1.0, 5.0)],
    "pure DP bounds total variation": [(rr(e), {}, {}) for e in (1e-6, 8.0)],
    "pure DP bounds the mean loss": [(rr(e), {}, {}) for e in (1e-4, 8.0)],
    "pure DP is Gaussian DP": [(rr(e), {}, {}) for e in (1e-3, 5.0)],
    "approximate DP at another delta": [(say_or_rr(d, 0.9), {"delta": d}, {"delta": 3 * d}) for d in TINY],
    "approximate DP bounds total variation": [(say_or_rr(d, 0.9), {"delta": d}, {}) for d in TINY],
    "a tail bound is approximate DP": [(say_or_rr(d, 0.9), {"delta": d}, {"delta": 3 * d}) for d in TINY],
    "Gaussian DP is approximate DP": [(dv.dp.GaussianMechanism(s), {}, {"delta": d}) for s in (0.5, 5.0) for d in TINY],
    "Renyi is approximate DP": [
        (of_one_order(a, e, d), {"alpha": a}, {"delta": d})
        for a, e, d in [(2.0, 0.1, 0.1), (2.0, 0.1, 1e-6), (8.0, 1.0, 1e-6), (8.0, 1.0, 1e-12), (1.5, 0.5, 0.01)]
    ],
    "zCDP is approximate DP, in closed form": [
        (dv.dp.GaussianMechanism(s), {"xi": 0.0}, {"delta": d}) for s in (1.0, 10.0) for d in TINY
    ],
    "zCDP is approximate DP, at the best order": [
        (dv.dp.GaussianMechanism(s), {"xi": 0.0}, {"delta": d}) for s in (1.0, 10.0) for d in TINY
    ],
    "approximate zCDP is approximate DP": [(GAUSS, {"delta": 0.0, "xi": 0.0}, {"delta": d}) for d in TINY],
    "bounded CDP is approximate DP": [(GAUSS, {"order": 200.0, "xi": 0.0}, {"delta": d}) for d in TINY],
    "truncated CDP is approximate DP": [(GAUSS, {"omega": 200.0}, {"delta": d}) for d in TINY],
    "the mean loss bounds the capacity": [(named_or_even(24), {}, {})],
    "the mean loss of one of N bounds the capacity": [(named_or_even(24), {}, {})],
    "abs-chi bounds the mean loss": [(rr(0.1), {"alpha": 2.0}, {})],
    "abs-chi bounds approximate DP": [
        (two_outcomes(4 * d * d / 0.04, 1 + 0.04 / (2 * d)), {"alpha": 2.0}, {"delta": d}) for d in (1e-3, *TINY)
    ],
    "zCDP is mean-concentrated": [(dv.dp.GaussianMechanism(20.0), {"xi": 0.0}, {})],
    "Renyi between two orders": [(RR, [{"alpha": 2.0}, {"alpha": 2.02}], {"alpha": 2.01})],
    "Renyi between two orders is approximate DP": [
        (of_one_order(2.01, 0.5, d), [{"alpha": 2.0}, {"alpha": 2.02}], {"delta": d}) for d in (1e-2, *TINY)
    ],
    "pure DP is approximate DP at every delta": [(RR, {}, {"xi": 0.0})],
    "approximate DP at every delta is approximate DP at one": [(GAUSS, {"xi": 0.1731}, {"delta": d}) for d in TINY],
    "approximate DP at every delta bounds Renyi divergences": [(GAUSS, {"xi": 0.1731}, {"alpha": 4.0})],
    "approximate DP at every delta is zCDP": [(GAUSS, {"xi": 0.1731}, {"xi": 0.0})],
    "approximate DP at every delta, further up": [(GAUSS, {"xi": 0.1731}, {"xi": 0.1731})],
    "abs-chi bounds the ternary one": [(RR3, {"alpha": 3.0}, {"alpha": 3.0})],
}  # fmt: skip
"""What comes nearest to rows that are not tight, and other sorts of parameters of those that are."""


def shares(row: Theorem) -> Iterator[float]:
    """Yield the share of the row's bound that each of its mechanisms has, of the parameter that has least."""
    for cases in (ATTAINED, LIMITS, METRIC_ATTAINED):
        if row.name in cases:
            given, joint, context, index = cases[row.name]()
            yield _share(row, given, context, index, row.implies.of(joint, **index))
    if row.name in TABLE_ATTAINED:
        given, joint, context = TABLE_ATTAINED[row.name]
        yield _share(row, given, context, {}, row.implies.of(joint))
    elif row in TABLES:
        yield _share(row, [row.given[0].of(PLAIN)], {}, {}, row.implies.of(PLAIN))
    for mechanism, chosen, index in (
        *(cases[row.name] for cases in (LOSS_ATTAINED, LOSS_LIMITS) if row.name in cases),
        *MORE.get(row.name, ()),
    ):
        each = chosen if isinstance(chosen, list) else [chosen] * len(row.given)
        given = [measured(kind, mechanism, own) for kind, own in zip(row.given, each, strict=True)]
        known: dict[str, Any] = {"n": mechanism.shape[0]} if "n" in row.needs else {}
        if "prior" in row.needs:
            known = {"prior": dv.measures.capacity(mechanism).prior}
        yield _share(row, given, known, index, measured(row.implies, mechanism, index))


def _share(row: Theorem, given: Any, context: Any, index: Any, truth: Any) -> float:
    (found,) = consequences(given, [(row.implies, index)], Context.of(**context), theorems=(row,))
    assert isinstance(found, dv.Guarantee), row.name
    least = math.inf
    for name in row.implies.bounded():
        nothing = 1.0 if name == "ratio" else 0.0
        bound, value = (float(one.values()[name]) - nothing for one in (found, truth))
        least = min(least, 1.0 if bound <= 0 or value == bound else value / bound)
    return least

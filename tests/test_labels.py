"""Labels, not positions, say which row is whose: the same objects in another order have the same answers."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv

ORDERS = ["abc", "cab", "bca"]
ROWS = {"a": ["1/2", "1/4", "1/4"], "b": ["1/8", "3/4", "1/8"], "c": ["1/10", "1/5", "7/10"]}
SHARES = {"a": "1/5", "b": "7/10", "c": "1/10"}
WITH_A_ZERO = {"a": "3/10", "b": "7/10", "c": "0"}
PAYOFFS = {"a": [3, 0], "b": [1, 1], "c": [0, 2]}
STATES = {"a": [[0.5, 0.5], [0.5, 0.5]], "b": [[0.9, 0.0], [0.0, 0.1]], "c": [[0.5, 0.0], [0.0, 0.5]]}


def prior(order: str, shares: dict[str, str] = SHARES) -> dv.Prior:
    return dv.Prior([shares[x] for x in order], list(order))


def channel(order: str, outcomes: Sequence[str] = "uvw") -> dv.Channel:
    return dv.Channel([ROWS[x] for x in order], list(order), list(outcomes))


def joint(of_prior: str, of_channel: str, shares: dict[str, str] = SHARES) -> dv.Joint:
    return dv.Joint(prior(of_prior, shares), channel(of_channel))


def payoffs(kind: Any, order: str) -> Any:
    return kind(np.array([PAYOFFS[x] for x in order]).T, secrets=list(order))


def points(found: dv.results.Pointwise) -> list[tuple[float, float]]:
    return sorted(zip(found.values.round(12).tolist(), found.probabilities.round(12).tolist(), strict=True))


def growth(i: str, j: str) -> dict[Any, float]:
    found = dv.dp.leakage_growth(prior(i), channel(j), [3])
    return dict(zip(found.secrets, found.by_secret[0].round(12).tolist(), strict=True))


def adaptive(i: str, j: str) -> dict[Any, float]:
    both = dv.dp.adaptively(channel(i), {"u": channel(j), "v": channel("bac"), "w": channel("cba")})
    return {y: round(value, 12) for y, value in dv.pml((prior("abc"), both)).to_dict().items()}


def dalenius(i: str, j: str) -> Any:
    correlation = dv.Channel([[shares[x] for x in i] for shares in (SHARES, WITH_A_ZERO)], outcomes=list(i))
    return dv.adversaries.dalenius(dv.Joint(["1/2", "1/2"], correlation), channel(j)).lift


def released(i: str, j: str) -> dict[str, float]:
    table = pa.table({"x": list(i) * 5})
    return dv.release(table, column="x", mechanism=channel(j, "abc"), prior=prior("bac")).guarantees


def audited(i: str, j: str) -> Any:
    counts = np.array([[round(40 * Fraction(share)) for share in ROWS[x]] for x in i])
    known = dv.audit(counts, secret=list(i), released=["u", "v", "w"], mechanism=channel(j)).known
    assert known is not None
    return round(known.conformity.p_value, 9)


# name -> what is asked of two objects, each with its secrets in an order of its own
ASKED: dict[str, Callable[[str, str], Any]] = {
    "pml": lambda i, j: dv.pml(joint(i, j)).to_dict(),
    "pmc, with a zero": lambda i, j: dv.pmc(joint(i, j, WITH_A_ZERO)).to_dict(),
    "profile": lambda i, j: dv.profile(joint(i, j)).to_dict()["joint"],
    "both": lambda i, j: points(dv.pml((prior("abc"), channel(i).alongside(channel(j))))),
    "post-processing": lambda i, j: dv.pml((prior("abc"), channel(i, "bca").then(channel(j)))).max(),
    "leakage": lambda i, j: dv.leakage(joint("abc", i), payoffs(dv.Gain, j)),
    "worst case": lambda i, j: dv.leakage(joint(i, "abc"), payoffs(dv.Cost, j), case="max"),
    "vulnerability": lambda i, j: dv.vulnerability(prior(i), payoffs(dv.Gain, j)),
    "uncertainty": lambda i, j: dv.adversaries.uncertainty(prior(i), payoffs(dv.Cost, j)),
    "pointwise leakage": lambda i, j: dv.adversaries.pointwise_leakage(joint("abc", i), payoffs(dv.Cost, j)).to_dict(),
    "matching function": lambda i, j: dv.leakage(
        joint("abc", j),
        dv.adversaries.matching_function(joint("bca", i), payoffs(dv.Cost, j), "u").risk_averse,
        outcome="u",
    ),
    "worst prior": lambda i, j: round(dv.adversaries.worst_prior(channel(i), payoffs(dv.Gain, j)).leakage, 9),
    "refinement": lambda i, j: dv.adversaries.refinement(channel(i), channel(j, "abc").then(channel(i))).holds,
    "max-case refinement": lambda i, j: dv.adversaries.max_case_refinement(channel(i), channel(j)).holds,
    "comparison": lambda i, j: dv.compare(channel(i), channel(j), prior("abc")).measures,
    "correlated secret": dalenius,
    "composition": lambda i, j: round(dv.compose(channel(i), channel(j)).epsilon(0.01).upper, 9),
    "joint pml": lambda i, j: points(dv.dp.joint_pml(prior("bca"), channel(i), (channel(j), 2))),
    "joint pmc, with a zero": lambda i, j: points(dv.dp.joint_pmc(prior(i, WITH_A_ZERO), channel(j), channel("cab"))),
    "leakage bounds": lambda i, j: round(dv.dp.leakage_bounds(prior("cba"), channel(i), channel(j)).max_pml, 12),
    "growth": growth,
    "adaptively": adaptive,
    "pml given": lambda i, j: dv.dp.pml_given(joint("cab", i), "u", channel(j)).to_dict(),
    "set of priors": lambda i, j: dv.measures.L1Ball(prior(i), "1/10").pml(channel(j)).to_dict(),
    "divergence": lambda i, j: dv.measures.renyi_divergence(prior(i), prior(j, WITH_A_ZERO), 0.5),
    "guarantee": lambda i, j: dv.PML.of(joint(i, j)),
    "design about": lambda i, j: round(dv.design(prior(i), dv.PML("1/5"), utility=dv.About(channel(j))).utility, 6),
    "utility of": lambda i, j: round(dv.design(prior(i), dv.LDP(1)).utility_of(channel(j)) or 0.0, 9),
    "report": lambda i, j: {belief.secret: (belief.up, belief.down) for belief in dv.report(joint(i, j)).beliefs},
    "release": released,
    "audit": audited,
    "quantum": lambda i, j: round(dv.dp.quantum_dp({x: STATES[x] for x in i}, 2.0).value, 9),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_order_of_labels_does_not_matter(name: str) -> None:
    expected = ASKED[name]("abc", "abc")
    for i in ORDERS:
        for j in ORDERS:
            assert ASKED[name](i, j) == expected, (i, j)

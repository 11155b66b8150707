"""A bound that is a rational number is that number: no identity rounds up an ulp, and 1/3 stays 1/3."""

import math
from fractions import Fraction as F
from typing import Any

import pytest
from support import THOROUGH

import divulge as dv
from divulge import guarantees as g
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.implication import consequences
from divulge.guarantees.calculus.rationally import Irrational, Number
from divulge.guarantees.catalog import KINDS

INDEX = {
    "delta": F(1, 8), "outside": F(1, 8), "alpha": 2, "order": 2, "omega": 2, "xi": 0, "f": "kl", "degree": 2,
    "metric": dv.Metric.line(4),
}  # fmt: skip


def at(kind: type[dv.Guarantee], value: Any) -> dv.Guarantee:
    """Return a guarantee of a kind whose bounds are all this value, or a quarter where they are at most 1."""
    small = {"k": 2 + value, "l": 2 + value, "distance": F(1, 4), "delta": F(1, 8), "ratio": 1 + value}
    named = {name: INDEX.get(name, small.get(name, value)) for name in kind.parameters()}
    if "epsilon" in kind.index:
        named["epsilon"] = F(1, 2)
    return kind(**named)


EQUAL: list[tuple[dv.Guarantee, type[dv.Guarantee], dict[str, Any], dv.Guarantee]] = [
    (g.PDP(1, "0.002"), g.ADP, {"delta": "0.002"}, g.ADP(1, "0.002")),
    (g.PDP("1/3", 0), g.LDP, {}, g.LDP("1/3")),
    (g.PML("1/3"), g.MaximalLeakage, {}, g.MaximalLeakage("1/3")),
    (g.LIP("0.3"), g.ALIP, {}, g.ALIP("0.3", "0.3")),
    (g.ALIP("1/3", "1/7"), g.LDP, {}, g.LDP("10/21")),
    (g.LDP("1/7"), g.MaxGLeakage, {}, g.MaxGLeakage(math.nextafter(math.exp(1 / 7), 2))),
    (g.MutualInformation(1), g.Lift, {"p_min": "1/3"}, g.Lift(3)),
    (g.MaximalLeakage("1/3"), g.MeanPML, {}, g.MeanPML("1/3")),
    (g.ZCDP("1/3"), g.KL, {}, g.KL("1/3")),
    (g.ZCDP("1/3", "1/7"), g.RDP, {"alpha": 3}, g.RDP(3, "8/7")),
    (g.GDP("1/3"), g.ZCDP, {"xi": 0}, g.ZCDP("1/18")),
    (g.MCDP("1/3", "2/3"), g.ZCDP, {"xi": 0}, g.ZCDP("1/3")),
    (g.TV("1/3"), g.AbsChi, {"alpha": 1}, g.AbsChi(1, "2/3")),
    (g.AbsChi(2, "2/3"), g.FDivergence, {"f": "chi-squared"}, g.FDivergence("chi-squared", "4/9")),
    (g.FDivergence("chi-squared", "4/9"), g.AbsChi, {"alpha": 2}, g.AbsChi(2, "2/3")),
]


@pytest.mark.parametrize(("given", "kind", "context", "expected"), EQUAL, ids=str)
def test_what_is_equal_stays_equal(
    given: dv.Guarantee, kind: type[dv.Guarantee], context: dict[str, Any], expected: dv.Guarantee
) -> None:
    assert given.implies(kind, **context) == expected


@pytest.mark.thin
@pytest.mark.parametrize("name", sorted(KINDS))
@pytest.mark.parametrize("value", [F(1, 3)], ids=str)
def test_no_bound_is_an_ulp_above_a_short_number(name: str, value: F) -> None:
    """Over all kinds that follow: what is within two ulp of a multiple of 1/24 is that number."""
    given = at(KINDS[name], value)
    turn = 1 if THOROUGH else 4  # of the suite each case has every fourth kind
    followed = list(KINDS.values())[len(name) % turn :: turn]
    kinds = [(kind, {name: getattr(at(kind, 1), name) for name in kind.index}) for kind in followed]
    for context in (Context.of(p_min="1/4"),):
        for found in consequences(given, kinds, context):
            for parameter, bound in found.values().items() if isinstance(found, dv.Guarantee) else ():
                if isinstance(bound, float) and 0 < bound < math.inf and not found.strict:  # which needs more
                    near = F(round(bound * 24), 24)
                    assert not 0 < bound - near <= 2 * math.ulp(bound), (given, found, parameter)


def test_numbers_know_what_is_irrational() -> None:
    third = Number.of(F(1, 3))
    for n in (0, 1, 2):
        assert (third + n).rational() == (Number.of(n) + third).rational() == F(1, 3) + n
        assert (third * n).rational() == (Number.of(n) * third).rational() == F(n, 3)
        assert (third - n).rational() == -(n - third).rational() == F(1, 3) - n
    assert (1 / third.exp()).log().rational() == F(-1, 3)
    assert third.exp() > 1 > third > 0 > third.log()
    for irrational in (third.exp() * 2, third.exp() + third.log(), third.sqrt(), third**third, third.tanh()):
        assert irrational.rational() is None
        with pytest.raises(Irrational):
            assert irrational > 1
    with pytest.raises(Irrational):
        assert third.exp() > third

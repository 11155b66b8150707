"""Approximate differential privacy at every delta at once: from zCDP, and back to it."""

from divulge.guarantees import kinds as k
from divulge.guarantees.calculus.theorem import Theorem
from divulge.guarantees.formulas import curve as f
from divulge.guarantees.formulas.density import INFINITY
from divulge.guarantees.kinds import loss as d
from divulge.guarantees.kinds.curve import ADPCurve
from divulge.guarantees.theorems.sources import BUN_STEINKE, KAIROUZ

CURVE: tuple[Theorem, ...] = (
    Theorem(
        "zCDP is approximate DP at every delta",
        (d.ZCDP,),
        ADPCurve,
        "4 ρ if ξ' >= ξ + ρ, else +inf",
        lambda c, a: f.curve_of_line(a.xi, a.rho, c.xi),
        tight="limit",
        remark="the Gaussian mechanism as δ -> 0",
        source=f"{BUN_STEINKE}, Lemma 3.5",
    ),
    Theorem(
        "pure DP is approximate DP at every delta",
        (k.LDP,),
        ADPCurve,
        "(ε - ξ')² / -log tanh(ε/2) if ξ' < ε, else 0",
        lambda c, a: f.curve_of_pure(a.epsilon, c.xi),
        tight="no",
        remark="ξ' >= ε: equal",
        source=KAIROUZ,
    ),
    Theorem(
        "approximate DP at every delta is approximate DP at one",
        (ADPCurve,),
        d.ADP,
        "ξ + sqrt(ρ log 1/δ), at least 0",
        lambda c, a: f.approximate_of_curve(a.xi, a.rho, c.delta),
        tight="no",
        remark="the Gaussian mechanism as δ -> 0",
    ),
    Theorem(
        "approximate DP at every delta bounds Renyi divergences",
        (ADPCurve,),
        d.RDP,
        "min over k of k + log[1 + (α - 1) δ(k) + α (α - 1) ∫ e^((α - 1)(t - k)) δ(t) dt] / (α - 1)",
        lambda c, a: f.renyi_of_curve(a.xi, a.rho, c.alpha),
        tight="no",
        remark="each curve is attained, not by one mechanism at every order",
        source="an f-divergence is an integral of δ(t) weighted by its curvature",
    ),
    Theorem(
        "approximate DP at every delta is zCDP",
        (ADPCurve,),
        d.ZCDP,
        "ρ/4 + max(0, ξ - ρ/4 + 5 ρ^(1/4) - ξ') for 0 <= ξ <= 1 and ρ <= 1, else +inf",
        lambda c, a: f.concentrated_of_curve(a.xi, a.rho, c.xi),
        tight="no",
        remark="the constant is three times too large and more; single orders are better bounded by their integral",
        source=f"{BUN_STEINKE}, Lemma 3.7",
    ),
    Theorem(
        "approximate DP at every delta, further up",
        (ADPCurve,),
        ADPCurve,
        "ρ if ξ' >= ξ, else +inf",
        lambda c, a: a.rho if f.at_most(a.xi, c.xi) else INFINITY(),
        tight="no",
        remark="ξ' = ξ: equal",
    ),
)

"""Between approximate differential privacy, tails of the loss, and distances of rows."""

from divulge.guarantees import dp_formulas as f
from divulge.guarantees import dp_kinds as d
from divulge.guarantees import kinds as k
from divulge.guarantees.formulas import INFINITY
from divulge.guarantees.theorem import Theorem
from divulge.guarantees.theorems.sources import BUN_STEINKE, KAIROUZ, RR

SAY_OR_RR = "say the secret with probability δ, else randomized response"
SYMMETRIC = "Gilardoni, On the Minimum f-Divergence for Given Total Variation, symmetric case"

APPROXIMATE: tuple[Theorem, ...] = (
    Theorem(
        "approximate DP at another delta",
        (d.ADP,),
        d.ADP,
        "log[e^ε - (δ' - δ) (1 + e^ε) / (1 - δ)], at least 0, if δ' >= δ, else +inf",
        lambda c, a: f.approximate_at(a.epsilon, a.delta, c.delta),
        remark=SAY_OR_RR,
        source=KAIROUZ,
    ),
    Theorem(
        "approximate DP bounds total variation",
        (d.ADP,),
        d.TV,
        "1 - 2 (1 - δ) / (1 + e^ε)",
        lambda c, a: 1 - 2 * (1 - a.delta) / (1 + a.epsilon.exp()) if a.epsilon.is_finite() else f.ball(1),
        remark=SAY_OR_RR,
        source=KAIROUZ,
    ),
    Theorem(
        "approximate DP bounds the tail",
        (d.ADP,),
        d.PDP,
        "ε - log(1 - δ/δ') if δ' > δ, else +inf",
        lambda c, a: f.probabilistic_at(a.epsilon, a.delta, c.delta),
        tight="limit",
        remark="an outcome of probability δ' whose loss is just beyond that value",
        source="Markov's inequality for (1 - e^(ε - L))_+",
    ),
    Theorem(
        "approximate DP is approximate zCDP",
        (d.ADP,),
        d.ApproximateZCDP,
        "tanh(ε/2) (ε - ξ), at least 0, if δ' >= δ, else +inf",
        lambda c, a: INFINITY() if c.delta < a.delta else f.capped_line(a.epsilon, f.mean_of_pure(a.epsilon), c.xi),
        remark=SAY_OR_RR,
        source=f"{BUN_STEINKE}, Section 8, with the curve of randomized response",
    ),
    Theorem(
        "a tail bound is approximate DP",
        (d.PDP,),
        d.ADP,
        "log[e^ε - (δ' - δ) (1 + e^ε) / (1 - δ)], at least 0, if δ' >= δ, else +inf",
        lambda c, a: f.approximate_at(a.epsilon, a.delta, c.delta),
        remark=SAY_OR_RR,
        source=KAIROUZ,
    ),
    Theorem(
        "a tail bound holds at every larger delta",
        (d.PDP,),
        d.PDP,
        "ε if δ' >= δ, else +inf",
        lambda c, a: INFINITY() if c.delta < a.delta else a.epsilon,
        remark=f"{RR} at δ' below its truth probability",
    ),
    Theorem(
        "relaxed DP is approximate DP",
        (d.RelaxedDP,),
        d.ADP,
        "ε if δ' >= δ + outside, else +inf",
        lambda c, a: INFINITY() if c.delta < a.delta + a.outside else a.epsilon,
        remark="say the secret with probability δ + outside, else randomized response",
    ),
    Theorem(
        "approximate DP is relaxed DP",
        (d.ADP,),
        d.RelaxedDP,
        "ε if δ' >= δ, else +inf",
        lambda c, a: INFINITY() if c.delta < a.delta else a.epsilon,
        remark="outside = 0: equal",
    ),
    Theorem(
        "a small distance is approximate DP with epsilon 0",
        (d.TV,),
        d.ADP,
        "0 if δ' >= distance, else +inf",
        lambda c, a: INFINITY() if c.delta < a.distance else f.zero(),
        remark="every mechanism: equal at δ' = distance",
    ),
    Theorem(
        "the mean loss bounds total variation",
        (d.KL,),
        d.TV,
        "the t with 2 t artanh(t) = ε, at most sqrt(ε/2)",
        lambda c, a: f.variation_of_mean(a.epsilon),
        remark=RR,
        source=SYMMETRIC,
    ),
    Theorem(
        "the mean loss bounds the capacity",
        (d.KL,),
        d.MIDP,
        "ε",
        lambda c, a: a.epsilon,
        tight="no",
        remark="at most a factor N / (N - 1) too large against a bound that knows N",
        source="Cuff, Yu, Differential Privacy as a Mutual Information Constraint; convexity of the divergence",
    ),
    Theorem(
        "the mean loss of one of N bounds the capacity",
        (d.KL,),
        d.MIDP,
        "ε (1 - 1/N)",
        lambda c, a: a.epsilon * (1 - 1 / c.n),
        needs=("n",),
        tight="no",
        remark="four times too large for two secrets that are hard to tell apart, counting the first row's factor",
        source="I(X; Y) <= sum P_x P_x' D(C_x || C_x'), and sum P_x^2 >= 1/N",
    ),
    Theorem(
        "the capacity bounds total variation",
        (d.MIDP,),
        d.TV,
        "the t with log 2 - h((1 + t)/2) = ε, at most sqrt(2 ε)",
        lambda c, a: f.variation_of_information(a.epsilon),
        remark=RR,
        source=f"{SYMMETRIC}; a uniform prior on two secrets",
    ),
    Theorem(
        "the capacity bounds mutual information",
        (d.MIDP,),
        k.MutualInformation,
        "ε",
        lambda c, a: a.epsilon,
        remark="the prior that reaches the capacity",
    ),
    Theorem(
        "order 2 is abs-chi of order 2",
        (d.RDP,),
        d.AbsChi,
        "sqrt(e^ε - 1) if α' <= 2 <= α, else +inf",
        lambda c, a: (
            (a.epsilon.expm1().sqrt() if a.epsilon.is_finite() else INFINITY())
            if not c.alpha > 2 and a.alpha >= 2
            else INFINITY()
        ),
        remark="every mechanism: equal at α = α' = 2",
    ),
    Theorem(
        "abs-chi of order 2 is order 2",
        (d.AbsChi,),
        d.RDP,
        "log(1 + ζ²) if α' <= 2 <= α, else +inf",
        lambda c, a: (a.zeta**2).log1p() if not c.alpha > 2 and a.alpha >= 2 else INFINITY(),
        remark="every mechanism: equal at α = α' = 2",
    ),
    Theorem(
        "abs-chi of a smaller order",
        (d.AbsChi,),
        d.AbsChi,
        "ζ if α' <= α, else +inf",
        lambda c, a: INFINITY() if c.alpha > a.alpha else a.zeta,
        remark="every mechanism: equal at α' = α",
        source="norms grow with their order",
    ),
    Theorem(
        "abs-chi bounds total variation",
        (d.AbsChi,),
        d.TV,
        "ζ/2, at most 1",
        lambda c, a: (a.zeta / 2).min(f.ball(1)),
        remark="every mechanism: equal at α = 1",
        source="norms grow with their order; order 1 is twice the total variation",
    ),
    Theorem(
        "total variation is abs-chi of order 1",
        (d.TV,),
        d.AbsChi,
        "2 distance if α' = 1, else +inf",
        lambda c, a: INFINITY() if c.alpha > 1 else 2 * a.distance,
        remark="every mechanism: equal",
    ),
)

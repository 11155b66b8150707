"""The theorems of the calculus as data: what is given, what follows, under which condition, how tight, and who says so.

A bound is a function of what is known of the secret (`c`) and of the guarantees given, with parameters as
python-flint balls; it returns a ball, or a tuple of balls in the order of the parameters of what follows. Every bound
is monotone: it grows with the given parameters and falls with p_min. Adding a theorem is adding a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from divulge.guarantees import kinds as k
from divulge.guarantees.context import Context
from divulge.guarantees.formulas import (
    INFINITY,
    average_with_tail,
    bayes_capacity_of_ldp,
    chord,
    cost_leakage_of_ldp,
    entropy,
    least,
    log_inverse,
    one_if,
    pmc_of_ldp,
    pmc_of_pml,
    pml_of_ldp,
    pml_of_pmc,
    two_level_information,
)
from divulge.guarantees.guarantee import Guarantee

CONDITIONS: dict[str, tuple[str, Callable[[Context], bool]]] = {
    "p_min": ("p_min", lambda c: c.p_min is not None),
    "n": ("the number of secrets", lambda c: c.n_max is not None),
    "prior": ("the whole prior", lambda c: c.prior is not None),
    "uniform": ("a uniform prior", lambda c: c.uniform),
    "full support": ("a prior of full support", lambda c: c.full_support),
}
"""Name of a condition -> (what must be known, in words; whether a context has it)."""

Tightness = Literal["equal", "attained", "limit", "no"]


@dataclass(frozen=True)
class Theorem:
    """One implication.

    Attributes
    ----------
    name : str
    given : kinds that must hold, several at once; none for a fact about every mechanism
    implies : kind that follows
    formula : str
        The bound in words of mathematics; p is p_min, N the number of secrets.
    bound : function (context, *given) -> ball or balls
    needs : names of `CONDITIONS`
    tight : "equal" for every mechanism, "attained" by some, in the "limit" of a sequence of them, or "no"
    remark : str
        Which mechanism attains it, or how loose it is at worst.
    source : str
    """

    name: str
    given: tuple[type[Guarantee], ...]
    implies: type[Guarantee]
    formula: str
    bound: Callable[..., Any]
    needs: tuple[str, ...] = ()
    tight: Tightness = "attained"
    remark: str = ""
    source: str = "by definition"


IDB = "Information Density Bounds for Privacy"
QP = "Quantifying Privacy via Information Density"
PML_PAPER = "Saeidian et al., Pointwise Maximal Leakage"
EXPLAINING = "Fernandes et al., Explaining epsilon in local differential privacy"
QIF = "Alvim et al., The Science of Quantitative Information Flow"
DEFINED = "by definition"
EVERYWHERE = "the measured values are equal"

INFORMATION_DENSITY: tuple[Theorem, ...] = (
    Theorem(
        "a leakage bound is a cost bound in the high-privacy regime",
        (k.PML,),
        k.PMC,
        "log[p / (1 - e^ε (1 - p))] if ε < log 1/(1 - p), else +inf",
        lambda c, pml: pmc_of_pml(pml.epsilon, c.p),
        needs=("p_min",),
        remark="the high-privacy extremal mechanism C_ij = 1 - e^ε (1 - P_i) if i = j, else e^ε P_j",
        source=f"{IDB}, Theorem 4.1; {QP}, Proposition 1",
    ),
    Theorem(
        "a cost bound is a leakage bound",
        (k.PMC,),
        k.PML,
        "log[(1 - e^-ε (1 - p)) / p]",
        lambda c, pmc: pml_of_pmc(pmc.epsilon, c.p),
        needs=("p_min",),
        remark="the resampling mechanism C = (1 - e^-ε) I + e^-ε 1 Pᵀ",
        source=f"{IDB}, Theorem 4.2; {QP}, Proposition 2",
    ),
    Theorem(
        "both bounds together are ALIP",
        (k.PML, k.PMC),
        k.ALIP,
        "(ε of PMC, ε of PML)",
        lambda c, pml, pmc: (pmc.epsilon, pml.epsilon),
        tight="equal",
        remark=EVERYWHERE,
    ),
    Theorem(
        "the upper bound of ALIP is PML",
        (k.ALIP,),
        k.PML,
        "upper",
        lambda c, a: a.upper,
        tight="equal",
        remark=EVERYWHERE,
    ),
    Theorem(
        "the lower bound of ALIP is PMC",
        (k.ALIP,),
        k.PMC,
        "lower",
        lambda c, a: a.lower,
        tight="equal",
        remark=EVERYWHERE,
    ),
    Theorem(
        "the larger bound of ALIP is LIP",
        (k.ALIP,),
        k.LIP,
        "max(lower, upper)",
        lambda c, a: a.lower.max(a.upper),
        tight="equal",
        remark=EVERYWHERE,
    ),
    Theorem(
        "LIP is symmetric ALIP",
        (k.LIP,),
        k.ALIP,
        "(ε, ε)",
        lambda c, a: (a.epsilon,) * 2,
        tight="attained",
        remark="mechanisms whose largest leakage and largest cost are equal",
    ),
    Theorem(
        "ALIP bounds the ratio of rows",
        (k.ALIP,),
        k.LDP,
        "lower + upper",
        lambda c, a: a.lower + a.upper,
        needs=("full support",),
        remark="three secrets or more, both bounds in one column; with two only if one bound implies the other",
        source="Zarrabian et al., Asymmetric Local Information Privacy and the Watchdog Mechanism, Proposition 1",
    ),
    Theorem(
        "LDP bounds leakage, whatever the prior",
        (k.LDP,),
        k.PML,
        "ε",
        lambda c, a: a.epsilon,
        tight="limit",
        remark="randomized response as p -> 0",
        source=f"{IDB}, Proposition 1",
    ),
    Theorem(
        "LDP bounds leakage",
        (k.LDP,),
        k.PML,
        "-log(p + (1 - p) e^-ε)",
        lambda c, a: pml_of_ldp(a.epsilon, c.p),
        needs=("p_min",),
        remark="the outcome that is e^ε times as likely under the rarest secret as under all others",
        source=f"{IDB}, Proposition 1; Jiang et al., Context-Aware Local Information Privacy, Theorem 1",
    ),
    Theorem(
        "LDP bounds cost, whatever the prior",
        (k.LDP,),
        k.PMC,
        "ε",
        lambda c, a: a.epsilon,
        tight="limit",
        remark="the same column turned around, as p -> 0",
        source=f"{IDB}, Proposition 3",
    ),
    Theorem(
        "LDP bounds cost",
        (k.LDP,),
        k.PMC,
        "log(p + (1 - p) e^ε)",
        lambda c, a: pmc_of_ldp(a.epsilon, c.p),
        needs=("p_min",),
        remark="the outcome that is e^ε times less likely under the rarest secret than under all others",
        source=f"{IDB}, Proposition 3",
    ),
    Theorem(
        "LDP of each report is DP of the collection",
        (k.LDP,),
        k.DP,
        "ε",
        lambda c, a: a.epsilon,
        tight="equal",
        remark=EVERYWHERE,
        source="Kasiviswanathan et al., What Can We Learn Privately?",
    ),
    Theorem(
        "DP of the collection is LDP of each report",
        (k.DP,),
        k.LDP,
        "ε",
        lambda c, a: a.epsilon,
        tight="equal",
        remark=EVERYWHERE,
        source="Kasiviswanathan et al., What Can We Learn Privately?",
    ),
    Theorem(
        "LDP is lift capacity",
        (k.LDP,),
        k.LiftCapacity,
        "e^ε",
        lambda c, a: a.epsilon.exp(),
        tight="equal",
        remark=EVERYWHERE,
        source=f"{EXPLAINING}, Theorem 3",
    ),
    Theorem(
        "lift capacity is LDP",
        (k.LiftCapacity,),
        k.LDP,
        "log ratio",
        lambda c, a: a.ratio.log(),
        tight="equal",
        remark=EVERYWHERE,
        source=f"{EXPLAINING}, Theorem 3",
    ),
    Theorem("PML is lift", (k.PML,), k.Lift, "e^ε", lambda c, a: a.epsilon.exp(), tight="equal", remark=EVERYWHERE),
    Theorem("lift is PML", (k.Lift,), k.PML, "log ratio", lambda c, a: a.ratio.log(), tight="equal", remark=EVERYWHERE),
    Theorem(
        "lift bounds every gain",
        (k.Lift,),
        k.MaxGLeakage,
        "ratio",
        lambda c, a: a.ratio,
        tight="equal",
        remark="the gain 1/P_x for the right x",
        source=f"{EXPLAINING}, Theorem 2",
    ),
    Theorem(
        "some gain reaches the lift",
        (k.MaxGLeakage,),
        k.Lift,
        "ratio",
        lambda c, a: a.ratio,
        tight="equal",
        remark="the gain 1/P_x for the right x",
        source=f"{EXPLAINING}, Theorem 1",
    ),
    Theorem(
        "the average is at most the worst",
        (k.MaxGLeakage,),
        k.AverageGLeakage,
        "ratio",
        lambda c, a: a.ratio,
        remark="mechanisms with the same lift at every outcome, such as the high-privacy extremal one",
    ),
    Theorem(
        "Bayes capacity bounds every gain on average",
        (k.BayesCapacity,),
        k.AverageGLeakage,
        "ratio",
        lambda c, a: a.ratio,
        remark="every mechanism, under a prior of full support",
        source=f"{QIF}, Theorem 7.5",
    ),
    Theorem(
        "some gain reaches the Bayes capacity",
        (k.AverageGLeakage,),
        k.BayesCapacity,
        "ratio",
        lambda c, a: a.ratio,
        needs=("full support",),
        tight="equal",
        remark="the gain 1/P_x for the right x",
        source=f"{QIF}, Theorem 7.5",
    ),
    Theorem(
        "Bayes capacity is maximal leakage",
        (k.BayesCapacity,),
        k.MaximalLeakage,
        "log ratio",
        lambda c, a: a.ratio.log(),
        tight="equal",
        remark=EVERYWHERE,
        source="Issa, Wagner, Kamath, An Operational Approach to Information Leakage, Theorem 1",
    ),
    Theorem(
        "maximal leakage is Bayes capacity",
        (k.MaximalLeakage,),
        k.BayesCapacity,
        "e^ε",
        lambda c, a: a.epsilon.exp(),
        tight="equal",
        remark=EVERYWHERE,
        source="Issa, Wagner, Kamath, An Operational Approach to Information Leakage, Theorem 1",
    ),
    Theorem(
        "LDP bounds the Bayes capacity, whatever N",
        (k.LDP,),
        k.BayesCapacity,
        "e^ε",
        lambda c, a: a.epsilon.exp(),
        tight="limit",
        remark="randomized response as N -> inf",
        source=f"{EXPLAINING}, Lemma 1 with Theorem 3",
    ),
    Theorem(
        "LDP bounds the Bayes capacity",
        (k.LDP,),
        k.BayesCapacity,
        "N / (1 + (N - 1) e^-ε)",
        lambda c, a: bayes_capacity_of_ldp(a.epsilon, c.n),
        needs=("n",),
        remark="randomized response",
        source="summing e^-ε max_x C_xy <= C_xy over x and y",
    ),
    Theorem(
        "LDP bounds the maximal cost leakage, whatever N",
        (k.LDP,),
        k.MaximalCostLeakage,
        "ε",
        lambda c, a: a.epsilon,
        tight="limit",
        remark="never naming the secret: C_xx e^-ε times the others, as N -> inf",
        source="summing C_xy <= e^ε min_x C_xy over y",
    ),
    Theorem(
        "LDP bounds the maximal cost leakage",
        (k.LDP,),
        k.MaximalCostLeakage,
        "log[(1 + (N - 1) e^ε) / N]",
        lambda c, a: cost_leakage_of_ldp(a.epsilon, c.n),
        needs=("n",),
        remark="C_xx e^-ε times the other entries of the row",
        source="summing C_xy <= e^ε min_x C_xy over x and y",
    ),
    Theorem(
        "the mean leakage is at most the worst",
        (k.PML,),
        k.MeanPML,
        "ε",
        lambda c, a: a.epsilon,
        remark="mechanisms with the same leakage at every outcome",
    ),
    Theorem(
        "the mean cost is at most the worst",
        (k.PMC,),
        k.MeanPMC,
        "ε",
        lambda c, a: a.epsilon,
        remark="the resampling mechanism, with the same cost at every outcome",
    ),
    Theorem(
        "the mean of a logarithm is at most the logarithm of the mean",
        (k.AverageGLeakage,),
        k.MeanPML,
        "log ratio",
        lambda c, a: a.ratio.log(),
        remark="mechanisms with the same leakage at every outcome",
        source=f"{PML_PAPER}: maximal leakage is log E exp PML; Jensen",
    ),
    Theorem(
        "the mean cost bounds maximal cost leakage",
        (k.MeanPMC,),
        k.MaximalCostLeakage,
        "ε",
        lambda c, a: a.epsilon,
        needs=("full support",),
        remark="the resampling mechanism",
        source=f"{IDB}, Section III-C; Jensen",
    ),
    Theorem(
        "the mean leakage bounds mutual information",
        (k.MeanPML,),
        k.MutualInformation,
        "ε",
        lambda c, a: a.epsilon,
        remark="deterministic mechanisms",
        source="i(x; y) <= max_x i(x; y), averaged",
    ),
    Theorem(
        "ALIP bounds mutual information",
        (k.ALIP,),
        k.MutualInformation,
        "[(u - 1) l log l + (1 - l) u log u] / (u - l), l = e^-lower, u = e^upper",
        lambda c, a: chord(a.lower, a.upper),
        remark="a uniform prior with N (1 - l)/(u - l) whole: cyclic shifts of a column with entries l and u only",
        source="the chord of v log v over [l, u]",
    ),
    Theorem(
        "LDP bounds mutual information",
        (k.LDP,),
        k.MutualInformation,
        "D - 1 - log D, D = ε e^ε / (e^ε - 1)",
        lambda c, a: two_level_information(a.epsilon),
        tight="limit",
        remark="uniform priors, N -> inf: shifts of a column with entries in ratio e^ε, a share (D - 1)/(e^ε - 1) high",
        source="the chord bound with u = e^ε l, at the worst l",
    ),
    Theorem(
        "one try is one gain",
        (k.AverageGLeakage,),
        k.MinEntropyLeakage,
        "log ratio",
        lambda c, a: a.ratio.log(),
        remark="a uniform prior",
        source=f"{QIF}, Theorem 7.2",
    ),
    Theorem(
        "under the uniform prior one try is the worst gain",
        (k.MinEntropyLeakage,),
        k.BayesCapacity,
        "e^ε",
        lambda c, a: a.epsilon.exp(),
        needs=("uniform",),
        tight="equal",
        remark=EVERYWHERE,
        source=f"{QIF}, Theorem 7.2",
    ),
    Theorem(
        "a bound at every outcome has no tail",
        (k.PML,),
        k.TailPML,
        "0 if ε <= threshold, else 1",
        lambda c, a: one_if(a.epsilon > c.epsilon),
        remark="mechanisms with the same leakage at every outcome",
    ),
    Theorem(
        "no cost tail either",
        (k.PMC,),
        k.TailPMC,
        "0 if ε <= threshold, else 1",
        lambda c, a: one_if(a.epsilon > c.epsilon),
        remark="the resampling mechanism",
    ),
    Theorem(
        "no tail is a bound at every outcome",
        (k.TailPML,),
        k.PML,
        "ε if δ = 0, else +inf",
        lambda c, a: a.epsilon if a.delta == 0 else INFINITY(),
        remark="an outcome however rare may name the secret",
    ),
    Theorem(
        "no cost tail is a cost bound",
        (k.TailPMC,),
        k.PMC,
        "ε if δ = 0, else +inf",
        lambda c, a: a.epsilon if a.delta == 0 else INFINITY(),
        remark="an outcome however rare may rule a secret out",
    ),
    Theorem(
        "a higher threshold is passed no oftener",
        (k.TailPML,),
        k.TailPML,
        "δ if ε <= threshold, else 1",
        lambda c, a: one_if(a.epsilon > c.epsilon).max(a.delta),
        remark="mechanisms that say nothing or something fixed",
    ),
    Theorem(
        "a higher cost threshold is passed no oftener",
        (k.TailPMC,),
        k.TailPMC,
        "δ if ε <= threshold, else 1",
        lambda c, a: one_if(a.epsilon > c.epsilon).max(a.delta),
        remark="mechanisms that say nothing or something fixed",
    ),
    Theorem(
        "Markov for the exponential of leakage",
        (k.AverageGLeakage,),
        k.TailPML,
        "(ratio - 1) / (e^threshold - 1), at most 1",
        lambda c, a: least(1, (a.ratio - 1) / c.epsilon.expm1()),
        tight="limit",
        remark="naming a block of the secret or nothing, the block just beyond the threshold",
        source="Markov's inequality for exp PML - 1 >= 0",
    ),
    Theorem(
        "Markov for leakage",
        (k.MeanPML,),
        k.TailPML,
        "ε / threshold, at most 1",
        lambda c, a: least(1, a.epsilon / c.epsilon),
        tight="limit",
        remark="naming a block of the secret or nothing, the block just beyond the threshold",
        source="Markov's inequality",
    ),
    Theorem(
        "Markov for cost",
        (k.MeanPMC,),
        k.TailPMC,
        "ε / threshold, at most 1",
        lambda c, a: least(1, a.epsilon / c.epsilon),
        tight="limit",
        remark="the resampling mechanism or nothing, its cost just beyond the threshold",
        source="Markov's inequality",
    ),
    Theorem(
        "a tail and the largest leakage bound the mean",
        (k.TailPML,),
        k.MeanPML,
        "(1 - δ) min(ε, log 1/p) + δ log 1/p",
        lambda c, a: average_with_tail(a.epsilon, log_inverse(c.p), a.delta),
        needs=("p_min",),
        remark="a uniform prior: the secret with probability δ, else a mechanism with the same leakage everywhere",
        source="PML is at most log 1/p everywhere",
    ),
    Theorem(
        "a tail and the largest lift bound every gain on average",
        (k.TailPML,),
        k.AverageGLeakage,
        "(1 - δ) min(e^ε, 1/p) + δ/p",
        lambda c, a: average_with_tail(a.epsilon.exp(), 1 / c.p, a.delta),
        needs=("p_min",),
        remark="a uniform prior: the secret with probability δ, else a mechanism with the same lift everywhere",
        source="the lift is at most 1/p everywhere",
    ),
    Theorem(
        "no leakage beyond the rarest secret",
        (),
        k.PML,
        "log 1/p",
        lambda c: log_inverse(c.p),
        needs=("p_min",),
        remark="publishing the secret",
        source=f"{PML_PAPER}: P(x | y) <= 1",
    ),
    Theorem(
        "no capacity beyond the number of secrets",
        (),
        k.BayesCapacity,
        "N",
        lambda c: c.n,
        needs=("n",),
        remark="publishing the secret",
        source="sum_y max_x C_xy <= sum_xy C_xy",
    ),
    Theorem(
        "no information beyond the entropy",
        (),
        k.MutualInformation,
        "H(P)",
        lambda c: entropy(c.prior),
        needs=("prior",),
        remark="publishing the secret",
        source="Shannon",
    ),
)

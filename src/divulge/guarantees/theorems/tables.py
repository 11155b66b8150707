"""What holds between the models of tables, and between them and information density. k alone implies nothing of S."""

from divulge.guarantees import kinds as k
from divulge.guarantees.calculus.theorem import Theorem
from divulge.guarantees.formulas import tables as formulas
from divulge.guarantees.theorems.sources import EVERYWHERE

CAO, BRICKELL, LI, MACHANAVAJJHALA = (
    "Cao, Karras, Publishing Microdata with a Robust Privacy Guarantee",
    "Brickell, Shmatikov, The Cost of Privacy",
    "Li, Li, Venkatasubramanian, t-Closeness",
    "Machanavajjhala et al., l-Diversity",
)

TABLES: tuple[Theorem, ...] = (
    Theorem(
        "PML is beta-likeness", (k.PML,), k.BetaLikeness, "e^ε - 1", lambda c, a: a.epsilon.expm1(), tight="equal",
        remark=EVERYWHERE, source=CAO,
    ),
    Theorem(
        "beta-likeness is PML", (k.BetaLikeness,), k.PML, "log(1 + β)", lambda c, a: a.beta.log1p(), tight="equal",
        remark=EVERYWHERE, source=CAO,
    ),
    Theorem(
        "enhanced beta-likeness is the stronger one", (k.EnhancedBeta,), k.BetaLikeness, "β", lambda c, a: a.beta,
        remark="every mechanism that has it", source=CAO,
    ),
    Theorem(
        "enhanced beta-likeness bounds what is rare by its surprise", (k.EnhancedBeta,), k.PML,
        "log(1 + min(β, log 1/p))", lambda c, a: formulas.pml_of_surprise(a.beta, c.p), needs=("p_min",),
        remark="an outcome that raises the rarest secret by its surprise", source=CAO,
    ),
    Theorem(
        "beta-likeness below every surprise is enhanced", (k.BetaLikeness,), k.EnhancedBeta,
        "β if β <= -log p_max, else +inf", lambda c, a: formulas.enhanced(a.beta, c.prior), needs=("prior",),
        remark="every mechanism whose lift stays below 1 - log p_max", source="by definition",
    ),
    Theorem(
        "delta-disclosure is LIP", (k.DeltaDisclosure,), k.LIP, "ε", lambda c, a: a.epsilon, tight="limit",
        remark="every mechanism: its bound is strict", source=BRICKELL,
    ),
    Theorem(
        "LIP is delta-disclosure of all larger numbers", (k.LIP,), k.DeltaDisclosure, "any number above ε",
        lambda c, a: formulas.larger(a.epsilon), tight="limit", remark="every mechanism: its bound is strict",
        source=BRICKELL,
    ),
    Theorem(
        "PML bounds total variation", (k.PML,), k.TCloseness, "1 - e^-ε", lambda c, a: -(-a.epsilon).expm1(),
        remark="the secret itself under a uniform prior",
    ),
    Theorem(
        "ALIP bounds total variation", (k.ALIP,), k.TCloseness, "(e^u - 1)(1 - e^-l) / (e^u - e^-l)",
        lambda c, a: formulas.variation_of_alip(a.lower, a.upper),
        remark="one outcome whose lifts are e^u and e^-l: |r - 1| is convex with mean 1, two-point laws are extreme",
    ),
    Theorem(
        "t-closeness bounds leakage", (k.TCloseness,), k.PML, "log(1 + t/p), at most log 1/p",
        lambda c, a: formulas.pml_of_variation(a.distance, c.p), needs=("p_min",),
        remark="an outcome that moves t to the rarest secret",
    ),
    Theorem(
        "t-closeness bounds cost", (k.TCloseness,), k.PMC, "-log(1 - t/p) if t < p, else +inf",
        lambda c, a: formulas.pmc_of_variation(a.distance, c.p), needs=("p_min",),
        remark="an outcome that takes t from the rarest secret",
    ),
    Theorem(
        "ordered distance is at most total variation", (k.TCloseness,), k.OrderedT, "t", lambda c, a: a.distance,
        remark="two secrets", source=LI,
    ),
    Theorem(
        "ordered distance bounds total variation", (k.OrderedT,), k.TCloseness, "min(1, (N - 1) t)",
        lambda c, a: formulas.capped((c.n - 1) * a.distance), needs=("n",), remark="two secrets", source=LI,
    ),
    Theorem(
        "PML bounds entropy diversity", (k.PML,), k.EntropyL, "e^-ε / p_max, at least 1",
        lambda c, a: formulas.entropy_of_pml(a.epsilon, c.prior), needs=("prior",),
        remark="a uniform prior, and outcomes that leave some secrets equally likely",
    ),
    Theorem(
        "a finite cost leaves every value possible", (k.PMC,), k.DistinctL, "N if ε < +inf, else 1",
        lambda c, a: formulas.all_of(a.epsilon, c.prior), needs=("prior",), tight="attained",
        remark="every mechanism with a finite cost",
    ),
    Theorem(
        "entropy diversity is distinct diversity", (k.EntropyL,), k.DistinctL, "the least whole number from l on",
        lambda c, a: a.l.ceil(), remark="outcomes that leave some secrets equally likely", source=MACHANAVAJJHALA,
    ),
    Theorem(
        "recursive diversity is distinct diversity", (k.RecursiveL,), k.DistinctL, "l if c < +inf, else 1",
        lambda c, a: formulas.if_finite(a.c, a.l), remark="an outcome that leaves l secrets", source=MACHANAVAJJHALA,
    ),
)  # fmt: skip
"""Rows about the models of tables."""

"""Metric privacy: what a rate per distance says of leakages and capacities, and back."""

from divulge.guarantees import kinds as k
from divulge.guarantees.calculus.theorem import Theorem
from divulge.guarantees.formulas import metric as formulas

CHATZIKOKOLAKIS = "Chatzikokolakis et al., Broadening the Scope of Differential Privacy Using Metrics"

METRIC: tuple[Theorem, ...] = (
    Theorem(
        "metric privacy bounds leakage, given the prior", (k.MetricPrivacy,), k.PML,
        "max over x of -log sum p(x') e^(-ε d(x, x'))",
        lambda c, a: formulas.pml_of_metric(a.epsilon, a.metric, c.whole), needs=("prior",),
        remark="two outcomes, C(1 | x') = e^(-ε d(x, x')) / 2: log(1 - e^-t / 2) has a slope of at most 1",
        source="P(y) = sum p(x') C(y|x') >= C(y|x) sum p(x') e^(-ε d(x, x'))",
    ),
    Theorem(
        "metric privacy bounds cost, given the prior", (k.MetricPrivacy,), k.PMC,
        "max over x of log sum p(x') e^(ε d(x, x'))",
        lambda c, a: formulas.pmc_of_metric(a.epsilon, a.metric, c.whole), needs=("prior",),
        remark="two outcomes, C(1 | x') = e^(ε d(x, x') - ε max d) / 2",
        source="P(y) = sum p(x') C(y|x') <= C(y|x) sum p(x') e^(ε d(x, x'))",
    ),
    Theorem(
        "metric privacy is LDP of the diameter", (k.MetricPrivacy,), k.LDP, "ε max d",
        lambda c, a: formulas.ldp_of_metric(a.epsilon, a.metric, c.number),
        remark="two outcomes, C(1 | x') = e^(-ε d(x, x')) / 2, x at an end", source=CHATZIKOKOLAKIS,
    ),
    Theorem(
        "LDP is metric privacy of neighbors", (k.LDP,), k.MetricPrivacy, "ε / min d",
        lambda c, a: formulas.metric_of_ldp(a.epsilon, c.metric, c.number),
        remark="randomized response: the pair that is least far apart", source=CHATZIKOKOLAKIS,
    ),
    Theorem(
        "metric privacy in another metric", (k.MetricPrivacy,), k.MetricPrivacy, "ε max d(x, x') / d'(x, x')",
        lambda c, a: formulas.metric_of_metric(a.epsilon, a.metric, c.metric, c.number),
        remark="two outcomes, C(1 | x') = e^(-ε d(x, x')) / 2, x of the pair whose distances differ most",
        source=CHATZIKOKOLAKIS,
    ),
    Theorem(
        "metric privacy bounds the Bayes capacity", (k.MetricPrivacy,), k.BayesCapacity,
        "max sum w over w >= 0 with sum w(x') e^(-ε d(x, x')) <= 1 for all x",
        lambda c, a: formulas.capacity_of_metric(a.epsilon, a.metric),
        remark="the tight-constraint mechanism w(y) e^(-ε d(x, y)), where that w is not negative",
        source="1 = sum C(y|x) >= sum e^(-ε d(x, x_y)) max C(y|.), over the places x_y where y is likeliest",
    ),
)  # fmt: skip
"""Rows about metric privacy."""

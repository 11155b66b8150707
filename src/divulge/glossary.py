"""One name for one thing: the words of the papers, the symbol, our name, and where it is; the docs are made of it.

The rules of naming: a measure is a lower-case noun (`pml`); the promise that bounds it is a class in the field's
letters (`PML`), written `pml=0.5` on the command line; a channel that has a name is made by a lower-case function of
`dv.mechanisms`; a mechanism of the central model, of which only privacy losses are known, is a record that ends in
Mechanism; what a function returns is a class of `dv.results`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A row: what papers call it, its symbol in LaTeX, the names under `dv` that are about it, and a source.

    Examples
    --------
    >>> Term("lift, likelihood ratio", "L_{xy}", ("lift",), "by definition").ours
    'lift'
    """

    papers: str
    symbol: str
    names: tuple[str, ...]
    source: str

    @property
    def ours(self) -> str:
        """The name of the function or class, without its module."""
        return self.names[0].rpartition(".")[2]


SAEIDIAN = "Saeidian et al., Pointwise Maximal Leakage"
DENSITY = "Information Density Bounds for Privacy"
QIF = "Alvim et al., The Science of Quantitative Information Flow"
EXPLAINING = "Fernandes et al., Explaining epsilon in local differential privacy"
SOK = "Desfontaines, Pejó, SoK: Differential Privacies"
ISSA = "Issa, Wagner, Kamath, An Operational Approach to Information Leakage"

GLOSSARY: dict[str, tuple[Term, ...]] = {
    "What is released": (
        Term("prior, distribution of the secret, Pi", "P_x, \\pi", ("Prior",), QIF),
        Term("channel, mechanism, kernel, privacy mechanism", "C_{xy} = P(y \\mid x)", ("Channel",), QIF),
        Term("joint distribution", "P(x, y)", ("Joint",), QIF),
        Term("randomized response, k-RR, Warner", "", ("mechanisms.randomized_response",), "Warner 1965"),
        Term("exponential mechanism, as a channel", "", ("mechanisms.exponential",), "McSherry, Talwar 2007"),
        Term("exponential mechanism, its worst pair", "", ("dp.ExponentialMechanism",), "McSherry, Talwar 2007"),
        Term("exponential mechanism of a score of a number", "", ("noise.exponential_mechanism",), "McSherry, Talwar"),
        Term("extremal mechanism, high-privacy mechanism", "", ("mechanisms.extremal",), "Grosse et al."),
        Term("additive noise mechanism", "Y = X + N", ("NoiseMechanism",), SAEIDIAN),
    ),
    "At every outcome": (
        Term("pointwise maximal leakage", "\\ell(X \\to y)", ("pml", "PML"), SAEIDIAN),
        Term(
            "pointwise maximal cost", "\\Lambda(X \\to y)", ("pmc", "PMC", "measures.maximal_realizable_cost"), DENSITY
        ),
        Term("lift, leakage capacity at a prior", "L_{xy}", ("lift", "guarantees.Lift"), EXPLAINING),
        Term("local information privacy", "\\varepsilon\\text{-LIP}", ("lip", "LIP"), "Jiang et al."),
        Term(
            "asymmetric local information privacy",
            "(\\varepsilon_l, \\varepsilon_u)\\text{-ALIP}",
            ("alip", "ALIP", "results.DensityBounds"),
            "Zarrabian et al.",
        ),
        Term("local differential privacy, pure differential privacy", "\\varepsilon\\text{-LDP}", ("ldp", "LDP"), SOK),
        Term(
            "lift capacity, max-case capacity",
            "e^{\\mathrm{ldp}}",
            ("lift_capacity", "guarantees.LiftCapacity"),
            EXPLAINING,
        ),
        Term("a random variable of leakage", "\\ell(X \\to Y)", ("results.Pointwise",), SAEIDIAN),
        Term("(epsilon, delta)-PML, tail", "P(\\ell > \\varepsilon) \\le \\delta", ("guarantees.TailPML",), SAEIDIAN),
        Term("tail of the cost", "P(\\Lambda > \\varepsilon) \\le \\delta", ("guarantees.TailPMC",), DENSITY),
        Term(
            "closure of the tail under post-processing", "", ("tail_envelope", "measures.envelope_quantile"), SAEIDIAN
        ),
        Term("leakage given side information", "", ("measures.conditioned",), SAEIDIAN),
    ),
    "On average": (
        Term("maximal leakage", "\\mathcal{L}(X \\to Y)", ("maximal_leakage", "guarantees.MaximalLeakage"), ISSA),
        Term("multiplicative Bayes capacity", "\\mathcal{ML}", ("bayes_capacity", "guarantees.BayesCapacity"), QIF),
        Term("maximal cost leakage", "", ("maximal_cost_leakage", "guarantees.MaximalCostLeakage"), ISSA),
        Term("mutual information", "I(X; Y)", ("mutual_information", "guarantees.MutualInformation"), "Shannon"),
        Term(
            "Sibson information of order alpha",
            "I_\\alpha(X; Y)",
            ("sibson", "measures.sibson_capacity"),
            "Sibson 1969",
        ),
        Term("Arimoto information of order alpha", "I^A_\\alpha(X; Y)", ("measures.arimoto",), "Arimoto 1977"),
        Term("alpha-leakage", "", ("measures.alpha_leakage", "measures.maximal_alpha_leakage"), "Liao et al."),
        Term("f-information", "I_f(X; Y)", ("measures.f_information",), "Csiszár"),
        Term("divergence of the posterior", "", ("measures.posterior_divergence",), "Csiszár"),
        Term("Shannon capacity", "\\max_P I", ("measures.capacity",), "Blahut, Arimoto"),
        Term(
            "entropy, min-entropy, Renyi entropy",
            "H_\\alpha",
            ("measures.entropy", "measures.min_entropy", "measures.renyi_entropy"),
            "Rényi",
        ),
        Term("Renyi divergence", "D_\\alpha", ("measures.renyi_divergence",), "van Erven, Harremoës"),
        Term(
            "mean pointwise maximal leakage, and cost",
            "E[\\ell]",
            ("guarantees.MeanPML", "guarantees.MeanPMC"),
            SAEIDIAN,
        ),
    ),
    "Adversaries": (
        Term("gain function", "g(w, x)", ("Gain",), QIF),
        Term("loss function, cost", "c(w, x)", ("Cost",), QIF),
        Term("g-vulnerability", "V_g", ("vulnerability",), QIF),
        Term("uncertainty, Bayes risk for a cost", "U_c", ("adversaries.uncertainty",), QIF),
        Term(
            "multiplicative g-leakage",
            "\\mathcal{L}^\\times_g",
            ("leakage", "adversaries.log_leakage", "adversaries.pointwise_leakage"),
            QIF,
        ),
        Term("additive g-leakage", "\\mathcal{L}^+_g", ("adversaries.additive_leakage",), QIF),
        Term("max-case g-leakage", "", ("guarantees.MaxGLeakage",), EXPLAINING),
        Term("average-case g-leakage", "", ("guarantees.AverageGLeakage",), QIF),
        Term(
            "randomized function of X",
            "U",
            ("adversaries.RandomizedFunction", "adversaries.matching_function"),
            DENSITY,
        ),
        Term(
            "min-entropy leakage, Bayes vulnerability",
            "V_1",
            ("measures.min_entropy_leakage", "measures.bayes_vulnerability", "guarantees.MinEntropyLeakage"),
            QIF,
        ),
        Term(
            "guesswork",
            "G(X)",
            ("measures.guesswork", "measures.guesswork_after", "measures.pointwise_maximal_guesswork_leakage"),
            "Massey",
        ),
        Term("g-leakage capacity for a fixed gain", "\\sup_\\pi", ("adversaries.worst_prior",), QIF),
        Term("priors that approach the lift capacity", "", ("adversaries.lift_capacity_priors",), EXPLAINING),
        Term("the gain that attains pml, the function that attains pmc", "", ("worst_gain", "worst_function"), DENSITY),
        Term("Dalenius leakage", "", ("adversaries.dalenius",), QIF),
        Term(
            "refinement, the coriaceous theorem",
            "A \\sqsubseteq B",
            ("adversaries.refinement", "adversaries.max_case_refinement"),
            QIF,
        ),
    ),
    "Variants of differential privacy": (
        Term("privacy loss", "L = \\log P/Q", ("dp.PrivacyLoss",), SOK),
        Term("differential privacy of the collection", "\\varepsilon\\text{-DP}", ("DP",), SOK),
        Term("approximate DP, (epsilon, delta)-DP", "", ("ADP", "dp.epsilon_from_delta", "dp.delta_from_epsilon"), SOK),
        Term("probabilistic DP", "", ("guarantees.PDP", "dp.epsilon_from_tail", "dp.tail_from_epsilon"), SOK),
        Term("relaxed DP", "", ("guarantees.RelaxedDP", "dp.relaxed_delta"), SOK),
        Term("Kullback-Leibler privacy, mean loss", "", ("guarantees.KL", "dp.kl_privacy"), SOK),
        Term("Renyi DP", "(\\alpha, \\varepsilon)\\text{-RDP}", ("RDP", "dp.renyi_dp"), "Mironov 2017"),
        Term(
            "zero-concentrated DP", "(\\xi, \\rho)\\text{-zCDP}", ("ZCDP", "dp.zcdp_rho", "dp.zcdp_xi"), "Bun, Steinke"
        ),
        Term("approximate zCDP", "", ("guarantees.ApproximateZCDP", "dp.approximate_zcdp_rho"), "Bun, Steinke"),
        Term("bounded CDP", "", ("guarantees.BoundedCDP",), "Bun, Steinke"),
        Term("truncated CDP of Bun et al.", "(\\rho, \\omega)", ("guarantees.TruncatedCDP",), "Bun et al. 2018"),
        Term(
            "truncated CDP of Colisson",
            "\\min(c, \\rho\\alpha)",
            ("guarantees.CappedCDP", "dp.truncated_cdp"),
            "Colisson",
        ),
        Term("mean-concentrated DP", "(\\mu, \\tau)", ("guarantees.MCDP", "dp.mean_concentrated"), "Dwork, Rothblum"),
        Term(
            "Gaussian DP, f-DP",
            "\\mu\\text{-GDP}",
            ("guarantees.GDP", "dp.gaussian_dp", "dp.trade_off"),
            "Dong, Roth, Su",
        ),
        Term("mutual-information DP", "", ("guarantees.MIDP", "dp.mutual_information_dp"), "Cuff, Yu"),
        Term("total variation privacy", "", ("guarantees.TV", "dp.total_variation"), SOK),
        Term("f-divergence privacy", "", ("guarantees.FDivergence", "dp.f_divergence"), SOK),
        Term(
            "abs-chi privacy, binary and ternary",
            "",
            ("guarantees.AbsChi", "guarantees.TernaryAbsChi", "dp.abs_chi", "dp.ternary_abs_chi"),
            "Wang et al.",
        ),
        Term("capacity-bounded DP", "", ("guarantees.CapacityBoundedDP", "dp.capacity_bounded"), "Chaudhuri et al."),
        Term("quantum DP", "", ("guarantees.QuantumRDP", "dp.quantum_dp"), "Zhou, Ying"),
        Term("composition, accounting", "", ("compose",), SOK),
    ),
}
"""What a table is about -> its rows. Every measure and every kind of guarantee has one."""

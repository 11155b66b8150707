"""One name for one thing: the words of the papers, the symbol, our name, and the page; the docs are made of it.

The rules of naming: a measure is a lower-case noun (`pml`); the promise that bounds it is a class in the field's
letters (`PML`), written `pml=0.5` on the command line; a channel that has a name is made by a lower-case function of
`dv.mechanisms`; a mechanism of the central model, of which only privacy losses are known, is a record that ends in
Mechanism; what a function returns is a class of `dv.results`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A row: words of the papers (with "; " between), LaTeX symbol, names under `dv`, a source, the page that explains.

    >>> row = Term("lift; likelihood ratio", "L_{xy}", ("lift",), "by definition", "measures")
    >>> row.words, row.ours
    (('lift', 'likelihood ratio'), 'lift')
    """

    papers: str
    symbol: str
    names: tuple[str, ...]
    source: str
    page: str

    @property
    def words(self) -> tuple[str, ...]:
        """What papers call it, the first word first."""
        return tuple(self.papers.split("; "))

    @property
    def ours(self) -> str:
        """The name of the function or class, without its module; empty where it is no function or class."""
        return self.names[0].rpartition(".")[2] if self.names else ""


SAEIDIAN = "Saeidian et al., Pointwise Maximal Leakage"
DENSITY = "Information Density Bounds for Privacy"
GROSSE = "Grosse et al., Quantifying Privacy via Information Density"
EXTREMAL = "Grosse et al., Extremal Mechanisms for Pointwise Maximal Leakage"
QIF = "Alvim et al., The Science of Quantitative Information Flow"
EXPLAINING = "Fernandes et al., Explaining epsilon in local differential privacy"
SOK = "Desfontaines, Pejó, SoK: Differential Privacies"
ISSA = "Issa, Wagner, Kamath, An Operational Approach to Information Leakage"
KOV = "Kairouz, Oh, Viswanath"
DONG = "Dong, Roth, Su"
BUN = "Bun, Steinke"
ENVELOPES = "Saeidian, Pinzón, Palamidessi, Information Leakage Envelopes"

_INTRODUCING, _QUANTIFYING, _DENSITY = (
    f"papers/{page}" for page in ("introducing-pml", "quantifying-privacy", "information-density-bounds")
)
_EXPLAINING, _VARIANTS, _ISSA = (
    f"papers/{page}" for page in ("explaining-epsilon", "privacy-loss-variants", "maximal-leakage")
)
_EXTREMAL, _QIF, _KOV = (f"papers/{page}" for page in ("extremal-mechanisms", "qif-book", "composition-theorem"))
_RENYI, _ZCDP, _GDP = (f"papers/{page}" for page in ("renyi-dp", "concentrated-dp", "gaussian-dp"))

GLOSSARY: dict[str, tuple[Term, ...]] = {
    "What is released": (
        Term("prior; distribution of the secret", "P_x, \\pi", ("Prior",), QIF, "for-researchers"),
        Term("channel; kernel", "C_{xy} = P(y \\mid x)", ("Channel",), QIF, "for-researchers"),
        Term("joint distribution", "P(x, y)", ("Joint",), QIF, "for-researchers"),
        Term("hyper-distribution", "[\\pi \\triangleright C]", (), QIF, _QIF),
        Term("randomized response; k-RR; Warner", "", ("mechanisms.randomized_response",), "Warner 1965", _EXTREMAL),
        Term("binary mechanism; staircase mechanism", "", (), f"{KOV}, Extremal Mechanisms", _EXTREMAL),
        Term("sub-convex; sub-linear", "", (), EXTREMAL, _EXTREMAL),
        Term("extremal mechanism", "", ("mechanisms.extremal",), EXTREMAL, _EXTREMAL),
        Term("PML-extremal mechanism", "", (), GROSSE, _QUANTIFYING),
        Term(
            "geometric mechanism; subset selection",
            "",
            ("mechanisms.exponential",),
            "McSherry, Talwar 2007",
            "measures",
        ),
        Term("worst exponential mechanism", "", ("dp.ExponentialMechanism",), "McSherry, Talwar 2007", "privacy-loss"),
        Term("exponential mechanism", "", ("noise.exponential_mechanism",), "McSherry, Talwar", "noise"),
        Term("Laplace noise; staircase noise; Gaussian noise", "Y = X + N", ("NoiseMechanism",), SAEIDIAN, "noise"),
        Term("histogram", "", (), "Saeidian et al., Histogram Publication", "papers/histograms"),
        Term("worst-case utility; utility-safe", "", (), "Song, Oechtering", "papers/worst-case-utility"),
    ),
    "At every outcome": (
        Term(
            "pointwise maximal leakage; PML; membership inference",
            "\\ell(X \\to y)",
            ("pml", "PML"),
            SAEIDIAN,
            _INTRODUCING,
        ),
        Term(
            "pointwise maximal cost; PMC", "\\Lambda(X \\to y)", ("pmc", "PMC", "guarantees.TailPMC"), DENSITY, _DENSITY
        ),
        Term("conditional PMC; side information", "", ("measures.conditioned",), DENSITY, _DENSITY),
        Term("information density", "i(x; y)", (), GROSSE, _QUANTIFYING),
        Term("lift; log-lift", "L_{xy}", ("lift", "guarantees.Lift"), EXPLAINING, _EXPLAINING),
        Term(
            "local information privacy; LIP", "\\varepsilon\\text{-LIP}", ("lip", "LIP"), "Jiang et al.", _QUANTIFYING
        ),
        Term(
            "asymmetric local information privacy; ALIP",
            "(\\varepsilon_l, \\varepsilon_u)\\text{-ALIP}",
            ("alip", "ALIP", "results.DensityBounds"),
            "Zarrabian et al.",
            _QUANTIFYING,
        ),
        Term(
            "high-privacy regime; absolute disclosure prevention",
            "\\varepsilon < \\log \\frac{1}{1 - p_{\\min}}",
            (),
            GROSSE,
            _QUANTIFYING,
        ),
        Term("privacy region", "", (), EXTREMAL, "guarantees"),
        Term(
            "Theorem 4; pointwise maximal guesswork leakage; alpha-loss",
            "",
            ("measures.pointwise_maximal_guesswork_leakage",),
            DENSITY,
            _DENSITY,
        ),
        Term("local differential privacy; LDP", "\\varepsilon\\text{-LDP}", ("ldp", "LDP"), SOK, _EXPLAINING),
        Term(
            "lift capacity",
            "e^{\\mathrm{ldp}}",
            ("lift_capacity", "guarantees.LiftCapacity", "adversaries.lift_capacity_priors"),
            EXPLAINING,
            _EXPLAINING,
        ),
        Term("random variable of leakage", "\\ell(X \\to Y)", ("results.Pointwise",), SAEIDIAN, "measures"),
        Term(
            "(ε, δ)-PML",
            "P(\\ell > \\varepsilon) \\le \\delta",
            ("guarantees.TailPML",),
            SAEIDIAN,
            "papers/empirical-priors",
        ),
        Term(
            "PML envelope; information leakage envelope",
            "",
            ("tail_envelope", "measures.envelope_quantile"),
            ENVELOPES,
            "papers/envelopes",
        ),
        Term(
            "empirical distribution; set of distributions; worst leakage in the set",
            "",
            ("measures.L1Ball",),
            "Grosse et al., Empirical Distributions",
            "papers/empirical-priors",
        ),
        Term(
            "c-interior; Dobrushin coefficient",
            "",
            ("measures.LowerBounded",),
            "Grosse et al., Dobrushin Coefficients",
            "papers/dobrushin",
        ),
        Term("credal set", "", ("measures.ConvexHull",), "Levi 1980", "measures"),
    ),
    "On average": (
        Term(
            "maximal leakage", "\\mathcal{L}(X \\to Y)", ("maximal_leakage", "guarantees.MaximalLeakage"), ISSA, _ISSA
        ),
        Term("maximal realizable leakage", "", (), ISSA, _ISSA),
        Term("maximal correlation", "\\rho_m", (), ISSA, _ISSA),
        Term("maximal cost leakage", "", ("maximal_cost_leakage", "guarantees.MaximalCostLeakage"), ISSA, _ISSA),
        Term("maximal realizable cost", "", ("measures.maximal_realizable_cost",), ISSA, _ISSA),
        Term(
            "Bayes capacity; Miracle theorem",
            "\\mathcal{ML}",
            ("bayes_capacity", "guarantees.BayesCapacity"),
            QIF,
            _QIF,
        ),
        Term(
            "mutual information",
            "I(X; Y)",
            ("mutual_information", "guarantees.MutualInformation"),
            "Shannon",
            "measures",
        ),
        Term(
            "Sibson's mutual information; shattering",
            "I_\\alpha(X; Y)",
            ("sibson", "measures.sibson_capacity"),
            "Sibson 1969",
            _ISSA,
        ),
        Term("Arimoto's information", "I^A_\\alpha(X; Y)", ("measures.arimoto",), "Arimoto 1977", "measures"),
        Term(
            "alpha-leakage", "", ("measures.alpha_leakage", "measures.maximal_alpha_leakage"), "Liao et al.", "measures"
        ),
        Term("f-information", "I_f(X; Y)", ("measures.f_information",), "Csiszár", "measures"),
        Term("divergence of the posterior", "", ("measures.posterior_divergence",), "Csiszár", "measures"),
        Term("Shannon capacity", "\\max_P I", ("measures.capacity",), "Blahut, Arimoto", _QIF),
        Term(
            "entropy",
            "H_\\alpha",
            ("measures.entropy", "measures.min_entropy", "measures.renyi_entropy"),
            "Rényi",
            "measures",
        ),
        Term("Rényi divergence", "D_\\alpha", ("measures.renyi_divergence",), "van Erven, Harremoës", _RENYI),
        Term("mean pml", "E[\\ell]", ("guarantees.MeanPML", "guarantees.MeanPMC"), SAEIDIAN, "measures"),
    ),
    "Adversaries": (
        Term("gain function; gain", "g(w, x)", ("Gain",), QIF, "adversaries"),
        Term("cost function; cost", "c(w, x)", ("Cost",), QIF, "adversaries"),
        Term("risk-averse; opportunistic", "", ("worst_gain", "worst_function"), DENSITY, "adversaries"),
        Term(
            "randomized function",
            "U",
            ("adversaries.RandomizedFunction", "adversaries.matching_function"),
            DENSITY,
            "adversaries",
        ),
        Term("distribution-reciprocal", "g_\\pi", (), EXPLAINING, _EXPLAINING),
        Term(
            "g-vulnerability; Bayes vulnerability",
            "V_g, V_1",
            ("vulnerability", "measures.bayes_vulnerability"),
            QIF,
            _QIF,
        ),
        Term("uncertainty; loss function", "U_\\ell", ("adversaries.uncertainty",), QIF, _QIF),
        Term(
            "g-leakage",
            "\\mathcal{L}_g",
            ("leakage", "adversaries.log_leakage", "adversaries.pointwise_leakage", "adversaries.additive_leakage"),
            QIF,
            _QIF,
        ),
        Term("min-entropy leakage", "", ("measures.min_entropy_leakage", "guarantees.MinEntropyLeakage"), QIF, _QIF),
        Term("max-case g-leakage", "", ("guarantees.MaxGLeakage",), EXPLAINING, _EXPLAINING),
        Term("average-case g-leakage", "", ("guarantees.AverageGLeakage",), QIF, _EXPLAINING),
        Term("guesswork; moments", "G(X)", ("measures.guesswork", "measures.guesswork_after"), "Massey", "measures"),
        Term(
            "maximal guesswork leakage",
            "",
            ("measures.maximal_guesswork_leakage",),
            "Kurri, Managoli, Prabhakaran",
            "measures",
        ),
        Term("unknown prior", "\\sup_\\pi", ("adversaries.worst_prior",), QIF, "adversaries"),
        Term("Dalenius leakage; Dalenius", "", ("adversaries.dalenius",), QIF, _QIF),
        Term("max-case Dalenius leakage", "", (), EXPLAINING, _EXPLAINING),
        Term("correlated records; correlated data", "", (), "Saeidian, Oechtering, Skoglund", "papers/correlated-data"),
        Term(
            "refinement; coriaceous theorem; data-processing inequality",
            "A \\sqsubseteq B",
            ("adversaries.refinement", "adversaries.max_case_refinement"),
            QIF,
            _QIF,
        ),
    ),
    "Variants of differential privacy": (
        Term("privacy loss random variable", "L = \\log P/Q", ("dp.PrivacyLoss",), SOK, _VARIANTS),
        Term("pure differential privacy", "\\varepsilon\\text{-DP}", ("DP",), SOK, "composition"),
        Term(
            "(ε, δ)-DP; approximate DP",
            "",
            ("ADP", "guarantees.ADPCurve", "dp.epsilon_from_delta", "dp.delta_from_epsilon"),
            SOK,
            _VARIANTS,
        ),
        Term(
            "probabilistic DP", "", ("guarantees.PDP", "dp.epsilon_from_tail", "dp.tail_from_epsilon"), SOK, _VARIANTS
        ),
        Term("relaxed DP", "", ("guarantees.RelaxedDP", "dp.relaxed_delta"), SOK, _VARIANTS),
        Term("Kullback-Leibler privacy", "", ("guarantees.KL", "dp.kl_privacy"), SOK, _VARIANTS),
        Term(
            "Rényi differential privacy; RDP",
            "(\\alpha, \\varepsilon)\\text{-RDP}",
            ("RDP", "dp.renyi_dp"),
            "Mironov 2017",
            _RENYI,
        ),
        Term("group privacy", "", (), "Mironov 2017", _RENYI),
        Term(
            "zero-concentrated differential privacy; zCDP",
            "(\\xi, \\rho)\\text{-zCDP}",
            ("ZCDP", "dp.zcdp_rho", "dp.zcdp_xi"),
            BUN,
            _ZCDP,
        ),
        Term("approximate zCDP", "", ("guarantees.ApproximateZCDP", "dp.approximate_zcdp_rho"), BUN, _ZCDP),
        Term("bounded CDP", "", ("guarantees.BoundedCDP",), BUN, _ZCDP),
        Term("truncated CDP", "(\\rho, \\omega)", ("guarantees.TruncatedCDP",), "Bun et al. 2018", _ZCDP),
        Term(
            "Colisson's truncated CDP",
            "\\min(c, \\rho\\alpha)",
            ("guarantees.CappedCDP", "dp.truncated_cdp"),
            "Colisson",
            _VARIANTS,
        ),
        Term(
            "mean-concentrated DP",
            "(\\mu, \\tau)",
            ("guarantees.MCDP", "dp.mean_concentrated"),
            "Dwork, Rothblum",
            _ZCDP,
        ),
        Term(
            "Gaussian differential privacy; μ-GDP", "\\mu\\text{-GDP}", ("guarantees.GDP", "dp.gaussian_dp"), DONG, _GDP
        ),
        Term("trade-off function; f-DP; central limit theorem", "T(P, Q)", ("dp.trade_off",), DONG, _GDP),
        Term(
            "analytic Gaussian mechanism; classical Gaussian mechanism",
            "",
            ("dp.GaussianMechanism",),
            "Balle, Wang",
            "papers/analytic-gaussian",
        ),
        Term("composition theorem; optimal composition; hypothesis testing", "", ("compose",), KOV, _KOV),
        Term("mutual-information DP", "", ("guarantees.MIDP", "dp.mutual_information_dp"), "Cuff, Yu", _VARIANTS),
        Term("total variation privacy", "", ("guarantees.TV", "dp.total_variation"), SOK, _VARIANTS),
        Term("f-divergence DP", "", ("guarantees.FDivergence", "dp.f_divergence"), SOK, _VARIANTS),
        Term(
            "abs-chi privacy",
            "{\\lvert \\chi \\rvert}^\\alpha",
            ("guarantees.AbsChi", "guarantees.TernaryAbsChi", "dp.abs_chi", "dp.ternary_abs_chi"),
            "Wang et al.",
            _VARIANTS,
        ),
        Term(
            "capacity-bounded DP",
            "",
            ("guarantees.CapacityBoundedDP", "dp.capacity_bounded"),
            "Chaudhuri et al.",
            _VARIANTS,
        ),
        Term("quantum DP", "", ("guarantees.QuantumRDP", "dp.quantum_dp"), "Zhou, Ying", _VARIANTS),
    ),
    "Published tables": (
        Term("k-anonymity; prosecutor risk", "", ("guarantees.KAnonymity",), "Sweeney 2002", "tables"),
        Term("minimality attack", "", ("results.Minimality",), "Wong et al. 2007", "tables"),
        Term("distinct l-diversity", "", ("guarantees.DistinctL",), "Machanavajjhala et al. 2007", "tables"),
        Term("entropy l-diversity", "", ("guarantees.EntropyL",), "Machanavajjhala et al. 2007", "tables"),
        Term("recursive l-diversity", "", ("guarantees.RecursiveL",), "Machanavajjhala et al. 2007", "tables"),
        Term(
            "t-closeness; earth mover's distance",
            "",
            ("guarantees.TCloseness",),
            "Li, Li, Venkatasubramanian 2007",
            "tables",
        ),
        Term("ordered distance", "", ("guarantees.OrderedT",), "Li, Li, Venkatasubramanian 2007", "tables"),
        Term("beta-likeness", "", ("guarantees.BetaLikeness",), "Cao, Karras 2012", "tables"),
        Term("enhanced beta-likeness", "", ("guarantees.EnhancedBeta",), "Cao, Karras 2012", "tables"),
        Term("delta-disclosure", "", ("guarantees.DeltaDisclosure",), "Brickell, Shmatikov 2008", "tables"),
        Term("quasi-identifiers; marketer risk; journalist risk", "", ("assess",), "Sweeney 2002", "tables"),
        Term("generalization hierarchy", "", ("tables.Hierarchy",), "Sweeney 2002", "tables"),
    ),
    "Places and distances": (
        Term(
            "metric privacy; d-privacy; geo-indistinguishability",
            "\\epsilon\\, d(x, x')",
            ("MetricPrivacy",),
            "Chatzikokolakis et al. 2013; Andrés et al. 2013",
            "places",
        ),
        Term("Bayesian remap", "", ("remap",), "Chatzikokolakis, ElSalamouny, Palamidessi 2017", "places"),
        Term("expected distance error", "", ("adversaries.expected_distance",), "Shokri et al. 2012", "places"),
        Term(
            "planar geometric noise",
            "P(z) \\propto e^{-\\epsilon |z|}",
            ("mechanisms.planar_geometric", "noisy_places"),
            "Chatzikokolakis, Palamidessi, Stronati 2015",
            "places",
        ),
        Term(
            "elastic metrics; privacy mass", "", ("adversaries.elastic_rates",), "Chatzikokolakis et al. 2015", "places"
        ),
        Term("planar Laplace", "", ("mechanisms.planar_laplace",), "Andrés et al. 2013", "places"),
    ),
    "Correlated records": (
        Term("Markov chain; temporal correlations", "X_0, X_1, \\ldots", ("Chain",), "Cao et al.", "correlated"),
        Term("Bayesian network", "", ("Network",), "Pearl", "correlated"),
        Term("backward and forward privacy leakage", "", ("networks.temporal_limit",), "Cao et al.", "correlated"),
        Term("Pufferfish; Wasserstein mechanism", "W_\\infty", ("networks.wasserstein",), "Song et al.", "correlated"),
        Term(
            "Markov quilt mechanism; max-influence",
            "",
            ("networks.markov_quilt", "networks.quilt_influence", "networks.influence_curve"),
            "Song et al.",
            "correlated",
        ),
    ),
    "Millions of values": (
        Term("direct encoding; GRR", "", ("protocols.randomized_response",), "Kairouz et al.", "millions"),
        Term("sets of d values", "", ("protocols.subset_selection",), "Ye, Barg 2018", "millions"),
        Term(
            "RAPPOR; symmetric unary encoding; optimized unary encoding; SUE; OUE",
            "",
            ("protocols.unary",),
            "Wang et al. 2017",
            "millions",
        ),
        Term("optimized local hashing; OLH", "", ("protocols.local_hashing",), "Wang et al. 2017", "millions"),
        Term(
            "heavy hitters; prefix extension; PEM",
            "",
            ("protocols.prefix_extension",),
            "Wang, Li, Jha 2018",
            "millions",
        ),
        Term("noiseless hashing; buckets", "", ("protocols.noiseless_hashing",), "Csiszar 1967", "millions"),
        Term("Hadamard response", "", ("protocols.hadamard",), "Acharya et al. 2019", "millions"),
        Term("projective geometry response", "", ("protocols.projective",), "Feldman et al. 2022", "millions"),
        Term("communication cost", "", ("protocols.choose",), "Feldman et al. 2022", "millions"),
        Term("chord bound", "", ("chord_bound",), "Csiszar 1967", "design"),
        Term("pure protocol; two levels", "S_y", ("protocols.Protocol",), "Wang et al. 2017", "millions"),
    ),
    "Properties, examples, proofs": (
        Term("closed under pre-processing; post-processing; context-aware; context-free", "", (), DENSITY, _DENSITY),
        Term("lift-asymmetry; guessing framework; cost-function framework", "", (), GROSSE, _QUANTIFYING),
        Term(
            "posterior vulnerability; max-case posterior vulnerability; max-case prior vulnerability",
            "",
            (),
            EXPLAINING,
            _EXPLAINING,
        ),
        Term("Crowds protocol; probable innocence; three judges", "", (), QIF, _QIF),
        Term("hockey-stick divergence; moments accountant", "", (), SOK, _VARIANTS),
        Term("advanced composition", "", (), KOV, _KOV),
        Term("Blackwell; Berry-Esseen; subsampling", "", (), DONG, _GDP),
        Term(
            "Poisson sampling; amplification by sampling",
            "",
            ("dp.PoissonSampled",),
            "Wang, Balle, Kasiviswanathan",
            "composition",
        ),
        Term(
            "report noisy max; permute-and-flip", "", ("dp.NoisyMax",), "Dwork, Roth; McKenna, Sheldon", "privacy-loss"
        ),
        Term("fully adaptive composition", "", ("dp.Filter",), "Rogers et al.; Whitehouse et al.", "composition"),
        Term("individual accounts", "", ("dp.Accounts",), "Feldman, Zrnic", "composition"),
        Term("single-epoch tree aggregation", "", ("dp.TreeAggregation",), "Kairouz et al.", "composition"),
        Term("sparse vector; above threshold", "", ("dp.SparseVector",), "Lyu, Su, Li", "privacy-loss"),
        Term(
            "amplification by shuffling; shuffle model; clones; privacy blanket; variation-ratio reduction",
            "",
            ("dp.Shuffled",),
            "Feldman, McMillan, Talwar; Balle et al.; Wang et al.",
            "composition",
        ),
        Term(
            "audit of a model; true-positive rate",
            "",
            ("audit_membership",),
            "Berk, Jones; Carlini et al.",
            "models",
        ),
        Term("black-box test of a claim; chosen event", "", ("audit",), "Bichsel et al.; Ding et al.", "audit"),
        Term("attribute inference; imputation", "", ("audit_attribute",), "Jayaraman, Evans; McNemar", "models"),
        Term("audit of a synthetic table", "", ("audit_synthetic",), "Giomi et al.", "models"),
        Term("calibration of noise", "", ("calibrate",), "Balle, Wang", "composition"),
        Term("true positives at a rate of false ones; hits", "", ("dp.Hits",), "Kulynych et al.", "composition"),
        Term("interval that is asked for", "", ("dp.Interval",), "", "composition"),
        Term("one training run", "", ("dp.one_run", "dp.one_run_gaussian"), "Steinke, Nasr, Jagielski", "models"),
        Term("all numbers of guesses at once; Ville", "", ("dp.anytime",), "Ville; Robbins", "models"),
        Term("watchdog", "", (), "Zarrabian et al.", "frontier"),
    ),
}
"""What a table is about -> its rows. Every measure and every kind of guarantee has one."""

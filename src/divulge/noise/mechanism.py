"""Noise on a number: what each outcome leaks about one record, and what the mechanism leaks at most."""

import html
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from divulge.errors import DivulgeError
from divulge.model.accepted import OfAClass
from divulge.model.entries import scalar
from divulge.model.joint import Joint
from divulge.model.shown import html_table, raised
from divulge.noise.answers import outcomes, tails
from divulge.noise.answers.adversaries import Bet, adversary
from divulge.noise.answers.envelope import envelope, threshold_at
from divulge.noise.answers.supremum import Supremum, supremum
from divulge.noise.answers.theorems import Verdict, verdicts
from divulge.noise.answers.variable import NoisyLeakage, mean_leakage
from divulge.noise.data import as_data
from divulge.noise.laws.law import Side, as_side
from divulge.noise.release import NoisyRelease
from divulge.noise.secrets.parse import Evidence, as_secret, given
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Local:
    """The local-DP epsilon of the mechanism, in nats; exact for one record, an upper bound for the mean of several."""

    epsilon: float
    exact: bool


class NoiseMechanism(NoisyRelease):
    """The release of h(X) + Z, or of the mean of n records plus Z, and what it leaks about one record.

    Parameters
    ----------
    noise : str, Noise, or frozen continuous scipy.stats distribution
        A family ("laplace", "gaussian", "staircase", "student-t", "logistic", "discrete-laplace", "discrete-gaussian")
        with its parameters as keywords (`scale` is b of Laplace, sigma of Gaussian), or a scipy.stats name with its
        arguments, such as "gumbel_r(0, 2)".
    secret : Secret, str, Prior with numeric labels, frozen scipy.stats distribution, or sample of numbers
    records : int
        The released location is the mean of so many independent records; leakage is about one of them.
    clip : (low, high), optional
        Records are clipped to this interval first.
    others : as `secret`, optional
        The distribution of the other records, where it is not that of the one; for finitely many values.
    **parameters : float
        Of the noise: `scale` and, by family, `df`, `sensitivity`, `gamma` or `step`.

    Raises
    ------
    DivulgeError
        If noise, secret or their parameters are unknown or out of range, or nothing bounds what is asked of them, such
        as means of several unbounded records; the message says what to change.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Pointwise Maximal Leakage on General Alphabets", arXiv:2304.07722.
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", arXiv:2407.01167.

    Examples
    --------
    >>> m = NoiseMechanism("laplace", secret="rademacher()", scale=2.0)
    >>> round(m.pmc_supremum.value, 6), round(m.pml_supremum.value, 6)  # log cosh(1/2) +- 1/2
    (0.620115, 0.379885)
    """

    @cached_property
    def pml_supremum(self) -> Supremum:
        """sup_y pml(y) in nats, with a bracket, and the outcome or limit that reaches it.

        Whether the bracket is proved is told by `certified`, and what it rests on by `method` and `reason`.

        Examples
        --------
        >>> found = NoiseMechanism("laplace", "bernoulli(0.3)", scale=1.0).pml_supremum
        >>> found.at, round(found.value, 6), found.certified
        (inf, 0.584265, True)
        """
        return supremum(self.law, "pml").moved(self.noise.loc)

    @cached_property
    def pmc_supremum(self) -> Supremum:
        """sup_y pmc(y) in nats, with a bracket, and the outcome or limit that reaches it; see `pml_supremum`.

        Examples
        --------
        >>> NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0).pmc_supremum.value
        inf
        """
        return supremum(self.law, "pmc").moved(self.noise.loc)

    @cached_property
    def metric_rate(self) -> float:
        """The rate at which the release is metric-private, in nats per unit of the record: sup |(log f)'| / records.

        Whatever the prior, an outcome is at most e^(rate d) times as likely under one record as under another that is
        d away. 1/b of Laplace noise of scale b; inf of Gaussian noise, which has none. Of a record that was rounded
        to a lattice before, d is the distance after rounding: up to a step more.

        Examples
        --------
        >>> NoiseMechanism("laplace", "uniform(0, 10)", scale=2.0).metric_rate
        0.5
        """
        return self.noise.steepest / self.records

    def subject_of(self, kind: OfAClass) -> "NoiseMechanism":
        """Return what guarantees are asked about, itself: `PMC(0.75).holds_for(mechanism)` and `PMC.of(mechanism)`.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "uniform(-1, 1)", scale=2.0)
        >>> dv.LDP(1).holds_for(m).holds, dv.LDP.of(m)
        (True, LDP(1))
        """
        return self

    def leakage(self, side: Side = "pml", unit: Unit = "nats") -> NoisyLeakage:
        """Return the leakage as a random variable, as `dv.pml(mechanism)` and `dv.pmc(mechanism)` do.

        Examples
        --------
        >>> round(NoiseMechanism("laplace", "rademacher()", scale=2.0).leakage("pmc").max(), 6)
        0.620115
        """
        nats_per(unit)
        return NoisyLeakage(self, as_side(side), unit)

    def supremum(self, side: Side) -> Supremum:
        """Return `pml_supremum` or `pmc_supremum`.

        Examples
        --------
        >>> NoiseMechanism("laplace", "rademacher()", scale=1.0).supremum("pml").certified
        True
        """
        return self.pml_supremum if as_side(side) == "pml" else self.pmc_supremum

    @cached_property
    def ldp(self) -> Local:
        """sup over outcomes and pairs of records of the log likelihood ratio, in nats; +inf when there is none.

        Examples
        --------
        >>> NoiseMechanism("laplace", "uniform(-1, 1)", scale=2.0).ldp
        Local(epsilon=1.0, exact=True)
        """
        span = (self.secret.high - self.secret.low) / self.records
        if span == 0:
            return Local(0.0, True)
        loss = self.noise.shift_loss(span) if math.isfinite(span) else math.inf
        if not self.noise.of_family:
            return Local(loss, False)
        return Local(loss, self.records == 1 or math.isinf(loss) or self.noise.attains)

    def theorems(self) -> tuple[Verdict, Verdict]:
        """Return what is true of Theorems 5 and 6 of Information Density Bounds for Privacy, for this mechanism.

        The paper states them for every alphabet; they hold where the secret has finitely many values.

        Examples
        --------
        >>> for verdict in NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0).theorems():
        ...     print(verdict.pmc, verdict.pml, verdict.ldp, verdict.holds)
        False True inf True
        False True inf True
        """
        finite = self.secret.values is not None and math.isfinite(self.secret.high - self.secret.low)
        ldp = self.ldp
        return verdicts(self.pmc_supremum, self.pml_supremum, ldp.epsilon, exact=ldp.exact, finite=finite)

    def mean_pml(self, unit: Unit = "nats") -> outcomes.Estimate:
        """Return E pml(Y), in nats, with an estimate of the quadrature error; in [I(X; Y), sup pml].

        Examples
        --------
        >>> NoiseMechanism("discrete-laplace", "bernoulli(0.5)", scale=1.0).mean_pml().value.__round__(6)
        0.379885
        """
        return mean_leakage(self, "pml").to(unit)

    def mutual_information(self, unit: Unit = "nats") -> outcomes.Estimate:
        """Return I(X; Y), about one record, with an estimate of the quadrature error.

        Examples
        --------
        >>> NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0).mutual_information("bits").value.__round__(9)
        0.5
        """
        return outcomes.mutual_information(self).to(unit)

    def given(self, evidence: "Evidence | tuple[NoiseMechanism, float]") -> "NoiseMechanism":
        """Return the mechanism for who has side information z about the record: its leakage is the conditional one.

        pml(y | z) = log sup_x f(y | x) / f(y | z) and pmc(y | z) = log f(y | z) / inf_x f(y | x) over the records that
        z leaves possible, as z tells of the record and not of the noise (Y - X - Z).

        Parameters
        ----------
        evidence : (low, high), dict {value: P(z | value)}, function of the value, or (mechanism, outcome)
            That the record lies in an interval, how likely what was learned is for each value, or the outcome of
            another noise mechanism about the same record.

        Raises
        ------
        DivulgeError
            If the evidence is impossible, or the secret has a density that it cannot be applied to.

        References
        ----------
        "Information Density Bounds for Privacy", Definition 12 and Corollary 2, arXiv:2407.01167.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "values(0:0.25, 1:0.25, 5:0.5)", scale=1.0)
        >>> round(m.given((0, 1)).pml(9.0), 6)  # log 2 / (1 + e^-1)
        0.379885
        """
        told: Any = evidence
        if isinstance(told, tuple) and isinstance(told[0], NoiseMechanism):
            earlier, y = told
            if self.secret.values is None or not np.array_equal(earlier.secret.values, self.secret.values):
                condition = "be about the same record, with finitely many values"
                raise DivulgeError.of("evidence", condition, "its secret", earlier.secret.description)
            known = as_secret(earlier.posterior(y))
        else:
            known = given(self.secret, evidence)
        others = self.others or (self.secret if self.records > 1 else None)
        return NoiseMechanism(self.noise, known, records=self.records, others=others)

    def adversary(self, y: float, side: Side = "pml", within: float = 1e-3) -> Bet:
        """Return the adversary who attains pml(y), or pmc(y): the event to bet on, or against, and its probabilities.

        A bet on an event A with a gain of 1/P(A) gains P(A | y) / P(A). Against A, who guesses a randomized function of
        the record is wrong with probability P(A) before y and P(A | y) after it.

        Parameters
        ----------
        y : float
        side : "pml" or "pmc"
        within : float > 0, in nats
            By how much the leakage may be missed where the record has a density; exact for finitely many values.

        Returns
        -------
        Bet
            Where pmc(y) is infinite and the record has a density, one that leaks 10 nats.

        References
        ----------
        "Information Density Bounds for Privacy", Theorems 2 and 3 and their proofs, arXiv:2407.01167.

        Examples
        --------
        >>> bet = NoiseMechanism("laplace", "bernoulli(0.25)", scale=1.0).adversary(5.0)
        >>> bet.low, bet.before, round(bet.after, 6)  # 1/4 before, e / (e + 3) after
        (1.0, 0.25, 0.475367)
        """
        return adversary(self, scalar(y, "y"), as_side(side), scalar(within, "within"))

    def tail_envelope(self, threshold: float, unit: Unit = "nats") -> outcomes.Estimate:
        """Return the largest P(pml >= threshold) over all post-processings of the outcome, with its error.

        The raw `tail` can grow when outcomes are merged; this cannot. For Laplace, Gaussian and logistic noise on one
        record with up to 100 values the error is proved and small. For every other bounded record, such as one with a
        density, it is the distance between two bounds, the raw tail and E max(0, e^pml(Y) - e^v) / (e^threshold - e^v)
        at the best v, integrated with an estimated error. Refused for an unbounded record.

        Examples
        --------
        >>> m = NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0)
        >>> round(m.tail(1.0).value, 4), round(m.tail_envelope(1.0).value, 4)
        (0.0116, 0.0269)
        """
        threshold = scalar(threshold, "threshold")
        if not threshold >= 0:
            raise DivulgeError.of("threshold", "be at least 0", "it", str(threshold))
        return envelope(self, threshold * nats_per(unit))

    def envelope_threshold(self, delta: float, unit: Unit = "nats") -> outcomes.Estimate:
        """Return the epsilon at a delta: the least threshold whose `tail_envelope` is at most `delta`, rounded up.

        "pml is at most this, except with probability delta" then survives every post-processing. `value` holds for
        sure, up to the error of an integral where the record has a density; the smallest that does is less by `error`
        at most. For the records that `tail_envelope` takes.

        Examples
        --------
        >>> m = NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0)
        >>> round(m.envelope_threshold(0.026947).value, 4)
        1.0
        """
        return threshold_at(self, scalar(delta, "delta")).to(unit)

    def tail(self, threshold: float, side: Side = "pml", unit: Unit = "nats") -> outcomes.Estimate:
        """Return P(pml(Y) > threshold) (or of pmc), the delta that goes with epsilon = threshold.

        In [0, 1]. For finitely many values and known noise the error is proved (`certified`), else an estimate. What
        leaks as much as `threshold`, as far as rounding tells, is not counted, and then nothing is certified. Raises
        DivulgeError where `threshold` is NaN.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=2.0)
        >>> round(m.tail(0.0).value, 9), m.tail(1.01 * m.pml_supremum.value).value
        (1.0, 0.0)
        """
        return tails.tail(self, scalar(threshold, "threshold") * nats_per(unit), as_side(side))

    def quantile(self, p: float, side: Side = "pml", unit: Unit = "nats") -> outcomes.Estimate:
        """Return the smallest v with P(leakage(Y) <= v) >= p, with its error; proved or estimated as that of `tail`.

        Raises DivulgeError where `p` is not in [0, 1].

        Examples
        --------
        >>> NoiseMechanism("laplace", "rademacher()", scale=2.0).quantile(0.9).value.__round__(6)
        0.379885
        """
        return tails.quantile(self, scalar(p, "p"), as_side(side)).to(unit)

    def curve(self, epsilons: ArrayLike, side: Side = "pml", unit: Unit = "nats") -> list[tuple[float, float]]:
        """Return [(epsilon, delta)]: leakage is at most epsilon except with probability delta under Y; see `tail`.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=2.0)
        >>> [(epsilon, round(delta, 6)) for epsilon, delta in m.curve([0.0, 0.3, 0.5])]
        [(0.0, 1.0), (0.3, 0.773485), (0.5, 0.0)]
        """
        asked = [scalar(epsilon, "epsilons") for epsilon in np.atleast_1d(epsilons).tolist()]
        return [(epsilon, self.tail(epsilon, side, unit).value) for epsilon in asked]

    def binned(self, outcome_edges: ArrayLike, secret_edges: ArrayLike | None = None) -> Joint:
        """Return the finite joint of (bin of the secret, bin of the outcome), as a Joint.

        Outcome bins are (-inf, e_1], (e_1, e_2], ..., (e_k, inf]; a finite secret keeps its values, one with a density
        is cut at `secret_edges` in the same way, by default at quantiles. Masses are differences of distribution
        functions, with a density integrals, about 1e-12 off. Where secrets are kept, leakage never exceeds that of the
        mechanism, and tends to it as bins shrink. Raises DivulgeError where edges are not finite and rising.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> m.binned([-1.0, 0.0, 1.0]).channel.shape  # two bins and what lies beyond on either side
        (2, 4)
        """
        from divulge.noise.answers.binning import binned

        return binned(self, outcome_edges, secret_edges)

    def sub_gaussian_tail(self, epsilon: float) -> float:
        """Return an upper bound on P(pmc(Y) > epsilon) for Gaussian noise on one bounded record.

        With |X - E X| <= B and a = |y - E X| B / s^2 the log of E e^(a (X - E X) / B) is at most a^2/2, and at most a:
        pmc(y) <= min(a^2/2, a) + a + B^2/(2 s^2). Y is sub-Gaussian with variance proxy s^2 + B^2; the tail is at
        most 2 exp(-t^2 / 2(s^2 + B^2)) at the t where the lesser bound reaches epsilon. For epsilon up to B^2/(2 s^2)
        that says nothing: it is 1. `tail(epsilon, "pmc")` is the exact value beside it.

        Returns
        -------
        float
            In [0, 1]; an upper bound.

        References
        ----------
        "Pointwise Maximal Leakage on General Alphabets", arXiv:2304.07722; "Information Density Bounds for Privacy",
        arXiv:2407.01167, whose two bounds on k these are.

        Examples
        --------
        >>> m = NoiseMechanism("gaussian", "rademacher()", scale=1.0)
        >>> m.tail(5.0, "pmc").value < m.sub_gaussian_tail(5.0) < 1
        True
        """
        return tails.sub_gaussian(self, scalar(epsilon, "epsilon"))

    def to_dict(self, at: ArrayLike = (), epsilons: ArrayLike | None = (), unit: Unit = "nats") -> dict[str, Any]:
        """Return the mechanism's leakage as plain data: noise, secret, pml, pmc, ldp, mean_pml, mutual_information.

        With outcomes `at` also "points"; with `epsilons` (in `unit`) also "tail", delta = P(pml > epsilon). Errors that
        are not `certified` are estimates.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> round(m.to_dict(at=[0.0])["pml"]["value"], 6)  # log sup f(y | x) / f(y) = log 2 / (1 + e^-2)
        0.566219
        """
        return as_data(self, at, epsilons, unit)

    def plot(self, y: ArrayLike | None = None, ax: "Axes | None" = None, unit: Unit = "nats") -> "Axes":
        """Draw pml(y) and pmc(y) over y with the outcome density under them, and return the axes (extra: plot).

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> m.plot().get_xlabel()
        'outcome y'
        """
        from divulge.noise.picture import plot

        return plot(self, y, ax, unit)

    def _repr_html_(self) -> str:
        found = self.to_dict()
        rows = [(name, found[name]["value"]) for name in ("pml", "pmc")]
        rows += [(name, found[name]) for name in ("ldp", "mean_pml", "mutual_information")]
        table = html_table([name for name, _ in rows], ["nats"], raised([[value] for _, value in rows]))
        return f"<p>{html.escape(repr(self))}</p>{table}"

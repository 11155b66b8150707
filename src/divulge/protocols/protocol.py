"""A frequency protocol, and what its reports leak under a prior."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge.late import late
from divulge.model.accepted import OfAClass, PriorLike
from divulge.model.arraylike import HasArray
from divulge.model.convert import as_prior
from divulge.protocols.information import Enclosed
from divulge.protocols.leakage import ProtocolLeakage, UnderPrior
from divulge.protocols.two_level import TwoLevel
from divulge.units import Unit


@dataclass(frozen=True, repr=False)
class Protocol(TwoLevel):
    """A channel over K values of two levels: P(y | x) = mu(y) a where x is in the set S_y of the outcome, else mu(y) b.

    a / b is rational and at most e^epsilon, and a q + b (1 - q) = 1 with q = mu(x in S). Made by the functions of
    `dv.protocols`; whatever takes a channel takes a protocol, and whatever takes a joint the pair (prior, protocol).

    Attributes
    ----------
    name : str
    values : labels of the K values
    epsilon : float
        The level asked for, in nats.
    ratio : Fraction
        a / b, the level that runs.
    sets : Sets
        The family of sets.

    Examples
    --------
    >>> protocol = dv.protocols.hadamard(1_000_000, 1.0)
    >>> protocol.bits, round(protocol.ldp, 9), round(protocol.variance(0), 6)
    (20.0, 1.0, 4.682694)
    """

    def under(self, prior: PriorLike) -> UnderPrior:
        """Return the protocol with a prior, aligned: what (prior, protocol) stands for.

        Raises
        ------
        LabelError
            When the values of the prior are others.

        Examples
        --------
        >>> dv.protocols.randomized_response(["a", "b"], 1.0).under({"b": 0.75, "a": 0.25}).prior.to_dict()
        {'a': 0.25, 'b': 0.75}
        """
        known = as_prior(prior)
        if self.of_text:
            sets: Any = self.sets  # of hashes, which any values have
            return UnderPrior(known, replace(self, values=known.secrets, sets=sets.over(known.secrets)))
        return UnderPrior(known.aligned(self.values, "the protocol"), self)

    def codes(self, values: Iterable[Hashable] | HasArray, key: bytes = b"") -> np.ndarray:
        """Return values as positions in the list of the protocol, int64, or as digests of their text, uint64.

        Examples
        --------
        >>> dv.protocols.hadamard(["a", "b"], 1.0).codes(["b", "a"]).tolist()
        [1, 0]
        """
        return late("divulge.releasing.reports.decoding:codes_of")(self, values, key)

    def report(self, values: Iterable[Hashable] | HasArray, key: bytes | None = None) -> Any:
        """Return a fresh report for each value, drawn with exactly the probabilities of the protocol.

        One rational Bernoulli draw and one uniform whole number a report, from the AES-256-CTR keystream under a fresh
        key of the operating system; there is no seed. What memory and time a draw takes may depend on the value.

        Parameters
        ----------
        values : column of n values: list, array, pandas, polars or pyarrow column
        key : bytes of length 16, optional
            Public, of a collection of text, under which text is hashed; a fresh one when not given.

        Returns
        -------
        Reports
            `frequencies()` estimates how frequent each value was; `table()` is what goes out.

        Raises
        ------
        DivulgeError
            When a value is none of the protocol (with their number, never one), and for subset selection, whose
            reports are sets.

        References
        ----------
        Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer arithmetic without
        primes", 1996.

        Examples
        --------
        >>> len(dv.protocols.projective(["a", "b", "c"], 1.0).report(["a", "c", "c"]))
        3
        """
        return late("divulge.releasing.reports.reports:report")(self, values, key)

    def pml(self, prior: PriorLike, unit: Unit = "nats") -> ProtocolLeakage:
        """Return the largest pointwise maximal leakage of a report, log a / min W over sets that can be raised.

        Parameters
        ----------
        prior : Prior or what converts to one, over the K values
        unit : "nats" or "bits"

        Returns
        -------
        ProtocolLeakage
            A float in [0, epsilon]: the logarithm of an exact ratio, with the report and the value it is about.

        References
        ----------
        Saeidian, Cervia, Oechtering, Skoglund, "Pointwise Maximal Leakage", Theorem 1, arXiv:2205.04935.

        Examples
        --------
        >>> round(dv.protocols.randomized_response(2, 1.0).pml([0.25, 0.75]), 6)
        0.642626
        """
        return self.under(prior).leakage("pml", unit)

    def pmc(self, prior: PriorLike, unit: Unit = "nats") -> ProtocolLeakage:
        """Return the largest pointwise maximal cost of a report, log max W / b over sets that are not everything.

        Parameters
        ----------
        prior : Prior or what converts to one, over the K values
        unit : "nats" or "bits"

        Returns
        -------
        ProtocolLeakage
            A float in [0, epsilon].

        References
        ----------
        Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Theorem 1,
        arXiv:2407.01167.

        Examples
        --------
        >>> round(dv.protocols.randomized_response(2, 1.0).pmc([0.25, 0.75]), 6)
        0.827989
        """
        return self.under(prior).leakage("pmc", unit)

    def mutual_information(self, prior: PriorLike, unit: Unit = "nats") -> Enclosed:
        """Return I(X; Y) = KL(Bern(aq) || Bern(q)) - E_mu[W log W].

        Parameters
        ----------
        prior : Prior or what converts to one, over the K values
        unit : "nats" or "bits"

        Returns
        -------
        Enclosed
            A float, the upper end, with `lower`. The two differ by rounding where all shares of sets are at hand
            (randomized response, Hadamard, projective; few subsets; unary and hashing for counts that are small
            together); else the most frequent values are looked at one by one and the others by their variance.

        Examples
        --------
        >>> prior = [2e-5] * 25_000 + [1 / 150_000] * 75_000
        >>> found = dv.protocols.local_hashing(100_000, 1.0).mutual_information(prior)
        >>> found.lower <= found.upper < 0.12
        True
        """
        return self.under(prior).mutual_information(unit)

    def bayes_vulnerability(self, prior: PriorLike) -> float:
        """Return the chance that a value is guessed right from its report, in [max p, 1].

        Examples
        --------
        >>> round(dv.protocols.randomized_response(2, 1.0).bayes_vulnerability([0.25, 0.75]), 6)  # the guess stays
        0.75
        """
        return self.under(prior).bayes_vulnerability()

    def subject_of(self, kind: OfAClass) -> Any:
        """Return what a guarantee is asked about: the closed forms, or the matrix for kinds that have none.

        Examples
        --------
        >>> dv.LDP(1).holds_for(dv.protocols.hadamard(10**6, 1.0)).holds
        True
        """
        return late("divulge.guarantees.deciding.protocols:subject_of")(self, kind)

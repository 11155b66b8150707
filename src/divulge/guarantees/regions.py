"""The privacy regions of PML, and which bound of an ALIP guarantee decides."""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError, number_of
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.implication import implied
from divulge.guarantees.deciding.levels import upper_peaks
from divulge.guarantees.formulas.density import pmc_of_pml, pml_of_pmc
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.density import ALIP, PMC, PML
from divulge.guarantees.posterior import room_for
from divulge.model.accepted import PriorLike
from divulge.model.convert import as_prior
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.shown import Shown, promised, reached


@dataclass(frozen=True, repr=False)
class Region(Shown):
    """The PML privacy region of a guarantee or a mechanism.

    Attributes
    ----------
    zeros : int
        How many secrets one outcome can rule out, at most; 0 is the high-privacy regime.
    secrets : int
        N, the number of secrets with positive probability.
    lower, upper : float
        The region is epsilon in [lower, upper), nats.
    excludable : tuple of labels
        The secrets that an outcome can rule out.

    Examples
    --------
    >>> region = privacy_region(PML("0.3"), ["1/2", "1/4", "1/4"])  # log 4/3 = 0.288
    >>> region.zeros, region.words, region.excludable
    (1, 'an outcome can rule out up to 1 of 3 secrets', (1, 2))
    """

    zeros: int
    secrets: int
    lower: float
    upper: float
    excludable: tuple[Hashable, ...]

    @property
    def words(self) -> str:
        """What the region means, in one sentence."""
        if self.zeros == 0:
            return "high-privacy regime: no outcome can rule out any secret"
        if self.zeros == self.secrets - 1:
            return "an outcome can name the secret"
        return f"an outcome can rule out up to {self.zeros} of {number_of(self.secrets, 'secret')}"

    def __repr__(self) -> str:
        ends = f"[{promised(self.lower)}, {reached(self.upper)})"
        return f"region {self.zeros} of {self.secrets - 1}, epsilon in {ends}: {self.words}"


def region_boundaries(prior: PriorLike) -> np.ndarray:
    """Return the N boundaries of the PML privacy regions, -log(sum of the N - k largest P_x) for k = 0 to N - 1.

    An outcome of an epsilon-PML mechanism can rule out k secrets if and only if epsilon is at least boundary k.

    Parameters
    ----------
    prior : Prior or array_like of shape (N,); secrets of probability 0 drop out

    Returns
    -------
    float64 array of shape (N,), in nats, rising from 0 to log 1/p_max

    Raises
    ------
    DivulgeError
        When `prior` is no distribution.

    References
    ----------
    Grosse, Saeidian, Oechtering, "Extremal Mechanisms for Pointwise Maximal Leakage", Lemma 2, arXiv:2310.07381.

    Examples
    --------
    >>> region_boundaries(["1/2", "1/4", "1/4"]).round(4).tolist()  # log of 1, 4/3, 2
    [0.0, 0.2877, 0.6931]
    """
    return np.array([0.0 - exact.log(kept) for kept in _kept(as_prior(prior))], dtype=np.float64) + 0.0


def _kept(prior: Prior) -> list[Fraction]:
    """Return the sums of the N - k largest probabilities, k = 0 .. N - 1, as shares of the sum of all."""
    largest = sorted((Fraction(p) for p in prior if p > 0), reverse=True)
    sums = list(accumulate(largest))[::-1]
    return [s / sums[0] for s in sums]


def privacy_region(of: Guarantee | Joint, prior: PriorLike | None = None) -> Region:
    """Return the PML privacy region of a guarantee under a prior, or of a mechanism (a Joint).

    Parameters
    ----------
    of : Guarantee that bounds PML (with `prior`), or Joint

    Returns
    -------
    Region
        Boundaries are compared exactly with the bound on PML that the guarantee implies. A guarantee with a finite
        bound on PMC lies in region 0.

    Raises
    ------
    DivulgeError
        When `of` is neither, a guarantee comes without a prior, or none follows from it about PML.

    References
    ----------
    Grosse, Saeidian, Oechtering, "Extremal Mechanisms for Pointwise Maximal Leakage", arXiv:2310.07381.

    Examples
    --------
    >>> print(privacy_region(PML("0.3"), ["1/2", "1/4", "1/4"]))
    region 1 of 2, epsilon in [0.287683, 0.693147): an outcome can rule out up to 1 of 3 secrets
    """
    if isinstance(of, Joint):
        return _region(of.prior, _reached(of))
    DivulgeError.unless(of, Guarantee, "of", "be a Guarantee or a Joint")
    if prior is None:
        raise DivulgeError.of("prior", "be given: the regions of PML depend on it", "it", "absent")
    known = as_prior(prior)
    upper, lower = (implied(of, kind, prior=known) for kind in (PML, PMC))
    if isinstance(lower, PMC) and lower.epsilon != math.inf:
        return _region(known, lambda share: share == 1)
    epsilon = upper.epsilon if isinstance(upper, PML) else math.inf
    return _region(known, lambda share: room_for(share, epsilon))


def _reached(joint: Joint) -> Callable[[Fraction], bool]:
    """Return the test whether the largest lift reaches 1 / share, exactly."""
    lift = upper_peaks(joint).largest().exactly[0]
    return lambda share: share * lift >= 1


def _region(prior: Prior, room: Callable[[Fraction], bool]) -> Region:
    kept = _kept(prior)
    zeros = max(k for k, share in enumerate(kept) if room(share))
    ends = [*region_boundaries(prior).tolist(), math.inf]
    total = sum((Fraction(p) for p in prior), start=Fraction(0))
    shares = {x: Fraction(p) / total for x, p in prior.to_dict().items() if p > 0}
    alone = tuple(x for x, share in shares.items() if zeros and share < 1 and room(1 - share))
    return Region(zeros, len(kept), ends[zeros], ends[zeros + 1], alone)


def decisive_bound(alip: ALIP, **context: Any) -> str:
    """Return which bound of (lower, upper)-ALIP decides: "pml", "pmc", "both", or "either" when each implies the other.

    The lower bound is redundant (PML decides) when A(upper) <= lower, the upper one (PMC decides) when
    B(lower) <= upper; A and B are the bounds of PMC from PML and of PML from PMC. Decided exactly.

    Parameters
    ----------
    alip : ALIP
    **context : `prior`, `p_min`, or `n` with `uniform`

    Returns
    -------
    str

    Raises
    ------
    DivulgeError
        When `alip` is no ALIP guarantee, or the context has no p_min.

    References
    ----------
    "Information Density Bounds for Privacy", Figure 1, arXiv:2407.01167; "Quantifying Privacy via Information
    Density", Figure 1, arXiv:2402.12967.

    Examples
    --------
    >>> decisive_bound(ALIP(lower=1, upper=1), p_min="1/4"), decisive_bound(ALIP(lower=1, upper="0.1"), p_min="1/4")
    ('both', 'pml')
    """
    DivulgeError.unless(alip, ALIP, "alip", "be a guarantee ALIP(lower, upper)")
    p = Context.of(**context).known_p_min
    by_pml = exact.at_most(lambda: pmc_of_pml(exact.ball(alip.upper), exact.arb(p)), alip.lower)
    by_pmc = exact.at_most(lambda: pml_of_pmc(exact.ball(alip.lower), exact.arb(p)), alip.upper)
    return _DECIDES[by_pml, by_pmc]


_DECIDES = {(True, False): "pml", (False, True): "pmc", (True, True): "either", (False, False): "both"}

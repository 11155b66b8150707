"""Named mechanisms of the central model: plain data, apart from what is computed about them.

Each answers `losses()`: the losses of a dominating set of ordered pairs of neighbouring data sets, both orders in it
(one is enough where the two are alike). `MECHANISMS` names them all; a new mechanism is a new row.
"""

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from divulge import exact
from divulge.dp.knowledge import Known
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import ExponentialLoss, GaussianLoss, LaplaceLoss
from divulge.dp.loss.densities import DensityLoss, written
from divulge.dp.loss.lattice import GaussianLattice, lattice_loss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.errors import DivulgeError
from divulge.late import late
from divulge.model.arraylike import HasArray, Number
from divulge.model.entries import whole_number

_PAIR = ("D", "D'")

SMALLEST, LARGEST = 1e-150, 1e150
"""Losses between these have squares that are doubles."""

_MOST_ATOMS = 1_000_000
"""A discrete mechanism has an atom for every integer between two data sets; so many are kept."""

_MOST_SIGMA = 20_000.0
"""The discrete Gaussian is summed term by term up to this standard deviation."""


_NEARLY = 1e-5
"""Scales this close count as one where the difference cancels: of a bound from below, in its tenth digit."""


class Mechanism(Protocol):
    """What has dominating losses."""

    def losses(self) -> tuple[PrivacyLoss, ...]:
        """Return the privacy losses, in nats, of a dominating set of ordered pairs; both orders, where they differ.

        Examples
        --------
        >>> [loss.highest for loss in dv.dp.LaplaceMechanism(scale=2.0).losses()]
        [0.5]
        """
        ...


def _positive(**values: float) -> None:
    for name, value in values.items():
        try:
            number = (
                math.inf if isinstance(value, str) or (isinstance(value, int) and value > 1 << 53) else float(value)
            )
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0 < number < math.inf:
            found = "no double" if not isinstance(value, float) and not math.isfinite(number) else str(value)
            raise DivulgeError.of(name, "be positive and finite", "it", found)


def _representable(name: str, what: str, value: float) -> None:
    """Refuse a parameter at which a loss, or its square, is no double."""
    if not SMALLEST <= value <= LARGEST:
        raise DivulgeError.of(name, f"leave {what} between {SMALLEST:g} and {LARGEST:g}", "it", f"{value:.3g}")


@dataclass(frozen=True)
class GaussianMechanism(Mechanism):
    """Adds N(0, sigma^2) to a query of L2 sensitivity `sensitivity`.

    Examples
    --------
    >>> (loss,) = GaussianMechanism(sigma=2.0).losses()
    >>> loss.mean(), loss.renyi(8.0)  # 1 / (2 sigma^2), and 8 times that
    (0.125, 1.0)
    """

    sigma: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        _positive(sigma=self.sigma, sensitivity=self.sensitivity)
        _representable("sigma", "sensitivity / sigma", self.sensitivity / self.sigma)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        stated = Fraction(self.sensitivity) / Fraction(self.sigma)
        return (GaussianLoss(self.sensitivity / self.sigma, known=Known.SENSITIVITY, stated=stated),)


@dataclass(frozen=True)
class TreeAggregation(Mechanism):
    """Releases all running sums of `steps` numbers, each record in one of them, from a binary tree with Gaussian noise.

    A record is in one leaf, and so in no more than floor(log2 steps) + 1 sums of the tree, each of which it moves by
    `sensitivity` at most and which have noise N(0, sigma^2): together a Gaussian mechanism of that many times the
    squared sensitivity, also where later numbers depend on what was released. For one pass over the records (a single
    epoch); several are as many releases.

    References
    ----------
    Dwork, Naor, Pitassi, Rothblum, 2010; Kairouz, McMahan, Song, Thakkar, Thakurta, Xu, arXiv:2103.00039.

    Examples
    --------
    >>> (loss,) = TreeAggregation(sigma=3.0, steps=256).losses()  # 9 levels
    >>> round(loss.mu, 12)
    1.0
    """

    sigma: float
    steps: int
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        _positive(sigma=self.sigma, sensitivity=self.sensitivity)
        _representable("sigma", "sensitivity / sigma", self.sensitivity / self.sigma)
        whole_number(self.steps, "steps", 1, 1 << 53)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        levels, one = int(self.steps).bit_length(), Fraction(self.sensitivity) / Fraction(self.sigma)
        mu = exact.round_up(exact.arb(levels).sqrt() * exact.arb(one))
        return (GaussianLoss(mu, known=Known.SENSITIVITY),)


@dataclass(frozen=True)
class LaplaceMechanism(Mechanism):
    """Adds Laplace noise of scale b (standard deviation sqrt(2) b) to a query of L1 sensitivity `sensitivity`.

    Examples
    --------
    >>> (loss,) = LaplaceMechanism(scale=2.0, sensitivity=3.0).losses()
    >>> loss.epsilon(0.0)
    1.5
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        _positive(scale=self.scale, sensitivity=self.sensitivity)
        _representable("scale", "sensitivity / scale", self.sensitivity / self.scale)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        stated = Fraction(self.sensitivity) / Fraction(self.scale)
        return (LaplaceLoss(self.sensitivity / self.scale, known=Known.SENSITIVITY, stated=stated),)


@dataclass(frozen=True)
class DiscreteLaplaceMechanism(Mechanism):
    """Adds an integer k with probability proportional to e^(-|k| / scale) to an integer query (geometric noise).

    Examples
    --------
    >>> (loss,) = DiscreteLaplaceMechanism(1.0, sensitivity=2).losses()
    >>> loss.losses.tolist()
    [-2.0, 0.0, 2.0]
    """

    scale: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        _positive(scale=self.scale)
        _representable("scale", "scale", self.scale)
        whole_number(self.sensitivity, "sensitivity", 1, _MOST_ATOMS)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        s = int(self.sensitivity)
        k = np.arange(s, -1, -1)
        inner = -math.expm1(-1 / self.scale) / (1 + math.exp(-1 / self.scale))
        p = inner * np.exp(-k / self.scale)
        p[0], p[-1] = math.exp(-s / self.scale) / (1 + math.exp(-1 / self.scale)), 1 / (1 + math.exp(-1 / self.scale))
        losses, stated = (s - 2 * k) / self.scale, s / Fraction(self.scale)
        return (AtomicLoss(losses, p, p[::-1], pair=_PAIR, known=Known.SENSITIVITY, stated=stated),)


@dataclass(frozen=True)
class DiscreteGaussianMechanism(Mechanism):
    """Adds an integer k with probability proportional to e^(-k^2 / (2 sigma^2)) to an integer query.

    References
    ----------
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", arXiv:2004.00010.

    Examples
    --------
    >>> (loss,) = DiscreteGaussianMechanism(sigma=2.0).losses()
    >>> loss.rate, round(float(np.diff(loss.losses)[0]), 9)  # 1 / (2 sigma^2), and losses in steps of 1 / sigma^2
    (0.125, 0.25)
    """

    sigma: float
    sensitivity: int = 1

    def __post_init__(self) -> None:
        _positive(sigma=self.sigma)
        _representable("sigma", "sigma", self.sigma)
        whole_number(self.sensitivity, "sensitivity", 1, _MOST_ATOMS)
        if self.sigma > _MOST_SIGMA:
            hint = "a noise this wide is a GaussianMechanism to within rounding."
            raise DivulgeError.of("sigma", f"be at most {_MOST_SIGMA:g}", "it", f"{self.sigma:g}", hint)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        law = GaussianLattice(float(self.sigma), int(self.sensitivity))
        return (lattice_loss(law, pair=_PAIR, known=Known.SENSITIVITY),)


@dataclass(frozen=True)
class RandomizedResponse(Mechanism):
    """Reports the true one of `categories` answers with odds e^epsilon against each other one.

    Examples
    --------
    >>> (loss,) = RandomizedResponse(1.0, categories=3).losses()
    >>> loss.losses.tolist()
    [-1.0, 0.0, 1.0]
    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon)
        _representable("epsilon", "epsilon", self.epsilon)
        whole_number(self.categories, "categories", 2, 1 << 53)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        others = self.categories - 1
        other = math.exp(-self.epsilon) / (1 + others * math.exp(-self.epsilon))
        true = 1 / (1 + others * math.exp(-self.epsilon))
        p, losses = [other, (others - 1) * other, true], [-self.epsilon, 0.0, self.epsilon]
        keep = [0, 1, 2] if others > 1 else [0, 2]
        p_kept, q_kept = np.array(p)[keep], np.array(p)[keep[::-1]]
        return (AtomicLoss(np.array(losses)[keep], p_kept, q_kept, pair=_PAIR, stated=Fraction(self.epsilon)),)


@dataclass(frozen=True)
class ExponentialMechanism(Mechanism):
    """Chooses an answer with probability proportional to e^(epsilon u / (2 s)), u a utility of sensitivity s.

    Examples
    --------
    >>> (loss,) = ExponentialMechanism(1.0).losses()
    >>> round(loss.epsilon(0.0), 9)
    1.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        _positive(epsilon=self.epsilon)
        _representable("epsilon", "epsilon", self.epsilon)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        return (ExponentialLoss(self.epsilon),)


SELECTING = ("laplace", "exponential", "gumbel")
"""Noise with which the largest of many values is named."""


@dataclass(frozen=True)
class NoisyMax(Mechanism):
    """Names the largest of many values with noise on each (report noisy max), however many they are.

    Laplace and exponential noise of scale b, on values that each move by `sensitivity` s at most, leave a loss of at
    most 2 s / b, or s / b where all move to the same side (`monotone`, as counts of records do). Exponential noise is
    permute-and-flip, Gumbel noise the exponential mechanism e^(value / b), of which the losses lie in a range of that
    width. From below the bounds are those of two values that are s apart, once to either side.

    References
    ----------
    Dwork, Roth, "The Algorithmic Foundations of Differential Privacy", 2014, Claim 3.9; McKenna, Sheldon,
    arXiv:2010.12603; Ding, Kifer, Sayed, Steinke, Wang, Xiao, Zhang, arXiv:2105.07260.

    Examples
    --------
    >>> [NoisyMax(2.0, noise=noise).losses()[0].highest for noise in SELECTING]
    [1.0, 1.0, 1.0]
    >>> NoisyMax(2.0, monotone=True).losses()[0].highest
    0.5
    """

    scale: float
    sensitivity: float = 1.0
    noise: str = "laplace"
    monotone: bool = False

    def __post_init__(self) -> None:
        _positive(scale=self.scale, sensitivity=self.sensitivity)
        _representable("scale", "sensitivity / scale", self.sensitivity / self.scale)
        if self.noise not in SELECTING:
            raise DivulgeError.unknown("noise", str(self.noise), SELECTING)
        _said(monotone=self.monotone)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        moved = Fraction(self.sensitivity) / Fraction(self.scale) * (1 if self.monotone else 2)
        if self.noise == "gumbel":
            return (ExponentialLoss(exact.round_up(exact.arb(moved))),)
        apart = float(moved) / 2
        wrong = math.exp(-apart) / 2 if self.noise == "exponential" else _laplace_sum(apart, 1.0)
        return (_pure(moved, _two_answers(wrong)),)

    def draw(self, values: Iterable[Number] | HasArray) -> int:
        """Return the place of the largest of some values with fresh noise, drawn exactly from the secure source.

        Parameters
        ----------
        values : numbers, at least one
            Whole numbers, fractions or doubles, which are taken for what they are: rounding on the way to them counts
            towards `sensitivity`. How long it takes depends on them.

        Examples
        --------
        >>> NoisyMax(0.001).draw([3, 5, 4])
        1
        """
        return late("divulge.releasing.drawing.selecting:largest")(self, values)


@dataclass(frozen=True)
class SparseVector(Mechanism):
    """Says of a stream of questions which exceed a threshold, until `answers` did (sparse vector, above threshold).

    The threshold gets Laplace noise of scale `threshold`, every question of scale `scale`: a loss of at most
    s / threshold + 2 answers s / scale, or + answers s / scale where all questions move to the same side (`monotone`).
    Without `threshold` it is the best share, scale / (2 answers)^(1/3), or / answers^(1/3). From below the bounds are
    those of one question.

    References
    ----------
    Lyu, Su, Li, "Understanding the Sparse Vector Technique for Differential Privacy", arXiv:1603.01699, Theorems 4, 5.

    Examples
    --------
    >>> SparseVector(4.0, threshold=2.0).losses()[0].highest  # 1/2 + 2/4
    1.0
    """

    scale: float
    answers: int = 1
    sensitivity: float = 1.0
    threshold: float | None = None
    monotone: bool = False

    def __post_init__(self) -> None:
        _positive(scale=self.scale, sensitivity=self.sensitivity)
        _representable("scale", "sensitivity / scale", self.sensitivity / self.scale)
        whole_number(self.answers, "answers", 1, _MOST_ATOMS)
        _said(monotone=self.monotone)
        if self.threshold is not None:
            _positive(threshold=self.threshold)
            _representable("threshold", "sensitivity / threshold", self.sensitivity / self.threshold)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        times, threshold = self._times, self.noise_of_threshold
        moved = Fraction(self.sensitivity) * (1 / Fraction(threshold) + times / Fraction(self.scale))
        ratio = threshold / self.scale
        return (_pure(moved, _two_answers(_laplace_sum(self.sensitivity / self.scale / 2, ratio))),)

    @property
    def _times(self) -> int:
        """How often the noise of a question counts."""
        return int(self.answers) * (1 if self.monotone else 2)

    @property
    def noise_of_threshold(self) -> float:
        """The scale of the noise of the threshold.

        Examples
        --------
        >>> SparseVector(2.0, answers=4).noise_of_threshold  # 2 / (2 * 4)^(1/3)
        1.0
        """
        return self.scale / self._times ** (1 / 3) if self.threshold is None else self.threshold

    def draw(self, values: Iterable[Number] | HasArray, at: Number) -> Iterator[bool]:
        """Yield for each value whether it exceeds `at`, with fresh noise, drawn exactly; end after `answers` that do.

        Values are asked for one by one: a generator of them may depend on what was answered before.

        Parameters
        ----------
        values : numbers, as for `NoisyMax.draw`
        at : number
            The threshold, chosen beforehand and without the data.

        Examples
        --------
        >>> list(SparseVector(0.001, threshold=0.001).draw([1, 2, 9, 8], at=5))
        [False, False, True]
        """
        return late("divulge.releasing.drawing.selecting:answers")(self, values, at)


def _said(**values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, bool):
            raise DivulgeError.of(name, "be True or False", "it", repr(value)[:40])


def _pure(epsilon: Fraction, below: AtomicLoss) -> AtomicLoss:
    """Return randomized response, which dominates whatever has losses up to epsilon."""
    largest = exact.round_up(exact.arb(epsilon))
    odds = math.exp(-largest)
    p = np.array([odds, 1.0]) / (1.0 + odds)
    losses = np.array([-largest, largest])
    return AtomicLoss(losses, p, p[::-1], pair=_PAIR, known=Known.DOMINATING, below=below, stated=epsilon)


def _two_answers(wrong: float) -> AtomicLoss:
    """Return the loss of one of two answers that is wrong so often on either data set, which is more than never."""
    wrong = max(wrong, sys.float_info.min)
    p = np.array([wrong, 1.0 - wrong])
    loss = math.log1p(-wrong) - math.log(wrong)
    return AtomicLoss(np.array([-loss, loss]), p, p[::-1], pair=_PAIR, known=Known.SENSITIVITY)


def _laplace_sum(t: float, ratio: float) -> float:
    """Return P(X + a Y > t), X and Y standard Laplace and independent: (e^-t - a^2 e^(-t / a)) / (2 (1 - a^2))."""
    if abs(ratio - 1) > _NEARLY:
        return (math.exp(-t) - ratio**2 * math.exp(-t / ratio)) / (2 * (1 - ratio**2))
    return math.exp(-t) * (2 + t) / 4


@dataclass(frozen=True)
class DistributionPair(Mechanism):
    """Draws from `p` on one data set and from `q` on its neighbor: any two continuous scipy.stats distributions.

    The line is cut until densities and distribution functions agree on every cell, so that narrow bins, jumps and
    spikes count wherever they hold a mass of 1e-14 or more. Bounds from below hold whatever the densities are; values
    and bounds from above are estimates in one respect: that between two points of a cell on which they agree the log
    ratio lies between those at the points. Its largest value is looked for inside and at both ends, and rounded up.

    Examples
    --------
    >>> from scipy.stats import logistic
    >>> pair = DistributionPair(logistic(0), logistic(1))
    >>> pair
    DistributionPair(logistic(0), logistic(1))
    >>> loss, _ = pair.losses()
    >>> round(loss.delta(0.5), 9)
    0.077404686
    """

    p: Any
    q: Any

    def __post_init__(self) -> None:
        for name, law in (("p", self.p), ("q", self.q)):
            if not (hasattr(law, "logpdf") and hasattr(law, "ppf")):
                hint = "such as scipy.stats.norm(0, 1); for finite distributions use PrivacyLoss.between."
                raise DivulgeError.of(name, "be a continuous distribution with logpdf and ppf", "it", repr(law), hint)

    def __repr__(self) -> str:
        return f"DistributionPair({written(self.p)}, {written(self.q)})"

    def losses(self) -> tuple[PrivacyLoss, ...]:
        loss = DensityLoss(*map(late("divulge.noise.steady:steady"), (self.p, self.q)))
        return loss, loss.reverse()


MECHANISMS: dict[str, Any] = {
    "gaussian": GaussianMechanism,
    "laplace": LaplaceMechanism,
    "discrete-gaussian": DiscreteGaussianMechanism,
    "discrete-laplace": DiscreteLaplaceMechanism,
    "randomized-response": RandomizedResponse,
    "exponential": ExponentialMechanism,
    "noisy-max": NoisyMax,
    "sparse-vector": SparseVector,
}
"""Name -> mechanism; the fields of the mechanism are its parameters."""

"""Adversaries as small immutable objects: gains, costs, and guessers of a randomized function of the secret."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from divulge import exact
from divulge.adversaries.rules import AlphaLoss, Diagonal, Guesswork, Mean, Median, Power, Rule, Table, Tries, ZeroOne
from divulge.errors import DivulgeError, number_of
from divulge.model import labels as _labels
from divulge.model.accepted import LabelsLike, PriorLike
from divulge.model.arraylike import Matrix, Number
from divulge.model.convert import as_prior
from divulge.model.entries import entries, frozen, whole_number
from divulge.model.labels import Labels
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.model.shown import html_table, text_table

Metric = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Adversary(Record):
    """What an attacker wants: payoffs of actions against secrets. The public kinds are `Gain` and `Cost`.

    Attributes
    ----------
    name : str
        What they do, such as "identity" or "guesswork".
    secrets : labels of the N secrets
    actions : labels of the actions, or None for a family too large to list
    rule : how they score
    """

    name: str
    secrets: Labels
    actions: Labels | None
    rule: Rule

    _larger_is_better: ClassVar[bool]
    _payoff: ClassVar[str]

    def __init__(
        self,
        payoffs: Matrix | Callable[[Any, Any], Number],
        actions: Iterable[Hashable] | None = None,
        secrets: Iterable[Hashable] | None = None,
    ) -> None:
        if callable(payoffs) and not hasattr(payoffs, "__array__"):
            payoffs, actions, secrets = _tabulated(payoffs, actions, secrets, self._payoff)
        matrix = entries(payoffs, self._payoff, 2, lambda index: f"the entry of action {index[0]}, secret {index[1]}")
        if 0 in matrix.shape:
            raise DivulgeError.of(
                self._payoff, "have at least one action and one secret", "its shape", str(matrix.shape)
            )
        rule = Table(frozen(matrix), self._larger_is_better)
        letters = _labels.alphabet(secrets, matrix.shape[1], "secrets")
        self._fill("matrix", letters, _labels.alphabet(actions, matrix.shape[0], "actions"), rule)

    def _fill(self, name: str, secrets: Labels, actions: Labels | None, rule: Rule) -> None:
        for key, value in (("name", name), ("secrets", secrets), ("actions", actions), ("rule", rule)):
            object.__setattr__(self, key, value)

    @classmethod
    def _family(cls, name: str, secrets: Labels, actions: Labels | None, rule: Rule) -> Self:
        out = object.__new__(cls)
        out._fill(name, secrets, actions, rule)
        return out

    @classmethod
    def _table(cls, name: str, secrets: Labels, actions: Iterable[Hashable], payoff: Metric) -> Self:
        """Return the adversary with the payoffs `payoff(action, secret)`."""
        out = cls(payoff, actions, secrets)
        object.__setattr__(out, "name", name)
        return out

    @property
    def matrix(self) -> np.ndarray:
        """The payoffs, actions x secrets; DivulgeError for a family too large to list."""
        if self.actions is None:
            raise DivulgeError.of(
                self._payoff, "have actions that can be listed", f"the family {self.name!r}", "too large to list"
            )
        return self.rule.matrix if isinstance(self.rule, (Table, Diagonal)) else self._listed()

    def _listed(self) -> np.ndarray:
        return np.stack([self.rule.payoff(action) for action in range(len(self.actions or ()))])

    def best_action(self, prior: PriorLike) -> Any:
        """Return the best action under the prior: a label, a tuple of labels (guesses in order), or a number.

        Examples
        --------
        >>> Cost.guesswork(["a", "b", "c"]).best_action([0.2, 0.5, 0.3])
        ('b', 'c', 'a')
        """
        return self.named(self.rule.action(self.weights(as_prior(prior))[:, 0]))

    def named(self, action: Any) -> Any:
        """Return an action of the rule in terms of labels.

        Examples
        --------
        >>> Cost.guesswork(["a", "b", "c"]).named((2, 0, 1))
        ('c', 'a', 'b')
        """
        if self.actions is not None:
            return self.actions[action]
        if isinstance(self.rule, (Tries, Guesswork)):
            return tuple(self.secrets[i] for i in action)
        return action if isinstance(action, tuple) else exact.as_number(action)

    def weights(self, prior: Prior) -> np.ndarray:
        """Return the prior as a column in the order of this adversary's secrets, in the arithmetic of both.

        Examples
        --------
        >>> Cost.zero_one(["b", "a"]).weights(dv.Prior(["1/4", "3/4"], ["a", "b"])).tolist()
        [[Fraction(3, 4)], [Fraction(1, 4)]]
        """
        order = _labels.alignment(self.secrets, prior.secrets, "prior", f"the {self._payoff}'s secrets")
        p = prior.probabilities if self.rule.exact else prior.floats
        return (p if order is None else p[order]).reshape(-1, 1)

    def __repr__(self) -> str:
        head = f"{type(self).__name__} {self.name!r} over {number_of(len(self.secrets), 'secret')}"
        if self.actions is None:
            return head
        return f"{head}\n" + text_table(self.actions, self.secrets, self.matrix)

    def _repr_html_(self) -> str:
        return repr(self) if self.actions is None else html_table(self.actions, self.secrets, self.matrix)


def _tabulated(
    payoff: Metric, actions: Iterable[Hashable] | None, secrets: Iterable[Hashable] | None, argument: str
) -> tuple[Any, list[Hashable], list[Hashable]]:
    if actions is None or secrets is None:
        raise DivulgeError.of(argument, "come with `actions` and `secrets` when it is a function", "one", "missing")
    across, down = list(secrets), list(actions)
    return [[payoff(w, x) for x in across] for w in down], down, across


def _alphabet(secrets: Any) -> Labels:
    if isinstance(secrets, (int, np.integer)):
        letters = _labels.alphabet(None, max(0, int(secrets)), "secrets")
    else:
        letters = _labels.alphabet(getattr(secrets, "secrets", secrets), None, "secrets")
    if not len(letters):
        raise DivulgeError.of("secrets", "have at least one label", "they", "none")
    return letters


def _values(letters: Labels, of: Any) -> dict[Hashable, Any]:
    """Return the value of a function, or of a mapping, at every secret."""
    if not (callable(of) or hasattr(of, "__getitem__")):
        raise DivulgeError.of("of", "be a function or mapping from secret to value", "it", f"a {type(of).__name__}")
    try:
        return {x: of(x) if callable(of) else of[x] for x in letters}
    except (LookupError, TypeError) as error:
        raise DivulgeError.of(
            "of", "give a value for every secret", "for one it", f"a {type(error).__name__}"
        ) from None


def _points(secrets: Labels) -> np.ndarray:
    """Return the labels as numbers, exact or float; every label must be a number."""
    from numbers import Real

    for label in secrets:
        if isinstance(label, bool) or not isinstance(label, Real) or not math.isfinite(label):
            raise DivulgeError.of("secrets", "be finite numbers for a distance between them", "a label", repr(label))
    if all(type(label) is float for label in secrets):
        return np.array(secrets, dtype=np.float64)
    return exact.as_fractions(list(secrets))


def _gap(a: Any, b: Any) -> Any:
    return abs(a - b)


def _metric(secrets: Labels, distance: Metric | None) -> Metric:
    if distance is not None:
        return distance
    _points(secrets)
    return _gap


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Gain(Adversary):
    """A gain function g(w, x) >= 0: what the opportunistic adversary wins with action w when the secret is x.

    Parameters
    ----------
    payoffs : array_like of shape (W, N), or function of (action, secret)
        At least 0 and finite; exact when an entry is a Fraction, int or text.
    actions, secrets : sequences of hashable labels
        0, 1, ... when not given; a function needs both.

    Examples
    --------
    >>> Gain([["1", "0"], ["1/2", "1/2"]], actions=["bet", "hedge"], secrets=["a", "b"])
    Gain 'matrix' over 2 secrets
             a    b
      bet    1    0
    hedge  1/2  1/2
    """

    _larger_is_better = True
    _payoff = "gain"

    @classmethod
    def identity(cls, secrets: LabelsLike) -> "Gain":
        """Return the gain of guessing the secret in one try. `secrets`: labels, their number, or a Prior.

        Examples
        --------
        >>> dv.vulnerability(["1/2", "1/3", "1/6"], Gain.identity(3))
        Fraction(1, 2)
        """
        letters = _alphabet(secrets)
        return cls._family("identity", letters, letters, Diagonal(exact.as_fractions([1] * len(letters))))

    @classmethod
    def tries(cls, secrets: LabelsLike, k: int) -> "Gain":
        """Return the gain of guessing the secret in k tries; its best action is the k likeliest secrets.

        Examples
        --------
        >>> dv.vulnerability(["1/2", "1/3", "1/6"], Gain.tries(3, 2))
        Fraction(5, 6)
        """
        letters = _alphabet(secrets)
        k = whole_number(k, "k", 1, len(letters))
        return cls._family(number_of(k, "try"), letters, None, Tries(k, len(letters)))

    @classmethod
    def reciprocal(cls, prior: PriorLike) -> "Gain":
        """Return g(x, x) = 1 / P_x: every guess is worth 1 before the release, V_g(P) = 1, and max_x L_xy after y.

        The worst gain there is: its max-case leakage is the lift. Secrets with P_x = 0 pay nothing.

        References
        ----------
        Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
        information flow", Theorem 1, arXiv:2210.12916.

        Examples
        --------
        >>> Gain.reciprocal(["1/4", "3/4"]).matrix.tolist()
        [[Fraction(4, 1), Fraction(0, 1)], [Fraction(0, 1), Fraction(4, 3)]]
        """
        prior = as_prior(prior)
        p, rewards = prior.probabilities, prior.probabilities * 0
        rewards[prior.support] = 1 / p[prior.support]
        return cls._family("reciprocal", prior.secrets, prior.secrets, Diagonal(frozen(rewards)))

    @classmethod
    def property(cls, secrets: LabelsLike, of: Callable[[Any], Hashable] | Mapping[Any, Hashable]) -> "Gain":
        """Return the gain of guessing a property of the secret, a function or mapping `of` from secret to value.

        Examples
        --------
        >>> Gain.property(range(4), lambda x: "odd" if x % 2 else "even").matrix.astype(float).tolist()
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
        """
        letters = _alphabet(secrets)
        values = _values(letters, of)
        return cls._table("property", letters, dict.fromkeys(values.values()), lambda w, x: int(values[x] == w))

    @classmethod
    def membership(cls, secrets: LabelsLike, members: Iterable[Hashable]) -> "Gain":
        """Return the gain of telling whether the secret is one of `members`; the actions are True and False.

        Examples
        --------
        >>> Gain.membership(["a", "b", "c"], ["a", "b"]).matrix.astype(int).tolist()
        [[1, 1, 0], [0, 0, 1]]
        """
        letters, inside = _alphabet(secrets), set(members)
        for member in inside:
            _labels.position(letters, member, "members")
        return cls._table("membership", letters, (True, False), lambda w, x: int((x in inside) == w))

    @classmethod
    def distance(cls, secrets: LabelsLike, metric: Metric | None = None) -> "Gain":
        """Return the gain 1 - d(w, x) / max d of guessing close to the secret; d is |w - x| when `metric` is absent.

        Examples
        --------
        >>> Gain.distance([0, 1, 4]).matrix[1].tolist()
        [Fraction(3, 4), Fraction(1, 1), Fraction(1, 4)]
        """
        letters = _alphabet(secrets)
        d = entries(_tabulated(_metric(letters, metric), letters, letters, "metric")[0], "metric", 2, _pair(letters))
        widest = d.max()
        return cls(1 - d / widest if widest > 0 else d * 0 + 1, letters, letters)._renamed("distance")

    @classmethod
    def threshold(cls, secrets: LabelsLike, within: float | Fraction, metric: Metric | None = None) -> "Gain":
        """Return the gain of a guess that counts as right when d(w, x) <= `within`; d is |w - x| by default.

        Examples
        --------
        >>> Gain.threshold([0, 1, 4], within=1).matrix.astype(int).tolist()
        [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
        """
        letters = _alphabet(secrets)
        d = _metric(letters, metric)
        if not within >= 0:
            raise DivulgeError.of("within", "be at least 0", "it", str(within))
        return cls._table("threshold", letters, letters, lambda w, x: int(d(w, x) <= within))

    def max_case(self) -> "Gain":
        """Return g* with V_{g*}(P) = max_{w,x} P_x g(w, x): actions (w, x_i), and g*((w, x_i), x) = g(w, x) [x = x_i].

        Examples
        --------
        >>> gain = Gain([[1.0, 1.0]])
        >>> dv.vulnerability([0.5, 0.5], gain), dv.vulnerability([0.5, 0.5], gain.max_case())
        (1.0, 0.5)
        """
        matrix, n = self.matrix, len(self.secrets)
        eye = np.eye(n, dtype=int) if exact.is_exact(matrix) else np.eye(n)
        spread = (matrix[:, None, :] * eye[None, :, :]).reshape(-1, n)
        pairs = [(w, x) for w in self.actions or () for x in self.secrets]
        return type(self)(spread, pairs, self.secrets)._renamed(f"{self.name}, max-case")

    def _renamed(self, name: str) -> "Gain":
        return type(self)._family(name, self.secrets, self.actions, self.rule)


def _pair(letters: Labels) -> Callable[[tuple[int, ...]], str]:
    return lambda index: f"the distance of {letters[index[0]]!r} and {letters[index[1]]!r}"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Cost(Adversary):
    """A cost function c(w, x) >= 0: what the risk-averse adversary loses with action w when the secret is x.

    Parameters
    ----------
    payoffs : array_like of shape (W, N), or function of (action, secret)
        At least 0 and finite; exact when an entry is a Fraction, int or text.
    actions, secrets : sequences of hashable labels
        0, 1, ... when not given; a function needs both.

    Examples
    --------
    >>> dv.adversaries.uncertainty(["1/4", "3/4"], Cost([[0, 1], [1, 0]]))
    Fraction(1, 4)
    """

    _larger_is_better = False
    _payoff = "cost"

    @classmethod
    def zero_one(cls, secrets: LabelsLike) -> "Cost":
        """Return the cost of a wrong guess of the secret: U_c(P) = 1 - max_x P_x.

        Examples
        --------
        >>> dv.adversaries.uncertainty(["1/2", "1/3", "1/6"], Cost.zero_one(3))
        Fraction(1, 2)
        """
        letters = _alphabet(secrets)
        return cls._family("zero-one", letters, letters, ZeroOne(len(letters)))

    @classmethod
    def guesswork(cls, secrets: LabelsLike) -> "Cost":
        """Return the expected number of guesses until the secret is found, in the best order.

        Examples
        --------
        >>> dv.adversaries.uncertainty(["1/2", "1/3", "1/6"], Cost.guesswork(3))
        Fraction(5, 3)
        """
        letters = _alphabet(secrets)
        return cls._family("guesswork", letters, None, Guesswork(len(letters)))

    @classmethod
    def power(cls, secrets: LabelsLike, p: float, grid: Iterable[Number] | None = None) -> "Cost":
        """Return the cost |x - w|^p of naming a number w for a secret that is a number.

        w ranges over `grid`; without one over all numbers: the best is a median for p = 1, the mean for p = 2, one of
        the secrets for p < 1, and else where the convex cost has its valley, found to the last digits.

        Examples
        --------
        >>> dv.adversaries.uncertainty(["1/2", "1/2"], Cost.power([0, 1], 2))
        Fraction(1, 4)
        """
        letters = _alphabet(secrets)
        points = _points(letters)
        if not 0 < p < math.inf:
            raise DivulgeError.of("p", "be positive and finite", "it", str(p))
        if grid is not None:
            return cls._table(f"power {p:g}", letters, tuple(grid), lambda w, x: abs(x - w) ** p)
        rule = MINIMIZERS[p](points) if p in MINIMIZERS else Power(exact.as_floats(points), float(p))
        return cls._family(f"power {p:g}", letters, None, rule)

    @classmethod
    def alpha_loss(cls, secrets: LabelsLike, alpha: float) -> "Cost":
        """Return the alpha-loss a/(a-1) (1 - Q(x)^((a-1)/a)) of naming a distribution Q; a in (0, inf].

        The least expected cost is a/(a-1) (1 - ||P||_a): Shannon's entropy in nats at a = 1, 1 - max P at a = inf.

        References
        ----------
        Liao, Kosut, Sankar, Calmon, "Tunable measures for information leakage and applications to privacy-utility
        tradeoffs", 2019.

        Examples
        --------
        >>> round(dv.adversaries.uncertainty([0.5, 0.5], Cost.alpha_loss(2, 1)), 9)  # log 2
        0.693147181
        """
        letters = _alphabet(secrets)
        if not alpha > 0:
            raise DivulgeError.of("alpha", "be in (0, inf]", "it", str(alpha))
        if alpha == math.inf:
            return cls._family("alpha-loss inf", letters, letters, ZeroOne(len(letters)))
        return cls._family(f"alpha-loss {alpha:g}", letters, None, AlphaLoss(float(alpha)))


MINIMIZERS: dict[float, Callable[[np.ndarray], Rule]] = {1: Median, 2: Mean}
"""p -> the rule that minimizes E|X - w|^p over all numbers w."""

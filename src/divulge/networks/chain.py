"""A secret in time: a Markov chain whose states go out through a channel, step by step."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError, number_of
from divulge.files.tables.source import TableLike
from divulge.late import late
from divulge.model.accepted import ChannelLike, PriorLike
from divulge.model.joint import Joint
from divulge.model.labels import Labels
from divulge.model.prior import Prior
from divulge.model.shown import Shown
from divulge.networks import posteriors
from divulge.networks.listing import allow_pairs
from divulge.networks.model import FAINT, Remembered, Steps, checked_chain, limited
from divulge.networks.over_time import OverTime, over_time
from divulge.networks.secrets import Secret, states_at
from divulge.networks.temporal import calibrated, level_of
from divulge.networks.trajectories import worst_trajectory
from divulge.networks.worst import Side, Worst, worst_of_function, worst_of_step
from divulge.units import Unit

ALL = "all"
"""The secret that is the whole trajectory."""


@dataclass(frozen=True, init=False, repr=False)
class Chain(Shown):
    """A Markov chain X_0 .. X_{T-1}, released step by step: y_t is drawn from the channel of step t at x_t.

    Parameters
    ----------
    initial : Prior or array_like of shape (n,)
        P(x_0).
    transition : Channel or array_like of shape (n, n), list of T - 1 of them, or Candidates
        P(x_{t+1} | x_t), one for all moves or one a move. `dv.networks.Candidates` holds several of which an adversary
        may believe in any; every leakage is then the worst over them.
    release : Channel or array_like of shape (n, M), or list of T of them or None
        What goes out of each state; None where nothing does.
    steps : int, optional
        T, where no list gives it.

    Raises
    ------
    DivulgeError
        For rows that do not sum to 1, shapes or labels that do not fit together, and lists of another length.

    Examples
    --------
    >>> chain = Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=3)
    >>> chain.worst(0).lower, chain.worst(1).lower, chain.worst("all").lower
    (Fraction(24, 13), Fraction(49, 26), Fraction(675, 152))
    >>> chain.lift(0, [0, 0, 0])
    Fraction(24, 13)
    """

    models: tuple[Steps, ...]

    def __init__(
        self,
        initial: PriorLike,
        transition: ChannelLike | Sequence[ChannelLike],
        release: ChannelLike | Sequence[ChannelLike],
        steps: int | None = None,
    ) -> None:
        object.__setattr__(self, "models", tuple(checked_chain(initial, transition, release, steps)))

    def __repr__(self) -> str:
        kind = "exact Chain" if self.exact else "Chain"
        more = f", {number_of(len(self.models), 'model')}" if len(self.models) > 1 else ""
        return f"{kind} of {number_of(len(self.states), 'state')} over {number_of(self.steps, 'step')}{more}"

    @property
    def states(self) -> Labels:
        """The labels of the states."""
        return self.models[0].states

    @property
    def steps(self) -> int:
        """The number of steps T."""
        return len(self.models[0])

    @property
    def exact(self) -> bool:
        """Whether all is computed in fractions."""
        return all(model.exact for model in self.models)

    @cached_property
    def _one(self) -> Steps:
        first, *others = self.models
        if others:
            raise DivulgeError(
                "`transition` must be one model for this; it holds several candidates. "
                "Hint: pml, pmc, lift and worst take the worst over all of them."
            )
        return first

    def prior(self, secret: Hashable) -> Prior:
        """Return the distribution of a secret before anything is put out.

        Examples
        --------
        >>> chain = Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]], steps=2)
        >>> chain.prior((0, 1)).probabilities.round(9).tolist()
        [0.45, 0.05, 0.05, 0.45]
        """
        return self.posterior(secret, [])

    def probability(self, outputs: Iterable[Hashable]) -> float | Fraction:
        """Return the probability of these outputs (of the first ones, if they are fewer than there are steps).

        Examples
        --------
        >>> Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [[1, 0], [0, 1]], steps=2).probability([0, 1])
        Fraction(1, 20)
        """
        return posteriors.probability_of(self._one, self._one.positions(outputs))

    def posterior(self, secret: Hashable, outputs: Iterable[Hashable], *, time_limit: float | None = None) -> Prior:
        """Return the distribution of a secret after the outputs, with its values as labels.

        Outputs that are fewer than there are steps are the first ones: what is known online, and of states to come.

        Parameters
        ----------
        secret : int, tuple of int, "all", or Secret
            A step (from 0), several, the trajectory, or one of `dv.networks.ever`, `never`, `differ`,
            `count_at_least`, `function`.
        outputs : sequence of labels
            Outcomes, one a step; None where nothing goes out.
        time_limit : float, optional
            Seconds, after which it is refused.

        Raises
        ------
        DivulgeError
            For outputs that cannot occur, with the step, for secrets with too many values to list, and once the time is
            up.

        Examples
        --------
        >>> chain = Chain(
        ...     ["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=3
        ... )
        >>> chain.posterior(2, [0, 0, 0])[0]
        Fraction(12, 13)
        """
        (model,) = limited([self._one], time_limit)
        given = model.positions(outputs)
        if is_step(secret):
            return Prior(posteriors.posterior_of(model, model.place(secret), given), self.states)
        beliefs = posteriors.beliefs_of(Remembered(model, self._secret(secret)), given)
        return Prior([after for _, after in beliefs.values()], list(beliefs))

    def posteriors(self, outputs: Iterable[Hashable]) -> np.ndarray:
        """Return P(x_t | outputs) for every step, shape (T, n): fractions for an exact chain, else doubles.

        Doubles of T steps are off by at most about T (n + 3) units in the last place, relative to each.

        Examples
        --------
        >>> chain = Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [[1, 0], [0, 1]], steps=2)
        >>> chain.posteriors([0, 0]).tolist()[1]
        [Fraction(1, 1), Fraction(0, 1)]
        """
        return posteriors.smoothed(self._one, self._one.positions(outputs))

    def lift(
        self, secret: Hashable, outputs: Iterable[Hashable], *, time_limit: float | None = None
    ) -> float | Fraction:
        """Return max_u P(u | outputs) / P(u), a ratio of at least 1; a Fraction for an exact chain.

        Of an event it is the ratio for its being true, which outputs can also lower. Once `time_limit`, in seconds, is
        over, it is refused; so are `pml` and `pmc`.

        Examples
        --------
        >>> chain = Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]], steps=2)
        >>> round(float(chain.lift(1, [0])), 9)  # one step after it was told
        1.48
        """
        return posteriors.middle(self._greatest(secret, outputs, time_limit))

    def pml(
        self, secret: Hashable, outputs: Iterable[Hashable], unit: Unit = "nats", *, time_limit: float | None = None
    ) -> float:
        """Return the pointwise maximal leakage of the outputs about a secret, log of `lift`, in nats.

        Examples
        --------
        >>> chain = Chain(
        ...     ["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=3
        ... )
        >>> round(chain.pml(0, [0, 0, 0]), 9)  # log 24/13
        0.613104473
        """
        return posteriors.log_of(self._greatest(secret, outputs, time_limit), unit)

    def pmc(
        self, secret: Hashable, outputs: Iterable[Hashable], unit: Unit = "nats", *, time_limit: float | None = None
    ) -> float:
        """Return the pointwise maximal cost, log max_u P(u) / P(u | outputs), in nats; infinite where one is ruled out.

        Examples
        --------
        >>> chain = Chain(
        ...     ["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=3
        ... )
        >>> round(chain.pmc(0, [0, 0, 0]), 9)  # log 13/2
        1.871802177
        """
        listed = self.models[0].listed(outputs)
        least = min(self._lift(model, secret, listed, least=True) for model in limited(self.models, time_limit))
        return 0.0 - posteriors.log_of(least, unit)

    def _greatest(self, secret: Hashable, outputs: Iterable[Hashable], time_limit: float | None) -> Any:
        listed = self.models[0].listed(outputs)
        return max(self._lift(model, secret, listed, least=False) for model in limited(self.models, time_limit))

    def _lift(self, model: Steps, secret: Hashable, outputs: list[Hashable], *, least: bool) -> Any:
        given = model.positions(outputs)
        if _is_all(secret):
            return posteriors.trajectory_lift(model, given, least=least)
        if is_step(secret):
            t = model.place(secret)
            pairs = list(zip(posteriors.posterior_of(model, t, given), model.marginals[t], strict=True))
        else:
            known = Remembered(model, self._secret(secret))
            beliefs = posteriors.beliefs_of(known, given)
            asked = [True] if known.secret.event else list(beliefs)
            pairs = [(after, before) for before, after in (beliefs.get(value, (0, 0)) for value in asked)]
        lifts = [after / before for after, before in pairs if before > 0]
        if not lifts:
            raise DivulgeError.of("secret", "be possible", "it", "an event that cannot occur")
        return min(lifts) if least else max(lifts)

    def worst(self, secret: Hashable, side: Side = "pml", *, time_limit: float | None = None) -> Worst:
        """Return the greatest leakage about a secret that any outputs of all steps can have, and such outputs.

        Parameters
        ----------
        secret : int, tuple of int, "all", or Secret
        side : "pml", "pmc" or "ldp"
            The greatest lift, the greatest inverse lift, or the greatest ratio P(y | u) / P(y | v) of two values.
        time_limit : float, optional
            Seconds, after which it is refused.

        Returns
        -------
        Worst
            `lower` and `upper` are ratios, equal and proved for an exact chain while the rays of its cones are at most
            400; else a bracket, whose lower end `outputs` attain.

        Raises
        ------
        DivulgeError
            For an unknown secret or side, for secrets with too many values to list, and once the time is up.

        Examples
        --------
        >>> chain = Chain(
        ...     ["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=5
        ... )
        >>> chain.worst(2).lower, chain.worst(2, "ldp").lower
        (Fraction(96, 49), Fraction(48, 1))
        """
        if side not in ("pml", "pmc", "ldp"):
            raise DivulgeError.unknown("side", side, ("pml", "pmc", "ldp"))
        models = limited(self.models, time_limit)
        return max((self._worst(model, secret, side) for model in models), key=lambda one: one.upper)

    def _worst(self, model: Steps, secret: Hashable, side: Side) -> Worst:
        if _is_all(secret):
            if side == "ldp":
                raise DivulgeError.of("side", 'be "pml" or "pmc" for the trajectory', "it", "'ldp'")
            return worst_trajectory(model, side)
        if is_step(secret):
            return worst_of_step(model, model.place(secret), side, f"step {secret}")
        return worst_of_function(Remembered(model, self._secret(secret)), side)

    def joint(self, secret: Hashable) -> Joint:
        """Return a secret and all outputs as an ordinary joint, whose outcomes are tuples: all measures apply to it.

        Raises
        ------
        DivulgeError
            When there are more than 200,000 pairs of a value and outputs.

        Examples
        --------
        >>> chain = Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [[1, 0], [0, 1]], steps=2)
        >>> chain.joint(0).channel.matrix.tolist()[0]
        [Fraction(9, 10), Fraction(1, 10), Fraction(0, 1), Fraction(0, 1)]
        """
        model = self._one
        sizes = [len(model.outcomes(t)) for t in range(self.steps)]
        known = Remembered(model, self._secret(secret))
        values = list(dict.fromkeys(known.values))
        allow_pairs(prod(sizes) * len(values))
        columns: list[list[Any]] = []
        outputs = list(product(*(model.outcomes(t) for t in range(self.steps))))
        for given in outputs:
            weights = known.by_value(known.run(given, lambda alpha, _: alpha))
            if not model.exact and sum(weights.values()) < FAINT:
                wide = Remembered(model.wide, known.secret)
                weights = wide.by_value(wide.run(given, lambda alpha, _: alpha))
            columns.append([posteriors.pinned(weights[value]) for value in values])
        matrix = np.array(columns, dtype=object).T
        return Joint.from_matrix(matrix, values, [model.labels(given) for given in outputs])

    def over_time(self, *, time_limit: float | None = None) -> OverTime:
        """Return a row for each step: the level of its own release, and what all outputs together say of its state.

        Once `time_limit`, in seconds, is over, it is refused.

        Examples
        --------
        >>> chain = Chain(
        ...     ["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=5
        ... )
        >>> [round(row.exact.upper, 4) for row in chain.over_time()]  # log 741/43, 36.33, 48, ...
        [2.8468, 3.5927, 3.8712, 3.5927, 2.8468]
        """
        return over_time(limited([self._one], time_limit)[0])

    def calibrate(self, epsilon: float, *, time_limit: float | None = None) -> float:
        """Return the largest level of LDP for each release, such that no state ever leaks more than epsilon, in nats.

        Whatever the number of steps, the outputs of all of them together have a ratio of at most e^epsilon between any
        two values of any one state, for every mechanism of that level. Attained for chains of two states.

        Raises
        ------
        DivulgeError
            For a chain whose transition changes, or whose states never settle, and once `time_limit`, in seconds, is
            over.

        References
        ----------
        Cao, Yoshikawa, Xiao, Xiong, Theorem 5, arXiv:1610.07543.

        Examples
        --------
        >>> chain = Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]], steps=2)
        >>> round(chain.calibrate(1.0), 6)
        0.115734
        """
        level = level_of(epsilon)
        return min(_calibrated(model, level) for model in limited(self.models, time_limit))

    @classmethod
    def from_table(
        cls,
        table: TableLike,
        id: str,
        time: str,
        state: str,
        release: ChannelLike | Sequence[ChannelLike],
        steps: int | None = None,
    ) -> "Chain":
        """Return the chain that the rows of a table suggest, with shares of moves as transition.

        `estimated` has counts and intervals. A chain estimated from the data that are to be
        protected is a release of its own: what it says about them is not counted here.

        Examples
        --------
        >>> table = {"who": [1, 1, 2, 2], "day": [1, 2, 1, 2], "place": ["home", "work", "home", "home"]}
        >>> Chain.from_table(table, "who", "day", "place", [[0.9, 0.1], [0.1, 0.9]], steps=3).states
        ('home', 'work')
        """
        found = cls.estimated(table, id, time, state)
        return cls(found.initial, found.transition, release, steps=found.steps if steps is None else steps)

    @staticmethod
    def estimated(table: TableLike, id: str, time: str, state: str, confidence: float = 0.95) -> Any:
        """Return the counts of moves in a table, with the shares and their intervals, an `EstimatedChain`.

        Examples
        --------
        >>> table = {"who": [1, 1, 2, 2], "day": [1, 2, 1, 2], "place": ["home", "work", "home", "home"]}
        >>> Chain.estimated(table, "who", "day", "place").counts.tolist()
        [[1, 1], [0, 0]]
        """
        return late("divulge.auditing.chains:estimated_chain")(table, id, time, state, confidence)

    def _secret(self, secret: Hashable) -> Secret:
        """Return a secret as one with a memory."""
        if isinstance(secret, Secret):
            return secret.known(range(self.steps), self.states)
        if _is_all(secret):
            return states_at(tuple(range(self.steps)))
        places = secret if isinstance(secret, tuple) else (secret,)
        return states_at(tuple(self.models[0].place(place) for place in places))


def is_step(secret: Hashable) -> bool:
    """Say whether a secret is meant as one step."""
    return not isinstance(secret, (Secret, tuple)) and not _is_all(secret)


def _is_all(secret: Hashable) -> bool:
    return isinstance(secret, str) and secret == ALL


def _calibrated(model: Steps, level: float) -> float:
    if len({id(move) for move in model.moves}) != 1:
        raise DivulgeError.of(
            "transition", "be one matrix for all moves", "it", "another one from step to step, or none",
            "a promise about every step to come needs a rule that stays.",
        )  # fmt: skip
    return calibrated(exact.as_floats(model.start), exact.as_floats(model.moves[0]), level, model.in_time)

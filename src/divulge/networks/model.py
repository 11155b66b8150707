"""A chain as arrays: the laws of its steps, what goes out at each, and a secret's memory beside the state."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from divulge import clock, exact
from divulge.errors import DivulgeError, number_of
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.entries import whole_number
from divulge.model.labels import Labels, alignment, is_default, position
from divulge.model.prior import Prior
from divulge.networks.cones import whole
from divulge.networks.listing import allow_values
from divulge.networks.secrets import Secret

EXACT_STEPS = 2000
"""Beyond so many steps a chain of fractions is computed in doubles: its fractions have a digit or more a step."""

MEMORIES = 20_000
"""What a secret may have to remember at most: its values times the states, a vector of which is carried a step."""

_FEWER_STEPS = 'name fewer steps; "all" asks for the trajectory as a whole.'

MOST_STEPS = 1_000_000
"""Steps of a chain: each takes part in every answer, and a vector for it is kept."""


ENTRY, FAINT = 1e-70, 1e-150
"""What is above 0 stays so in a product of a number of at least 1e-150, a transition and a likelihood of 1e-70."""


def loses(numbers: np.ndarray, least: float) -> bool:
    """Return whether one of the numbers is above 0 and below `least`."""
    return bool(((numbers > 0) & (numbers < least)).any())


@dataclass(frozen=True)
class Steps:
    """The laws of a chain X_0 .. X_{T-1}: the first state, each move, and the channel of each step (None: nothing).

    The arrays are all exact or all doubles: `start` is P(x_0), `moves[t]` is P(x_{t+1} | x_t), `tables[t]` the matrix
    of `channels[t]`.
    """

    states: Labels
    start: np.ndarray
    moves: Sequence[np.ndarray]
    channels: Sequence[Channel | None]
    tables: Sequence[np.ndarray | None]
    until: float = math.inf
    """When the time of what is computed is up."""

    def in_time(self) -> None:
        """Refuse to go on once the time is up."""
        clock.in_time(
            self.until,
            f"for a chain of {len(self):,} steps and {len(self.states):,} states",
            "allow it longer, or take fewer steps or states.",
        )

    @classmethod
    def of(cls, initial: Prior, moves: Sequence[np.ndarray], channels: Sequence[Channel | None]) -> "Steps":
        """Return the chain in fractions where all probabilities are, and the steps not too many; else in doubles."""
        tables: list[Any] = [None if channel is None else channel.matrix for channel in channels]
        every = {id(one): one for one in (initial.probabilities, *moves, *tables) if one is not None}
        if len(channels) > EXACT_STEPS or not all(one.dtype == object for one in every.values()):
            every = {key: exact.as_floats(one) for key, one in every.items()}
        return cls(
            initial.secrets,
            every[id(initial.probabilities)],
            [every[id(one)] for one in moves],
            channels,
            [None if one is None else every[id(one)] for one in tables],
        )

    def __len__(self) -> int:
        return len(self.channels)

    @property
    def exact(self) -> bool:
        """Whether all is computed in fractions."""
        return self.start.dtype == object

    @cached_property
    def ones(self) -> np.ndarray:
        """A 1 for each state."""
        return self.start * 0 + 1

    @property
    def arrays(self) -> list[np.ndarray]:
        """All probabilities, each array once."""
        every = (self.start, *self.moves, *(table for table in self.tables if table is not None))
        return list({id(one): one for one in every}.values())

    @cached_property
    def faint(self) -> bool:
        """Whether these are doubles so small that products of a few of them, or marginals, may be 0 by underflow."""
        every = [(self.arrays, ENTRY), (self.marginals, FAINT)]
        return not self.exact and any(loses(one, least) for arrays, least in every for one in arrays)

    @cached_property
    def wide(self) -> "Steps":
        """The same chain in balls, whose exponents have no end: what doubles would take for 0 stays what it is."""
        balls = {id(one): exact.balls(one) for one in self.arrays}
        return replace(
            self,
            start=balls[id(self.start)],
            moves=[balls[id(one)] for one in self.moves],
            tables=[None if one is None else balls[id(one)] for one in self.tables],
        )

    @cached_property
    def marginals(self) -> list[np.ndarray]:
        """P(x_t) for each step t."""
        out = [self.start]
        for move in self.moves:
            out.append(out[-1] @ move)
        return out

    def likelihoods(self, step: int, outcome: int | None) -> np.ndarray:
        """P(outcome | x_step), by its position; ones for None."""
        table = self.tables[step]
        return self.ones if outcome is None or table is None else table[:, outcome]

    def outcomes(self, step: int) -> list[int | None]:
        """Positions of the outcomes that occur at a step; [None] where nothing goes out."""
        table = self.tables[step]
        if table is None:
            return [None]
        here = np.array([v > 0 for v in self.marginals[step]])
        return [y for y, column in enumerate(table.T) if any(v > 0 for v in column[here])]

    def listed(self, outputs: Any) -> list[Hashable]:
        """Return outputs as a list, or refuse what is none."""
        if isinstance(outputs, (str, bytes, Mapping, Set)) or not hasattr(outputs, "__iter__"):
            raise DivulgeError.of("outputs", "be a list of outcomes, one a step", "it", f"a {type(outputs).__name__}")
        return list(outputs)

    def positions(self, outputs: Iterable[Hashable]) -> list[int | None]:
        """Return outputs as positions; fewer than there are steps are the first ones."""
        listed = self.listed(outputs)
        if len(listed) > len(self):
            raise DivulgeError.of("outputs", f"have one outcome a step, {len(self)}", "its length", str(len(listed)))
        out: list[int | None] = []
        for t, (channel, outcome) in enumerate(zip(self.channels, listed, strict=False)):
            if channel is None and outcome is not None:
                raise DivulgeError.of("outputs", "be None where nothing goes out", f"that of step {t}", "an outcome")
            out.append(None if channel is None else position(channel.outcomes, outcome, f"outputs[{t}]"))
        return out

    def labels(self, positions: Iterable[int | None]) -> tuple[Hashable, ...]:
        """Return positions of outcomes as their labels."""
        pairs = zip(self.channels, positions, strict=False)
        return tuple(None if channel is None or y is None else channel.outcomes[y] for channel, y in pairs)

    def place(self, step: Any) -> int:
        """Return a step of the chain, counted from 0, or refuse."""
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or not 0 <= step < len(self):
            raise DivulgeError.of(
                "secret", f"name a step from 0 to {len(self) - 1}", "it", repr(step)[:60],
                'steps, a tuple of steps, "all", or one of dv.networks.ever, never, differ, count_at_least, function.',
            )  # fmt: skip
        return int(step)


def limited(models: Sequence[Steps], time_limit: Any) -> list[Steps]:
    """Return chains that refuse to be computed with once so many seconds are over; None for no limit."""
    until = clock.deadline(time_limit)
    return [replace(model, until=until) if until < math.inf else model for model in models]


@dataclass(frozen=True)
class Remembered:
    """The memories that a secret can have after each step, by position, with the states they stand beside."""

    steps: Steps
    secret: Secret

    @cached_property
    def memories(self) -> list[dict[Any, int]]:
        """Memory -> position, after each step."""
        return [{memory: i for i, memory in enumerate(here)} for here in self.reachable]

    @cached_property
    def reachable(self) -> list[dict[Any, set[int]]]:
        """Memory -> the states that it can stand beside, after each step."""
        reachable = [(self.secret.start, x) for x, p in enumerate(self.steps.start) if p > 0]
        out: list[dict[Any, set[int]]] = []
        for t in range(len(self.steps)):
            self.steps.in_time()
            here: dict[Any, set[int]] = {}
            for memory, x in reachable:
                here.setdefault(self.secret.after(memory, t, self.steps.states[x]), set()).add(x)
            allow_values(len(here) * len(self.steps.states), MEMORIES, _FEWER_STEPS)
            out.append(here)
            if t + 1 < len(self.steps):
                move = self.steps.moves[t]
                onward = [np.flatnonzero(row > 0).tolist() for row in move]
                reachable = list(
                    dict.fromkeys((memory, z) for memory, xs in here.items() for x in sorted(xs) for z in onward[x])
                )
        return out

    def first(self, outcome: Any) -> np.ndarray:
        """Return P(memory, x_0, outcome), shape (memories, states)."""
        out = self._zeros(0)
        weights = self.steps.start * self.steps.likelihoods(0, outcome)
        for x, state in enumerate(self.steps.states):
            if self.steps.start[x] > 0:
                out[self.memories[0][self.secret.after(self.secret.start, 0, state)], x] += weights[x]
        return out

    def next(self, step: int, alpha: np.ndarray, outcome: Any) -> np.ndarray:
        """Return P(memory, x_step, outputs) from that of the step before."""
        out, moved = self._zeros(step), alpha @ self.steps.moves[step - 1]
        weights = moved * self.steps.likelihoods(step, outcome)
        for memory, before in self.memories[step - 1].items():
            for x, state in enumerate(self.steps.states):
                if moved[before, x] > 0:
                    out[self.memories[step][self.secret.after(memory, step, state)], x] += weights[before, x]
        return out

    def _zeros(self, step: int) -> np.ndarray:
        shape = len(self.memories[step]), len(self.steps.states)
        return np.full(shape, 0 * self.steps.ones[0], dtype=self.steps.start.dtype)

    def matrix(self, step: int, outcome: Any) -> list[list[Any]]:
        """Return the map from (memory, state) of the step before to that of this one, its outcome included."""
        shape = len(self.memories[step - 1]), len(self.steps.states)
        one = self.steps.ones[0]
        rows: list[Any] = []
        for memory, before in self.memories[step - 1].items():
            for x in range(shape[1]):
                self.steps.in_time()
                unit = np.full(shape, 0 * one, dtype=self.steps.start.dtype)
                if x in self.reachable[step - 1][memory]:  # what cannot be has no memory to go on with
                    unit[before, x] = one
                rows.append(self.next(step, unit, outcome).ravel().tolist())
        return whole(rows)

    @cached_property
    def values(self) -> list[Hashable]:
        """The value of the secret for each memory after the last step."""
        return [self.secret.at_end(memory) for memory in self.memories[-1]]

    def by_value(self, last: np.ndarray) -> dict[Hashable, Any]:
        """Return the weight of each value of the secret from P(memory, x, outputs) after the last step."""
        out: dict[Hashable, Any] = {}
        for value, weight in zip(self.values, last.sum(axis=1).tolist(), strict=True):
            out[value] = out.get(value, 0) + weight
        return out

    def run(self, outputs: Sequence[int | None], scale: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
        """Return P(memory, x, outputs) after the last step, scaled after each by `scale`."""
        given = [*outputs, *[None] * (len(self.steps) - len(outputs))]
        alpha = scale(self.first(given[0]), 0)
        for t in range(1, len(self.steps)):
            self.steps.in_time()
            alpha = scale(self.next(t, alpha, given[t]), t)
        return alpha


def checked_chain(initial: Any, transition: Any, release: Any, steps: int | None) -> list[Steps]:
    """Return the chains that these arguments describe: one, or one for each candidate transition."""
    from divulge.model.convert import as_prior

    prior = as_prior(initial)
    length = _length(transition, release, steps)
    if is_default(prior.secrets):
        prior = Prior(prior.probabilities, _names(transition, release, len(prior.secrets)))
    channels = _channels(release, length, prior)
    if isinstance(transition, Candidates):
        return [Steps.of(prior, [_move(one, prior)] * (length - 1), channels) for one in transition.matrices]
    listed = _is_list(transition)
    moves = [_move(one, prior) for one in transition] if listed else [_move(transition, prior)] * (length - 1)
    if len(moves) != length - 1:
        raise DivulgeError.of(
            "transition", f"have one matrix a move, {length - 1}", "their number", str(len(moves)),
            "several matrices that an adversary may believe in go in as dv.networks.Candidates.",
        )  # fmt: skip
    return [Steps.of(prior, moves, channels)]


@dataclass(frozen=True)
class Candidates:
    """Several transition matrices, of which an adversary may believe in any: leakages are the worst over all.

    Examples
    --------
    >>> len(Candidates([[["1/2", "1/2"], ["1/2", "1/2"]], [["9/10", "1/10"], ["1/10", "9/10"]]]).matrices)
    2
    """

    matrices: Sequence[ChannelLike]

    def __post_init__(self) -> None:
        given: Any = self.matrices
        listed = isinstance(given, (list, tuple)) or getattr(given, "ndim", 0) == 3
        if not listed or not len(given) or not _is_list(list(given)):
            raise DivulgeError.of("matrices", "be a list of matrices", "it", "none")


def _is_list(transition: Any) -> bool:
    """Say whether `transition` is a list of matrices, one a move."""
    if isinstance(transition, Channel):
        return False
    if getattr(transition, "ndim", 0) == 3:
        return True
    return isinstance(transition, (list, tuple)) and all(
        isinstance(one, Channel) or np.ndim(np.asarray(one, dtype=object)) == 2 for one in transition
    )


def _length(transition: Any, release: Any, steps: Any) -> int:
    if steps is None:
        if isinstance(release, (list, tuple)) and _is_releases(release):
            steps = len(release)
        elif not isinstance(transition, Candidates) and _is_list(transition):
            steps = len(transition) + 1
        else:
            raise DivulgeError.of("steps", "be given for one transition and one release", "it", "missing")
    steps = whole_number(steps, "steps")
    if steps > MOST_STEPS:
        raise DivulgeError.of(
            "steps", f"be at most {MOST_STEPS:,}", "it", "more", "`calibrate` and `temporal_limit` hold for any number."
        )
    return steps


def _is_releases(release: Any) -> bool:
    return all(
        one is None or isinstance(one, Channel) or np.ndim(np.asarray(one, dtype=object)) == 2 for one in release
    )


def _move(matrix: Any, prior: Prior) -> np.ndarray:
    channel = matrix if isinstance(matrix, Channel) else Channel(matrix)
    if channel.shape[0] != channel.shape[1]:
        raise DivulgeError.of("transition", "be square, states to states", "its shape", str(channel.shape))
    channel = _matching(channel, prior, "transition")
    outcomes = channel.outcomes
    if outcomes != prior.secrets and not isinstance(outcomes, range):
        if missing := [state for state in prior.secrets if state not in outcomes]:
            raise DivulgeError.of("transition", "lead to the states that its rows are from", "a row without a column",
                                  repr(missing[0]), f"the first column is {outcomes[0]!r}.")  # fmt: skip
        order = [position(outcomes, state, "transition") for state in prior.secrets]
        return np.asarray(channel.matrix)[:, order]
    return np.asarray(channel.matrix)


def _matching(channel: Channel, prior: Prior, argument: str) -> Channel:
    """Return a channel whose rows stand in the order of the states."""
    from divulge.model.joint import Joint

    if channel.sparse:
        channel = Channel(channel.matrix.toarray(), channel.secrets, channel.outcomes)
    if channel.shape[0] != len(prior.secrets):
        states = number_of(len(prior.secrets), "state")
        raise DivulgeError.of(argument, f"have one row for each of {states}", "their number", str(channel.shape[0]))
    alignment(prior.secrets, channel.secrets, argument, "the states")
    joint = Joint(prior, channel)
    if joint.secrets == prior.secrets:
        return joint.channel
    order = [position(joint.channel.secrets, state, argument) for state in prior.secrets]
    return Channel(joint.channel.matrix[order], prior.secrets, joint.channel.outcomes)


def _channels(release: Any, length: int, prior: Prior) -> list[Channel | None]:
    if isinstance(release, (list, tuple)) and _is_releases(release):
        if len(release) != length:
            raise DivulgeError.of(
                "release", f"have one channel, or None, for each of {length} steps", "their number", str(len(release))
            )
        cache = {id(one): _release(one, prior) for one in release if one is not None}
        return [None if one is None else cache[id(one)] for one in release]
    return [_release(release, prior)] * length


def _release(one: Any, prior: Prior) -> Channel:
    return _matching(one if isinstance(one, Channel) else Channel(one), prior, "release")


def _names(transition: Any, release: Any, size: int) -> Labels | None:
    """Return the names of the states from the first matrix that has some."""
    listed: list[Any] = []
    for one in (transition.matrices if isinstance(transition, Candidates) else transition, release):
        listed += list(one) if isinstance(one, (list, tuple)) else [one]
    named = [one.secrets for one in listed if isinstance(one, Channel) and not is_default(one.secrets)]
    return next((names for names in named if len(names) == size), None)

"""Correlated secrets: a Bayesian network, some variables of which go out through channels."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge import clock
from divulge.errors import DivulgeError, did_you_mean, number_of
from divulge.late import late
from divulge.model.accepted import ChannelLike, PriorLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.joint import Joint
from divulge.model.labels import Labels, alignment, position
from divulge.model.prior import Prior
from divulge.model.shown import Shown
from divulge.networks.bayesian.elimination import Factor, summed
from divulge.networks.listing import allow_pairs, allow_values
from divulge.networks.posteriors import log_of, middle, pinned
from divulge.networks.secrets import Secret, is_key
from divulge.networks.worst import Side, Worst
from divulge.units import Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Variable:
    """A variable of a network: its states, its parents, P(state | states of the parents) with the own state last.

    Examples
    --------
    >>> Network({"x": ["1/4", "3/4"]}).variables["x"].states
    range(0, 2)
    """

    states: Labels
    parents: tuple[str, ...]
    table: np.ndarray


@dataclass(frozen=True)
class Output:
    """What goes out of a variable: P(outcome | state).

    Examples
    --------
    >>> Network({"x": ["1/4", "3/4"]}).release("x").outputs["x"].variable
    'x'
    """

    variable: str
    channel: Channel


@dataclass(frozen=True, init=False, repr=False)
class Network(Shown):
    """A Bayesian network: variables that depend on each other, some of which are put out.

    Parameters
    ----------
    variables : mapping {name: probabilities} or {name: (parents, table)}
        Without parents: P(state), as a Prior, a mapping or a list. With them: a Channel or array_like with one row for
        each combination of states of the parents, the last parent fastest, and one column a state. States are named by
        the Prior or Channel, else 0, 1, ...

    Raises
    ------
    DivulgeError
        For rows that do not sum to 1, unknown parents, cycles, and tables of another size.

    Examples
    --------
    >>> couple = Network({"Ann": ["9/10", "1/10"], "Bob": (["Ann"], [["17/18", "1/18"], ["1/2", "1/2"]])})
    >>> told = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> couple.release("Bob", told).worst("Ann")  # what the partner's answer says
    greatest lift of Ann: 5/3 for value 1 (exact), at outputs {'Bob': 1}
    """

    variables: Mapping[str, Variable]
    outputs: Mapping[str, Output]

    def __init__(self, variables: Mapping[str, PriorLike | tuple[Sequence[str], ChannelLike]]) -> None:
        object.__setattr__(self, "variables", _checked(variables))
        object.__setattr__(self, "outputs", {})

    @classmethod
    def from_bif(cls, path: str | os.PathLike[str], tolerance: float = 1e-9) -> "Network":
        """Return the network in a BIF file, as repositories of Bayesian networks keep them; decimals count exactly.

        Rows that miss 1 by no more than `tolerance` are renormalized; files that round to four digits need 1e-3.

        Raises
        ------
        InputFileError
            When the file is no BIF, with the line.

        Examples
        --------
        >>> path = folder / "coin.bif"
        >>> _ = path.write_text(
        ...     "network coin {} variable x { type discrete [ 2 ] { h, t }; } probability ( x ) { table 0.5, 0.5; }"
        ... )
        >>> Network.from_bif(path).variables["x"].states
        ('h', 't')
        """
        return cls(late("divulge.networks.bayesian.bif:read_bif")(path, tolerance))

    @classmethod
    def from_pgmpy(cls, model: Any) -> "Network":
        """Return the network of a discrete Bayesian network of pgmpy, by its `get_cpds`.

        Raises
        ------
        DivulgeError
            When `model` has no tables.

        Examples
        --------
        >>> Network.from_pgmpy(3)
        Traceback (most recent call last):
        divulge.errors.DivulgeError: `model` must be a Bayesian network of pgmpy; it is a int.
        """
        if not hasattr(model, "get_cpds"):
            raise DivulgeError.of("model", "be a Bayesian network of pgmpy", "it", f"a {type(model).__name__}")
        variables: dict[str, Any] = {}
        for table in model.get_cpds():
            name, *parents = table.variables
            states = [table.state_names[v] for v in (name, *parents)]
            values = np.moveaxis(np.asarray(table.values, dtype=float), 0, -1).reshape(-1, len(states[0]))
            variables[name] = (parents, Channel(values, outcomes=states[0])) if parents else Prior(values[0], states[0])
        return cls(variables)

    def __repr__(self) -> str:
        listed = ", ".join(map(str, self.outputs)) or "nothing"
        kind = "exact Network" if self.exact else "Network"
        return f"{kind} of {number_of(len(self.variables), 'variable')}; put out: {listed}"

    @property
    def exact(self) -> bool:
        """Whether all its probabilities are fractions; questions that take long are answered in doubles."""
        tables = [v.table for v in self.variables.values()]
        return all(t.dtype == object for t in (*tables, *(o.channel.matrix for o in self.outputs.values())))

    def release(self, variable: str, channel: ChannelLike | None = None, name: str | None = None) -> "Network":
        """Return the network in which a variable goes out through a channel; without one its state itself does.

        `name` is what the output is called, by default as the variable.

        Examples
        --------
        >>> coin = Network({"x": ["1/2", "1/2"]})
        >>> coin.release("x").worst("x").lower
        Fraction(2, 1)
        """
        node = self._variable(variable, "variable")
        if channel is None:
            one = np.full((len(node.states),) * 2, Fraction(0), dtype=object)
            np.fill_diagonal(one, Fraction(1))
            channel = Channel(one, node.states, node.states)
        channel = as_channel(channel)
        alignment(node.states, channel.secrets, "channel", f"the states of {variable!r}")
        joint = Joint(Prior.uniform(node.states), channel)
        order = [position(joint.channel.secrets, state, "channel") for state in joint.prior.secrets]
        aligned = Channel(np.asarray(joint.channel.matrix)[order], joint.prior.secrets, joint.channel.outcomes)
        called = _name(variable if name is None else name, "name")
        if called in self.outputs:
            raise DivulgeError.of("name", "be another one for each output", "it", f"{called!r}, which is taken")
        out = object.__new__(Network)
        object.__setattr__(out, "variables", self.variables)
        object.__setattr__(out, "outputs", {**self.outputs, called: Output(variable, aligned)})
        return out

    def posterior(self, secret: Hashable, outputs: Mapping[str, Hashable] | None = None) -> Prior:
        """Return the distribution of a secret after the outputs given; of several variables over tuples.

        Parameters
        ----------
        secret : str, tuple of str, "all", or Secret
            A variable, several, all, or one of `dv.networks.ever`, `never`, `differ`, `count_at_least`, `function`.
        outputs : mapping {name of an output: outcome}
            Those that are left out are not seen.

        Raises
        ------
        DivulgeError
            For outputs that cannot occur, unknown names, and networks too entangled to be summed.

        Examples
        --------
        >>> couple = Network({"Ann": ["9/10", "1/10"], "Bob": (["Ann"], [["17/18", "1/18"], ["1/2", "1/2"]])})
        >>> couple.release("Bob").posterior("Ann", {"Bob": 1})[1]
        Fraction(1, 2)
        """
        question = self.question(secret)
        weights = self.weights(question, self._given(outputs or {}), [])
        return Prior([middle(w / sum(weights.values())) for w in weights.values()], list(weights))

    def prior(self, secret: Hashable) -> Prior:
        """Return the distribution of a secret before anything is seen.

        Examples
        --------
        >>> Network({"x": ["1/4", "3/4"]}).prior("x")[0]
        Fraction(1, 4)
        """
        return self.posterior(secret)

    def lift(self, secret: Hashable, outputs: Mapping[str, Hashable]) -> float | Fraction:
        """Return max_u P(u | outputs) / P(u), a ratio of at least 1; of an event that for its being true.

        Examples
        --------
        >>> couple = Network({"Ann": ["9/10", "1/10"], "Bob": (["Ann"], [["17/18", "1/18"], ["1/2", "1/2"]])})
        >>> couple.release("Bob").lift("Ann", {"Bob": 1})
        Fraction(5, 1)
        """
        return middle(max(self._lifts(secret, outputs)))

    def pml(self, secret: Hashable, outputs: Mapping[str, Hashable], unit: Unit = "nats") -> float:
        """Return the pointwise maximal leakage of the outputs about a secret, log of `lift`, in nats.

        Examples
        --------
        >>> round(Network({"x": ["1/2", "1/2"]}).release("x").pml("x", {"x": 0}), 6)
        0.693147
        """
        return log_of(max(self._lifts(secret, outputs)), unit)

    def pmc(self, secret: Hashable, outputs: Mapping[str, Hashable], unit: Unit = "nats") -> float:
        """Return the pointwise maximal cost, log max_u P(u) / P(u | outputs), in nats; infinite where one is ruled out.

        Examples
        --------
        >>> Network({"x": ["1/2", "1/2"]}).release("x").pmc("x", {"x": 0})
        inf
        """
        return 0.0 - log_of(min(self._lifts(secret, outputs)), unit)

    def _lifts(self, secret: Hashable, outputs: Mapping[str, Hashable]) -> list[Any]:
        question = self.question(secret)
        before, after = (self.weights(question, given, []) for given in ({}, self._given(outputs)))
        total, whole = sum(after.values()), sum(before.values())
        asked = [True] if question.event else [value for value, p in before.items() if p > 0]
        if question.event and not before.get(True, 0) > 0:
            raise DivulgeError.of("secret", "be possible", "it", "an event that cannot occur")
        return [(after[value] / total) / (before[value] / whole) for value in asked]

    def worst(self, secret: Hashable, side: Side = "pml", *, time_limit: float | None = None) -> Worst:
        """Return the greatest leakage about a secret that any outputs can have, and such outputs.

        All outputs are listed where that takes at most 200,000 entries; else branch and bound looks for the worst, and
        what it has not ruled out after a thousand questions, or `time_limit` seconds, stays in the bracket.

        Examples
        --------
        >>> couple = Network({"Ann": ["9/10", "1/10"], "Bob": (["Ann"], [["17/18", "1/18"], ["1/2", "1/2"]])})
        >>> told = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> couple.release("Ann", told).release("Bob", told).worst("Ann").lower
        Fraction(15, 4)
        """
        return self._worst(secret, side, clock.deadline(time_limit))

    def _worst(self, secret: Hashable, side: Side, until: float) -> Worst:
        return late("divulge.networks.bayesian.search:worst_outputs")(self, secret, side, until)

    def joint(self, secret: Hashable) -> Joint:
        """Return a secret and all outputs as an ordinary joint, whose outcomes are tuples: all measures apply to it.

        Raises
        ------
        DivulgeError
            When there are more than 200,000 pairs of a value and outputs.

        Examples
        --------
        >>> Network({"x": ["1/2", "1/2"]}).release("x", [["3/4", "1/4"], ["1/4", "3/4"]]).joint("x").channel.outcomes
        ((0,), (1,))
        """
        question = self.question(secret)
        sizes = [o.channel.shape[1] for o in self.outputs.values()]
        allow_pairs(prod(sizes) * question.size)
        weights = self.weights(question, {}, list(self.outputs))
        matrix = np.array([[pinned(v) for v in np.asarray(w).ravel().tolist()] for w in weights.values()], dtype=object)
        labels = [o.channel.outcomes for o in self.outputs.values()]
        outcomes = [tuple(labels[i][k] for i, k in enumerate(place)) for place in np.ndindex(*sizes)]
        return Joint.from_matrix(matrix, list(weights), outcomes)

    def _variable(self, name: Any, argument: str) -> Variable:
        if not is_key(name) or name not in self.variables:
            raise DivulgeError.of(
                argument, "name a variable of the network", "it", repr(name)[:60],
                did_you_mean(name, self.variables).strip(),
            )  # fmt: skip
        return self.variables[name]

    def _given(self, outputs: Any) -> dict[str, int]:
        if not isinstance(outputs, Mapping):
            raise DivulgeError.of("outputs", "map names to outcomes", "it", f"a {type(outputs).__name__}")
        for name in outputs:
            if name not in self.outputs:
                hint = did_you_mean(name, self.outputs).strip() or "release(name, channel) puts one out."
                raise DivulgeError.of("outputs", "name what is put out", "one", repr(name)[:60], hint)
        return {
            name: position(self.outputs[name].channel.outcomes, outcome, f"outputs[{name!r}]")
            for name, outcome in outputs.items()
        }

    def question(self, secret: Hashable) -> "Question":
        """Return a secret as variables of the network.

        Examples
        --------
        >>> Network({"x": ["1/4", "3/4"]}).question("x").values
        [0, 1]
        """
        if isinstance(secret, Secret):
            states = {state for node in self.variables.values() for state in node.states}
            return remembered(self, secret.known(self.variables, states))
        if isinstance(secret, str) and secret == "all" and secret not in self.variables:
            secret = tuple(self.variables)
        names = secret if isinstance(secret, tuple) else (secret,)
        nodes = [self._variable(name, "secret") for name in names]
        if len(set(names)) != len(names) or not names:
            raise DivulgeError.of("secret", "name variables, each once", "it", repr(secret)[:60])
        shape = [len(node.states) for node in nodes]
        allow_values(prod(shape))
        single = not isinstance(secret, tuple)
        values: list[Hashable] = [
            nodes[0].states[place[0]] if single else tuple(n.states[k] for n, k in zip(nodes, place, strict=True))
            for place in np.ndindex(*shape)
        ]
        called = str(secret) if single else "(" + ", ".join(map(str, names)) + ")"
        return Question(called, tuple(names), values, [])

    @cached_property
    def sizes(self) -> dict[Hashable, int]:
        """The number of states of each variable."""
        return {name: len(node.states) for name, node in self.variables.items()}

    def weights(
        self, question: "Question", given: Mapping[str, int], shown: Sequence[str]
    ) -> dict[Hashable, np.ndarray]:
        """Return P(value, given outputs), for each of the outputs `shown` as axes of an array.

        Examples
        --------
        >>> coin = Network({"x": ["1/4", "3/4"]})
        >>> coin.weights(coin.question("x"), {}, [])[0]
        Fraction(1, 4)
        """
        factors = [Factor((*v.parents, name), v.table) for name, v in self._ancestors(question, given, shown).items()]
        factors += question.factors
        sizes: dict[Hashable, int] = {**self.sizes, **question.sizes}
        for name, y in given.items():
            output = self.outputs[name]
            factors.append(Factor((output.variable,), np.asarray(output.channel.matrix)[:, y]))
        axes: list[Hashable] = []
        for name in shown:
            output = self.outputs[name]
            axes.append(("output", name))
            sizes[axes[-1]] = output.channel.shape[1]
            factors.append(Factor((output.variable, axes[-1]), np.asarray(output.channel.matrix)))
        table = summed(factors, sizes, [*question.variables, *axes])
        flat = table.reshape(len(question.values), *table.shape[len(question.variables) :])
        out: dict[Hashable, Any] = {}
        for value, weight in zip(question.values, flat, strict=True):
            out[value] = out[value] + weight if value in out else weight
        if not shown and not sum(out.values()) > 0:
            raise DivulgeError.of("outputs", "be possible", "they", "outcomes that cannot occur together")
        return out

    def _ancestors(self, question: "Question", given: Iterable[str], shown: Iterable[str]) -> Mapping[str, Variable]:
        """Return the variables that a question and its outputs depend on; all others sum to 1."""
        todo: list[Any] = [v for v in (*question.variables, *question.reads) if v in self.variables]
        todo += [self.outputs[name].variable for name in (*given, *shown)]
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += self.variables[name].parents
        return {name: v for name, v in self.variables.items() if name in seen}

    def by_variable(self, side: Side = "pml", *, time_limit: float | None = None) -> dict[str, Worst]:
        """Return the worst outputs for each variable, by name; after `time_limit` seconds in all, wider brackets.

        Examples
        --------
        >>> coins = Network({"x": ["1/2", "1/2"], "y": ["1/2", "1/2"]}).release("x")
        >>> {name: str(worst.lower) for name, worst in coins.by_variable().items()}
        {'x': '2', 'y': '1'}
        """
        until = clock.deadline(time_limit)
        return {name: self._worst(name, side, until) for name in self.variables}

    def plot(self, ax: "Axes | None" = None, unit: Unit = "nats") -> "Axes":
        """Draw the network, each variable shaded by its greatest leakage (pml), outputs ringed; return the axes.

        Levels are rounded up to three digits.

        Examples
        --------
        >>> coins = Network({"x": ["1/2", "1/2"], "y": (["x"], [["1", "0"], ["1/4", "3/4"]])}).release("y")
        >>> coins.plot().get_title()
        'greatest leakage about each variable [nats]'
        """
        return late("divulge.networks.bayesian.picture:drawn")(self, ax, unit)


@dataclass(frozen=True)
class Question:
    """A secret as variables of a network: the axes that stay, a value for each of their combinations, more factors."""

    name: str
    variables: tuple[Hashable, ...]
    values: Sequence[Hashable]
    factors: Sequence[Factor]
    sizes: Mapping[Hashable, int] = field(default_factory=dict[Hashable, int])
    reads: tuple[str, ...] = ()
    event: bool = False

    @property
    def size(self) -> int:
        """How many values it has."""
        return len(set(self.values))


def remembered(network: Network, secret: Secret) -> Question:
    """Return a secret with a memory as a chain of variables, each a function of the last and of one of the network.

    Variables that leave the memory as it is, whatever their state, are not read.
    """
    memories: list[Any] = [secret.start]
    factors: list[Factor] = []
    sizes: dict[Hashable, int] = {}
    last: Hashable = None
    reads: list[str] = []
    for name, node in network.variables.items():
        images = [[secret.after(memory, name, state) for state in node.states] for memory in memories]
        if all(image == memory for memory, row in zip(memories, images, strict=True) for image in row):
            continue
        after = list(dict.fromkeys(image for row in images for image in row))
        allow_values(len(after) * len(memories) * len(node.states))
        one = Fraction(1) if node.table.dtype == object else 1.0
        table = np.full((len(memories), len(node.states), len(after)), 0 * one, dtype=node.table.dtype)
        for i, row in enumerate(images):
            for k, image in enumerate(row):
                table[i, k, after.index(image)] = one
        variable: Hashable = ("memory", len(factors))
        first = last is None
        factors.append(Factor((name, variable) if first else (last, name, variable), table[0] if first else table))
        sizes[variable], memories, last = len(after), after, variable
        reads.append(name)
    if last is None:
        raise DivulgeError.of("secret", "depend on a variable of the network", "it", repr(secret.name)[:60])
    values = [secret.at_end(memory) for memory in memories]
    return Question(secret.name, (last,), values, factors, sizes, tuple(reads), secret.event)


def _checked(variables: Any) -> dict[str, Variable]:
    if isinstance(variables, Network):
        return dict(variables.variables)
    if not isinstance(variables, Mapping) or not variables:
        raise DivulgeError.of("variables", "map names to tables", "it", f"a {type(variables).__name__}")
    parts = {_name(name, "variables"): _parts(name, given) for name, given in variables.items()}
    for name, (parents, _) in parts.items():
        for parent in parents:
            if parent not in parts:
                hint = did_you_mean(parent, parts).strip()
                raise DivulgeError.of(
                    f"variables[{name!r}]", "have parents that are variables", "one", repr(parent), hint
                )
    try:
        order = list(TopologicalSorter({name: parents for name, (parents, _) in parts.items()}).static_order())
    except CycleError as error:
        circle = " -> ".join(map(str, error.args[1]))
        raise DivulgeError.of("variables", "have no cycle", "one", circle) from None
    out: dict[str, Variable] = {}
    for name in order:
        out[name] = _node(name, *parts[name], out)
    return {name: out[name] for name in parts}


def _name(name: Any, argument: str) -> Any:
    """Return the name of a variable or an output: text, or a number where other programs count them."""
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise DivulgeError.of(argument, "be named by text or whole numbers", "one", f"a {type(name).__name__}")
    return name


def _parts(name: Any, given: Any) -> tuple[tuple[str, ...], Any]:
    numbers = (int, float, Fraction)
    if not (isinstance(given, tuple) and len(given) == 2) or isinstance(given[0], numbers) or isinstance(given[1], str):
        return (), given
    parents, table = given
    named: list[Any] = list(parents) if isinstance(parents, (list, tuple)) else [parents]
    for parent in named:
        if named.count(_name(parent, f"variables[{name!r}]")) > 1:
            raise DivulgeError.of(
                f"variables[{name!r}]", "name each parent once", "the repeated one", repr(parent)[:60]
            )
    return tuple(named), table


def _node(name: str, parents: tuple[str, ...], table: Any, known: Mapping[str, Variable]) -> Variable:
    if not parents:
        prior = table if isinstance(table, Prior) else Prior(table)
        return Variable(prior.secrets, (), prior.probabilities)
    try:
        channel = table if isinstance(table, Channel) else Channel(table)
    except DivulgeError as error:
        raise DivulgeError(f"variables[{name!r}]: {error}") from None
    shape = [len(known[parent].states) for parent in parents]
    if channel.shape[0] != prod(shape):
        raise DivulgeError.of(
            f"variables[{name!r}]", f"have one row for each combination of states of its parents, {prod(shape)}",
            "their number", str(channel.shape[0]), "the last parent changes fastest.",
        )  # fmt: skip
    return Variable(channel.outcomes, parents, np.asarray(channel.matrix).reshape(*shape, channel.shape[1]))

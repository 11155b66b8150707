"""What is kept secret about a chain: any function of its steps, as a memory that is carried along.

A secret is read off step by step: `start` is what is remembered before the first step, `moved` what is remembered after
one more, `value` the secret once the last step was seen. The chain and the memory together are a chain again, so every
question about a secret is one about the last state of that.
"""

from collections.abc import Callable, Container, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from divulge.errors import DivulgeError

Memory = Hashable


@dataclass(frozen=True)
class Secret:
    """A function of the steps of a chain, or of the variables of a network.

    Attributes
    ----------
    name : str
        How outputs call it.
    start : hashable
        What is remembered before the first step.
    moved : function of (memory, step, state)
        What is remembered after it.
    value : function of the memory
        The secret after the last step.
    event : bool
        Whether it is an event, True or False, whose leakages are about its being true: that it is false is another
        secret (`never` beside `ever`).
    places : tuple
        Steps or variables that it needs, all of which a chain or network must have.
    states : tuple
        States that it names, each of which some step or variable must have.

    Examples
    --------
    >>> ill = ever("ill")
    >>> ill.value(ill.moved(ill.moved(ill.start, 0, "well"), 1, "ill"))
    True
    """

    name: str
    start: Memory
    moved: Callable[[Any, Any, Any], Memory]
    value: Callable[[Any], Hashable] = lambda memory: memory
    event: bool = False
    places: tuple[Hashable, ...] = ()
    states: tuple[Hashable, ...] = ()

    def known(self, places: Container[Hashable], states: Container[Hashable]) -> "Secret":
        """Return the secret, of steps or variables and states that there are; refuse one of others.

        A name that is misspelled would be an event that never changes, of which nothing is told.

        Examples
        --------
        >>> never("ill").known(range(3), ["well", "il"])
        Traceback (most recent call last):
        divulge.errors.DivulgeError: `secret` must name states that there are; one is 'ill'.
        """
        for what, wanted, there in (("steps or variables", self.places, places), ("states", self.states, states)):
            for one in wanted:
                if one not in there:
                    raise DivulgeError.of("secret", f"name {what} that there are", "one", repr(one)[:60])
        return self

    def of(self, states: Iterable[tuple[Any, Hashable]]) -> Hashable:
        """Return the secret of pairs (step or name, state), in the order in which they are remembered.

        Examples
        --------
        >>> count_at_least("ill", 2).of([("Ann", "ill"), ("Bob", "ill")])
        True
        """
        memory = self.start
        for place, state in states:
            memory = self.moved(memory, place, state)
        return self.value(memory)


def ever(state: Hashable) -> Secret:
    """Return the event that `state` occurs at some step (some variable has it).

    Examples
    --------
    >>> ever(1).name
    'ever 1'
    """
    return Secret(f"ever {state}", False, lambda before, _, here: before or here == state, event=True, states=(state,))


def never(state: Hashable) -> Secret:
    """Return the event that `state` occurs at no step.

    Examples
    --------
    >>> never(1).of(enumerate([0, 0, 1]))
    False
    """
    return Secret(f"never {state}", True, lambda before, _, here: before and here != state, event=True, states=(state,))


def differ(first: Hashable, second: Hashable) -> Secret:
    """Return the event that the states at two steps (of two variables) differ.

    Examples
    --------
    >>> differ(0, 2).of(enumerate("aba"))
    False
    """
    if first == second:
        raise DivulgeError.of("second", "be another step than the first", "it", repr(second))

    def moved(memory: Any, place: Any, state: Any) -> Any:
        return (*memory, state) if place in (first, second) else memory

    return Secret(f"{first} and {second} differ", (), moved, lambda both: both[0] != both[1], event=True,
                  places=(first, second))  # fmt: skip


def count_at_least(state: Hashable, count: Any) -> Secret:
    """Return the event that `state` occurs at `count` steps or more.

    Examples
    --------
    >>> count_at_least("ill", 2).of(enumerate(["ill", "well", "ill"]))
    True
    """
    if not (isinstance(count, int) and not isinstance(count, bool) and count >= 1):
        raise DivulgeError.of("count", "be a whole number of at least 1", "it", repr(count)[:40])
    return Secret(
        f"{state} at {count} steps or more",
        0,
        lambda before, _, here: min(before + (here == state), count),
        lambda seen: seen >= count,
        event=True,
        states=(state,),
    )


def function(places: Iterable[Hashable], formula: Callable[..., Hashable], name: str = "a function") -> Secret:
    """Return the secret formula(state, ...) of the states at some steps (of some variables), in this order.

    Examples
    --------
    >>> function(["Ann", "Bob"], lambda a, b: a + b).of([("Bob", 1), ("Ann", 1)])
    2
    """
    wanted = tuple(places)
    if not wanted or len(set(wanted)) != len(wanted):
        raise DivulgeError.of("places", "name steps or variables, each once", "they", repr(wanted)[:60])
    if not callable(formula):
        raise DivulgeError.of("formula", "be a function of as many states", "it", f"a {type(formula).__name__}")

    def moved(memory: Any, place: Any, state: Any) -> Any:
        return (*memory, (wanted.index(place), state)) if place in wanted else memory

    def value(memory: Any) -> Hashable:
        found = formula(*(state for _, state in sorted(memory, key=_first)))
        if not _is_key(found):
            raise DivulgeError.of(
                "formula", "give values that are equal to themselves and can be keys, such as numbers, text or tuples",
                "one", f"a {type(found).__name__}",
            )  # fmt: skip
        return found

    return Secret(name, (), moved, value, places=wanted)


def _is_key(value: Any) -> bool:
    try:
        return {value: True}.get(value, False) and bool(value == value)
    except (TypeError, ValueError):
        return False


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def states_at(places: tuple[Hashable, ...]) -> Secret:
    """Return the secret that is the states at these steps, in this order: of one step its state, else a tuple.

    Examples
    --------
    >>> states_at((2,)).of(enumerate("abc")), states_at((2, 0)).of(enumerate("abc"))
    ('c', ('c', 'a'))
    """
    name = str(places[0]) if len(places) == 1 else "(" + ", ".join(map(str, places)) + ")"
    return function(places, (lambda one: one) if len(places) == 1 else (lambda *all_of_them: all_of_them), name)

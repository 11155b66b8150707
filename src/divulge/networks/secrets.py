"""What is kept secret about a chain: any function of its steps, as a memory that is carried along.

A secret is read off step by step: `start` is what is remembered before the first step, `moved` what is remembered after
one more, `value` the secret once the last step was seen. The chain and the memory together are a chain again, so every
question about a secret is one about the last state of that.
"""

from collections.abc import Callable, Container, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from divulge.errors import DivulgeError
from divulge.model.entries import whole_number

Memory = Hashable


def _as_remembered(memory: Any) -> Hashable:
    return memory


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
    value: Callable[[Any], Hashable] = field(default_factory=lambda: _as_remembered)
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
                if not (is_key(one) and one in there):
                    raise DivulgeError.of("secret", f"name {what} that there are", "one", repr(one)[:60])
        return self

    def of(self, states: Iterable[tuple[Hashable, Hashable]]) -> Hashable:
        """Return the secret of pairs (step or name, state), in the order in which they are remembered.

        Examples
        --------
        >>> count_at_least("ill", 2).of([("Ann", "ill"), ("Bob", "ill")])
        True
        """
        memory = self.start
        for place, state in states:
            memory = self.after(memory, place, state)
        return self.at_end(memory)

    def after(self, memory: Hashable, place: Hashable, state: Hashable) -> Memory:
        """Return what is remembered after one more step; refuse functions that fail or whose memories are no keys.

        Examples
        --------
        >>> ever("ill").after(False, 0, "ill")
        True
        """
        return self._asked("moved", memory, place, state)

    def at_end(self, memory: Hashable) -> Hashable:
        """Return the secret for what is remembered after the last step.

        Examples
        --------
        >>> function([0], lambda state: 1 / state, "1/x").at_end(((0, 0),))
        Traceback (most recent call last):
        divulge.errors.DivulgeError: `secret` must have a value for all states; '1/x' raises ZeroDivisionError: ...
        """
        found = self._asked("value", memory)
        return bool(found) if self.event else found

    def _asked(self, name: str, *arguments: Any) -> Hashable:
        """Return what `moved` or `value`, which may be anybody's, gives, if it can be a key."""
        try:
            found = getattr(self, name)(*arguments)
        except DivulgeError:
            raise
        except Exception as error:  # what a function of a user may raise is open-ended
            said = f"{type(error).__name__}: {error}"[:200].rstrip(".")
            raise DivulgeError(
                f"`secret` must have a value for all states; {self.name[:60]!r} raises {said}. "
                "Hint: its functions are asked for every combination of states that may occur."
            ) from error
        if not is_key(found):
            raise DivulgeError.of(
                "secret", "have values that are equal to themselves and can be keys, such as numbers, text or tuples",
                f"one of {self.name!r}"[:60], f"a {type(found).__name__}",
            )  # fmt: skip
        return found


def ever(state: Hashable) -> Secret:
    """Return the event that `state` occurs at some step (some variable has it).

    Parameters
    ----------
    state : label
        A state of the steps, or of the variables.

    Returns
    -------
    Secret
        An event, whose leakages are about its being true.

    Raises
    ------
    DivulgeError
        When it is asked of a chain or network that has no such state.

    Examples
    --------
    >>> ever(1).name
    'ever 1'
    """
    return Secret(f"ever {state}", False, lambda before, _, here: before or here == state, event=True, states=(state,))


def never(state: Hashable) -> Secret:
    """Return the event that `state` occurs at no step.

    Parameters
    ----------
    state : label
        A state of the steps, or of the variables.

    Returns
    -------
    Secret
        An event, whose leakages are about its being true.

    Raises
    ------
    DivulgeError
        When it is asked of a chain or network that has no such state.

    Examples
    --------
    >>> never(1).of(enumerate([0, 0, 1]))
    False
    """
    return Secret(f"never {state}", True, lambda before, _, here: before and here != state, event=True, states=(state,))


def differ(first: Hashable, second: Hashable) -> Secret:
    """Return the event that the states at two steps (of two variables) differ.

    Parameters
    ----------
    first, second : int or str
        Steps from 0, or names of variables.

    Returns
    -------
    Secret
        An event, whose leakages are about its being true.

    Raises
    ------
    DivulgeError
        For one step twice, and when it is asked where there are no such steps.

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


def count_at_least(state: Hashable, count: int) -> Secret:
    """Return the event that `state` occurs at `count` steps or more.

    Parameters
    ----------
    state : label
        A state of the steps, or of the variables.
    count : int
        At least 1.

    Returns
    -------
    Secret
        An event, whose leakages are about its being true.

    Raises
    ------
    DivulgeError
        For a count that is no whole number of at least 1, and when it is asked where there is no such state.

    Examples
    --------
    >>> count_at_least("ill", 2).of(enumerate(["ill", "well", "ill"]))
    True
    """
    count = whole_number(count, "count")
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

    Parameters
    ----------
    places : sequence of int or str
        Steps from 0, or names of variables, each once.
    formula : function of as many states
        What it returns is the value of the secret: numbers, text, tuples.
    name : str
        How outputs call it.

    Returns
    -------
    Secret
        The function, whose values are found by asking it for all states that may occur.

    Raises
    ------
    DivulgeError
        For steps that are named twice; and, when it is asked, for a formula that fails for states that may occur.

    Examples
    --------
    >>> function(["Ann", "Bob"], lambda a, b: a + b).of([("Bob", 1), ("Ann", 1)])
    2
    """
    given: Any = places
    wanted: tuple[Any, ...] = () if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) else (*given,)
    if not wanted or not all(map(is_key, wanted)) or len(set(wanted)) != len(wanted):
        raise DivulgeError.of("places", "name steps or variables, each once", "they", repr(given)[:60])
    if not callable(formula):
        raise DivulgeError.of("formula", "be a function of as many states", "it", f"a {type(formula).__name__}")

    def moved(memory: Any, place: Any, state: Any) -> Any:
        return (*memory, (wanted.index(place), state)) if place in wanted else memory

    def value(memory: Any) -> Hashable:
        return formula(*(state for _, state in sorted(memory, key=_first)))

    return Secret(name, (), moved, value, places=wanted)


def is_key(value: Any) -> bool:
    """Say whether a value can be looked up: it has a hash and is equal to itself, which NaN is not.

    >>> is_key((1, "a")), is_key([1]), is_key(float("nan"))
    (True, False, False)
    """
    try:
        return {value: True}.get(value, False) and bool(value == value)
    except (TypeError, ValueError):
        return False


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def states_at(places: tuple[Hashable, ...]) -> Secret:
    """Return the secret that is the states at these steps, in this order: of one step its state, else a tuple.

    >>> states_at((2,)).of(enumerate("abc")), states_at((2, 0)).of(enumerate("abc"))
    ('c', ('c', 'a'))
    """
    name = str(places[0]) if len(places) == 1 else "(" + ", ".join(map(str, places)) + ")"
    return function(places, (lambda one: one) if len(places) == 1 else (lambda *all_of_them: all_of_them), name)

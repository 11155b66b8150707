"""What outcomes are called: after a value only when they raise that value most, else after the set that they raise."""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.files.tables.tidying import spellings
from divulge.model.integer import IntegerChannel
from divulge.model.labels import key_of

LONGEST = 120
"""Characters of a label; a set with a longer one is numbered, and the codebook lists it."""


def raised(matrix: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return which secrets are likelier after each outcome than before, boolean of shape (N, M).

    >>> raised(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.5, 0.5])).tolist()
    [[True, False], [False, True]]
    """
    return matrix > prior @ matrix * (1 + 1e-9)


def untrue(weights: np.ndarray, secrets: Sequence[Hashable], outcomes: Sequence[Hashable]) -> list[Hashable]:
    """Return the outcomes that are called after a secret and raise another one more: w_vv < max_x w_xv.

    An outcome that is equally likely under every secret raises none, and is not true to the name of one either.

    >>> untrue(np.array([[1, 3], [3, 1]]), ["a", "b"], ["a", "b"])
    ['a', 'b']
    """
    place = {key_of(x): i for i, x in enumerate(secrets)}
    named = [(j, place[key_of(y)]) for j, y in enumerate(outcomes) if key_of(y) in place]
    top, bottom = weights.max(axis=0), weights.min(axis=0)
    alone = len(secrets) == 1
    return [outcomes[j] for j, i in named if weights[i, j] < top[j] or (top[j] == bottom[j] and not alone)]


def require_true(channel: IntegerChannel) -> None:
    """Refuse a mechanism with an outcome that is called after a value and raises another one more."""
    found = untrue(channel.weights, channel.secrets, channel.outcomes)
    if found:
        raise DivulgeError.of(
            "mechanism", "call an outcome after a value only where it raises that value most",
            "the number of outcomes that mean something else", str(len(found)),
            "rename them, or have them called after the sets that they raise (outcomes='sets', --outcomes sets).",
        )  # fmt: skip


def set_labels(matrix: np.ndarray, prior: np.ndarray, secrets: Sequence[Hashable]) -> list[Hashable]:
    """Return labels that name the set of secrets that each outcome raises; equal sets are numbered.

    >>> rows = np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.9]])
    >>> set_labels(rows, np.array([0.4, 0.4, 0.2]), ["a", "b", "c"])
    ['any but c', 'c']
    """
    members = raised(matrix, prior).T
    texts = [_called([str_of(x) for x, is_in in zip(secrets, row, strict=True) if is_in], secrets, row)
             for row in members.tolist()]  # fmt: skip
    taken = {str_of(x) for x in secrets}
    found: list[Hashable] = []
    for j, (text, row) in enumerate(zip(texts, members.tolist(), strict=True)):
        if len(text) > LONGEST:
            text = f"one of {number_of(sum(row), 'value')} (set {j + 1})"
        elif texts.count(text) > 1 or (sum(row) != 1 and text in taken):
            text = f"{text} ({texts[: j + 1].count(text)})"
        first = secrets[0]
        alone = secrets[row.index(True)] if sum(row) == 1 and text in taken else None
        found.append(alone if alone is not None else (text,) * len(first) if isinstance(first, tuple) else text)
    return found


def str_of(label: Hashable) -> str:
    """Return a label as text; the parts of several columns are joined."""
    return " & ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _called(names: list[str], secrets: Sequence[Hashable], row: Sequence[bool]) -> str:
    rest = [str_of(x) for x, is_in in zip(secrets, row, strict=True) if not is_in]
    if not names or not rest:
        return "any"
    if len(names) > 1 and len(rest) < len(names):
        return "any but " + _joined(rest)
    return _joined(names)


def _joined(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


MOST_ALONE = 10
"""Beyond so many values of one row each, a column that has little else is taken for names, numbers or free text."""


_PUBLIC = "give a prior (prior=, --prior) that names every answer there could be."


def require_shared(counts: Iterable[int], names: str, remedy: str) -> None:
    """Refuse a column that has little else than values of one row each, as the list of its values goes out."""
    times = list(counts)
    alone = times.count(1)
    if alone > MOST_ALONE and 2 * alone > len(times):
        raise DivulgeError(
            f"`column` must have values that people share, as the list of its values goes out; {alone:,} of the "
            f"{len(times):,} values of {names} stand in one row only, like names, numbers of people and free text. "
            f"Hint: {remedy}"
        )


def of_one_row(counts: Iterable[int], names: str) -> tuple[str, ...]:
    """Say that values stand in one row only, as the list of values goes out; refuse a column that has little else."""
    times = list(counts)
    groups = "merge its values into groups (--group C=RULE, group=)"
    require_shared(times, names, f"leave the column out (keep=, --keep), {groups}, or {_PUBLIC}")
    alone = times.count(1)
    if not alone:
        return ()
    stand, each = ("stands", "it") if alone == 1 else ("stand", "each of them")
    return (
        f"{number_of(alone, 'value')} of {names} {stand} in one row only. The list of values goes out, and tells that "
        f"somebody gave {each}. Hint: merge rare values into a group, or {_PUBLIC}",
    )


def of_spelling(values: Iterable[Hashable], names: str, null_as: Hashable) -> tuple[str, ...]:
    """Say what the spelling of values tells: that some are one answer, and some perhaps none."""
    several = list(values)
    return (*alike(several, names), *written_as_missing(several, names, null_as))


def alike(values: Iterable[Hashable], names: str) -> tuple[str, ...]:
    """Say that values differ from one another in spelling alone: people write one answer in several ways."""
    several = len(spellings([str_of(value) for value in values]))
    if not several:
        return ()
    return (
        f"{several:,} values of {names} differ from another one in spaces, case or zeros at their beginning alone, and "
        "count as answers of their own. Hint: --one-spelling C (one_spelling=) makes them one.",
    )


_CODES = frozenset(["-7", "-8", "-9", "-77", "-88", "-97", "-98", "-99", "-777", "-888", "-999"])
_NO_ANSWER = frozenset(["na", "n/a", "#n/a", "n.a.", "k.a.", "nan", "null"])
"""How programs and offices write that an answer is missing; words that are answers themselves are not among them."""


def written_as_missing(values: Iterable[Hashable], names: str, null_as: Hashable = None) -> tuple[str, ...]:
    """Say that values look like codes for a missing answer: they are answers like others, in every number.

    Codes below 0 are taken for such where all values below 0 are.

    >>> len(written_as_missing(["yes", "n/a", "-99"], "'ill'")), written_as_missing([-9, -3, 4], "'degrees'")
    (1, ())
    """
    cells = {part for value in values if value != null_as for part in (value if isinstance(value, tuple) else (value,))}
    texts = {str_of(cell).casefold() for cell in cells}
    below = {text for text in texts if text.startswith("-") and text[1:].replace(".", "", 1).isdecimal()}
    several = len(texts & _NO_ANSWER) + (len(below) if below <= _CODES else 0)
    if not several:
        return ()
    are, count = ("is", "counts as an answer") if several == 1 else ("are", "count as answers")
    return (
        f"{number_of(several, 'value')} of {names} {are} written as missing answers often are, such as NA or -99, and "
        f"{count} like any other. Hint: a missing answer is an empty cell; null_as= (--null-as) says what to call it.",
    )

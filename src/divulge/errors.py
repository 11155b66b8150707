"""The errors Divulge raises, all of them `DivulgeError`, which is a `ValueError`; and the words of their messages."""

from collections.abc import Iterable
from difflib import get_close_matches


class DivulgeError(ValueError):
    """What went wrong with an input: the argument, the condition, the place, and a remedy.

    Examples
    --------
    >>> raise DivulgeError.of("epsilon", "be at least 0", "it", "-1")
    Traceback (most recent call last):
    divulge.errors.DivulgeError: `epsilon` must be at least 0; it is -1.
    """

    @classmethod
    def of(cls, argument: str, condition: str, where: str, found: str, hint: str = "") -> "DivulgeError":
        """Build the message "`argument` must {condition}; {where} is {found}." with an optional hint.

        Examples
        --------
        >>> print(DivulgeError.of("p", "be in [0, 1]", "it", "2", "probabilities are shares."))
        `p` must be in [0, 1]; it is 2. Hint: probabilities are shares.
        """
        message = f"`{argument}` must {condition}; {where} {'are' if where == 'they' else 'is'} {found}."
        return cls(f"{message} Hint: {hint}" if hint else message)

    @classmethod
    def unknown(
        cls, argument: str, given: object, known: Iterable[object], condition: str = "be one of"
    ) -> "DivulgeError":
        """Build the message about a name that is not among the known ones, with the one that may be meant.

        Examples
        --------
        >>> print(DivulgeError.unknown("unit", "bit", ["nats", "bits"]))
        `unit` must be one of nats, bits; it is 'bit'. Hint: Did you mean 'bits'?
        """
        names = [str(name) for name in known]
        said = repr(given) if len(repr(given)) <= 60 else f"{repr(given)[:60]}…"
        meant = did_you_mean(given, names).strip()
        return cls.of(argument, f"{condition} {', '.join(names)}", "it", said, meant)

    @classmethod
    def unless(cls, value: object, kinds: type | tuple[type, ...], argument: str, condition: str) -> None:
        """Raise "`argument` must {condition}; it is a {type}." unless the value is of one of the kinds.

        Examples
        --------
        >>> DivulgeError.unless(3, int, "n", "be a whole number")
        """
        if not isinstance(value, kinds):
            raise cls.of(argument, condition, "it", f"a {type(value).__name__}")


class LabelError(DivulgeError):
    """Labels that are duplicated, missing, or that do not fit together.

    Examples
    --------
    >>> dv.Prior([0.5, 0.5], secrets=["a", "a"])
    Traceback (most recent call last):
    divulge.errors.LabelError: `secrets` must have no label twice; the repeated label is 'a'.
    """


class InputFileError(DivulgeError):
    """A file that cannot be read as what it was given for; the message names the file and the place.

    Examples
    --------
    >>> dv.read_prior("no-such-file.csv")
    Traceback (most recent call last):
    divulge.errors.InputFileError: no-such-file.csv: there is no such file.
    """


class MissingExtraError(DivulgeError):
    """An optional library is needed and not installed; the message says which extra brings it.

    Examples
    --------
    >>> raise MissingExtraError("pandas is needed. Hint: pip install 'divulge[frames]'.")
    Traceback (most recent call last):
    divulge.errors.MissingExtraError: pandas is needed. Hint: pip install 'divulge[frames]'.
    """


def printable(text: str) -> str:
    """Return text with control characters and those that turn its direction written out: printing it does nothing else.

    >>> printable("a\x1b[2J")
    'a\\\\x1b[2J'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun, in the singular for one.

    >>> number_of(1, "row"), number_of(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun if count == 1 else _PLURALS.get(noun, noun + 's')}"


_PLURALS = {"try": "tries", "guess": "guesses", "person": "people"}
"""Nouns whose plural is not made by an s alone."""


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return " Did you mean 'x'?" with the known word most like `word`, or nothing.

    >>> did_you_mean("religon", ["age", "religion"])
    " Did you mean 'religion'?"
    >>> did_you_mean("height", ["age", "religion"]), did_you_mean("age", ["age"])
    ('', '')
    """
    others = [name for name in known if str(name) != str(word)]
    by_folded, meant = {_folded(name): str(name) for name in others}, _folded(word)
    swapped = [name for name in by_folded if sorted(name) == sorted(meant)]
    close = [meant] if meant in by_folded else swapped or get_close_matches(meant, by_folded, n=1)
    return f" Did you mean {printable(repr(by_folded[close[0]]))}?" if close else ""


def _folded(name: object) -> str:
    """Return a name without what people mistype first: case, and what joins its words."""
    return str(name).casefold().strip().replace("_", "-").replace(" ", "-")

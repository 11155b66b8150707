"""The adversary's knowledge before the release: a distribution of the secret."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.late import Kept
from divulge.model import labels as _labels
from divulge.model import tables
from divulge.model.arraylike import HasArray, Probabilities
from divulge.model.entries import entries, floats_of, frozen, normalized, ready, short_floats
from divulge.model.labels import Labels
from divulge.model.shown import Table, Tabled

MOST_SECRETS = 1 << 26
"""Of so many a prior in fractions takes a gigabyte: two arrays of references."""


class Prior(Tabled):
    """A distribution of the secret, with a label for each value.

    Parameters
    ----------
    probabilities : array_like of shape (N,), mapping or pandas Series from label to probability, table, or Prior
        A table has two columns, secret and probability.
        At least 0, sum 1 within 1e-9 (then renormalized). Float64, or exact when an entry is a Fraction, int or text.
    secrets : sequence of N hashable labels, optional
        0, 1, ..., N-1 when not given.

    Examples
    --------
    >>> Prior(["1/4", "1/2", "1/4"], secrets=["b", "g", "bg"]).p_min
    Fraction(1, 4)
    """

    __slots__ = ("__dict__", "probabilities", "secrets")

    probabilities: np.ndarray
    secrets: Labels

    def __init__(self, probabilities: "Prior | Probabilities", secrets: Iterable[Hashable] | None = None) -> None:
        array = ready(probabilities, 1)
        whole = array is not None
        if array is None:
            probabilities, secrets = _unpacked(probabilities, secrets)
            array = entries(probabilities, "prior", 1, lambda index: f"entry {index[0]}")
        if array.size == 0:
            raise DivulgeError.of("prior", "have at least one entry", "it", "empty")
        letters = _labels.alphabet(secrets, len(array), "secrets")
        if not whole:
            array = normalized(
                array,
                "prior",
                lambda i: "have entries that sum to" if i < 0 else "their sum is",
                short_floats(probabilities) or "for counts use Prior.from_counts.",
            )
        _set_probabilities(self, frozen(array))
        _set_secrets(self, letters)
        if whole:
            vars(self)["floats"] = array

    @classmethod
    def uniform(cls, secrets: int | Iterable[Hashable]) -> "Prior":
        """Return the uniform prior over n secrets, or over the labels given; exact.

        Examples
        --------
        >>> Prior.uniform(3).probabilities.tolist()
        [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
        """
        if isinstance(secrets, (int, np.integer)):
            letters, size = None, int(secrets)
        else:
            letters = _labels.alphabet(secrets, None, "secrets")
            size = len(letters)
        if not size >= 1:
            raise DivulgeError.of("secrets", "name at least one secret", "their number", str(size))
        if size > MOST_SECRETS:
            raise DivulgeError.of(
                "secrets", f"be at most {MOST_SECRETS:,} for a prior, which holds a number for each", "their number",
                f"{size:,}", "the ldp of a protocol needs no prior.",
            )  # fmt: skip
        return cls([Fraction(1, size)] * size, letters)

    @classmethod
    def from_counts(
        cls, counts: Mapping[Hashable, int] | Iterable[int], secrets: Iterable[Hashable] | None = None
    ) -> "Prior":
        """Return the empirical prior of `counts` (a mapping, or a sequence with `secrets`); exact for whole counts.

        Examples
        --------
        >>> Prior.from_counts({"yes": 1, "no": 3})["yes"]
        Fraction(1, 4)
        """
        if isinstance(counts, Mapping):
            if secrets is not None:
                raise DivulgeError.of("secrets", "be absent when a mapping brings the labels", "it", "given as well")
            secrets, counts = list(counts), list(counts.values())
        numbers = entries(counts, "counts", 1, lambda index: f"entry {index[0]}")
        total = sum(numbers.tolist())
        if not total > 0:
            raise DivulgeError.of("counts", "have a positive sum", "it", str(total))
        return cls(numbers / total, secrets)

    @classmethod
    def from_column(cls, column: Iterable[Hashable] | HasArray) -> "Prior":
        """Return the empirical prior of a column of values (list, array, pandas / polars series, pyarrow array).

        Labels come in order of falling count, then of their text. A missing value is refused.

        Examples
        --------
        >>> Prior.from_column(["no", "yes", "no", "no"]).secrets
        ('no', 'yes')
        """
        tally = Counter(tables.column_values(column, "column"))
        if not tally:
            raise DivulgeError.of("column", "have at least one value", "it", "empty")
        return cls.from_counts(dict(sorted(tally.items(), key=lambda item: (-item[1], str(item[0])))))

    @property
    def exact(self) -> bool:
        """Whether the probabilities are Fractions."""
        return self.probabilities.dtype.hasobject

    @Kept
    def floats(self) -> np.ndarray:
        """The probabilities as float64, shape (N,)."""
        return floats_of(self.probabilities)

    @Kept
    def support(self) -> np.ndarray:
        """Which secrets have positive probability, boolean of shape (N,)."""
        return frozen(self.probabilities > 0)

    @property
    def p_min(self) -> float | Fraction:
        """The smallest positive probability."""
        return self.probabilities[self.support].min()

    @property
    def p_max(self) -> float | Fraction:
        """The largest probability."""
        return self.probabilities.max()

    def __len__(self) -> int:
        return len(self.probabilities)

    def __iter__(self) -> Iterator[float | Fraction]:
        return iter(self.probabilities.tolist())

    def __getitem__(self, secret: Hashable) -> float | Fraction:
        return self.probabilities[_labels.position(self.secrets, secret, "secret")]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.probabilities, dtype=dtype) if copy or dtype else self.probabilities

    def to_dict(self) -> dict[Hashable, float | Fraction]:
        """Return {secret: probability}.

        Examples
        --------
        >>> Prior(["1/4", "3/4"], ["a", "b"]).to_dict()
        {'a': Fraction(1, 4), 'b': Fraction(3, 4)}
        """
        return dict(zip(self.secrets, self.probabilities.tolist(), strict=True))

    def aligned(self, secrets: Labels, other: str = "the channel") -> "Prior":
        """Return this prior in the order of `secrets`, under their names; LabelError when the letters differ.

        Examples
        --------
        >>> Prior(["1/4", "3/4"], ["a", "b"]).aligned(["b", "a"]).to_dict()
        {'b': Fraction(3, 4), 'a': Fraction(1, 4)}
        """
        order = _labels.alignment(secrets, self.secrets, "prior", other)
        if order is not None:
            return Prior(self.probabilities[order], secrets)
        return self if _labels.same(self.secrets, secrets) else self.renamed(secrets)

    def renamed(self, secrets: Iterable[Hashable]) -> "Prior":
        """Return the same probabilities under other labels.

        Examples
        --------
        >>> Prior(["1/4", "3/4"]).renamed(["a", "b"]).to_dict()
        {'a': Fraction(1, 4), 'b': Fraction(3, 4)}
        """
        return Prior(self.probabilities, secrets)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Prior is immutable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        same = len(self) == len(other) and _labels.same(self.secrets, other.secrets)
        return same and bool((self.probabilities == other.probabilities).all())

    def __hash__(self) -> int:
        return hash((tuple(self.secrets), tuple(self.probabilities.tolist())))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Prior, (self.probabilities, self.secrets))

    def _shown(self) -> tuple[str, Table]:
        return f"Prior of {number_of(len(self), 'secret')}", (self.secrets, ["P"], self.probabilities.reshape(-1, 1))


def _unpacked(probabilities: Any, secrets: Any) -> tuple[Any, Any]:
    """Return (probabilities, labels): what a prior, series, labelled array, table or mapping brings with it."""
    if isinstance(probabilities, Prior):
        return probabilities.probabilities, probabilities.secrets if secrets is None else secrets
    if tables.is_labelled_column(probabilities):
        return probabilities, tables.index_labels(probabilities.index) if secrets is None else secrets
    if tables.is_labelled_array(probabilities) and probabilities.ndim == 1:
        return probabilities, tables.axis_labels(probabilities)[0] if secrets is None else secrets
    if tables.is_table(probabilities):
        probabilities, named = tables.labelled_vector(probabilities, "prior")
        return probabilities, named if secrets is None else secrets
    if isinstance(probabilities, Mapping):
        if secrets is not None:
            raise DivulgeError.of("secrets", "be absent when a mapping brings the labels", "it", "given as well")
        return list(probabilities.values()), list(probabilities)
    if isinstance(probabilities, (str, int)):
        hint = "Prior.uniform(n) has n secrets that are equally likely; read_prior reads a file."
        raise DivulgeError.of("prior", "be a list of probabilities", "it", f"a {type(probabilities).__name__}", hint)
    return probabilities, secrets


# A Prior is immutable to all others; its own slots are set without a search for the attribute.
_set_probabilities: Any = vars(Prior)["probabilities"].__set__
_set_secrets: Any = vars(Prior)["secrets"].__set__

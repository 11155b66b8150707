"""The cells that a column makes: listed values, all others, and missing ones."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from divulge.model.labels import text_of

OTHER, NO_ANSWER = "other", "no answer"
"""The cells of values that are not listed, and of missing ones."""


def label_of_missing(null_as: Any) -> str:
    """Return what the cell of missing values is called.

    >>> label_of_missing(None), label_of_missing("?")
    ('no answer', '?')
    """
    return str(text_of(NO_ANSWER if null_as is None else null_as))


@dataclass(frozen=True)
class Categories:
    """The cells that a column makes: one for each listed value, and those for all others and for missing ones.

    labels : what the cells are called
    other : the place of the cell of values that are not listed; None where such rows are left out
    missing : the place of the cell of missing values; None where such rows are left out
    complete : whether every row has a cell: those without one are ruled out by the schema, and not only by somebody
    """

    labels: tuple[str, ...]
    other: int | None = None
    missing: int | None = None
    complete: bool = True

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    @classmethod
    def of(
        cls, values: Sequence[Hashable], null_as: Hashable = None, *, others: bool, gaps: bool, complete: bool = True
    ) -> "Categories":
        """Return the cells of listed values; `others` and `gaps` say whether unlisted and missing ones have a cell.

        Nothing here depends on what the table holds. A label that is listed already is not made twice.

        >>> Categories.of(["f", "m"], None, others=True, gaps=True)
        Categories(labels=('f', 'm', 'other', 'no answer'), other=2, missing=3, complete=True)
        >>> Categories.of(["f", "m"], "m", others=False, gaps=True)
        Categories(labels=('f', 'm'), other=None, missing=1, complete=True)
        """
        labels = [str(text_of(value)) for value in values]

        def place(label: str) -> int:
            if label not in labels:
                labels.append(label)
            return labels.index(label)

        other = place(OTHER) if others else None
        missing = place(label_of_missing(null_as)) if gaps else None
        return cls(tuple(labels), other, missing, complete)

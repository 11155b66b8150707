"""What is few enough to be written out: the values of a secret, and its pairs with outputs."""

from divulge.errors import DivulgeError, number_of

LISTED = 200_000
"""Pairs of a value and outputs that are written out as an ordinary joint, and values of one secret: some seconds."""


def allow_pairs(count: int) -> None:
    """Refuse a joint of more than 200,000 pairs of a value and outputs.

    >>> allow_pairs(1 << 40)
    Traceback (most recent call last):
    divulge.errors.DivulgeError: `secret` must have at most 200,000 pairs of a value and outputs to be listed; their \
number is 1,099,511,627,776. Hint: `worst`, `pml` and `posterior` need no list.
    """
    if count > LISTED:
        raise DivulgeError.of(
            "secret", f"have at most {number_of(LISTED, 'pair')} of a value and outputs to be listed", "their number",
            f"{count:,}", "`worst`, `pml` and `posterior` need no list.",
        )  # fmt: skip


def allow_values(count: int, most: int = LISTED, hint: str = "name fewer variables.") -> None:
    """Refuse a secret of more values, or of more that has to be remembered of it, than can be listed.

    >>> allow_values(3)
    """
    if count > most:
        raise DivulgeError.of(
            "secret", f"have few enough values to list, at most {most:,}", "it", f"one with too many values, {count:,}",
            hint,
        )  # fmt: skip

"""Names of columns as they are typed: between commas, one with a comma itself in quotation marks."""

import csv

from divulge.errors import DivulgeError


def names_between_commas(text: str, option: str) -> tuple[str, ...]:
    """Return names between commas; one that has a comma itself stands in quotation marks, as in CSV.

    >>> names_between_commas('sex, "age, in years"', "--known")
    ('sex', 'age, in years')
    """
    try:
        names = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        raise DivulgeError.of(option, "be names of columns between commas", "it", "something else") from None
    return tuple(name.strip() for name in names if name.strip())

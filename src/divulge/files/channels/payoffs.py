"""The payoffs of an adversary: a table of actions by secrets, in CSV or JSON."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from divulge.errors import DivulgeError
from divulge.files.channels import as_csv, as_json
from divulge.files.opening import PathLike, name_of, opened


@dataclass(frozen=True)
class Payoffs:
    """What each action (a row) is worth for each secret (a column); labels where the file has them."""

    matrix: list[list[Any]]
    actions: list[Hashable] | None
    secrets: list[Hashable] | None


def read_payoffs(path: PathLike, argument: str = "--gain") -> Payoffs:
    """Return the payoffs in a CSV file (header = secrets, first column = actions) or a JSON object, which `argument`
    named.

    JSON has the keys "matrix" (actions x secrets) and, if wanted, "actions" and "secrets". Fractions such as "1/3" are
    exact.

    >>> path = folder / "gain.csv"
    >>> _ = path.write_text("action,sick,well\\ntreat,1,1/3\\nwait,0,1\\n")
    >>> read_payoffs(path).matrix
    [['1', '1/3'], ['0', '1']]
    """
    with opened(path) as stream:
        if name_of(path).lower().endswith(".json"):
            return _of_object(as_json.document(stream), argument)
        lines = list(as_csv.rows(stream))
    if len(lines) < 2 or len(lines[0]) < 2:
        raise DivulgeError(f"`{argument}` must have a header of labels and a line for each of them; it has too few.")
    header, *body = lines
    return Payoffs([row[1:] for row in body], [row[0] for row in body], list(header[1:]))


def _of_object(found: Any, argument: str) -> Payoffs:
    if not isinstance(found, dict) or not isinstance(found.get("matrix"), list):
        raise DivulgeError(f'`{argument}` must be an object with a list of rows under the key "matrix"; it is none.')
    labels = {axis: found.get(axis) for axis in ("actions", "secrets")}
    for axis, letters in labels.items():
        if letters is not None and not isinstance(letters, list):
            raise DivulgeError.of(argument, f'have a list of labels under "{axis}"', "it", "something else")
    return Payoffs(found["matrix"], labels["actions"], labels["secrets"])

"""Reading and writing channels, priors and tables; every refusal names the file and the place.

A file is read by its suffix, standard input (`-`) by its first bytes. A text file is exact when it holds a number as
text: a cell with a `/` in CSV, an entry in quotes in JSON. All its numbers are then the decimals that stand there.
"""

import math
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from divulge.errors import DivulgeError, InputFileError, number_of, printable
from divulge.extras import require
from divulge.files.channels import as_arrow, as_csv, as_json, as_numpy
from divulge.files.formats import CHANNELS, endings
from divulge.files.opening import PathLike, divided, name_of, opened, path_of, replacing
from divulge.files.settings import for_another_table, using
from divulge.files.tables.table import open_table
from divulge.files.tables.values import values_of
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.labels import label_of, text_of
from divulge.model.prior import Prior

_LARGEST_DENSE = 10_000_000
"""Pairs that a dense table may have: 80 MB of doubles; beyond, what was counted is held as a sparse matrix."""


@dataclass(frozen=True)
class Format:
    """A file format: how it is recognized, and how a channel, a prior and records are read from it."""

    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...]
    channel: Callable[[BinaryIO], Channel]
    write: Callable[[Channel, BinaryIO], None]
    prior: Callable[[BinaryIO], Prior]
    records: Callable[[BinaryIO], Any] | None = None


FORMATS: tuple[Format, ...] = (
    Format(CHANNELS["CSV"], (), as_csv.channel, as_csv.write, as_csv.prior, as_csv.records),
    Format(CHANNELS["JSON"], (b"{", b"["), as_json.channel, as_json.write, as_json.prior, as_json.read),
    Format((".npy",), (b"\x93NUMPY",), as_numpy.channel, as_numpy.write_npy, as_numpy.prior),
    Format((".npz",), (b"PK",), as_numpy.channel, as_numpy.write_npz, as_numpy.prior),
    Format(
        CHANNELS["Parquet"],
        (b"PAR1",),
        lambda stream: as_arrow.channel(as_arrow.parquet(stream)),
        as_arrow.write_parquet,
        lambda stream: as_arrow.prior(as_arrow.parquet(stream)),
    ),
    Format(
        CHANNELS["Arrow"],
        (b"ARROW1", b"\xff\xff\xff\xff"),
        lambda stream: as_arrow.channel(as_arrow.arrow(stream)),
        as_arrow.write_arrow,
        lambda stream: as_arrow.prior(as_arrow.arrow(stream)),
    ),
)
"""All file formats; what is not recognized on standard input is CSV, the first."""


def read_channel(
    path: PathLike,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    limit: str | None = None,
) -> Channel:
    """Return the channel in a CSV, JSON, .npy, .npz, Parquet or Arrow file, or on standard input (`-`).

    In CSV, Parquet and Arrow the first column holds the secrets and the header the outcomes. JSON is an object with the
    keys "secrets", "outcomes", "matrix". Fractions such as "3/4" make the channel exact.

    Parameters
    ----------
    path : str or path, or "-" for standard input
    delimiter, decimal, encoding, limit : str, optional
        As for `open_table`.

    Returns
    -------
    Channel
        Of shape (N, M).

    Raises
    ------
    InputFileError
        Naming the file and the place of the fault.

    Examples
    --------
    >>> path = folder / "coin.csv"
    >>> _ = path.write_text("secret,heads,tails\\nfair,1/2,1/2\\nloaded,3/4,1/4\\n")
    >>> read_channel(path)
    exact Channel, 2 secrets x 2 outcomes
            heads  tails
      fair    1/2    1/2
    loaded    3/4    1/4
    """
    with using(delimiter=delimiter, decimal=decimal, encoding=encoding, limits=limit), opened(path) as stream:
        return _format(path, stream).channel(stream)


def write_channel(channel: Channel, path: PathLike, *, force: bool = True) -> None:
    """Write a channel in the format that the suffix of `path` names; the file appears whole or not at all.

    Fractions stay exact in every format. A `.npy` file has no place for labels.

    Parameters
    ----------
    channel : Channel
    path : str or path
        Its suffix: .csv, .json, .npy, .npz, .parquet or .arrow.
    force : bool
        Whether a file of this name is replaced.

    Returns
    -------
    None

    Raises
    ------
    InputFileError
        When the suffix is none of these, the place cannot be written, or the format cannot hold the labels.

    Examples
    --------
    >>> path = folder / "coin.json"
    >>> write_channel(Channel([["1/2", "1/2"]], ["fair"], ["heads", "tails"]), path)
    >>> path.read_text()
    '{"secrets": ["fair"], "outcomes": ["heads", "tails"], "matrix": [["1/2", "1/2"]]}\\n'
    """
    DivulgeError.unless(channel, Channel, "channel", "be a Channel")
    chosen = writable(path)
    with replacing(path, force=force) as stream:
        chosen.write(channel, stream)


def writable(path: PathLike) -> Format:
    """Return the format of a channel file to be written; refuse a name without one and a folder that is not there."""
    chosen = _by_suffix(path)
    if not Path(path).parent.is_dir():
        folder = name_of(Path(path).parent)
        raise InputFileError(f"{name_of(path)}: must be in a folder that exists; there is no {folder!r}.")
    return chosen


def read_prior(
    spec: PathLike,
    channel: Channel | None = None,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    limit: str | None = None,
) -> Prior:
    """Return the prior that `spec` names, in the order of the channel's secrets when a channel is given.

    Parameters
    ----------
    spec : path, "-", "uniform" or "TABLE:COLUMN"
        CSV, Parquet and Arrow files have two columns, secret and probability; JSON is an object from secrets to
        probabilities. "uniform" needs the channel. TABLE:COLUMN counts the values of a column; a secret of the channel
        that never occurs there has probability 0.
    delimiter, decimal, encoding, limit : str, optional
        As for `open_table`.

    Returns
    -------
    Prior
        Of shape (N,).

    Raises
    ------
    InputFileError
        Naming the file and the place of the fault, also when the secrets are not those of the channel.

    Examples
    --------
    >>> read_prior("uniform", Channel([["1/2", "1/2"], ["0", "1"]], ["a", "b"])).to_dict()
    {'a': Fraction(1, 2), 'b': Fraction(1, 2)}
    """
    if spec == "uniform":
        if channel is None:
            hint = "name the secrets in a file, secret,share in each line, or give TABLE:COLUMN."
            raise DivulgeError.of("prior", "come with a channel to be uniform over its secrets", "it", "alone", hint)
        return Prior.uniform(channel.secrets)
    name = path_of(spec)
    table, column = divided(name)
    with using(delimiter=delimiter, decimal=decimal, encoding=encoding, limits=limit):
        if table and not os.path.exists(name):
            return _counted(table, column, channel)
        with opened(spec) as stream:
            prior = _format(spec, stream).prior(stream)
            return prior if channel is None else prior.aligned(channel.secrets, "the channel")


def _counted(table: str, column: str, channel: Channel | None) -> Prior:
    with for_another_table(column):
        counts = {value: count for (value,), count in count_rows(table, column).items()}
    if channel is None or isinstance(channel.secrets, range):
        return Prior.from_counts(dict(sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))))
    known = {text_of(secret): secret for secret in channel.secrets}
    unknown = sum(count for value, count in counts.items() if text_of(value) not in known)
    if unknown:
        shown = ", ".join(map(str, [*list(known)[:6], *["..."][: len(known) > 6]]))
        raise InputFileError(
            f"{name_of(table)}, column {column!r}: must have only secrets of the channel; {number_of(unknown, 'row')} "
            f"with others. Hint: the channel's secrets are {shown}; of a column of numbers a label is 3, not 3.0."
        )
    by_text = {text_of(value): count for value, count in counts.items()}
    return Prior.from_counts([by_text.get(text, 0) for text in known], list(known.values()))


def read_joint(path: PathLike, secret: str, released: str, *, null_as: Hashable = None) -> Joint:
    """Return the empirical joint of two columns of a table: an estimate (plug-in) from its rows, exact as counts.

    The table is whatever `open_table` reads, and is read in batches. Labels come in their order.

    Parameters
    ----------
    path : str or path of a table, or what else `open_table` takes
    secret, released : str
        Names of two columns.
    null_as : label, optional
        What a missing value is called, as a category of its own; without it a missing value is refused.

    Returns
    -------
    Joint
        Of shape (N, M).

    Raises
    ------
    InputFileError
        Naming the file and the column that is missing, or has a missing value.

    Examples
    --------
    >>> path = folder / "people.csv"
    >>> _ = path.write_text("ill,tested\\nyes,pos\\nyes,neg\\nno,neg\\nno,neg\\n")
    >>> read_joint(path, "ill", "tested").posterior("neg").to_dict()
    {'no': Fraction(2, 3), 'yes': Fraction(1, 3)}
    """
    counts = count_rows(path, secret, released, null_as=null_as)
    return Joint.from_counts(dict(counts), *_axes(counts))


def estimated_joint(counts: Mapping[tuple[Hashable, ...], int]) -> Joint:
    """Return the empirical joint of counted pairs in float64, sparse when a dense table would be large."""
    secrets, outcomes = _axes(counts)
    if len(secrets) * len(outcomes) <= _LARGEST_DENSE:
        return Joint.from_counts({pair: float(count) for pair, count in counts.items()}, secrets, outcomes)
    row_of, column_of = ({label: i for i, label in enumerate(labels)} for labels in (secrets, outcomes))
    rows = np.array([row_of[pair[0]] for pair in counts])
    columns = np.array([column_of[pair[1]] for pair in counts])
    weights = np.array(list(counts.values()), dtype=np.float64)
    totals = np.bincount(rows, weights)
    matrix = require("scipy.sparse", "science").coo_array((weights / totals[rows], (rows, columns)))
    return Joint(Prior.from_counts(totals, secrets), Channel(matrix, secrets, outcomes))


def _axes(counts: Mapping[tuple[Hashable, ...], int]) -> tuple[list[Hashable], list[Hashable]]:
    return _ordered({pair[0] for pair in counts}), _ordered({pair[1] for pair in counts})


def _ordered(labels: Iterable[Any]) -> list[Hashable]:
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=str)


def count_rows(path: Any, *columns: str, null_as: Hashable = None) -> Counter[tuple[Hashable, ...]]:
    """Return how often each combination of values occurs in `columns` of a table.

    A missing value is counted as `null_as`, which no value of its column may be, and refused without it.
    """
    source, pyarrow = open_table(path), require("pyarrow", "tables")
    source.require_values(columns)
    names, counts = list(dict.fromkeys(columns)), Counter[tuple[Hashable, ...]]()
    for batch in source.batches(names):
        counted = pyarrow.Table.from_batches([batch]).group_by(names).aggregate([([], "count_all")])
        found = {name: list(map(label_of, values_of(counted.column(name).combine_chunks()))) for name in names}
        times = counted.column("count_all").to_pylist()
        for *values, count in zip(*(found[name] for name in columns), times, strict=True):
            counts[tuple(values)] += count
    name = printable(source.name)
    if not counts:
        raise InputFileError(f"{name}: has no rows.")
    for at, column in enumerate(columns):
        missing = sum(count for values, count in counts.items() if _is_missing(values[at]))
        if missing and null_as is None:
            raise InputFileError(
                f"{name}: must have no missing value; column {column!r} lacks one in {number_of(missing, 'row')}. "
                "Hint: null_as=LABEL (--null-as) makes them a category; for a prior TABLE:COLUMN give them a label in "
                "the table."
            )
        if missing and any(str(values[at]) == str(null_as) for values in counts):
            raise DivulgeError.of("null_as", f"be another label than the values of column {column!r}", "it",
                                  "one of them", "a missing value and it would be one.")  # fmt: skip
    return counts if null_as is None else _filled(counts, null_as)


def _filled(counts: Counter[tuple[Hashable, ...]], null_as: Hashable) -> Counter[tuple[Hashable, ...]]:
    """Return the counts with missing values under their label."""
    found = Counter[tuple[Hashable, ...]]()
    for values, count in counts.items():
        found[tuple(null_as if _is_missing(value) else value for value in values)] += count
    return found


def column_names(path: Any) -> list[str]:
    """Return the names of the columns of a table, in order."""
    return list(open_table(path).schema.names)


def _is_missing(value: Hashable) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def read_records(path: PathLike) -> Any:
    """Return the value in a JSON file, or a list with a dictionary for each line of a CSV file."""
    with opened(path) as stream:
        reader = _format(path, stream).records
        if reader is None:
            raise InputFileError(f"{name_of(path)}: must be a JSON or CSV file.")
        return reader(stream)


def _format(path: PathLike, stream: BinaryIO) -> Format:
    if path != "-":
        return _by_suffix(path)
    head = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    stream.seek(0)
    return next((known for known in FORMATS if known.magic and head.startswith(known.magic)), FORMATS[0])


def _by_suffix(path: PathLike) -> Format:
    for known in FORMATS:
        if Path(path_of(path)).suffix.lower() in known.suffixes:
            return known
    raise InputFileError(f"{name_of(path)}: must have a name that ends in {', '.join(endings(CHANNELS))}.")

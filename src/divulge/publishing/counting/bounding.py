"""Which rows of a person count, in SQL: the first of each in the order of a hash of their own values.

No other row takes part, so that one person changes no more than their own rows.
"""

from collections.abc import Mapping, Sequence

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.tables.values import type_of_values
from divulge.publishing.counting.groups import OTHER, Categories
from divulge.publishing.counting.tables import PLACE, TABLE, Table
from divulge.publishing.queries import Unit


def cell(table: Table, name: str, cells: Categories) -> str:
    """Return SQL of the label of the cell that a value counts in; values without a cell keep their text.

    Values of one cell are one group of a person: what counts people, or groups of a person, goes by cells.
    """
    types = require("pyarrow.types", "tables")
    kind = type_of_values(table.source.schema.field(name).type)
    alike = (types.is_string, types.is_large_string, types.is_string_view, types.is_integer, types.is_date32)
    if not any(test(kind) for test in alike):
        raise DivulgeError.of(
            "by", "be columns of text, whole numbers or dates where people or their groups are counted", repr(name),
            "of another type", "write its values as text first.",
        )  # fmt: skip
    place, labels = table.quote(name), tuple(cells)
    text = f"CAST({place} AS {table.text})"
    missing = "NULL" if cells.missing is None else text_literal(table, labels[cells.missing])
    listed = ", ".join(text_literal(table, label) for label in labels) or missing
    other = text if cells.other is None else text_literal(table, OTHER)
    return f"CASE WHEN {place} IS NULL THEN {missing} WHEN {text} IN ({listed}) THEN {text} ELSE {other} END"


def text_literal(table: Table, value: str) -> str:
    """Return SQL of a text; by its bytes in Spark, where settings of a session tell what a backslash is."""
    if table.text == "string":
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    return "'" + value.replace("'", "''") + "'"


def bounded(table: Table, read: Sequence[str], unit: Unit, groups: Mapping[str, str] | None = None) -> str:
    """Return the table, or with persons the first rows of each in the order of a hash of their own values.

    `groups` has SQL of the cells of columns that group, where a person's groups are bounded. Rows that name nobody are
    left out.
    """
    if unit.person is None:
        return TABLE
    who = table.quote(unit.person)
    texts = [f"coalesce({table.text_of(name)}, '')" for name in (unit.person, *read)]
    names = ", ".join(table.quote(name) for name in (unit.person, *read))
    bits = [place for name in dict.fromkeys((unit.person, *read)) for place in table.bits(name)]
    order = _digest(table, texts)
    rows, kept = TABLE, f"{who} IS NOT NULL"
    if groups and (unit.groups is not None or unit.per_group is not None):
        cells = ", ".join(groups.values())
        hashed = [f"coalesce({sql}, '')" for sql in groups.values()]
        drawn = _digest(table, [table.text_of(unit.person), *hashed])
        rows = (
            f"(SELECT {', '.join([names, *bits])}, "
            f"dense_rank() OVER (PARTITION BY {who} ORDER BY {drawn}, {cells}) AS divulge_group, "
            f"row_number() OVER (PARTITION BY {who}, {cells} ORDER BY {order}) AS divulge_in_group "
            f"FROM {TABLE} WHERE {kept}) AS grouped"
        )
        most = ((unit.groups, "divulge_group"), (unit.per_group, "divulge_in_group"))
        kept = " AND ".join(f"{place} <= {bound}" for bound, place in most if bound is not None)
    ranked = (
        f"SELECT {names}, row_number() OVER (PARTITION BY {who} ORDER BY {order}) AS {PLACE} FROM {rows} WHERE {kept}"
    )
    return f"(SELECT * FROM ({ranked}) AS ranked WHERE {PLACE} <= {unit.at_most}) AS bounded"


def _digest(table: Table, texts: Sequence[str]) -> str:
    """Return SQL of the hash of texts, by whose order rows are taken; in DuckDB of its first 60 bits, as a number.

    That is the same order but for chances of 2^-60, in a third of the memory: a number takes 8 bytes, a text 48.
    """
    found = f"md5(concat_ws('|', {', '.join(texts)}))"
    return f"CAST('0x' || left({found}, 15) AS BIGINT)" if table.text == "varchar" else found

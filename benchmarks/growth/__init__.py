"""What benchmarks/all.py times: for each kind of work its sizes, ours, peers and limits, and what it must reach.

A maker gets a size and returns what is timed; what it prepares is not. A peer that is missing raises ImportError or
LookupError, and the table says so. Sizes cover up to three decades.
"""

from growth import accounting, columns, leakage, programs, reports, telling, whole_tables

LIMITS = frozenset({
    "one read of the matrix", "a logarithm of each entry", "one keystream", "python -c pass", "one copy of the file",
    "read, drawn, written", "one grouping by PyArrow",
})  # fmt: skip
"""Divisors that are a part of the work itself; the others are peers."""

WORK = tuple(
    work for module in (leakage, accounting, columns, programs, reports, whole_tables, telling) for work in module.WORK
)

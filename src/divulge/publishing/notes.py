"""What a reader of published statistics has to know, as data: a sentence by name, and what fills its blanks.

A receipt holds the notes, so that a statement in any language is made from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SENTENCES: dict[str, str] = {
    "note_rows": "Every row is taken to be another person's.",
    "note_person":
        "All rows of a person (column {columns}) are protected together. Of each person at most so many rows "
        "count: {rows}. Which ones depends on a hash of the person's own rows and on nobody else's, and the "
        "others are left out.",
    "note_replaced":
        "Tables that must look alike differ in one person who is replaced by another one. How many there are is "
        "public.",
    "note_added":
        "Tables that must look alike differ in one person who is there or not. How many there are is protected too.",
    "note_from_data":
        "The values that group are those that occur in the table: which values occur is NOT protected by any "
        "guarantee here.",
    "note_single":
        "Every row of the table has one and the same value of {columns}. The list of values that group is published "
        "and not protected: it tells this of everybody, whatever is drawn.",
    "note_threshold":
        "The values were not listed beforehand: those with a noisy count of {least} or more are published. That a "
        "combination is missing does not mean that nobody has it.",
    "note_keys":
        "Values of {columns} were not listed beforehand: those with a noisy count of {least} or more are named, and "
        "all others are counted together. Naming them takes a part of what is promised. That a value is not named does "
        "not mean that nobody has it.",
    "note_chosen":
        "The bounds of {columns} were not known beforehand: they were chosen from the table, by counts of the numbers "
        "between 0, 1, 2, 5, 10 and so on, with noise. Choosing them takes a part of what is promised.",
    "note_fill":
        "A row without a number of {columns} counts as if it had {value}, which is cut to the bounds like any other "
        "number: sums, means, variances and quantiles are about all rows.",
    "note_listed":
        "The values that group were listed beforehand; combinations that nobody has are there as well.",
    "note_taken":
        "The values of {columns} were taken from another publication, which took them from its table: which values "
        "these are is NOT protected by any guarantee here.",
    "note_bought":
        "The values of {columns} were named with noise by another publication. It is paid for there, with an epsilon "
        "of {epsilon} and a delta of {delta}; what both tell about a person adds up.",
    "note_clamped":
        "Values of {columns} beyond the bounds count as the nearest bound, and all are rounded to whole steps; "
        "statistics and intervals are about the values so treated. Whether any were is not told.",
    "note_groups": "That every listed group has somebody in it is taken to be public.",
    "note_left_out":
        "Numbers and intervals are about the rows that count. Rows that were left out are in neither, nor are those "
        "that name nobody. A count of rows has a person with several rows that count several times; a count of people "
        "has a person once in each group.",
    "note_groups_per_person":
        "Rows of a person count in so many groups at most: {most}. In which ones depends on a hash of the person's own "
        "groups.",
    "note_rows_per_group": "So many rows of a person count in one group at most: {most}.",
    "note_other":
        "Values of {columns} that are not listed are counted together as {label}, which is there whether anybody has "
        "one or not.",
    "note_no_answer":
        "Missing values of {columns} are counted as {label}, which is there whether any is missing or not.",
    "note_no_other":
        "The keeper said that nobody has a value that is not listed, nor a missing one; a row with one would be left "
        "out.",
    "note_cut":
        "Numbers of {columns} were cut to {low} to {high} and rounded to steps of {step} before anything was added up: "
        "one beyond these ends counts as the nearest end. How many were is not told.",
    "note_cut_told":
        "Numbers of {columns} were cut to {low} to {high} and rounded to steps of {step} before anything was added up: "
        "one beyond these ends counts as the nearest end. How many lie beyond is published, with noise of its own.",
    "note_missing":
        "A row without a number is left out of sums, means, variances and quantiles. How many are is not told.",
    "note_missing_told":
        "A row without a number is left out of sums, means, variances and quantiles. How many rows have one is "
        "published, with noise of its own.",
    "note_share": "A share is of all rows of its group; one without an answer counts as one with another answer.",
    "note_blank":
        "Where an interval would be no narrower than what was known before, there is no number but “no information”. "
        "A group without rows, or with few, looks like that.",
    "note_non_negative": "Negative counts were raised to 0, which makes small counts too large on average.",
    "note_consistent": "Counts were moved, by least squares, so that tables with common columns have common totals.",
    "note_whole": "Counts were then rounded to whole numbers.",
    "note_independent":
        "If the other records are unknown and drawn independently, the worst outcome tells as much as if they "
        "were known: it lies beyond all that the others can add up to. It is only less probable.",
    "note_interval":
        "How wide the intervals are was asked for: no number is further off than {reach}, all of them together with "
        "the probability of the intervals. The promise is what follows from that: {total} (nats).",
    "note_interval_rows":
        "What is divided by a number of rows, as means are, is that close where these are {rows} or more; with fewer, "
        "its interval is wider.",
    "note_interval_ranks":
        "How wide the intervals of quantiles are was asked for in ranks: between either end and the true quantile lie "
        "no more than {ranks} rows, all of them together with the probability of the intervals. The promise is what "
        "follows from what was asked for: {total} (nats).",
    "note_accounts":
        "Each person (column {columns}) has an account of their own, for somebody who is there or not: all releases "
        "that are on it keep {goal} together (nats), whichever were chosen on the way. Numbers and intervals are about "
        "the people whose account had room for this release. Who was left out, and whether anybody was, is not told.",
    "note_together":
        "The ledger has {releases} releases about the records of this source, this one included. What they tell "
        "about one record adds up to {total} (nats).",
    "note_known_alone":
        "Of what releases add up to, pml and pmc are about an answer whose frequencies one of them takes to be known, "
        "for somebody who holds these for true. They bound nothing else of a record.",
    "note_together_void":
        "The ledger has {releases} releases about the records of this source, this one included. No bound at "
        "every outcome holds for what they tell together.",
    "note_untouched":
        "These columns went out as they are before, with this table or another one of the same people: {columns}. "
        "Whoever has them knows them, whatever is promised here.",
}  # fmt: skip
"""Name -> English sentence."""


@dataclass(frozen=True)
class Note:
    """One sentence by its name; `values` are numbers, text, or lists of names of columns."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """The sentence in English.

        >>> Note("note_threshold", {"least": 1200}).text[39:85]
        'those with a noisy count of 1,200 or more are '
        """
        return SENTENCES[self.name].format(**{name: _english(value) for name, value in self.values.items()})

    def __hash__(self) -> int:
        return hash((self.name, str(self.values)))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"name": self.name, **self.values}

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Note":
        """Return the note that JSON holds; a name or blanks that nobody knows are a KeyError."""
        found = cls(given["name"], {name: value for name, value in given.items() if name != "name"})
        _ = found.text  # looks up the sentence and fills every blank
        return found


def _english(value: Any) -> str:
    if isinstance(value, (int, float)):
        return f"{value:,.15g}"
    return ", ".join(map(repr, value)) if isinstance(value, (list, tuple)) else str(value)

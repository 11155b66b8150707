"""The sentences of the statement about a coarsened table in English, by name; translated with all others."""

from divulge.tables.notes import CHOSEN, FURTHER, HOLD, NOT_DP

GROUPS: dict[str, str] = {
    "grp_title": "What the coarsened table of {columns} tells about people in it",
    "grp_kind":
        "Columns that people may know were made coarser, so that rows look alike. Nothing was changed by chance: what "
        "a group has in common is true of everybody in it.",
    "grp_rows": "The promise: whoever knows {known} of a person finds at least {k} rows that fit.",
    "grp_people":
        "The promise: whoever knows {known} of a person finds at least {k} rows that fit, of {people} people or more.",
    "q_grp_levels": "What was made coarser?",
    "t_column": "Column",
    "t_values": "Its values",
    "grp_fine": "as they were",
    "grp_level": "level {level} of {height}",
    "grp_range": "from level {finest} to level {level} of {height}, by group",
    "grp_local":
        "How coarse a column is differs from group to group: a value, and a coarser one that contains it, may both "
        "occur. The groups were split step by step as long as what is promised was kept (Mondrian); finer ones that "
        "keep it may exist.",
    "grp_any": "left out: every value is *",
    "grp_suppressed": "Besides, {rows} rows have * in all of these columns; they are a group like any other.",
    "q_grp_secret": "What would be learned of {secret}?",
    "grp_share": "In no group do more than {share} of {base} rows have the same answer.",
    "grp_alike":
        "There are groups in which all rows have the same answer: whoever knows that a person is in one knows theirs.",
    "grp_lift": "No answer is more than {times} times as frequent in a group as in the whole table.",
    "grp_least": "No answer is less than {share} times as frequent in a group as in the whole table.",
    "grp_gone":
        "There are groups in which an answer does not occur: of their people it is known that it is not theirs.",
    "grp_beside":
        "Somebody who also knows one other person of the group, with another answer: at most {share} of {base}.",
    "q_grp_holds": "Against whom does this hold?",
    "grp_hold": HOLD,
    "grp_further": FURTHER,
    "grp_before":
        "Other releases of the same people are on record: {releases}. Whoever has them as well can learn more than is "
        "said here; of two tables of groups that share a person nothing is promised together.",
    "grp_not_dp": NOT_DP,
    "grp_chosen": CHOSEN,
    "grp_row":
        "What is said of the sensitive columns is said of a row, not of all rows of a person, who has up to {rows}.",
    "grp_public":
        "Yes. This page, the codebook, the receipt and the table are made for everybody. The keeper’s record holds "
        "groups of the table as it was, and must stay with the keeper.",
    "grp_asked": "Asked for: {guarantees}. Chosen for the least loss: {loss}.",
    "grp_asked_local": "Asked for: {guarantees}. Split for a small loss, not proved to be the least: {loss}.",
    "book_groups": "{column} is a column that people may know. Its values stand at level {level} of {height}:",
    "book_groups_range":
        "{column} is a column that people may know. Its values stand at levels from {finest} to {level} of {height}, "
        "by group:",
    "book_groups_secret": "{column} is sensitive. Its values are as they were:",
    "book_groups_use":
        "Rows with the same values in the columns that people may know are a group. Counts of this table are true "
        "counts of coarser values; the order of its rows says nothing.",
}  # fmt: skip
"""Name -> English sentence, with names in braces for what is filled in."""

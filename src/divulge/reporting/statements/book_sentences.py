"""The sentences of the codebook in English, by name; translated with all others."""

BOOK: dict[str, str] = {
    "book_title": "Codebook of {table}",
    "book_table": "the published table",
    "book_about": "Answers about {columns}, changed by chance. What an entry means:",
    "book_nothing": "says nothing about the true answer.",
    "book_raises": "makes likelier than before: {labels}",
    "book_raises_most": "most: {labels}",
    "book_rules_out": "rules out: {labels}",
    "book_matrix": "How often, in percent, each entry (column) is published where the true answer is the row:",
    "book_true": "true answer",
    "book_matrix_elsewhere":
        "How often each entry is published for each true answer stands in the codebook that programs read "
        "(codebook.json).",
    "book_estimate": "How frequent each true answer was can be estimated from all rows:",
    "book_estimate_no": "How frequent each true answer was cannot be estimated from this column.",
    "book_formula":
        "shares of true answers = shares of entries, times the estimator, which is a right inverse of the channel",
    "book_others": "Other columns",
    "book_unaltered": "Not changed: {columns}.",
    "book_use": "How to use it",
    "book_use_row":
        "An entry in this column was drawn by chance from its row of the channel: it is often not the true answer. Do "
        "not use a single row as a fact about a person.",
    "book_use_counts": "Counts of this column are not counts of true answers. Estimate these from all rows, as above.",
    "book_use_groups":
        "Groups that are formed by this column, and averages by it, are blurred: estimate with the channel, by group.",
    "book_missing": "{label} stands for a missing answer.",
    "book_reads": "matrix[i][j] is the chance that entry j is published where the true answer is i",
}  # fmt: skip
"""Name -> English sentence."""

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
    "book_publisher": "Published by",
    "book_source": "Source",
    "book_date": "Date",
    "book_how_to_cite": "How to cite",
    "book_cite":
        "{table}, statistics of {source} with random noise ({promise}, in nats), {date}. Made with Divulge {version}.",
    "book_columns": "Columns",
    "book_col_statistic":
        "what the number is: count (of rows), people (each counted once), sum, mean, variance, proportion, "
        "quantile, numbers (how many rows have a number, of which a mean is), or cut (how many numbers lay beyond the "
        "bounds).",
    "book_col_column": "the column of the source that it is about; empty for counts.",
    "book_col_at_proportion": "Of a share: the value that is counted.",
    "book_col_at_quantile": "Of a quantile: which share of the rows has no larger value.",
    "book_col_group": "the group that the number is about; empty where it is about all groups of this column together.",
    "book_col_value": "the number, with noise.",
    "book_col_low": "the lower end of its interval; in {level} of 1,000 such releases all intervals hold at once.",
    "book_col_high": "the upper end of its interval.",
    "book_col_standard_error":
        "about how far off the noise alone is, as a standard deviation; where tables were made to agree, after that, "
        "but before negative numbers were raised or any rounded. Empty for quantiles.",
    "book_col_note": "“no information” where an interval would be no narrower than what was known before; else empty.",
    "book_values": "Values: {labels}.",
    "book_other": "All values that are not listed: {labels}.",
    "book_missing_values": "Missing values: {labels}.",
}  # fmt: skip
"""Name -> English sentence."""

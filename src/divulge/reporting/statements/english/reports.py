"""The sentences about reports of a frequency protocol in English, by name; translated with all others."""

REPORTS: dict[str, str] = {
    "reports_lead":
        "No published entry is an answer. Each is a report that chance drew on purpose: out of 1,000 reports, {own} "
        "support the true answer of their person, and {other} support any one answer that is not theirs.",
    "reports_words":
        "On this page, what a person answered is called the true answer. What the published table has in its place is "
        "called a report.",
    "reports_occur":
        "None of them occurs. A report is a number that stands for many answers at once; behind each there can be "
        "every one of {count} answers, which the receipt lists.",
    "reports_occur_any":
        "None of them occurs. A report is a bucket and the seed of a hash; behind each there can be any text. There is "
        "no list of answers.",
    "reports_occur_prefix":
        "None of them occurs. A report is a bucket and the seed of a hash of an answer's beginning: how long a "
        "beginning, of {length} bytes at most, was drawn by chance, and the report tells of nothing behind it. There "
        "is no list of answers; behind each report there can be any text.",
    "list_any": "Any text can be an answer: no list of answers was taken from the table.",
    "reports_mean":
        "It is a hint about many answers at once, and no proof: the answers that a report supports become likelier "
        "than they were, all others less likely, and none is ruled out. Which ones it supports can be worked out by "
        "everybody.",
    "reports_rise_note":
        "For whoever took a true answer to be as likely as the first column says, whatever the answer is. Rounded up. "
        "The odds change by {times} times at most.",
    "reports_source_up": "By the public source that was assumed, no answer becomes more than {times} times as likely.",
    "reports_source_down": "By that source, no answer becomes less likely by a factor of more than {times}.",
    "reports_candidates": "That is for {count} answers that are asked for at once.",
    "reports_worried":
        "Nobody can tell from this column what you answered. The report about you was drawn by chance, and people with "
        "every other true answer can have the same. Whoever sees it may change their odds about you by {times} times, "
        "and not by more.",
    "reports_worried_useless":
        "That a report can make somebody almost sure of your answer, though never quite: chance drew it. Ask the "
        "publisher what that means for you.",
    "reports_technical":
        "Each value was replaced by a report of the protocol {protocol}, drawn with exact arithmetic and cryptographic "
        "randomness. A report supports a set of answers, and is at most {times} times as likely for an answer in its "
        "set as for another.",
    "reports_hash": "Text and values were hashed, with a seed drawn for each report: {family}.",
    "reports_levels":
        "Each row tells of a beginning of one length, which was drawn from {count}, and the whole promise is spent on "
        "it: one row in {count}, or more where an answer is short, tells of all of an answer.",
    "reports_bits":
        "On average a report tells at most {bits} bits about its answer, and makes guessing it at most {capacity} "
        "times as likely to succeed, whatever was known before.",
    "reports_bits_source": "Under the public source that was assumed it tells at most {bits} bits on average.",
    "book_reports":
        "Reports about answers to {columns}, drawn by chance with the protocol {protocol}. No entry is an answer.",
    "book_report_together": "An answer is the combination of all of these columns, as a JSON list of their texts.",
    "book_report_columns": "The columns of a report: {columns}.",
    "book_report_formula":
        "share of a true answer = (share of reports that support it - q) / (p - q), with p and q as in the codebook "
        "that programs read",
    "book_report_formula_prefix":
        "share of a true answer of fewer than {length} bytes = (share that support it - q) / (p - q), among the "
        "reports whose length is greater than that of the answer, with p and q as in the codebook that programs read",
    "book_report_use":
        "No entry is a fact about a person, and no count of entries is a count of answers: estimate from all reports.",
    "book_report_candidates":
        "There is no list of answers: estimates are asked for candidates, in a file with one a line.",
    "book_report_prefixes":
        "There is no list of answers: frequent ones are found by their beginnings, or estimates are asked for "
        "candidates, in a file with one a line. The last column has the length of the beginning in bytes.",
}  # fmt: skip
"""Name -> English sentence."""

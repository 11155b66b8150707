"""The sentences of the statement about published statistics in English, by name; translated with all others."""

STATISTICS: dict[str, str] = {
    "stat_title": "What the published statistics of {columns} tell about a person",
    "stat_title_rows": "What the published number of rows tells about a person",
    "stat_noisy":
        "Every published number is the true one plus random noise. None of them is exact, and that is on purpose.",
    "stat_noisy_ranks":
        "Every published number is the true one plus random noise; a quantile is a random choice near the true one. "
        "None of them is exact, and that is on purpose.",
    "stat_contents": "Behind them are {kinds} of {columns}.",
    "stat_contents_rows": "Behind them are {kinds} of the whole source.",
    "kind_rows": "counts",
    "kind_values": "sums",
    "kind_squares": "sums of squares",
    "kind_ranks": "quantiles",
    "stat_pml_any":
        "The promise: take one person, and any question about them of which every answer is known before to have a "
        "chance of {least} in {base} or more. Whatever is published, no answer becomes more than {times} times as "
        "likely to anybody: one that had {least} in {base} before has at most {after} in {base} after.",
    "stat_pml_some":
        "The promise: take one person, and their {secret}, of which every answer is known before to have a chance of "
        "{least} in {base} or more. Whatever is published, no answer becomes more than {times} times as likely to "
        "anybody: one that had {least} in {base} before has at most {after} in {base} after.",
    "stat_pmc": "No answer becomes less likely by a factor of more than {times}.",
    "stat_dp":
        "The promise: had any one person answered something else, every published table would have been as likely, "
        "but for a factor of at most {times}.",
    "stat_dp_added":
        "The promise: had any one person not been in the source, every published table would have been as likely, "
        "but for a factor of at most {times}.",
    "stat_adp":
        "The promise: had any one person answered something else, every set of published tables would have been as "
        "likely, but for a factor of at most {times} and a slack of at most {slack}.",
    "stat_adp_added":
        "The promise: had any one person not been in the source, every set of published tables would have been as "
        "likely, but for a factor of at most {times} and a slack of at most {slack}.",
    "stat_million":
        "The promise: but for tables that come out once in a million times, the published one would have been as "
        "likely had any one person answered something else, up to a factor of at most {times}.",
    "stat_million_added":
        "The promise: but for tables that come out once in a million times, the published one would have been as "
        "likely had any one person not been in the source, up to a factor of at most {times}.",
    "stat_void": "The promise is so weak that it is of no use to anybody: the factor that it allows is {times}.",
    "stat_knows": "This holds against somebody who knows everything else in the source.",
    "q_stat_beliefs": "How much likelier can an answer about one person become?",
    "t_chance": "Before, of 1,000",
    "t_at_most": "After, at most, of 1,000",
    "t_at_least": "After, at least, of 1,000",
    "stat_beliefs":
        "For everybody, whatever they knew. The rarer an answer is, the larger the factor by which its chance may "
        "rise; the odds never change by more than {times} times.",
    "stat_beliefs_void": "No useful factor bounds what every possible table tells about one person.",
    "q_stat_read": "How far off are the numbers?",
    "stat_level": "In {level} of 1,000 such releases all intervals, from low to high, hold the true numbers at once.",
    "stat_width":
        "A count is off by {width} at most, in {level} of 1,000 such releases: up to there an interval can hold 0, "
        "and does not show that there is anybody in a cell.",
    "stat_odd": "A number can be below 0, or a total unlike the sum of its parts: that is the noise.",
    "stat_sample":
        "The noise says nothing about how the source came to be: that it is a sample, or that answers are wrong.",
    "stat_number": "This page does not tell; the table does, between low and high.",
    "stat_public":
        "Yes. This page, the receipt and the table are made for everybody. The keeper’s record holds the exact "
        "numbers, and must stay with the keeper.",
    "stat_risk":
        "The noise treats everybody alike. The chance of a rare answer may rise by a larger factor than that of a "
        "common one, and people with rare answers have the most to lose from being believed to have them.",
    "stat_second":
        "It weakens the promise. After a second table like this one about the same people, the odds may have changed "
        "by {twice} times in place of {times} times.",
    "stat_second_void": "It adds to this one. No useful factor bounds what every outcome of both tells.",
    "stat_worried":
        "Had you answered something else, or someone else stood in your place, every published table would have been "
        "as likely, but for a factor of at most {times}. Nothing in it is about you alone.",
    "stat_worried_void":
        "That no useful factor bounds what every possible table would tell about you. Ask the publisher what that "
        "means.",
    "stat_rest": "What this rests on",
    "stat_technical": "Promised, in natural logarithms and rounded up: {numbers}. The noise was drawn by OpenDP.",
    "t_numbers": "Numbers",
    "t_by": "By",
    "t_cells": "How many",
    "t_noise": "Noise",
    "what_rows": "rows",
    "what_share": "rows with one value of {column}",
    "what_values": "sum of {column}",
    "what_squares": "squares of {column}",
    "what_ranks": "quantile {at} of {column}",
    "law_none": "no noise: public",
    "law_laplace": "discrete Laplace of scale {scale}",
    "law_gaussian": "discrete Gaussian of sigma {scale}",
    "law_laplace_steps": "discrete Laplace of scale {scale}, in steps of {step}",
    "law_gaussian_steps": "discrete Gaussian of sigma {scale}, in steps of {step}",
    "law_laplace_from": "discrete Laplace of scale {scale}; published from {threshold} on",
    "law_laplace_ranks": "exponential noise on scores of ranks, scale {scale}",
    "law_gaussian_ranks": "Gumbel noise on scores of ranks, scale {scale}",
}  # fmt: skip
"""Name -> English sentence, with names in braces for what is filled in."""

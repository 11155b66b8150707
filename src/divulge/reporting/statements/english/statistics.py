"""The sentences of the statement about published statistics in English, by name; translated with all others."""

STATISTICS: dict[str, str] = {
    "stat_title": "What the published statistics of {columns} tell about a person",
    "stat_title_rows": "What the published number of rows tells about a person",
    "stat_noisy":
        "Every published number has random noise in it. One may happen to be exact, but nobody can tell which: that is "
        "on purpose.",
    "stat_noisy_some":
        "The published numbers have random noise in them, but for those that are public anyhow. One may happen to be "
        "exact, but nobody can tell which: that is on purpose.",
    "stat_noisy_ranks":
        "A quantile was chosen at random among all values between its bounds: values near the true one were likelier "
        "to be chosen than others.",
    "stat_alone":
        "This table alone changes odds by {alone} times at most. With the releases before it about the same people, "
        "{releases} in all: by {times} times.",
    "stat_alone_void":
        "This table alone changes odds by {alone} times at most. With the releases before it about the same people, "
        "{releases} in all, no useful factor bounds what they tell.",
    "stat_list":
        "The list of groups is not covered by the promise: it was taken from the table. Somebody who knows everything "
        "else in the source learns from it whether somebody has a value that nobody else has.",
    "stat_list_taken":
        "The list of groups is not covered by the promise: another publication took it from its table. Somebody who "
        "knows everything else in that table learns from it whether somebody has a value that nobody else has.",
    "stat_contents": "Behind them are {kinds} of {columns}.",
    "stat_contents_rows": "Behind them are {kinds} of the whole source.",
    "kind_rows": "counts of rows",
    "kind_people": "counts of people",
    "kind_values": "sums",
    "kind_squares": "sums of squares",
    "kind_ranks": "quantiles",
    "kind_cut": "counts of numbers that were cut",
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
    "stat_beliefs_list":
        "For everybody, but for what the list of groups shows, which the promise does not cover. The odds otherwise "
        "never change by more than {times} times.",
    "t_usual": "After, in 999 of 1,000 tables at most",
    "t_alarms": "True at an alarm, at most, of 1,000",
    "stat_beliefs_usual":
        "There are tables that tell more; one in 1,000 at most tells more than the second column says. The third one "
        "is how often an alarm of somebody who looks at the table is true, if they raise a false one for 10 of 1,000. "
        "Of two answers that are equally likely before, they name the right one for at most {right} of 1,000.",
    "stat_beliefs_but_list": "What the list of groups shows comes on top: the promise does not cover it.",
    "stat_beliefs_void": "No useful factor bounds what every possible table tells about one person.",
    "q_stat_use": "May I add, compare, and take a 0 for nobody?",
    "q_stat_read": "How far off are the numbers?",
    "stat_level": "In {level} of 1,000 such releases all intervals, from low to high, hold at once.",
    "stat_level_rows":
        "They hold the numbers of the whole source.",
    "stat_level_persons":
        "They hold the numbers of the rows that count, at most {rows} of each person, and not those of all rows: what "
        "was left out is in no interval.",
    "stat_level_people":
        "A count of people has everybody with a row that counts there, each once: somebody with rows in two groups is "
        "in both, so that groups may not be added up to a number of people.",
    "stat_level_cut": "Sums, means, variances and quantiles are those of numbers cut to their bounds, as below.",
    "stat_width":
        "A count is off by {width} at most, in {level} of 1,000 such releases. So the interval of a group of up to "
        "{twice} can hold 0: it does not show that there is anybody.",
    "stat_width_moved":
        "Before counts were moved to agree, one was off by {width} at most, in {level} of 1,000 such releases. So the "
        "interval of a group of up to {twice} can hold 0: it does not show that there is anybody. Intervals are those "
        "of before, made longer where a moved count lies outside.",
    "stat_width_none":
        "No: no count with noise was published. That a group stands in the table does not show that there is anybody.",
    "stat_width_from":
        "A count is off by {width} at most, in {level} of 1,000 such releases. A group is there only if its count with "
        "noise is {least} or more: a much smaller group is rarely seen, and that one is missing says nothing.",
    "stat_below": "A count or a sum can be below 0, where the true one is small: that is the noise.",
    "stat_not_below": "No count is below 0: a count of 0 may have been a negative one before, or a small one.",
    "stat_totals": "A total can differ from the sum of its parts: each has noise of its own.",
    "stat_totals_agree":
        "Counts of rows in tables with common columns add up to the same totals: they were moved for that.",
    "stat_add":
        "Cells of one table of rows, or of sums, may be added up: low ends add to a low end, high ends to a high end. "
        "The standard error of a sum of four cells is twice that of one.",
    "stat_add_consistent":
        "Cells of one table of rows, or of sums, may be added up: low ends add to a low end, high ends to a high end. "
        "The standard error of a sum of cells does not follow from theirs, as counts were moved together; that of a "
        "total is in its own table.",
    "stat_add_non_negative":
        "Cells of one table of rows, or of sums, may be added up: low ends add to a low end, high ends to a high end. "
        "Sums of many small counts are too large on average, as negative ones were raised to 0.",
    "stat_add_shown":
        "Groups that are not there are in no sum of those that are.",
    "stat_zero_not":
        "A mean, variance, share or quantile of 0 has noise in it like any other, and does not mean that the true one "
        "is 0.",
    "stat_level_none":
        "Quantiles were asked for without intervals: how far off they are is not told. A group of nobody has one too, "
        "which chance chose between the bounds, so that none of them shows that there is anybody.",
    "stat_compare_none": "Whether two groups differ cannot be said: there are no intervals.",
    "stat_add_not": "Means, variances, shares and quantiles of groups cannot be added up, nor averaged without counts.",
    "stat_compare":
        "As surely as the intervals hold, two groups differ where theirs do not overlap; elsewhere nothing can be "
        "said.",
    "stat_zero": "A 0 does not mean that nobody is there, nor another number that somebody is.",
    "stat_sample":
        "The noise says nothing about how the source came to be: that it is a sample, or that answers are wrong.",
    "stat_number": "This page does not tell; the table does, between low and high.",
    "stat_number_rows":
        "Neither this page nor the table tells: the table counts rows, and a person can have several. A count of rows "
        "is no number of people.",
    "stat_number_none": "Neither this page nor the table tells: no count was published.",
    "stat_public":
        "Yes. This page, the codebook, the receipt and the table are made for everybody. The keeper’s record holds the "
        "exact numbers, and must stay with the keeper.",
    "stat_risk":
        "The noise treats everybody alike. The chance of a rare answer may rise by a larger factor than that of a "
        "common one, and people with rare answers have the most to lose from being believed to have them.",
    "stat_second":
        "It weakens the promise. After a second table like this one about the same people, the odds may have changed "
        "by {twice} times in place of {times} times.",
    "stat_second_usual":
        "It weakens the promise. After a second table like this one about the same people, what had a chance of 10 in "
        "1,000 has one of at most {twice} in 1,000, in 999 of 1,000 such pairs of tables; after this one it is {after} "
        "in 1,000.",
    "stat_second_void": "It adds to this one. No useful factor bounds what every outcome of both tells.",
    "stat_worried":
        "Had you answered something else, or someone else stood in your place, every published table would have been "
        "as likely, but for a factor of at most {times}. Even where you are the only one in a group, the noise hides "
        "up to this factor whether you are.",
    "stat_worried_usual":
        "Whatever somebody took to have a chance of 10 in 1,000 about you has one of at most {after} in 1,000 for "
        "anybody who sees the table, in 999 of 1,000 tables. Even where you are the only one in a group, that holds.",
    "stat_worried_void":
        "That no useful factor bounds what every possible table would tell about you. Ask the publisher what that "
        "means.",
    "stat_rest": "What this rests on",
    "stat_technical":
        "Promised, in natural logarithms and rounded up: {numbers}. Noise was drawn exactly: choices of quantiles by "
        "Divulge, all else by OpenDP.",
    "stat_level_at": "{level} at {at}",
    "t_numbers": "Numbers",
    "t_by": "By",
    "t_cells": "How many",
    "t_noise": "Noise",
    "what_rows": "rows",
    "what_people": "people, each once",
    "what_cut": "numbers of {column} beyond the bounds",
    "what_bins": "numbers of {column} between 1, 2, 5, 10 and so on, for its bounds",
    "what_keys": "which values {column} has",
    "what_share": "rows with one value of {column}",
    "what_numbers": "rows with a number in {column}",
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

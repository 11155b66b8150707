"""The sentences of the report on what outcomes reveal in English, by name; translated with all others."""

from divulge.releasing.planning.assumed import SOURCES

LEAKS: dict[str, str] = {
    "r_title": "What {about} reveals",
    "r_kind": "Privacy report",
    "r_contents": "Contents",
    "r_skip": "Skip to the summary",
    "r_wide": "On a narrow screen the map goes on to the right.",
    "r_mechanism": "a mechanism",
    "r_about_in": "{columns} in {table}",
    "r_table": "a table",
    "r_about_of": "{released} about {secret}",
    "one_row": "{count} row",
    "many_row": "{count} rows",
    "one_outcome": "{count} outcome",
    "many_outcome": "{count} outcomes",
    "one_value": "{count} value",
    "many_value": "{count} values",
    "percent": "{number}%",
    "nearly_all": "more than 99.9%",
    "no_bound": "no useful bound",
    "in_base": "{number} in {base}",
    "change_in": "{before} → {after} in {base}",
    "rest_more": " and {count} more",
    "r_short": "In short",
    "r_what_rows":
        "In {rows}, a secret value (one of {secrets}) stands beside a released one (one of {outcomes}). This report "
        "tells what the released value reveals about the secret one.",
    "r_what":
        "Every person or record has one of {secrets} possible secret values. One of {outcomes} outcomes is published "
        "in its place. This report tells what the outcome reveals about the value.",
    "r_persons":
        "A person has up to {rows} rows here, and each was changed by itself. What this page says is about one of "
        "them. All rows of a person together change no odds between two values by more than {factor} times: a promise "
        "that was asked for is about that.",
    "r_persons_void":
        "A person has up to {rows} rows here, and each was changed by itself. What this page says is about one of "
        "them. There is no useful bound on what all rows of a person tell together.",
    "r_limit": "No outcome changes the odds between two values by a larger factor, for any attacker whatsoever.",
    "r_limit_rows": "In these rows, no outcome changes the odds between two values by a larger factor.",
    "r_unlimited":
        "Some outcome is impossible under one value and possible under another: no factor bounds what it says.",
    "r_rise": "Largest rise of a belief",
    "r_fall": "Largest fall of a belief",
    "r_to_zero": "to 0",
    "r_anyone": "For anyone, whatever they know",
    "r_average": "Told on average",
    "r_average_means":
        "So much of the uncertainty about the value goes away on average. This is also what makes the release useful.",
    "r_no_rise": "No outcome makes any value likelier than it was.",
    "r_no_fall": "No outcome makes any value less likely than it was.",
    "r_moves": "After {outcome} ({often} of cases), {secret}: {change}.",
    "r_out": "After {outcome} ({often} of cases), {secret} is ruled out.",
    "r_alone_one": " {outcomes} stands for one row: whoever holds the table reads the secret value there.",
    "r_alone": " {outcomes} stand for one row each: whoever holds the table reads the secret value there.",
    "r_stand_rows":
        "Every number here is an estimate: the frequencies in {rows} are taken for the truth. About other people, "
        "chance makes a number too large where few rows stand behind it; “How sure this is” gives bounds.",
    "r_stand":
        "The attacker is taken to know how likely each value is ({source}), and how outcomes are drawn.",
    "r_exact": "Numbers are computed exactly.",
    "r_float": "Numbers are computed in floating point, to many more digits than are shown.",
    "r_rounded": "The factors above and what is “at most” are rounded up, what is “at least” down.",
    "r_refuted": "The promise {claim} is broken: the rows refute it.",
    "r_not_refuted": "The rows do not refute the promise {claim}. That is no proof that it is kept.",
    "r_kept": "The promise {title}, {claim}, is kept: measured {measured}.",
    "r_broken": "The promise {title}, {claim}, is BROKEN: measured {measured}.",
    "r_keeper": "This page holds exact numbers of the rows: it is for the keeper of the table alone.",
    "r_sure": "How sure this is",
    "r_sure_means":
        "With {level} confidence the truth lies between “at least” and “at most”, for all measures at once. "
        "Logarithms in {unit}; lifts and capacities are factors. inf: no bound.",
    "r_measure": "measure",
    "r_at_least": "at least",
    "r_at_most": "at most",
    "r_estimate": "estimate (too large)",
    "unit_nats": "nats",
    "unit_bits": "bits",
    "r_outcomes": "What each outcome reveals",
    "r_outcome": "outcome",
    "r_often": "how often",
    "r_rises": "rises most",
    "r_before_most": "before → at most",
    "r_gain_in": "gain, pml [{unit}]",
    "r_falls": "falls most",
    "r_before_least": "before → at least",
    "r_loss_in": "loss, pmc [{unit}]",
    "r_outcomes_first": "Outcomes, the one that reveals most first.",
    "r_outcomes_left": " {outcomes} revealing less not shown.",
    "r_behind": " In brackets: the rows with this value and this outcome; what rests on few of them is mostly chance.",
    "r_map":
        "How many times more (×, orange) or less (÷, blue) likely each secret value (row) is after each outcome "
        "(column) than before. 0: ruled out.",
    "r_map_part":
        "How many times more (×, orange) or less (÷, blue) likely each secret value (row) is after each outcome "
        "(column) than before, of those that change most. 0: ruled out.",
    "r_secret_value": "secret value",
    "r_tail":
        "How often an outcome reveals more than t [{unit}]. Merging outcomes afterwards can raise the chance of a "
        "large gain, up to the dashed line.",
    "r_tail_alt":
        "Falling steps: chance that the gain or the loss exceeds t. More than half of the largest gain of {most} "
        "{unit} is revealed in {often} of cases.",
    "p_gain": "gain, pml",
    "p_loss": "loss, pmc",
    "p_merged": "gain, however outcomes are merged",
    "p_chance": "chance of more than t",
    "p_every": "every prior: ldp",
    "p_moved": "share of belief that may be moved [%]",
    "p_largest": "largest, over priors [{unit}]",
    "p_infinite": "infinite with probability {share}",
    "p_this": "this release",
    "p_pml_alone": "PML alone decides",
    "p_pmc_alone": "PMC alone decides",
    "p_a": r"$A(\varepsilon_u)$: PMC that PML implies",
    "p_b": r"$B(\varepsilon_l)$: PML that PMC implies",
    "p_edge": r"edge of high privacy, $\log\,1/(1-p_{\min})$",
    "p_across": "bound on PML, upper [nats]",
    "p_up": "bound on PMC, lower [nats]",
    "p_between": ": between the curves both bounds matter",
    "n_what":
        "The secret, {secret}, has one of {secrets} possible values. What goes out is one of {outcomes} combinations "
        "of outputs. This report tells what all of them together reveal about the value.",
    "n_title": "All outputs together",
    "n_beware":
        "What goes out also tells of what it is correlated with: the outputs before and after, and those of "
        "others. A level of one output alone does not bound what all of them say.",
    "n_state": "step",
    "n_step": "step {step}",
    "n_own": "its own output",
    "n_so_far": "outputs so far",
    "n_all": "all outputs",
    "n_gain": "gain, all outputs",
    "n_loss": "loss, all outputs",
    "n_steps":
        "How far outputs change odds between two values of the state at each step [{unit}], and how far all "
        "of them raise and lower belief in one; bounds, the worst outputs counted.",
    "n_steps_seen":
        "The change of odds about the state at each step [{unit}]: by its own output, by those so far, by "
        "all.",
    "n_steps_alt":
        "A curve for all outputs, at most {most} {unit}, above one for the outputs so far and one for each "
        "alone.",
    "n_variable": "variable",
    "n_put_out": "put out",
    "n_yes": "yes",
    "n_no": "no",
    "n_variables":
        "How far all outputs raise and lower belief in a value of each variable [{unit}], the worst outputs "
        "counted.",
    "n_variables_seen":
        "The network: arrows from what a variable depends on, the darker the more can be learned of it.",
    "n_variables_alt": "Circles joined by arrows; most is learned of the darkest, {most} {unit}.",
    "n_network": "greatest gain about each variable [{unit}]",
    "n_rings": "thick rings: put out",
    "n_about_chain": "{secret} of a chain and all its outputs",
    "n_about_network": "{secret} of a network and all its outputs",
    "source_model": "the model itself",
    "r_values": "Each secret value, before and after",
    "r_values_first": "How likely each value is before and after, the one that rises most first.",
    "r_values_left": " {values} changing less not shown.",
    "r_before": "before",
    "r_after_most": "after, at most",
    "r_after_least": "after, at least",
    "r_by": "by outcome",
    "r_comes": "which comes in",
    "r_one_value": "Only one value is possible: there is nothing to learn.",
    "r_nothing_certain": "No outcome rules a value out, and none makes one certain.",
    "r_ruled_out": "Of {count} values, some outcome rules out each of these: {labels}.",
    "r_certain": "Some outcome makes each of these certain: {labels}.",
    "r_who": "Who gains from it",
    "r_who_means":
        "For each number the attacker who attains it. Before and after: what they expect to win, in stakes of a fair "
        "bet (for the guessers how often they are right, for the cautious one how often they are wrong), without the "
        "outcome and with it.",
    "r_attacker": "attacker",
    "r_want": "what they want",
    "r_do": "what they do",
    "r_after": "after",
    "r_better": "better off by",
    "r_times": "{times} times",
    "r_nothing": "nothing",
    "r_no_limit": "no limit",
    "who_pml": "The opportunist",
    "who_pmc": "The cautious one",
    "who_min-entropy-leakage": "The guesser",
    "who_bayes-capacity": "The guesser in the dark",
    "who_ldp": "The one who was wrong",
    "want_pml": "sees the outcome first, and then goes for whatever pays best",
    "want_pmc": "wants to be wrong as rarely as can be, and bets against what has become unlikely",
    "want_min-entropy-leakage": "has one guess at the value; on average over all outcomes",
    "want_bayes-capacity": "the same, where all values are equally frequent: their best case",
    "want_ldp": "was almost sure of another value than the true one",
    "do_guess": "sees {outcome}, guesses {secret}",
    "do_against": "sees {outcome}, bets against {secret}",
    "do_out": "sees {outcome}, rules out {secret}",
    "do_nothing": "sees {outcome}, learns nothing",
    "do_try": "guesses the secret in one try",
    "do_surer": "sees {outcome}; the surer they were before, the more they gain",
    **{f"source_{name}": text for name, text in SOURCES.items()},
    "source_alike": "all equally likely",
    "source_unknown": "all equally likely, as the receipt has no prior",
    "source_public": "given",
    "source_rows": "counted in the rows",
    "source_column": "counted from the released column itself",
    "source_file": "from {file}",
    "note_empty":
        "{empty} of {cells} cells are empty: no upper bound on pmc and ldp, however many rows.",
    "rows_apart": "Rows are taken to be independent.",
    "note_never": "Secrets and outcomes that never occurred are not in the upper bounds, and could leak more.",
}  # fmt: skip
"""Name -> English sentence, with names in braces for what is filled in."""

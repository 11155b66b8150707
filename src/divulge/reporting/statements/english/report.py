"""The sentences of the report on what is promised in English, by name; translated with all others."""

from divulge.guarantees.catalog import CURVE, DIFFERENTIAL_PRIVACY, DIVERGENCE, INFORMATION_DENSITY

_KINDS = [kind for kind in (*INFORMATION_DENSITY, *DIFFERENTIAL_PRIVACY, *CURVE, *DIVERGENCE) if kind.about != "states"]

REPORT: dict[str, str] = {
    **{f"title_{kind.kind}": kind.title for kind in _KINDS},
    **{f"means_{kind.kind}": kind.sentence for kind in _KINDS},
    "g_title": "What is guaranteed",
    "g_kept": "The promises that are kept mean:",
    "g_none": "Without a promise made, this is what the mechanism keeps:",
    "g_events":
        "What this means for anything that can be said about the secret value (“it is one of these three”), by how "
        "likely it was before: for somebody who holds the prior that is shown, and for anyone, who may hold any other.",
    "g_outcomes":
        "No bound on every outcome holds for anyone. What the promise leaves in most outcomes, and at an alarm of "
        "somebody who raises a false one in 1 of 100 cases, whoever it is; of two values that are equally likely "
        "before, nobody names the right one in more than {right} of 100 cases:",
    "g_holder": "For somebody who holds the prior that is shown: {meaning}",
    "g_usual": "in 999 of 1,000 outcomes, at most",
    "g_alarm": "at an alarm, at most",
    "g_any_most": "for anyone, at most",
    "g_any_least": "for anyone, at least",
    "g_no_follow": "No bound follows on {titles}.",
    "g_follows":
        "What follows from {given} under this prior [{unit}; ratios as they are], for every mechanism that keeps it; "
        "what is measured of this one; and by which theorems. Numbers in brackets are sources, at the end.",
    "g_and": " and ",
    "g_guarantee": "guarantee",
    "g_measured": "measured",
    "g_because": "because",
    "g_given": "given",
    "g_definition": "by definition",
    "g_fold": "What follows from it, by which theorems",
    "g_unbounded": "There is no bound on {names}: some outcome rules a value out.",
    "g_region_none":
        "A largest gain as small as here means, for every mechanism, that no outcome rules out any value.",
    "g_region_some":
        "The largest gain does not tell everything: among all mechanisms in which it is as large as here, there are "
        "some where an outcome can rule out up to {zeros} of {secrets} secrets.",
    "g_region_all":
        "The largest gain does not tell everything: among all mechanisms in which it is as large as here, there are "
        "some where an outcome can name the secret.",
    "g_plane":
        "The bound on gain (PML, across) and the bound on loss (PMC, up). The point is this release. Left of the "
        "solid curve the bound on gain says it all, below the dashed curve the bound on loss does; between them it "
        "takes both.",
    "g_plane_alt": "Plane of bounds on gain and loss with two curves; this release is at {place} nats.",
    "a_title": "If the attacker knows something else",
    "a_words":
        "What is known of a person is never exactly the prior. Let the attacker start from any other prior that is "
        "reached by moving part of the belief from some values to others: the gain and the loss grow like this, up to "
        "local differential privacy (ldp), which holds for every prior.",
    "a_table": "The largest gain and loss over all such priors [{unit}]; ldp is {limit}.",
    "a_moved": "belief moved",
    "a_same": "The same as a picture.",
    "a_alt":
        "Gain and loss rise with the share of belief that is moved, from {gain} and {loss} up to {limit} {unit}.",
    "c_title": "Beside other mechanisms",
    "c_caption":
        "Named mechanisms, each as strong as it can be without a larger gain than this release at any outcome. The "
        "more is told on average, the more useful; the smaller the factors, the safer. The best of all is what "
        "`divulge design` finds.",
    "c_mechanism": "mechanism",
    "c_told": "told on average",
    "c_gain": "gain ×",
    "c_loss": "loss ÷",
    "c_any": "any prior ×",
    "c_this": "this release",
    "c_truth": "the secret itself",
    "m_response": "randomized response",
    "m_geometric": "geometric",
    "m_subset": "subset selection",
    "m_unary": "unary encoding",
    "m_resample": "resample",
    "m_watchdog": "watchdog",
    "m_merging": "subset merging",
    "l_title": "The release",
    "l_says": "What the receipt says.",
    "l_table": "table",
    "l_output": "output",
    "l_memory": "in memory",
    "l_digest": "SHA-256 of the output",
    "l_none": "none",
    "l_rows": "rows",
    "l_columns": "columns reported here",
    "l_others": "other columns, as they were",
    "l_missing": "missing values",
    "l_refused": "none, or refused",
    "l_as": "as {label}",
    "l_prior": "prior",
    "l_made": "made",
    "l_made_by": "{when} by Divulge {version}",
    "l_together": "all of this release together",
    "l_spent": "all releases on record about these columns",
    "l_sum":
        "What it adds up to, at most [{unit}]; pml and pmc are those of somebody who holds the prior above, or of all "
        "who hold any where no single prior is known.",
    "l_head": "columns",
    "k_title": "To keep in mind",
    "k_estimates":
        "Estimates from rows are not a guarantee. Rows can refute a promise and never prove one; only a known "
        "mechanism can.",
    "k_prior":
        "Gain and loss hold for the prior that is shown. An attacker who knows more about a person starts elsewhere; "
        "ldp is the only number here that holds for every one of them.",
    "k_one":
        "The numbers are about one outcome for one person or record. Several records of one person, or of relatives, "
        "and several releases about the same column add up to more.",
    "k_rare": "The largest gain counts in full even where its outcome is rare: whoever it happens to bears all of it.",
    "k_page":
        "This page shows how frequent the values are and how they go with outcomes. It is as confidential as these "
        "frequencies.",
    "k_no_ledger": "Earlier and later releases of the same columns are not counted here. With --ledger they are.",
    "k_ledger":
        "Only releases that the ledger knows of are counted, and by column: two columns may tell the same secret.",
    "k_many": "With more than {most} values, or a very large channel, no other mechanisms are compared.",
    "k_large": "The channel is very large: the map, the merging of outcomes and other priors are left out.",
    "w_title": "Words and sources",
    "w_sources": "Sources of the theorems:",
    "s_gain": "Gain (pml): {source}",
    "s_loss": "Loss (pmc): {source}",
    "s_who": "Attackers: {source}",
    "w_secret": "Secret value: what the release is to protect: one of a list, for each person or record.",
    "w_outcome": "Outcome: what is published in its place.",
    "w_prior": "Prior: how likely each secret value is before: what the attacker is taken to know.",
    "w_gain":
        "Gain, pml: pointwise maximal leakage: the logarithm of the largest factor by which a belief can rise.",
    "w_loss": "Loss, pmc: pointwise maximal cost: the logarithm of the largest factor by which a belief can fall.",
    "w_ldp":
        "ldp: local differential privacy: the logarithm of the largest factor between the chances of one outcome under "
        "two secret values; no prior is needed.",
    "w_units": "nats, bits: units of logarithms: a factor of 2.72 is 1 nat, a factor of 2 is 1 bit.",
}  # fmt: skip
"""Name -> English sentence, with names in braces for what is filled in; of guarantees what they say of themselves."""

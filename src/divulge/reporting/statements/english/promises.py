"""What was promised, in a sentence for each kind of guarantee; names in braces are keys of `promised.BLANKS`."""

_BEFORE = "for somebody who before took it that {assumed}"
_EVERYBODY = "whatever they knew before"
_AVERAGE = "on average over all that can be said"
_ODDS = (
    "The promise: what is said about a person changes nobody’s odds about that person’s true answer by more than "
    "{} times, " + _EVERYBODY + "."
)
_TOLD = "tells at most {bits} bits about a person’s true answer"
_BIT = "One bit is what the answer to a yes-or-no question can tell."
_APART = "the chances of what is said under any two true answers are apart by a Renyi divergence of"

PROMISES: dict[str, str] = {
    "promise_ldp": _ODDS.format("{times}"),
    "promise_lift_capacity": _ODDS.format("{ratio}"),
    "promise_dp":
        "The promise: another true answer of one person makes nothing that can be said in the whole table more than "
        f"{{times}} times as likely or unlikely. So nobody’s odds about it change by more than that, {_EVERYBODY}.",
    "promise_pml":
        f"The promise: what is said makes no true answer more than {{times}} times as likely as it was, {_BEFORE}.",
    "promise_lift":
        f"The promise: what is said makes no true answer more than {{ratio}} times as likely as it was, {_BEFORE}.",
    "promise_pmc":
        f"The promise: what is said makes no true answer more than {{times}} times less likely than it was, {_BEFORE}.",
    "promise_lip":
        "The promise: what is said makes no true answer more than {times} times likelier or less likely than it was, "
        f"{_BEFORE}.",
    "promise_alip":
        "The promise: what is said makes no true answer more than {up} times likelier, and none more than {down} times "
        f"less likely than it was, {_BEFORE}.",
    "promise_max_g_leakage":
        "The promise: whatever somebody wants to gain by guessing about a person, no said answer makes them expect "
        f"more than {{ratio}} times as much, {_BEFORE}.",
    "promise_average_g_leakage":
        f"The promise: whatever somebody wants to gain by guessing about a person, {_AVERAGE} they gain at most "
        f"{{ratio}} times as much as without it, {_BEFORE}.",
    "promise_bayes_capacity":
        f"The promise: {_AVERAGE}, nobody guesses a person’s true answer, or what follows from it, right more than "
        f"{{ratio}} times as often as without it, {_EVERYBODY}.",
    "promise_maximal_leakage":
        f"The promise: {_AVERAGE}, nobody guesses a person’s true answer, or what follows from it, right more than "
        f"{{times}} times as often as without it, {_EVERYBODY}.",
    "promise_maximal_cost_leakage":
        f"The promise: {_AVERAGE}, nobody who wants to be wrong about a person as rarely as can be is wrong more than "
        f"{{times}} times more rarely than without it, {_EVERYBODY}.",
    "promise_min_entropy_leakage":
        f"The promise: {_AVERAGE}, one guess at a person’s true answer is right at most {{times}} times as often as "
        f"without it, {_BEFORE}.",
    "promise_mean_pml":
        f"The promise: {_AVERAGE}, the true answer that gains most becomes at most {{times}} times as likely as it was "
        f"(a geometric mean), {_BEFORE}.",
    "promise_mean_pmc":
        f"The promise: {_AVERAGE}, the true answer that loses most becomes at most {{times}} times less likely than it "
        f"was (a geometric mean), {_BEFORE}.",
    "promise_mutual_information": f"The promise: {_AVERAGE}, it {_TOLD}, {_BEFORE}. {_BIT}",
    "promise_midp": f"The promise: {_AVERAGE}, it {_TOLD} to anybody, {_EVERYBODY}. {_BIT}",
    "promise_tail_pml":
        "The promise: except with a chance of {rarely}, what is said makes no true answer more than {times} times as "
        f"likely as it was, {_BEFORE}.",
    "promise_tail_pmc":
        "The promise: except with a chance of {rarely}, what is said makes no true answer more than {times} times less "
        f"likely than it was, {_BEFORE}.",
    "promise_adp":
        "The promise: anything that may be said, and any choice of such things, has under one true answer at most "
        "{times} times the chance that it has under another, plus {rarely}.",
    "promise_adp_curve":
        "The promise, for every small chance δ: anything that may be said, and any choice of such things, has under "
        "one true answer at most e^({xi} + √({rho} log 1/δ)) times the chance that it has under another, plus δ.",
    "promise_pdp":
        "The promise: except with a chance of {rarely}, what is said is at most {times} times as likely under the true "
        "answer as under any other, so that the odds for it rise by no more than that.",
    "promise_relaxed_dp":
        "The promise: leave out what is said with a chance of {outside}. Anything else that may be said, and any "
        "choice of such things, has under one true answer at most {times} times the chance that it has under another, "
        "plus {rarely}.",
    "promise_kl":
        f"The promise: {_AVERAGE}, the odds for a person’s true answer, against any other, rise by at most {{times}} "
        "times (a geometric mean).",
    "promise_rdp":
        f"The promise: {_APART} order {{alpha}} of at most {{nats}}. So a mean of the factors by which odds change, in "
        "which large ones count more, is at most {times}.",
    "promise_abs_chi":
        "The promise: what is said is about as likely under one true answer as under another: the two chances differ "
        "by at most {zeta} times one of them, in a mean of order {alpha}.",
    "promise_ternary_abs_chi":
        "The promise: the chances of what is said under two true answers differ by at most {zeta} times the chance "
        "under any third, in a mean of order {alpha}.",
    "promise_tv":
        "The promise: the chance of anything that may be said, and of any choice of such things, is under one true "
        "answer larger than under another by at most {distance}.",
    "promise_mcdp":
        f"The promise: {_AVERAGE}, the odds for a person’s true answer, against any other, rise by at most {{mean}} "
        "times (a geometric mean), and their logarithm strays from this no more than a bell curve of spread {tau}.",
    "promise_zcdp": f"The promise: {_APART} at most {{xi}} + {{rho}} α, for every order α. Large changes are rare.",
    "promise_approximate_zcdp":
        f"The promise: except with a chance of {{rarely}}, {_APART} at most {{xi}} + {{rho}} α, for every order α. "
        "Large changes are rare.",
    "promise_bounded_cdp": f"The promise: {_APART} at most {{xi}} + {{rho}} α, for every order α up to {{order}}.",
    "promise_tcdp": f"The promise: {_APART} at most {{rho}} α, for every order α below {{omega}}.",
    "promise_tcdp_capped":
        f"The promise: {_APART} at most {{rho}} α, and never more than {{cap}}, for every order α. Large changes are "
        "rare.",
    "promise_gdp":
        "The promise: two true answers are as hard to tell apart by what is said as two bell curves whose middles are "
        "{mu} times their spread apart, or harder.",
    "promise_f_divergence":
        "The promise: the chances of what is said under any two true answers are apart by at most {divergence}, "
        "measured by the divergence that is called {f}.",
    "promise_capacity_bounded":
        "The promise: whoever asks for polynomials of degree {degree} or less of what is said tells two true answers "
        "apart by at most {divergence}, measured by the divergence that is called {f}.",
    "promise_quantum_rdp":
        "The promise: the states for any two true answers are apart by a Renyi divergence of order {alpha} of at most "
        "{nats}.",
    "promise_useless":
        "What was asked for ({typed}) bounds nothing that helps a person: it allows changes of 1,000 times and more.",
    "promise_none": "No promise was typed.",
    "promise_other": "The promise of this page is about {what}. None was made about {columns}.",
    "kept":
        "What the method itself keeps: what is said about a person changes nobody’s odds about that person’s true "
        f"answer by more than {{times}} times, {_EVERYBODY}.",
    "kept_silent": "What the method itself keeps: what is said about a person changes nobody’s odds at all.",
    "kept_useless":
        "There is no useful bound that holds against everybody: odds may change by 1,000 times and more.",
    "kept_void":
        "There is no bound that holds against everybody: some said answers rule true answers out.",
    "assumed_uniform": "all answers are equally frequent",
    "assumed_given": "answers are as frequent as a public source has it",
    "assumed_lower": "no answer is rarer than {least} in 1,000",
    "assumed_noisy": "answers are about as frequent as an estimate has it, which was published with noise",
    "assumed_counted": "answers are exactly as frequent as in the table itself",
    "assumed_groups":
        "answers are as frequent as among people who are alike in what is known of them, or in several such groups "
        "together",
    "assumed_none": "answers are as frequent as they like",
    "in_thousand": "{count} in 1,000",
    "one_in": "1 in {count}",
}  # fmt: skip
"""Name -> English sentence."""

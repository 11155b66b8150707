"""The sentences of the statement in English, by name; `languages/XX.po` holds them in another language.

A translator copies `languages/de.po` to `languages/XX.po` and translates; nothing else knows which languages there are.
"""

from divulge.publishing.notes import SENTENCES as NOTES
from divulge.reporting.statements.statistics_sentences import STATISTICS

SENTENCES: dict[str, str] = {
    "title": "What the column {columns} tells about a person",
    "quoted": "“{label}”",
    "and": "and",
    "more": "{count} more",
    "kind": "For the public",
    "made": "Made by Divulge. This page needs no network and runs no scripts.",
    "skip": "Skip to the promise",
    "untrue_same":
        "Many of the published answers are untrue. Chance changed them on purpose: of 1,000 people, {changed} "
        "appear with an answer that is not theirs, and {kept} with their own.",
    "untrue_range":
        "Many of the published answers are untrue. Chance changed them on purpose: of 1,000 people with the same "
        "true answer, between {low} and {high} appear with their own answer, and all others with another one.",
    "untrue_sets":
        "No published entry is a fact about a person. Chance chose it on purpose: an entry such as {example} "
        "names the answers that it makes likelier, and of 1,000 people, {missed} appear with an entry that does "
        "not name theirs.",
    "untrue_never": "The published answers are the true ones. Nothing was changed.",
    "words":
        "On this page, what a person answered is called the true answer. What the published table says about them"
        " is called the said answer.",
    "people_alt": "{kept} of 1,000 people appear with their own answer.",
    "people": "Each figure stands for 10 of 1,000 people. Filled: those who appear with their own answer.",
    "asked": "What was promised",
    "promise_ldp":
        "The promise: what is said about a person changes nobody’s odds about that person’s true answer by more "
        "than {times} times, whatever they knew before.",
    "promise_pml":
        "The promise: what is said makes no true answer more than {times} times as likely as it was, for somebody"
        " who before took it that {assumed}.",
    "promise_pmc":
        "The promise: what is said makes no true answer more than {times} times less likely than it was, for "
        "somebody who before took it that {assumed}.",
    "promise_lip":
        "The promise: what is said makes no true answer more than {times} times likelier or less likely than it "
        "was, for somebody who before took it that {assumed}.",
    "promise_alip":
        "The promise: what is said makes no true answer more than {up} times likelier, and none more than {down} "
        "times less likely than it was, for somebody who before took it that {assumed}.",
    "promise_other": "The promise: {promise}. The last part of this page says what that means.",
    "promise_none":
        "No promise was typed. What the method itself keeps: what is said about a person changes nobody’s odds "
        "about that person’s true answer by more than {times} times, whatever they knew before.",
    "promise_void": "There is no useful bound that holds against everybody: some said answers rule true answers out.",
    "assumed_uniform": "all answers are equally frequent",
    "assumed_given": "answers are as frequent as a public source has it",
    "assumed_lower": "no answer is rarer than {least} in 1,000",
    "assumed_noisy": "answers are about as frequent as an estimate has it, which was published with noise",
    "assumed_counted": "answers are exactly as frequent as in the table itself",
    "assumed_none": "answers are as frequent as they like",
    "before_use": "Before you use it",
    "order": "The rows stand in their old order. Whoever knows whose row is where knows what is said about whom.",
    "unaltered":
        "These other columns were not changed, and may tell who somebody is, or their true answer: {columns}.",
    "from_data":
        "The method was made from the table itself. Whoever has the codebook or the receipt can work out how "
        "often each true answer occurs. No promise is made about that.",
    "list_from_data": "The list of answers was taken from the table, so that each of them was given by somebody.",
    "q_occurs": "Which answers occur?",
    "occurs_all": "Each of these answers can be said, and no true answer is missing: {labels}.",
    "occurs_some": "These entries can be said: {labels}. These true answers are never said by themselves: {gone}.",
    "q_means": "What does it mean that a row says an answer?",
    "means":
        "It is a hint, and no proof. The answer that is said becomes likelier than it was, more so than any other"
        " answer. But it is often not the most likely truth: any other answer that is more than {ratio} times as "
        "frequent is still likelier.",
    "means_sets":
        "It is a hint, and no proof. The answers that an entry names become likelier than they were, all others "
        "less likely. They are often not the most likely truth: frequent answers stay likely.",
    "means_truth": "The said answer is the true one.",
    "t_common": "If so many of 1,000 people truly have the said answer …",
    "t_true": "… then of 1,000 rows that say it, so many are true, at most",
    "t_likely": "Most likely truth",
    "likely_other": "another answer",
    "likely_self": "the said answer",
    "likely_open": "whichever is more frequent",
    "t_said": "The row says",
    "t_before": "Have it, of 1,000 people",
    "t_after": "Have it, of 1,000 such rows",
    "t_most": "Most likely truth, of 1,000 such rows",
    "most": "{label}: {count}",
    "by_source": "By the public source that was assumed:",
    "q_rise": "How much likelier can a true answer become?",
    "t_true_answer": "True answer",
    "t_from": "From, of 1,000",
    "t_to": "to at most, of 1,000",
    "t_when": "When the row says",
    "rise_note":
        "For whoever took a true answer to be as likely as the second column says. Rounded up. For every one of "
        "these answers the odds change by {times} times at most.",
    "rise_note_void": "For whoever took a true answer to be as likely as the second column says. Rounded up.",
    "any_entry": "any entry",
    "q_knows": "Does this hold against somebody who knows everything else?",
    "knows_yes":
        "Yes. The bound of {times} times holds for everybody: also for somebody who knows the true answers of all"
        " other people, and everything about this person but this answer.",
    "knows_no":
        "No. For somebody who already knows a lot there is no useful bound: some said answers rule true answers "
        "out.",
    "q_count": "Can a small group be counted?",
    "count_yes":
        "Only from many rows. How many people have a true answer can be estimated to within {off} of the {rows} "
        "rows (19 times in 20). A group of {off} people or fewer cannot be told from nobody; the smallest group "
        "can be counted only if it is larger than that.",
    "count_never": "No. In {rows} rows an estimate may be off by as many rows as there are.",
    "count_no": "No. How many people have each true answer cannot be estimated from this column.",
    "count_exact": "Yes, exactly: the said answers are the true ones.",
    "q_second": "What does a second release do?",
    "second":
        "It weakens the promise. After a second release like this one about the same answers, the odds may have "
        "changed by {twice} times in place of {times} times.",
    "second_void": "It may tell the rest. There is no useful bound after this release, nor after a second one.",
    "together":
        "There have been releases of this column before. Together with this one there are {releases}, and all of "
        "them together may change the odds by {times} times.",
    "together_void":
        "There have been releases of this column before. Together with this one there are {releases}, and there "
        "is no useful bound on what all of them tell together.",
    "q_public": "May this page be public?",
    "public_yes":
        "Yes. This page, the codebook, the receipt and the table are made for everybody. They do not tell how "
        "many people gave which answer. The keeper’s record does, and must stay with the keeper.",
    "public_counts":
        "This page, yes. But the method was made from the table’s own counts: whoever may not know these must not"
        " get the codebook or the receipt either. The keeper’s record must stay with the keeper in any case.",
    "q_number": "How many people are in a group?",
    "number": "This page does not tell. An estimate can be made from the published table; see the codebook.",
    "q_risk": "Who is at most risk?",
    "risk_all": "The odds can change equally much for every true answer; no group bears more than another: {labels}.",
    "risk_some": "The odds can change most for people with these true answers: {labels}, by {times} times at most.",
    "risk_some_void":
        "The most can come out about people with these true answers: {labels}. There is no useful bound.",
    "risk_guess":
        "Guessed right most often are people with the most frequent answer, also without this release. People "
        "with rare answers have the most to lose from being believed to have them; and people whose other columns"
        " are unusual are the easiest to find.",
    "q_worried": "What can I tell somebody who is worried?",
    "worried":
        "Nobody can tell from the table what you answered. What is said about you was drawn by chance: your own "
        "answer was kept for {kept} of 1,000 people only. Whatever the table says, others with every other true "
        "answer appear with the same. Whoever sees it may change their odds about you by {times} times, and not "
        "by more.",
    "worried_void":
        "That the table can tell something for sure: some said answers rule true answers out. Ask the publisher "
        "what that means for you.",
    "q_not": "What is not promised",
    "not_rows":
        "Nothing is promised about people with several rows, or whose relatives’ answers tell theirs: each row "
        "adds.",
    "not_groups":
        "That nothing can be learned about groups: this is what the table is for. It may then be believed of each"
        " member.",
    "not_other": "Anything about the columns that were not changed.",
    "q_technical": "In technical words",
    "technical":
        "Each value was replaced by a draw of its own from a fixed matrix of chances (the channel, in the "
        "codebook), with exact arithmetic and cryptographic randomness. Guaranteed, in natural logarithms and "
        "rounded up: {numbers}.",
    **STATISTICS,
    **NOTES,
}  # fmt: skip
"""Name -> English sentence, with names in braces for what is filled in."""

"""The sentences of the statement in English, by name; `languages/XX.po` holds them in another language.

A translator copies `languages/de.po` to `languages/XX.po` and translates; nothing else knows which languages there are.
"""

from divulge.publishing.notes import SENTENCES as NOTES
from divulge.reporting.statements.english.book import BOOK
from divulge.reporting.statements.english.groups import GROUPS
from divulge.reporting.statements.english.leaks import LEAKS
from divulge.reporting.statements.english.models import MODELS
from divulge.reporting.statements.english.places import PLACES
from divulge.reporting.statements.english.promises import PROMISES
from divulge.reporting.statements.english.report import REPORT
from divulge.reporting.statements.english.reports import REPORTS
from divulge.reporting.statements.english.statistics import STATISTICS

SENTENCES: dict[str, str] = {
    "title": "What the column {columns} tells about a person",
    "title_several": "What the columns {columns} tell about a person",
    "q_about": "What does it say about {what}?",
    "about_variable": "what is protected",
    "about_promise":
        "The promise: whatever is published of {columns}, no value of {what} becomes more than {times} times as likely "
        "to somebody who knows how frequent values are.",
    "about_loss": "No value of it becomes less likely by a factor of more than {times}.",
    "about_gone": "A value of it can be ruled out.",
    "about_counted":
        "How both go together was counted from the source: the method tells of it, and the promise holds for people of "
        "whom it is true.",
    "about_given": "How both go together was taken from elsewhere; the promise holds for people of whom it is true.",
    "about_off":
        "If among people with one value up to {radius} of 100 have another answer than was taken, the factor is at "
        "most {times}.",
    "about_within":
        "If among people with one value each share of an answer is at most {share} times as large, or as small, as was "
        "taken, the factor is at most {times}.",
    "about_own": "It is not a promise about {columns} itself; what that column tells stands below.",
    "about_beside": "It does not cover what columns that were not changed tell of {what}.",
    "quoted": "“{label}”",
    "and": "and",
    "more": "{count} more",
    "kind": "For the public",
    "made": "Made by Divulge. This page needs no network and runs no scripts.",
    "skip": "Skip to the promise",
    "often_most": "Most of the published answers are untrue.",
    "often_many": "Many of the published answers are untrue.",
    "often_maybe": "Many of the published answers may be untrue: it depends on which ones are frequent.",
    "often_some": "Some of the published answers are untrue.",
    "often_few": "A few of the published answers may be untrue.",
    "untrue_rare":
        "Chance changes them on purpose: of 1,000 people, fewer than 1 appears with an answer that is not theirs.",
    "untrue_same":
        "Chance changed them on purpose: of 1,000 people, {changed} appear with an answer that is not theirs, and "
        "{kept} with their own.",
    "untrue_range":
        "Chance changed them on purpose: of 1,000 people with the same true answer, between {low} and {high} appear "
        "with their own answer, and all others with another one.",
    "untrue_blank":
        "Some answers are missing on purpose: of 1,000 people, chance shows {left} with {labels} in place of their "
        "answer. All others appear with their own answer, and nobody with an answer that is not theirs.",
    "untrue_each":
        "Here each row counts as another person. In each of a person’s rows, up to {most}, chance draws anew: of 1,000 "
        "people with so many, up to {some} appear with what is theirs in one row or more.",
    "untrue_silent":
        "The published entries say nothing about anybody. Each was drawn by chance in the same way, whatever the true "
        "answer was.",
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
    "this_column":
        "This part is about this column alone, for somebody who does not see the others. What all of them tell "
        "together stands above.",
    "several":
        "The columns were changed independently of each other. All of them together change nobody’s odds about a "
        "person’s true answers by more than {times} times.",
    "several_void":
        "The columns were changed independently of each other, and there is no useful bound on what all of them tell "
        "together.",
    "whose_row":
        "It is about one row, as if each were another person. About a person with 2 rows the odds may change by {two} "
        "times, and with 6 rows by {six} times.",
    "whose_row_some":
        "It is about one row, as if each were another person. About a person with 2 rows the odds may change by {two} "
        "times, and with 6 rows there is no useful bound.",
    "whose_row_void":
        "It is about one row, as if each were another person. About a person with 2 rows or more there is no useful "
        "bound.",
    "whose_once": "It is about a person, however many rows are theirs: all of these show one and the same draw.",
    "whose_rows":
        "It is about a person with all their rows. Nobody has more than {most} in the table, which share the promise.",
    "followed":
        "If the rows of a person follow one another as the public model in the receipt says, up to {most} without a "
        "gap, all of them together change the odds between two answers in one row by at most {odds} times, and make "
        "no answer in it more than {rise} times as likely.",
    "followed_void":
        "If the rows of a person follow one another as the public model in the receipt says, up to {most} without a "
        "gap, all of them together can tell what the answer in one row was.",
    "whose_single": "It is about a person: nobody has more than one row in the table.",
    "figures":
        "In figures: what was taken for a chance of 1 in 100 becomes at most {one} in 100, 10 become at most {ten}, "
        "and 50 at most {fifty}.",
    "exceptions": "It does not cover what relatives’ answers, other columns, or other releases tell about a person.",
    "before_use": "Before you use it",
    "order": "The rows stand in their old order. Whoever knows whose row is where knows what is said about whom.",
    "order_groups":
        "Rows that agree in the columns that people may know stand together, in an order of chance within each group.",
    "coarsened":
        "These columns were made coarser, and may still tell something of who somebody is, or of their true answer: "
        "{columns}.",
    "unaltered":
        "These other columns were not changed, and may tell who somebody is, or their true answer: {columns}.",
    "from_data":
        "The method was made from the table itself. Whoever has the codebook or the receipt can work out how "
        "often each true answer occurs. No promise is made about that.",
    "from_groups":
        "The promise is about what is said of a person beside what their group tells. Whoever counts the true answers "
        "of a group, and sees what is said of everybody in it, may find odds changed by up to {twice} times.",
    "groups_keep":
        "Rows that agree in the columns that people may know are a group. The groups were to keep this for the true "
        "answers, and do: {guarantees}.",
    "groups_both":
        "By its group alone no answer becomes more than {groups} times as likely as in the whole table; together with "
        "what is said of the person, none more than {both} times. This holds for whoever knows these columns of a "
        "person, and holds all rows of the group for alike.",
    "groups_chosen":
        "How coarse these columns are was chosen by looking at the true answers. What this choice tells is not covered "
        "by the promise.",
    "from_groups_useless":
        "The promise is about what is said of a person beside what their group tells. Whoever counts the true answers "
        "of a group, and sees what is said of everybody in it, may learn much more.",
    "list_from_data": "The list of answers was taken from the table, so that each of them was given by somebody.",
    "list_taken":
        "The list of answers was not public beforehand: another publication took it from its table, so that somebody "
        "gave each of them there.",
    "list_other":
        "Which answers there can be was listed beforehand, whoever gave them. A true answer that is not in the list, "
        "or none, counts as {labels}.",
    "list_other_there":
        "Which answers there can be was listed beforehand, whoever gave them. A true answer that is not in the list "
        "counts as {labels}.",
    "list_bought":
        "Which answers there can be was named with noise in a publication from such a table, which is paid for: it has "
        "a promise of its own, a factor of at most {times} and a slack of at most {slack}. What both tell about a "
        "person adds up.",
    "bought_other": "A true answer that is not in the list, or none, counts as {labels}.",
    "bought_other_there": "A true answer that is not in the list counts as {labels}.",
    "q_occurs": "Which answers occur?",
    "occurs_all": "Each of these answers can be said, and no true answer is missing: {labels}.",
    "occurs_blank":
        "Each of these answers can be said, and no true answer is missing: {labels}. In place of an answer, {blanks} "
        "can be said.",
    "occurs_more": "All {count} of them are listed in the codebook.",
    "occurs_some": "These entries can be said: {labels}. These true answers are never said by themselves: {gone}.",
    "occurs_missing": "In the table, {label} is an empty cell.",
    "q_means": "What does it mean that a row says an answer?",
    "means":
        "It is a hint, and no proof. The answer that is said becomes likelier than it was, more so than any other "
        "answer. But it is often not the most likely truth: any other answer that is more than {ratio} times as "
        "frequent is still likelier.",
    "means_can":
        "It is a hint, and no proof. The answer that is said becomes likelier than it was, more so than any other "
        "answer. But it is often not the most likely truth: another answer that is more than {ratio} times as frequent "
        "can still be likelier.",
    "means_almost":
        "It is almost surely the truth: only an answer that is more than 1,000 times as frequent can still be "
        "likelier.",
    "means_certain": "That the person truly gave this answer: nobody with another true answer appears with it.",
    "means_silent": "Nothing. Every entry is equally likely for every true answer.",
    "means_blank": "{label} says nothing about the true answer.",
    "means_blank_hint": "{label} is no answer, but may still be a hint: it is likelier for some true answers than for "
                        "others.",
    "means_sets":
        "It is a hint, and no proof. The answers that an entry names become likelier than they were, all others "
        "less likely. They are often not the most likely truth: frequent answers stay likely.",
    "means_truth": "The said answer is the true one.",
    "t_common": "If so many of 1,000 people truly have the said answer …",
    "t_true": "… then of 1,000 rows that say it, so many are true, at most",
    "t_likely": "Most likely truth",
    "likely_other": "another answer",
    "likely_self": "the said answer",
    "likely_open": "depends on how frequent the others are",
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
    "rise_silent": "Not at all: what is said has nothing to do with the true answer.",
    "same": "this answer",
    "same_each": "the same answer",
    "every_answer": "every true answer alike",
    "rise_note_void": "For whoever took a true answer to be as likely as the second column says. Rounded up.",

    "q_knows": "Does this hold against somebody who knows everything else?",
    "knows_yes":
        "Yes. The bound of {times} times holds for everybody: also for somebody who knows the true answers of all"
        " other people, and everything about this person but this answer.",
    "knows_silent":
        "Yes. The table tells nobody anything about a true answer, whatever they know.",
    "knows_useless":
        "The bound does hold for everybody, but it is of no use: the odds may change by 1,000 times and more.",
    "knows_void":
        "No. For somebody who already knows a lot there is no bound: some said answers rule true answers out.",
    "knows_list":
        "But the list of answers was taken from the table, and the promise does not cover it: whoever knows the true "
        "answers of all other people can see from the list that somebody gave one that nobody else gave.",
    "knows_list_taken":
        "But the list of answers was taken from a table, by another publication, and no promise covers it: whoever "
        "knows the true answers of all other people in that table can see from the list that somebody gave one that "
        "nobody else gave.",
    "q_count": "Can a small group be counted?",
    "count_yes":
        "Only from many rows. From these {rows} rows, how many people have a rare true answer can be estimated to "
        "within about {off} people, and how many have a frequent one to within about {most} (19 times in 20, for all "
        "answers at once). A group of {off} people or fewer cannot be told from nobody; the smallest group can be "
        "counted only if it is larger than that.",
    "count_rows":
        "Only from many rows. From these {rows} rows, how many rows belong to people with a rare true answer can be "
        "estimated to within about {off} rows, and how many to people with a frequent one to within about {most} (19 "
        "times in 20, for all answers at once). A group with {off} rows or fewer cannot be told from nobody; the "
        "smallest group can be counted only if it has more rows than that.",
    "count_never": "No. In {rows} rows an estimate may be off by as many rows as there are.",
    "count_no": "No. How many people have each true answer cannot be estimated from this column.",
    "count_exact": "Yes, exactly: the said answers are the true ones.",
    "q_second": "What does a second release do?",
    "second":
        "It weakens the promise. After a second release like this one about the same answers, the odds may have "
        "changed by {twice} times in place of {times} times.",
    "second_useless":
        "It undoes the promise. After a second release like this one about the same answers there is no useful bound: "
        "the odds may have changed by 1,000 times and more, in place of {times} times.",
    "second_silent": "Nothing: this one tells nothing.",
    "second_truth": "Nothing new: this one already tells the true answers.",
    "second_void": "It may tell the rest. There is no useful bound after this release, nor after a second one.",
    "together":
        "There have been releases of this column before. Together with this one there are {releases}, and all of "
        "them together may change the odds by {times} times.",
    "together_slack":
        "There have been releases of this column before. Together with this one there are {releases}, and all of "
        "them together may change the odds by {times} times, with a slack of at most {slack}.",
    "together_row": "This is about one row, as the promise is, and not about a person with several.",
    "together_void":
        "There have been releases of this column before. Together with this one there are {releases}, and there "
        "is no useful bound on what all of them tell together about a person.",
    "q_public": "May this page be public?",
    "public_yes":
        "Yes. This page, the codebook, the receipt and the table are made for everybody. They do not tell how "
        "many people gave which answer. The keeper’s record does, and must stay with the keeper.",
    "public_counts":
        "This page, yes. But the method was made from the table’s own counts: whoever may not know these must not"
        " get the codebook or the receipt either. The keeper’s record must stay with the keeper in any case.",
    "public_truth":
        "This page, yes. But the table holds true answers as they are: nothing protects them.",
    "public_unaltered":
        "But the table also holds columns that were not changed. Publish it only if these may be public.",
    "public_coarsened":
        "But the table also holds columns that people may know, as coarse as they are there. Publish it only if these "
        "may be public.",
    "q_number": "How many people are in a group?",
    "number": "This page does not tell. An estimate can be made from the published table; see the codebook.",
    "number_never": "This page does not tell, and it cannot be estimated from the published table.",
    "q_risk": "Who is at most risk?",
    "risk_all": "The odds can change equally much for every true answer; no group bears more than another.",
    "risk_silent": "Nobody: the table tells nothing about a true answer.",
    "risk_some": "The odds can change most for people with these true answers: {labels}, by {times} times at most.",
    "risk_some_void":
        "The most can come out about people with these true answers: {labels}. There is no useful bound.",
    "risk_guess":
        "Guessed right most often are usually people with the most frequent answer, also without this release. People "
        "with rare answers have the most to lose from being believed to have them; and people whose other columns"
        " are unusual are the easiest to find.",
    "q_worried": "What can I tell somebody who is worried?",
    "worried":
        "Nobody can tell from this column what you answered. What is said about you was drawn by chance: the own "
        "answer was kept for at most {kept} of 1,000 people. Whatever is said about you, people with every other true "
        "answer appear with the same. Whoever sees it may change their odds about you by {times} times, and not by "
        "more.",
    "worried_strong":
        "That the column can tell a lot about you, but nothing for sure. What is said about you was drawn by chance: "
        "the own answer was kept for at most {kept} of 1,000 people. Whoever sees it may change their odds about you "
        "by {times} times, and not by more: from 10 in 1,000 to {to} in 1,000.",
    "worried_useless":
        "That the column can make somebody almost sure of your answer, though never quite: chance may have changed it. "
        "The own answer was kept for up to {kept} of 1,000 people. Ask the publisher what that means for you.",
    "worried_sets":
        "Nobody can tell from this column what you answered. The entry about you was drawn by chance, and people with "
        "every other true answer appear with the same. Whoever sees it may change their odds about you by {times} "
        "times, and not by more.",
    "worried_silent": "That the column tells nothing about them: every entry in it is equally likely for everybody.",
    "worried_truth": "That the column tells their true answer. Ask the publisher what that means for you.",
    "worried_void":
        "That the table can tell something for sure: some said answers rule true answers out. Ask the publisher "
        "what that means for you.",
    "q_not": "What is not promised",
    "not_rows":
        "Nothing is promised about people with several rows, or whose relatives’ answers tell theirs: each row "
        "adds.",
    "not_relatives": "Nothing is promised about people whose relatives’ answers tell theirs: each adds.",
    "not_groups":
        "That nothing can be learned about groups: this is what the table is for. It may then be believed of each"
        " member.",
    "not_other": "Anything about the columns that were not changed.",
    "not_known": "Anything about the columns that people may know.",
    "q_technical": "In technical words",
    "technical_typed": "Asked for: {typed}.",
    "technical":
        "Each value was replaced by a draw of its own from a fixed matrix of chances (the channel, in the "
        "codebook), with exact arithmetic and cryptographic randomness.",
    "technical_once":
        "Each person’s value was replaced by one draw from a fixed matrix of chances (the channel, in the codebook), "
        "which stands in all of their rows, with exact arithmetic and cryptographic randomness.",
    "technical_numbers": "Guaranteed, in natural logarithms and rounded up: {numbers}.",
    "technical_assumed": "The numbers pml and pmc hold for somebody who before took it that {assumed}.",
    **PROMISES,
    **BOOK,
    **STATISTICS,
    **GROUPS,
    **REPORTS,
    **PLACES,
    **NOTES,
    **LEAKS,
    **REPORT,
    **MODELS,
}  # fmt: skip
"""Name -> English sentence, with names in braces for what is filled in."""

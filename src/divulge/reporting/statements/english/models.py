"""The sentences of the statement about the audit of a model in English, by name; translated with all others."""

MODELS: dict[str, str] = {
    "mod_title": "What a model tells about who was in its training data",
    "mod_named":
        "Somebody who guesses by this attack who was in the training data is right for at least {shown} of {base}"
        " people whom they name. Of all people looked at, {before} of {base} were in it.",
    "mod_odds":
        "There are people for whom the model changes the odds that they were in the training data by at least "
        "{times} times.",
    "mod_seen":
        "The attack that was tried tells something about who was in the training data. How likely it makes that "
        "for one person, this way of judging does not say.",
    "mod_nothing":
        "The attack that was tried does not show who was in the training data. That is no proof that nobody can "
        "tell: a better attack may.",
    "mod_no_promise":
        "None was put to the test here. So nothing bounds from above what the model tells: somebody may be able "
        "to say for certain who was in its data.",
    "mod_refuted":
        "What was promised, {claim}, does not hold: the audit refutes it. Chance makes an audit refute a promise "
        "that holds in at most {risk} of 1,000 cases.",
    "mod_kept":
        "If the promise {claim} holds, the chance that you were in the training data, {before} of {base} before, "
        "becomes at most {after} of {base} for somebody who sees the model.",
    "mod_usual":
        "If the promise {claim} holds, the chance that you were in the training data, {before} of {base} before, "
        "becomes at most {after} of {base} for somebody who sees the model, but for 1 of 1,000 such models at "
        "most, which may tell more.",
    "mod_void":
        "Even if the promise {claim} holds, some models that keep it tell for certain that somebody was in the "
        "training data.",
    "mod_alarms":
        "If it holds, whoever names {alarms} of {base} people by mistake, or more, is right for at most {after} "
        "of {base} people whom they name.",
    "mod_not_confirmed":
        "The audit did not refute the promise. It cannot confirm it: whether it holds follows from how the model "
        "was made.",
    "q_mod_measured": "What was measured?",
    "mod_people": "The attack scored {members} people who were in the training data and {others} who were not.",
    "mod_confidence":
        "What stands behind “at least” was measured. Chance makes it too large in at most {risk} of 1,000 such "
        "audits.",
    "mod_before": "How many are in the data before anybody looks at the model was taken to be so; it was not measured.",
    "mod_mean": "It is a mean over those whom the attack names. People who are unlike others may be found more surely.",
    "mod_attack": "It is one attack. Others may be right more often.",
    "mod_model":
        "It is about this one model. Another one from the same data, or the same one trained again, may tell "
        "more, and what several tell adds up.",
    "mod_alike": "The people in the data and the others were taken to be drawn alike, each independently of the rest.",
    "mod_coins": "Who was in the data was taken to be decided by a fair coin for each person.",
    "mod_public":
        "The numbers of this page were counted from those who were audited, without noise: the promise does not "
        "cover them.",
    "mod_technical":
        "Shown: epsilon at least {epsilon}, in natural logarithms, at delta {delta}; mu at least {mu}. Method: "
        "{method}.",
}  # fmt: skip
"""Name -> English sentence, with names in braces for what is filled in."""

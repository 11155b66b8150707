"""What may stand for a mechanism, and how it answers each question: one table that every measure consults.

A channel or a pair of distributions is the mechanism; a dominating pair or a promise only stands for one. What is asked
of it is answered exactly, from above, by a theorem, or not at all, and the table says which. A wrapper (a sample, a
composition) knows as little as the least known of what it wraps.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from divulge.errors import DivulgeError

Answer = Literal["exact", "upper", "theorem", "refused"]


class Known(IntEnum):
    """What is known of a mechanism; the larger, the less."""

    MECHANISM = 0
    SENSITIVITY = 1
    DOMINATING = 2
    PROMISE = 3


TITLES: dict[Known, str] = {
    Known.MECHANISM: "a channel, a pair of rows or densities",
    Known.SENSITIVITY: "named noise on a query of sensitivity at most that given",
    Known.DOMINATING: "a dominating pair (worst exponential mechanism, any sampled mechanism)",
    Known.PROMISE: "a promise ((epsilon, delta), zCDP, Renyi, pure DP), also sampled or in a list",
}
"""What each kind of subject is, in words; the order of the columns of `QUESTIONS`."""


@dataclass(frozen=True)
class Question:
    """A question in words, the public functions that ask it, and the answer of each `Known`, in its order."""

    title: str
    functions: tuple[str, ...]
    answers: tuple[Answer, Answer, Answer, Answer]


QUESTIONS: dict[str, Question] = {
    "delta": Question(
        "epsilon and delta; total variation",
        ("delta_from_epsilon", "epsilon_from_delta", "total_variation"),
        ("exact", "exact", "upper", "theorem"),
    ),
    "divergence": Question(
        "Renyi, KL, f- and abs-chi divergences",
        ("renyi_dp", "renyi_order", "kl_privacy", "f_divergence", "abs_chi"),
        ("exact", "exact", "upper", "theorem"),
    ),
    "concentrated": Question(
        "zCDP, bounded, truncated and approximate",
        ("zcdp_rho", "zcdp_xi", "approximate_zcdp_rho", "truncated_cdp"),
        ("exact", "exact", "upper", "theorem"),
    ),
    "test": Question(
        "trade-off of the two errors; Gaussian mu", ("trade_off", "gaussian_dp"), ("exact", "exact", "upper", "theorem")
    ),
    "information": Question(
        "mutual information of a record", ("mutual_information_dp",), ("exact", "exact", "upper", "theorem")
    ),
    "tail": Question(
        "tail of the loss at an epsilon of at least 0; relaxed DP",
        ("tail_from_epsilon", "epsilon_from_tail", "relaxed_delta"),
        ("exact", "exact", "theorem", "theorem"),
    ),
    "tail below 0": Question(
        "the same at an epsilon below 0",
        ("tail_from_epsilon", "relaxed_delta"),
        ("exact", "theorem", "theorem", "theorem"),
    ),
    "spread": Question(
        "sub-Gaussian spread of the loss around its mean",
        ("mean_concentrated",),
        ("exact", "exact", "theorem", "theorem"),
    ),
    "rows": Question(
        "what needs three secrets, or the outcomes",
        ("ternary_abs_chi", "capacity_bounded", "joint_pml", "leakage_bounds"),
        ("exact", "refused", "refused", "refused"),
    ),
}
"""Question -> how each kind of subject answers it.

Whatever no processing of the outcome can raise follows from a dominating pair, for what it dominates is a processing of
it (Blackwell). The tails of a loss can rise so, and follow by Markov's inequality alone.
"""


def weakest(known: Iterable[Known]) -> Known:
    """Return what is known of several subjects together."""
    return max(known, default=Known.MECHANISM)


def refused(question: str, known: Known, argument: str = "subject") -> DivulgeError:
    """Return the error for a question that a subject cannot answer, with those that it can."""
    others = [other.title for other in QUESTIONS.values() if other.answers[known] != "refused"]
    asked = QUESTIONS[question].title
    hint = f"known is {TITLES[known]}, which answers: {'; '.join(others)}."
    return DivulgeError.of(argument, f"be a channel for {asked}", "it", "what stands for one", hint)

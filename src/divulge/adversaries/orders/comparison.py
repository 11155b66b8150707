"""Two mechanisms side by side: who is safer against whom."""

import html
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from divulge.adversaries.adversary import Gain
from divulge.adversaries.leakages import leakage
from divulge.adversaries.orders.refinements import Refinement, max_case_refinement, refinement
from divulge.errors import DivulgeError
from divulge.measures.average.capacities import bayes_capacity, maximal_cost_leakage
from divulge.measures.pointwise.density import ldp, lift, lift_capacity, pmc, pml
from divulge.model.accepted import ChannelLike, PriorLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_prior
from divulge.model.joint import Joint
from divulge.model.labels import alignment
from divulge.model.record import Record
from divulge.model.shown import Table, html_table, number, printable_lines, raised, text_table
from divulge.units import Unit

CHANNEL_MEASURES: dict[str, Any] = {
    "ldp": ldp,
    "lift_capacity": lambda channel, unit: lift_capacity(channel),
    "bayes_capacity": lambda channel, unit: bayes_capacity(channel),
    "maximal_cost_leakage": maximal_cost_leakage,
}
JOINT_MEASURES: dict[str, Any] = {
    "pml": lambda joint, unit: pml(joint, unit).max(),
    "pmc": lambda joint, unit: pmc(joint, unit).max(),
    "lift": lambda joint, unit: lift(joint),
    "one guess, average-case": lambda joint, unit: leakage(joint, Gain.identity(joint.secrets), "average"),
    "one guess, max-case": lambda joint, unit: leakage(joint, Gain.identity(joint.secrets), "max"),
}
"""Name -> measure of a joint; smaller is safer in both tables."""

SAFER: dict[tuple[bool, bool], str] = {
    (True, True): "both",
    (True, False): "B",
    (False, True): "A",
    (False, False): "neither",
}
"""(A is refined by B, B is refined by A) -> which of the two is at least as safe as the other."""

_VERDICTS: dict[str, str] = {
    "both": "A and B are equally safe against every one of them",
    "A": "A is at least as safe as B against every one of them",
    "B": "B is at least as safe as A against every one of them",
    "neither": "neither is safer against all of them",
}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Record):
    """Who is safer against whom.

    Attributes
    ----------
    a, b : Channel
    average_case, max_case : pair of Refinement
        Whether B refines A, and whether A refines B: against every average-case adversary, every max-case adversary.
    measures : dict from name to the pair (of A, of B)
        Smaller is safer. The order by `ldp` is the epsilon order, the weakest: it bounds both kinds of adversaries but
        compares neither.
    unit : the unit of the logarithmic measures

    Examples
    --------
    >>> comparison = compare([["1", "0"], ["0", "1"]], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> comparison.safer("average_case"), comparison.measures["bayes_capacity"]
    ('B', (Fraction(2, 1), Fraction(3, 2)))
    """

    a: Channel
    b: Channel
    average_case: tuple[Refinement, Refinement]
    max_case: tuple[Refinement, Refinement]
    measures: dict[str, tuple[float | Fraction, float | Fraction]]
    unit: Unit

    def safer(self, order: str) -> str:
        """Return "A", "B", "both" or "neither" for the order "average_case", "max_case", or a measure by name.

        Examples
        --------
        >>> found = dv.compare([["1", "0"], ["0", "1"]], [["3/4", "1/4"], ["1/4", "3/4"]])
        >>> found.safer("bayes_capacity")
        'B'
        """
        if order in self.measures:
            left, right = self.measures[order]
            return SAFER[bool(right <= left), bool(left <= right)]
        refined = {"average_case": self.average_case, "max_case": self.max_case}
        if order not in refined:
            raise DivulgeError.unknown("order", order, [*refined, *self.measures])
        forward, backward = refined[order]
        return SAFER[forward.holds, backward.holds]

    def to_dict(self) -> dict[str, Any]:
        """Return verdicts, adversaries and measures as plain data.

        Examples
        --------
        >>> found = dv.compare([["1", "0"], ["0", "1"]], [["3/4", "1/4"], ["1/4", "3/4"]])
        >>> found.to_dict()["measures"]["bayes_capacity"]
        {'A': Fraction(2, 1), 'B': Fraction(3, 2), 'safer': 'B'}
        """
        orders = {"average_case": self.average_case, "max_case": self.max_case}
        return {
            "unit": self.unit,
            **{
                name: {
                    "safer": self.safer(name),
                    "adversaries": [_side_as_json(one, *names) for one, names in _failed(pair)],
                }
                for name, pair in orders.items()
            },
            "epsilon": {"safer": self.safer("ldp")},
            "measures": {name: {"A": a, "B": b, "safer": self.safer(name)} for name, (a, b) in self.measures.items()},
        }

    def __repr__(self) -> str:
        return "\n".join([*self._verdicts(), text_table(*self._table())])

    def _repr_html_(self) -> str:
        verdicts = html.escape(printable_lines("\n".join(self._verdicts())))
        return f"<pre>{verdicts}</pre>{html_table(*self._table())}"

    def _verdicts(self) -> list[str]:
        """Return what stands above the table of measures."""
        lines: list[str] = []
        for name, pair in (("average_case", self.average_case), ("max_case", self.max_case)):
            lines.append(f"{name.replace('_', '-')} adversaries: {_VERDICTS[self.safer(name)]}")
            lines += [_sentence(one, *names) for one, names in _failed(pair)]
        return [*lines, f"measures (logarithms in {self.unit}; smaller is safer):"]

    def _table(self) -> Table:
        return list(self.measures), "AB", raised(list(self.measures.values()))


def _failed(pair: tuple[Refinement, Refinement]) -> list[tuple[Refinement, tuple[str, str]]]:
    """Return the refinements that fail, each with the names of the riskier and the safer that it is not."""
    return [(one, names) for one, names in zip(pair, (("A", "B"), ("B", "A")), strict=True) if not one.holds]


def _side_as_json(one: Refinement, less: str, more: str) -> dict[str, Any]:
    gain = one.gain
    if gain is None or one.prior is None or one.vulnerability is None:
        return {"leaks_more": more}
    return {
        "leaks_more": more,
        "prior": one.prior.probabilities.tolist(),
        "gain": {"actions": list(gain.actions or ()), "matrix": gain.matrix.tolist()},
        "gain_after": dict(zip((less, more), one.vulnerability, strict=True)),
    }


def _sentence(one: Refinement, less: str, more: str) -> str:
    if one.gain is None or one.vulnerability is None:
        return f"  {more} leaks more than {less}, by too little to name an adversary"
    low, high = (number(v) for v in one.vulnerability)
    table = text_table(one.gain.actions or (), one.gain.secrets, one.gain.matrix)
    return "\n".join(
        [
            f"  {more} leaks more to this one: with every secret equally likely they expect {low} after {less}, "
            f"{high} after {more}",
            *("    " + line for line in table.split("\n")),
        ]
    )


def compare(
    a: ChannelLike,
    b: ChannelLike,
    prior: PriorLike | None = None,
    *,
    unit: Unit = "nats",
    tolerance: float | None = None,
) -> Comparison:
    """Return who is safer against whom: average-case and max-case refinement both ways, and the measures side by side.

    Parameters
    ----------
    a, b : Channel, or array_like of shapes (N, M) and (N, K)
    prior : Prior, optional
        Adds the measures that need one.
    unit : "nats" or "bits"
    tolerance : as in `refinement`

    Returns
    -------
    Comparison
        Prints as text. Needs SciPy (extra: science).

    Raises
    ------
    DivulgeError
        When a channel is none, the secrets differ, or `tolerance` is negative.

    References
    ----------
    Alvim et al., "The Science of Quantitative Information Flow", 2020, chapter 9; Chatzikokolakis, Fernandes,
    Palamidessi, "Comparing systems: Max-case refinement orders and application to differential privacy", CSF 2019.

    Examples
    --------
    >>> comparison = compare([["1", "0"], ["0", "1"]], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> comparison.safer("average_case"), comparison.safer("max_case"), comparison.safer("ldp")
    ('B', 'B', 'B')
    """
    a, b = as_channel(a), as_channel(b)
    alignment(a.secrets, b.secrets, "b", "the secrets of a")
    forward, backward = refinement(a, b, tolerance), refinement(b, a, tolerance)
    average = (forward, backward)
    largest = (max_case_refinement(a, b, tolerance), max_case_refinement(b, a, tolerance))
    pair = (forward.riskier, forward.safer)
    measures = _side_by_side(CHANNEL_MEASURES, pair, unit)
    if prior is not None:
        measures |= _side_by_side(JOINT_MEASURES, tuple(Joint(as_prior(prior), channel) for channel in pair), unit)
    return Comparison(*pair, average, largest, measures, unit)


def _side_by_side(table: dict[str, Any], pair: tuple[Any, ...], unit: Unit) -> dict[str, tuple[Any, Any]]:
    return {name: (measure(pair[0], unit=unit), measure(pair[1], unit=unit)) for name, measure in table.items()}

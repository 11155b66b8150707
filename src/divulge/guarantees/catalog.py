"""All kinds of guarantee by name, and guarantees read from text."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from divulge.errors import DivulgeError, did_you_mean
from divulge.guarantees import kinds
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.curve import CURVE
from divulge.guarantees.kinds.divergences import DIVERGENCE
from divulge.guarantees.kinds.loss import DIFFERENTIAL_PRIVACY
from divulge.guarantees.kinds.tables import TABLES
from divulge.model.metrics.metric import Metric
from divulge.model.metrics.quantities import rate

INFORMATION_DENSITY: tuple[type[Guarantee], ...] = (
    kinds.PML,
    kinds.PMC,
    kinds.LIP,
    kinds.ALIP,
    kinds.LDP,
    kinds.DP,
    kinds.Lift,
    kinds.LiftCapacity,
    kinds.MaxGLeakage,
    kinds.AverageGLeakage,
    kinds.BayesCapacity,
    kinds.MaximalLeakage,
    kinds.MaximalCostLeakage,
    kinds.MinEntropyLeakage,
    kinds.MeanPML,
    kinds.MeanPMC,
    kinds.MutualInformation,
    kinds.TailPML,
    kinds.TailPMC,
)

KINDS: dict[str, type[Guarantee]] = {
    kind.kind: kind
    for kind in (*INFORMATION_DENSITY, *TABLES, kinds.MetricPrivacy, *DIFFERENTIAL_PRIVACY, *CURVE, *DIVERGENCE)
}
"""Name on the command line -> kind of guarantee. Adding a kind is adding it here."""


def kind_named(name: Any) -> type[Guarantee]:
    """Return the kind of guarantee with this name; `_` and `-` are the same, case does not matter.

    >>> kind_named("Lift_Capacity").title
    'lift capacity'
    """
    if isinstance(name, type) and issubclass(name, Guarantee):
        return name
    try:
        return KINDS[str(name).strip().lower().replace("_", "-")]
    except KeyError:
        called = str(name).strip().lower().replace(" ", "-")
        meant = _CALLED.get(called) or did_you_mean(name, KINDS).strip() or _ABOUT_ANSWERS
        hint = f"{meant} The kinds are {', '.join(KINDS)}."
        raise DivulgeError.of("guarantee", "be of a known kind", "it", repr(name), hint) from None


_ABOUT_ANSWERS = "ldp=1 is about each answer by itself, dp=1 about statistics of all."
_DIVERSE = "l-diversity is distinct-l, entropy-l or recursive-l."
_CALLED = {
    **dict.fromkeys(("epsilon", "eps", "\u03b5", "differential-privacy"), _ABOUT_ANSWERS),
    "k-anonymity": "It is k=5.", "l": _DIVERSE, "l-diversity": _DIVERSE, "t-closeness": "It is t=0.2, or ordered-t.",
    "beta-likeness": "It is beta, or enhanced-beta.", "local-differential-privacy": "It is ldp=1.",
    "renyi": "It is rdp=ORDER:EPSILON.", "gaussian": "It is gdp=MU.",
}  # fmt: skip
"""What people write where the name of a kind belongs, and what they find it under."""


def parse(text: str, metric: Metric | None = None) -> Guarantee:
    """Return the guarantee written as kind=value, with `:` between several values; numbers are taken exactly.

    Parameters
    ----------
    text : str
        Such as "pml=0.5"; the names of the kinds and of their parameters are those of `divulge convert --help`.
    metric : Metric, optional
        What "metric=0.5" or "metric=1/km" is about.

    Returns
    -------
    Guarantee
        Logarithmic parameters in nats.

    Raises
    ------
    DivulgeError
        When the kind is unknown, or a number is missing, too many, or out of range.

    Examples
    --------
    >>> parse("pml=0.5"), parse("alip=0.3:1/2")
    (PML('0.5'), ALIP('0.3', '0.5'))
    >>> str(parse("alip=0.3:1/2"))
    'alip=0.3:0.5'
    """
    DivulgeError.unless(text, str, "guarantee", "be text such as pml=0.5")
    name, equals, rest = _parts(text)
    before, colon, _ = text.partition(":")
    if not equals and colon and before.strip().lower().replace("_", "-") in KINDS:
        written = text.replace(":", "=", 1)
        raise DivulgeError.of("guarantee", "have = behind its kind", "it", repr(text), f"write {written}.")
    kind = kind_named(name)
    values = rest.split(":") if equals else []
    for value in values:
        _refuse_other_notation(value)
    forms = kind.forms or (kind.parameters(),)
    for form in forms:
        if len(values) == len(form):
            parameters: dict[str, Any] = dict(zip(form, values, strict=True))
            parameters |= _about_metric(kind, text, values, metric)
            return kind(**parameters)
    written = " or ".join(f"{kind.kind}={':'.join(form).upper()}" for form in forms)
    raise DivulgeError.of("guarantee", f"be written {written}", "it", repr(text))


def _about_metric(kind: type[Guarantee], text: str, values: list[str], metric: Metric | None) -> dict[str, Metric]:
    """Return the metric that a kind with distances is about; epsilon has a unit where the metric has one."""
    if "metric" not in kind.index:
        return {}
    if metric is None:
        hint = (
            "on the command line --distance grid:WIDTHxHEIGHT:STEP, line or a FILE; else dv.MetricPrivacy(eps, metric)."
        )
        raise DivulgeError.of("guarantee", "come with a metric, which says how far secrets are", "it", repr(text), hint)
    if metric.unit and not rate(values[0])[2]:
        raise DivulgeError.of(
            "guarantee", f"say per what, as distances are in {metric.unit}", "it", repr(text),
            f"write {text}/{metric.unit}.",
        )  # fmt: skip
    return {"metric": metric}


def _refuse_other_notation(value: str) -> None:
    """Refuse a share in percent, and a factor e^epsilon in the place of epsilon, each with what is meant."""
    number = value.strip().lower()
    if number.endswith("%"):
        raise DivulgeError.of("guarantee", "have numbers without percent signs", "a part", repr(value), "50 % is 0.5.")
    factor = re.fullmatch(r"([0-9.]+)\s*(?:x|\u00d7|times)", number)
    if factor or re.match(r"(?:e\s*(?:\^|\*\*)|exp\s*\()", number):
        raise DivulgeError.of(
            "guarantee", "have epsilon itself, not the factor e^epsilon by which odds change", "a part", repr(value),
            "epsilon is the logarithm of the factor: 0.693 for a factor of 2, 1.0986 for 3, 2.303 for 10.",
        )  # fmt: skip


def as_guarantee(value: Any, argument: str = "guarantee") -> Guarantee:
    """Return a guarantee as it is, and the one that a text such as "pml=0.5" means.

    >>> as_guarantee("pml=0.5") == kinds.PML("1/2")
    True
    """
    if isinstance(value, Guarantee):
        return value
    if isinstance(value, str):
        return parse(value)
    raise DivulgeError.of(argument, 'be a guarantee or text such as "pml=0.5"', "it", f"a {type(value).__name__}")


def as_guarantees(given: Any, argument: str) -> tuple[Guarantee, ...]:
    """Return one guarantee, or several, each as it is or from its text; at least one.

    >>> as_guarantees(["pml=0.5", "ldp=1"], "claims")[1].kind
    'ldp'
    """
    if isinstance(given, (str, Guarantee)):
        return (as_guarantee(given, argument),)
    found = tuple(as_guarantee(one, argument) for one in given) if isinstance(given, Iterable) else ()
    if not found:
        what = "empty" if isinstance(given, Iterable) else f"a {type(given).__name__}"
        raise DivulgeError.of(argument, "name at least one guarantee", "it", what)
    return found


def as_typed(found: Mapping[str, Any]) -> Guarantee:
    """Return a guarantee from its plain data in nats.

    >>> as_typed({"kind": "pml", "epsilon": "1/2"}) == kinds.PML("1/2")
    True
    """
    return kind_named(str(found["kind"]))(**{name: value for name, value in found.items() if name != "kind"})


def parse_query(text: str) -> tuple[type[Guarantee], dict[str, str]]:
    """Return the kind asked for and its chosen parameters, written kind, or kind=value with ? for what is unknown.

    >>> kind, index = parse_query("tail-pml=0.5:?")
    >>> kind.kind, index
    ('tail-pml', {'epsilon': '0.5'})
    >>> parse_query("adp=1:?")[1]  # delta at a chosen epsilon
    {'epsilon': '1'}
    """
    name, equals, rest = _parts(text)
    kind = kind_named(name)
    if not equals:
        return kind, {}
    values, form = [value.strip() for value in rest.split(":")], kind.forms[-1] if kind.forms else kind.parameters()
    unknown = tuple(name for name, value in zip(form, values, strict=False) if value == "?")
    turned = kind.index if kind.dual else None
    if len(values) != len(form) or unknown not in (kind.bounded(), turned):
        ways = [
            [("?" if name in asked else name.upper()) for name in form] for asked in (kind.bounded(), turned) if asked
        ]
        written = " or ".join(f"{kind.kind}={':'.join(way)}" for way in ways)
        raise DivulgeError.of("to", f"be written {written}", "it", repr(text))
    return kind, {name: value for name, value in zip(form, values, strict=True) if name not in unknown}


def _parts(text: str) -> tuple[str, str, str]:
    """Return what stands before =, it, and what stands behind; refuse a number alone."""
    name, equals, rest = text.partition("=")
    if not equals and not name.strip()[:1].isalpha():
        raise DivulgeError.of(
            "guarantee", "be a kind and its number, such as ldp=1", "it", repr(text),
            "ldp=1 lets the odds of anything about a person change by e, 2.72 times, at most.",
        )  # fmt: skip
    return name, equals, rest

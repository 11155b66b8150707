"""Every public name is documented with an example and refuses garbage; a new name is covered at once."""

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import RUNNING_CHANNEL, RUNNING_PRIOR, public

import divulge as dv

PUBLIC = public()
NAMES = sorted(PUBLIC)
BUILDERS = {
    f"{kind.__name__}.{name}": getattr(kind, name)
    for kind in (dv.Gain, dv.Cost, dv.adversaries.RandomizedFunction)
    for name, method in vars(kind).items()
    if isinstance(method, (staticmethod, classmethod)) and not name.startswith("_")
}
STAY, TOLD = [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]]
VISITS = pa.table({"who": [1, 1, 1], "day": [1, 2, 3], "place": [0, 1, 1]})
CHAIN = dv.Chain(["1/2", "1/2"], STAY, TOLD, steps=3)
NETWORK = dv.networks.couple().release("Bob", TOLD)
ABOUT_MODELS = {
    f"{type(subject).__name__}.{name}": getattr(subject, name)
    for subject in (CHAIN, NETWORK)
    for name, method in vars(type(subject)).items()
    if isinstance(method, (staticmethod, classmethod)) or (inspect.isfunction(method) and not name.startswith("_"))
    if name != "weights"  # of questions, which `question` makes
} | {kind.__name__: kind for kind in (dv.Chain, dv.Network, dv.networks.Candidates)}
LADDERS = {f"Hierarchy.{name}": getattr(dv.tables.Hierarchy, name) for name in ("read", "table")}
FUNCTIONS = (
    {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)} | BUILDERS | ABOUT_MODELS | LADDERS
)
GUARANTEES = {
    name: kind
    for name in NAMES
    if inspect.isclass(kind := PUBLIC[name]) and issubclass(kind, dv.Guarantee) and kind is not dv.Guarantee
}
JOINT = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)

NO_NUMBERS = [None, math.nan, 3.5, "nonsense", object(), [], [math.nan, 1.0], [math.inf, 0.0], [-1.0, 2.0]]
NO_MATRIX = [*NO_NUMBERS, [0.5, 0.5], [[]], [[math.nan, 1.0]], [[-1.0, 2.0]], [[0.5, 0.4]], [[True, False]], [[[1.0]]]]
NO_NUMBER = [None, math.nan, "nonsense", object(), {}, 1j, [math.nan], ["nonsense"]]
NO_TEXT = [None, math.nan, 3, object(), [], b"x"]
NO_GUARANTEE = [None, math.nan, 3, "nonsense", object(), [None], dv.PML]
NO_TABLE = [None, math.nan, 3, "no-such-file.parquet", object(), []]
NO_COLUMN = ["nonsense", None, math.nan, 3, object(), []]
NO_LABELS = [None, 0, -1, math.nan, [], ["a", "a"], [math.nan], [["a"]]]
NO_FUNCTION = [None, 3, "nonsense", object(), []]
NO_OBJECT = [None, math.nan, 3, "nonsense", object(), [], [[math.nan]]]

NO_STEP = [None, math.nan, -1, 3, 0.5, "nonsense", object(), [], {}, {0}, [0], (), (0, 0), (0, 9)]
NO_VARIABLE = [None, math.nan, -1, 0.5, "nonsense", object(), [], {}, {"Ann"}, ["Ann"], (), ("Ann", "Ann")]
NO_OUTPUTS = [None, 3, math.nan, "nonsense", object(), [2], [math.nan], [None], [[0]], [0] * 4, {0: 1}, {0}]
NO_NAMES = [None, 3, math.nan, object(), [], "Ann", b"Ann", [[0]], [0, 0], [math.nan]]
NO_TEXT_TABLE = [None, 3, math.nan, "nonsense", object(), [], [[]], [["a"], ["a", "b"]], [["a", "b"], ["a", "c"]]]

TABLE = {"secret": ["a", "b", "a", "b"], "released": ["a", "b", "b", "a"]}


def frame() -> Any:
    return pa.table(TABLE)


# parameter, or function.parameter where it means something else there
# -> (a value that is right in the call below, values that never are)
PARAMETERS: dict[str, tuple[Any, list[Any]]] = {
    "a": (RUNNING_CHANNEL, NO_MATRIX),
    "b": (RUNNING_CHANNEL, NO_MATRIX),
    "adversary": (dv.Gain.identity(["b", "g", "bg"]), NO_OBJECT),
    "adversaries": ([dv.Gain.identity(["b", "g", "bg"])], NO_OBJECT),
    "after": (0.5, NO_NUMBER),
    "alip": (dv.ALIP(1, 0.5), NO_OBJECT),
    "alpha": (2.0, NO_NUMBER),
    "before": (0.1, NO_NUMBER),
    "channel": (RUNNING_CHANNEL, NO_MATRIX),
    "correlation": (JOINT, NO_MATRIX),
    "cost": (dv.Cost.zero_one(["b", "g", "bg"]), NO_OBJECT),
    "delta": (1e-3, [*NO_NUMBER, -0.1, 1.5]),
    "epsilon": (0.5, NO_NUMBER),
    "gain": (dv.Gain.identity(["b", "g", "bg"]), NO_OBJECT),
    "given": (dv.PML(0.5), NO_GUARANTEE),
    "guarantee": (dv.PML(0.5), NO_GUARANTEE),
    "joint": (JOINT, NO_MATRIX),
    "kind": (dv.PML, NO_OBJECT),
    "mechanism": (JOINT, NO_MATRIX),
    "of": (dv.ALIP(1, 0.5), NO_OBJECT),
    "order": (2.0, NO_NUMBER),
    "outside": (0.5, NO_NUMBER),
    "outcome": ("b", ["nonsense", math.nan, object()]),
    "p": (RUNNING_PRIOR, NO_NUMBERS),
    "path": ("no-such-file.csv", [*NO_TEXT, "no-such-folder/no-such-file.csv"]),
    "prior": (RUNNING_PRIOR, NO_NUMBERS),
    "probability": (0.25, NO_NUMBER),
    "q": (RUNNING_PRIOR, NO_NUMBERS),
    "rho": (0.5, NO_NUMBER),
    "riskier": (RUNNING_CHANNEL, NO_MATRIX),
    "safer": (RUNNING_CHANNEL, NO_MATRIX),
    "spec": ("uniform", [*NO_TEXT, "no-such-file.csv"]),
    "subject": (RUNNING_CHANNEL, NO_MATRIX),
    "text": ("pml=0.5", ["", "nonsense", "pml", "pml=", "pml=nan", "pml=-1", "=1", None, 3]),
    "threshold": (0.5, NO_NUMBER),
    "columns": (["secret"], NO_COLUMN),
    "column": ("secret", NO_COLUMN),
    "candidates": (["a", "b"], NO_LABELS),
    "counts": ([1, 2], [None, math.nan, "nonsense", object(), [], [0], [1.5], [math.nan], ["a"]]),
    "data": (frame(), NO_TABLE),
    "f": (lambda ratio: (ratio - 1) ** 2, NO_FUNCTION),
    "first": (RUNNING_CHANNEL, NO_MATRIX),
    "function": ({"b": 1, "g": 2, "bg": 2}, [None, 3, math.nan, "nonsense", object(), [], {"b": 1}]),
    "grid": ([[0.5, 0.5]], NO_OBJECT),
    "k": (1, [0, -1, 1.5, math.nan, "nonsense", object(), [], {}]),
    "members": (["b"], [None, 3, math.nan, object(), ["nonsense"], [[]]]),
    "misses": ([0.5, 0.5, 0.5], NO_NUMBERS),
    "outcomes": ([0.5, 1.5, 2.5], [None, 3, "nonsense", object(), [], [math.nan] * 3, ["a"] * 3]),
    "rng": (np.random.default_rng(0), [None, 3, "nonsense", object(), []]),
    "score": (lambda secret, candidate: 1.0 * (secret == candidate), NO_FUNCTION),
    "secrets": (["b", "g", "bg"], NO_LABELS),
    "sensitivity": (1.0, [*NO_NUMBER, 0.0, -1.0]),
    "source": (frame(), NO_TABLE),
    "table": (frame(), NO_TABLE),
    "Hierarchy.table.rows": ([["a", "*"], ["b", "*"]], NO_TEXT_TABLE),
    "values": (5, [None, math.nan, 3.5, "nonsense", object(), [], 0, 1, -1, True, ["a", "a"], [math.nan, 1.0]]),
    "within": (1.0, NO_NUMBER),
    "Cost.power.p": (1.0, NO_NUMBER),
    "audit.secret": ("secret", NO_COLUMN),
    "audit.released": ("released", NO_COLUMN),
    "estimate_frequencies.released": (frame(), NO_TABLE),
    "audit_attribute.guesses": (["a", "b"], [None, 3, math.nan, object(), [], [None, "a"], ["a"], [math.nan, 1.0]]),
    "audit_attribute.baseline": (["a", "a"], [None, 3, math.nan, object(), [], [None, "a"], ["a"], [math.nan, 1.0]]),
    "audit_attribute.truth": (["a", "b"], [None, 3, math.nan, object(), [], [None, "a"], ["a"], [math.nan, 1.0]]),
    "audit_synthetic.synthetic": (frame(), NO_TABLE),
    "audit_synthetic.members": (frame(), NO_TABLE),
    "audit_synthetic.others": (frame(), NO_TABLE),
    "audit_synthetic.secret": ("secret", NO_COLUMN),
    "audit_synthetic.known": (["released"], [*NO_COLUMN, ["secret"]]),
    "calibrate.family": ("laplace", [None, 3, "nonsense", object(), [], dict]),
    "calibrate.people": (None, ["nonsense", 0, -1, 1.5, math.nan, [], object()]),
    "calibrate.goal": ("dp=1", [*NO_GUARANTEE, "pml=1", "zcdp=1:1", "dp=0"]),
    "audit_membership.scores": ([0.1, 0.2, 0.3], [None, 3, "nonsense", object(), [], [math.nan, 1.0, 2.0], ["a"] * 3]),
    "audit_membership.member": ([0, 1, 0], [None, 3, "nonsense", object(), [], [0, 0, 0], [0, 1], [0.5, 1, 0]]),
    "noisy_places.lat": ([48.8], [None, 3, "nonsense", object(), [], [math.nan], [91], [[1]], ["a"]]),
    "noisy_places.lon": ([2.3], [None, 3, "nonsense", object(), [], [math.nan], [181], [[1]], ["a"], [1, 2]]),
    "noisy_places.epsilon": ("1/km", [*NO_NUMBER, 1, "1", "1/h", "0/km", "-1/km"]),
    "noisy_places.grid": ("500m", [*NO_NUMBER, 1, "1", "1h", "0m", "-1m"]),
    "noisy_places.box": ((48.7, 2.1, 49.0, 2.6), [None, 3, "nonsense", object(), [], [math.nan] * 4, (1, 2, 3)]),
    "anytime.right": ([1, 0], [None, 3, math.nan, "nonsense", object(), [], [0.5], [[1]]]),
    "guesses": (3, [None, 0, -1, 1.5, math.nan, "nonsense", object(), [], True]),
    "moment": (2, [*NO_NUMBER, 0, -1, math.inf]),
    "right": (2, [None, -1, 1.5, math.nan, "nonsense", object(), [], 4]),
    "guessability.secrets": ([0, 1, 0], [None, 3, object(), [], [0]]),
    "publish.statistics": (dv.Count("secret"), NO_OBJECT),
    "publish.guarantee": ("dp=1", NO_GUARANTEE),
    "report.subject": (JOINT, [*NO_MATRIX, RUNNING_CHANNEL]),
    "release.mechanism": (dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"]), NO_OBJECT),
    "family.allele": ("1/10", ["nonsense", None, math.nan, object(), [], -0.1, 1.5]),
    "assess.known": (["secret"], [v for v in NO_COLUMN if v not in (None, [])]),
    "couple.both": ("1/20", ["nonsense", None, math.nan, object(), [], -0.1, 1, True]),
    "chain": (CHAIN, NO_OBJECT),
    "count": (1, [None, 0, -1, 1.5, math.nan, "nonsense", object(), [], True]),
    "Chain.table": (VISITS, NO_TABLE),
    "Chain.id": ("who", NO_COLUMN),
    "Chain.time": ("day", NO_COLUMN),
    "Chain.state": ("place", NO_COLUMN),
    "Chain.estimated.confidence": (0.9, [*NO_NUMBER, 0, 1, -1, 2]),
    "Chain.transition": (STAY, NO_MATRIX),
    "Chain.release": ([TOLD] * 3, NO_MATRIX),
    "Chain.secret": (0, NO_STEP),
    "initial": (["1/2", "1/2"], NO_NUMBERS),
    "matrices": ([STAY], [v for v in NO_MATRIX if v != [[[1.0]]]]),
    "model": (NETWORK, NO_OBJECT),
    "outputs": ([0, 0, 0], NO_OUTPUTS),
    "places": ([0, 1], NO_NAMES),
    "formula": (max, NO_FUNCTION),
    "generalize.known": (["secret"], NO_COLUMN),
    "generalize.guarantees": (["k=1"], [*NO_GUARANTEE, ["nonsense"], ["k=0"], ["k=nan"], ["pml=-1"]]),
    "Network.secret": ("Ann", NO_VARIABLE),
    "Chain.worst.side": ("pml", ["nonsense", None, 3, math.nan, object(), []]),
    "Chain.steps": (3, [0, -1, 1.5, math.nan, "nonsense", object(), [], True, 10**12]),
    "Network.worst.side": ("pml", ["nonsense", None, 3, math.nan, object(), []]),
    "Network.release.channel": (TOLD, [v for v in NO_MATRIX if v is not None]),
    "Network.release.name": ("told", [math.nan, object(), [], {}, b"x", True, "Bob"]),
    "Network.from_bif.tolerance": (0, [*NO_NUMBER, -1, 3, math.inf]),
    "assess.secret": ("released", [v for v in NO_COLUMN if v not in (None, [])]),
    "Network.outputs": ({"Bob": 1}, [3, math.nan, "nonsense", object(), [0], {"Ann": 1}, {"Bob": 5}, {"Bob": [1]}]),
    "Network.variable": ("Ann", [v for v in NO_VARIABLE if v != -1]),
    "variables": (
        {"a": ["1/2", "1/2"]},
        [
            *NO_OBJECT,
            {},
            {"a": None},
            {"a": "nonsense"},
            {("a",): [1.0]},
            {None: [1.0]},
            {"a": [0.5, 0.4]},
            *({"a": [0.5, 0.5], "b": (parents, STAY)} for parents in (["c"], ["b"], ["a", "a"], [["a"]], None, 3.5)),
        ],
    ),
    "wasserstein.state": (0, ["nonsense", None, 7, math.nan, object(), [0]]),
    "markov_quilt.epsilon": (1.0, [*NO_NUMBER, 0.0, -1.0]),
    "wasserstein.epsilon": (1.0, [*NO_NUMBER, 0.0, -1.0]),
    "quilt_influence.step": (1, [None, -1, 3, 0.5, math.nan, "nonsense", object(), []]),
    "quilt_influence.before": (1, [-1, 3, 0.5, math.nan, "nonsense", object(), []]),
    "quilt_influence.after": (1, [-1, 3, 0.5, math.nan, "nonsense", object(), []]),
    "Network.posterior.outputs": ({"Bob": 1}, [3, math.nan, "nonsense", object(), [0], {"Ann": 1}, {"Bob": 5}]),
    "temporal_limit.transition": (STAY, NO_MATRIX),
    "temporal_limit.epsilon": (1.0, [*NO_NUMBER, -1.0]),
    "Chain.calibrate.epsilon": (1.0, [*NO_NUMBER, -1.0]),
    "unit": ("nats", ["furlongs", "", None, 1, math.nan]),
}


def required(function: Callable[..., Any]) -> list[str]:
    """Name the parameters to try: those without a default, `unit` and `k`."""
    found = inspect.signature(function).parameters.values()
    plain = [p for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return [p.name for p in plain if p.default is p.empty or p.name in ("unit", "k")]


def tried(name: str) -> list[str]:
    """Name the parameters of a function to try: also those with a default that have a row of their own."""
    function = FUNCTIONS[name]
    others = [p for p in inspect.signature(function).parameters if f"{name}.{p}" in PARAMETERS]
    return list(dict.fromkeys([*required(function), *others]))


def entry(function: str, parameter: str) -> tuple[Any, list[Any]] | None:
    """Return what is right and what is wrong for a parameter of a function."""
    names = [f"{function}.{parameter}", f"{function.partition('.')[0]}.{parameter}", parameter]
    return next((PARAMETERS[name] for name in names if name in PARAMETERS), None)


def cases() -> Iterator[tuple[str, str]]:
    for name in FUNCTIONS:
        for parameter in tried(name):
            if entry(name, parameter):
                yield name, parameter


def test_every_public_name_is_documented_with_an_example() -> None:
    assert len(NAMES) > 200
    for name, thing in PUBLIC.items():
        text = inspect.cleandoc(thing.__doc__ or "")
        assert text.strip(), f"{name} has no docstring"
        if not inspect.ismodule(thing):
            assert "Examples\n--------" in text, f"the docstring of {name} has no section Examples"
            assert ">>>" in text, f"the examples of {name} have no call"


@pytest.mark.parametrize(("name", "parameter"), list(cases()))
def test_garbage_is_refused(name: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function = FUNCTIONS[name]
    right = {other: found[0] for other in tried(name) if (found := entry(name, other))}
    accepted = []
    for wrong in (entry(name, parameter) or (None, []))[1]:
        try:
            function(**(right | {parameter: wrong}))
        except (dv.DivulgeError, TypeError) as error:
            if name in ABOUT_MODELS and not isinstance(error, dv.DivulgeError):
                accepted.append(f"{wrong!r} raises TypeError: {error}")
        except Exception as error:
            accepted.append(f"{wrong!r} raises {type(error).__name__}: {error}")
        else:
            accepted.append(f"{wrong!r} is accepted")
    assert not accepted, f"{name}({parameter}=...): " + "; ".join(accepted)


@pytest.mark.parametrize("name", GUARANTEES)
def test_a_guarantee_refuses_what_is_no_level(name: str) -> None:
    kind = GUARANTEES[name]
    parameters = required(kind)
    for parameter in parameters:
        for wrong in [*NO_NUMBER, -1.0]:
            with pytest.raises((dv.DivulgeError, TypeError)):
                kind(**(dict.fromkeys(parameters, 0.5) | {parameter: wrong}))


def test_the_garbage_test_finds_what_accepts_garbage() -> None:
    assert len(list(cases())) > 100
    assert {"pml", "ldp", "design", "profile"} <= {name for name, _ in cases()}


def methods() -> Iterator[tuple[str, Any]]:
    """Yield every public method of a public class; what is inherited is named by where it is defined."""
    seen: set[Any] = set()
    for name in NAMES:
        thing = PUBLIC[name]
        for kind in thing.__mro__ if inspect.isclass(thing) else ():
            for method_name, method in vars(kind).items():
                callable_ = method.__func__ if isinstance(method, (classmethod, staticmethod)) else method
                ours = kind.__module__.startswith("divulge") and not method_name.startswith("_")
                if ours and inspect.isfunction(callable_) and callable_ not in seen:
                    seen.add(callable_)
                    yield f"{kind.__name__}.{method_name}", getattr(thing, method_name)


def undocumented(function: Any, sections: list[str]) -> list[str]:
    """Return the sections that the docstring of a function lacks."""
    text = inspect.getdoc(function) or ""
    return [section for section in sections if f"{section}\n{'-' * len(section)}\n" not in text]


MODULES = {f"mechanisms.{name}": getattr(dv.mechanisms, name) for name in dv.mechanisms.__all__}
FULL = {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)} | MODULES


def test_every_function_says_what_goes_in_what_comes_out_and_what_is_refused() -> None:
    assert len(FULL) > 100
    for name, function in FULL.items():
        lacks = undocumented(function, ["Parameters", "Returns", "Raises", "Examples"])
        assert not lacks, f"the docstring of {name} has no section {lacks}"
        told = inspect.getdoc(function) or ""
        described = told.split("Parameters\n----------")[1].split("\nReturns\n-------")[0]
        names = [p for p in inspect.signature(function).parameters if p not in ("unit", "tolerance")]
        missing = [p for p in names if p not in described]
        assert not missing, f"the docstring of {name} says nothing of {missing}"


def test_every_method_is_documented_with_an_example() -> None:
    found = dict(methods())
    assert len(found) > 200
    assert [name for name, method in found.items() if undocumented(method, ["Examples"])] == []


REFUSED = {
    "Pointwise.moment": lambda bad: dv.pml(JOINT).moment(bad),
    "Pointwise.tail": lambda bad: dv.pml(JOINT).tail(bad),
    "Pointwise.cdf": lambda bad: dv.pml(JOINT).cdf(bad),
    "PrivacyLoss.moment": lambda bad: dv.dp.privacy_losses(RUNNING_CHANNEL)[0].moment(bad),
    "SampledLeakage.tail": lambda bad: dv.dp.sampled_leakage(RUNNING_PRIOR, RUNNING_CHANNEL, rng=0, samples=9).tail(
        bad
    ),
    "Composition.times": lambda bad: dv.compose(RUNNING_CHANNEL).times(bad),
    "Composition.group": lambda bad: dv.compose(dv.dp.LaplaceMechanism(1.0)).group(bad),
    "Comparison.safer": lambda bad: dv.compare(RUNNING_CHANNEL, RUNNING_CHANNEL).safer(bad),
    "NoiseMechanism.cdf": lambda bad: dv.NoiseMechanism("laplace", "rademacher()", scale=1).cdf(bad),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("bad", [math.nan, None, "nonsense"])
def test_a_method_refuses_what_is_no_number(name: str, bad: Any) -> None:
    with pytest.raises((dv.DivulgeError, TypeError)):
        REFUSED[name](bad)


@pytest.mark.parametrize(("name", "bad"), [("Composition.times", math.inf), ("Composition.group", math.inf),
                                           ("PrivacyLoss.moment", 1.5)])  # fmt: skip
def test_a_method_refuses_numbers_out_of_range(name: str, bad: float) -> None:
    with pytest.raises(dv.DivulgeError):
        REFUSED[name](bad)

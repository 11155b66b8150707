"""What a type checker is told: no public name takes or returns `Any`, but where no class can say what it is."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import divulge as dv

PUBLIC = (
    dv, dv.measures, dv.adversaries, dv.dp, dv.guarantees, dv.networks, dv.noise, dv.protocols, dv.tables, dv.results,
    dv.mechanisms, dv.datasets,
)  # fmt: skip

JSON = re.compile(r"(list\[|tuple\[)?(dict|Mapping)\[str, (list\[)?Any\]?\](, \.\.\.)?\]?( \| None)?")
"""An object of JSON, whose entries `json.loads` types so too."""
LABELS = re.compile(r"Callable\[(\.\.\.|\[(Any(, )?)+\]), [^A]+\]|Mapping\[Any, |Callable\[\.\.\., Any\]")
"""Functions and mappings of a user's own labels: whoever writes one takes them as what they are."""

WHY = {
    "options": "the options of the record that is asked for, which names the one that is meant",
    "index": "the parameters that are chosen of a kind of guarantee, which are others for each kind",
    "context": "prior, p_min, n, uniform, general, and the index of the kind",
    "subject": "what a kind of guarantee is decided on: each kind says it, what they have in common cannot",
    "above": "a class of a room above, which this one does not import",
    "foreign": "an object of a library without types: pyarrow, scipy.sparse, scipy.stats, dp-accounting, pgmpy",
    "shape": "a number for one, an array for several, as NumPy types its functions",
    "kept": "given as one thing, such as text, and kept as another",
    "own": "what only the one who made it knows: a label, a memory, a proof, an action",
}
"""Why no class says it."""

EXCUSED = {
    "options": (
        "frontier.options", "least_epsilon.options", "publish.options", "preview.options", "release.options",
        "Request.of.options", "generalize.options", "repeated_runs.options",
    ),
    "index": ("implied.index", "Guarantee.of.index", "MetricPrivacy.of.index"),
    "context": (
        "Guarantee.implies.context", "Guarantee.stronger_than.context", "plot_alip_plane.context",
        "plot_implications.context", "posterior_bounds.context", "decisive_bound.context",
    ),
    "subject": (
        "Guarantee.levels.subject", "Guarantee.levels_in.subject", "Protocol.subject_of",
    ),
    "above": (
        "Terms.derivation", "Chain.estimated", "Pufferfish.noise", "NoisyLeakage.mechanism", "Protocol.report",
        "Ledger.spending.receipt", "run", "TwoLevel.losses",
    ),
    "foreign": (
        "adult", "census", "repeated_runs", "to_dp_accounting", "from_dp_accounting.distribution",
        "DistributionPair.p", "DistributionPair.q", "Source.schema", "Source.restore", "Source.batches",
        "Pointwise.plot.options", "Channel.matrix", "Channel.floats", "Joint.c", "Joint.matrix",
        "Network.from_pgmpy.model", "Published.table", "Published.numbers", "Published.arrow", "Published.read.table",
        "Published.of_document.table", "Receipt.table", "Reports.table", "Generalization.rows", "Generalization.table",
    ),
    "shape": (
        "PrivacyLoss.tail", "PrivacyLoss.tail_under_q", "PrivacyLoss.delta", "PrivacyLoss.cdf", "PrivacyLoss.epsilon",
        "PrivacyLoss.quantile", "TradeOff.__call__", "Worst.value", "Worst.pair", "Worst.lower", "NoisyLeakage.at",
        "NoisyRelease.pml", "NoisyRelease.pmc", "NoisyRelease.error", "NoisyRelease.log_density",
        "NoisyRelease.density", "NoisyRelease.posterior_density", "NoisyRelease.cdf", "estimate_frequencies",
    ),
    "kept": (
        "ConvexHull.corners", "ConvexHull.secrets", "L1Ball.center", "L1Ball.radius", "LowerBounded.secrets",
        "LowerBounded.least_probability", "Polytope.matrix", "Polytope.bounds", "Polytope.secrets", "Numeric.bounds",
        "Numeric.by", "Numeric.step", "Proportion.by", "Quantiles.probabilities",
    ),
    "own": (
        "Adversary.best_action", "Adversary.named", "Adversary.named.action", "Hierarchy.arguments", "Pufferfish.proof",
        "Receipt.mechanism_of",
    ),
}  # fmt: skip
"""Reason -> the names with it: a function or an attribute for what it returns or is, and a parameter behind it."""


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


def _homes() -> set[tuple[str, str]]:
    """Return (module, name) of every public function and class, and of the classes that these are made of."""
    found = [getattr(module, name) for module in PUBLIC for name in _names(module)]
    whole = [one for thing in found for one in (thing.__mro__ if inspect.isclass(thing) else [inspect.unwrap(thing)])]
    return {(one.__module__, one.__qualname__) for one in whole if one.__module__.startswith("divulge.")}


def _names(module: ModuleType) -> list[str]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return [name for name in names if callable(getattr(module, name))]


def _signature(name: str, node: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    given = node.args
    for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if one is not None and one.annotation is not None:
            yield f"{name}.{one.arg}", one.annotation
    if node.returns is not None:
        yield name, node.returns


def annotations(tree: ast.Module, name: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield what is said of each parameter, result and attribute of a function or class of a module."""
    node = next(one for one in tree.body if getattr(one, "name", None) == name)
    if isinstance(node, ast.FunctionDef):
        yield from _signature(name, node)
        return
    for one in getattr(node, "body", ()):
        if isinstance(one, ast.FunctionDef) and (one.name in ("__init__", "__call__") or not one.name.startswith("_")):
            yield from _signature(f"{name}.{one.name}", one)
        elif isinstance(one, ast.AnnAssign) and not ast.unparse(one.target).startswith("_"):
            yield f"{name}.{ast.unparse(one.target)}", one.annotation


def unknown(annotation: ast.expr) -> bool:
    """Say whether an annotation leaves something open that is no object of JSON, and no label of a user."""
    return bool(re.search(r"\bAny\b", LABELS.sub("", JSON.sub("", ast.unparse(annotation)))))


def _open() -> set[str]:
    return {where for module, name in _homes() for where, said in annotations(_tree(module), name) if unknown(said)}


def _excuses(where: str) -> set[str]:
    return {where, f"*.{where.partition('.')[2]}"}


def test_no_public_name_takes_or_returns_anything_but_for_a_reason() -> None:
    excused = {name for names in EXCUSED.values() for name in names}
    found = _open()
    assert not {where for where in found if not _excuses(where) & excused}
    assert excused <= {one for where in found for one in _excuses(where)}, "what is excused has a class by now"
    assert len(found) < 95
    assert EXCUSED.keys() == WHY.keys()


def test_what_is_open_is_seen() -> None:
    def said(text: str) -> list[str]:
        return [where for where, note in annotations(ast.parse(text), "f") if unknown(note)]

    assert said("def f(a: Any, b: int, *c: list[Any]) -> Any: ...") == ["f.a", "f.c", "f"]
    assert said("class f:\n    a: tuple[Any, ...]\n    b: int\n    def g(self, c: Any) -> int: ...") == ["f.a", "f.g.c"]
    assert not said("def f(a: Mapping[str, Any] | None, b: Callable[[Any, Any], float]) -> dict[str, Any]: ...")

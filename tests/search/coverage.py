"""Which public numbers the cases hold: functions and guarantees by name, members of public classes by their use."""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any

import divulge as dv
from search.cases import CASES, COVERED

NO_NUMBER = {
    "open_table": "opens a table",
    "read_channel": "reads a file",
    "read_joint": "reads a file",
    "read_prior": "reads a file",
    "write_channel": "writes a file",
    "parse": "reads a guarantee",
    "plot_alip_plane": "draws",
    "plot_implications": "draws",
    "plot_pointwise": "draws",
    "report": "tells what other functions measure",
    "statement": "tells what a release did",
    "verify": "says whether a signature fits; tests/releasing/test_following.py holds it by another route",
    "run": "carries out a request, through the doors that are held",
    "repeated_runs": "draws runs that an audit judges",
}
"""Public functions that give no number of their own, and why."""

NO_CLASS = {
    "About": "what is asked of a design",
    "Guarantee": "what all kinds have in common; each kind has its case",
    "Candidates": "what an adversary may believe",
    "Output": "what goes out of a network, as it was given",
    "OwnNames": "what is asked of a release",
    "Request": "what is asked; tests/releasing/test_request.py holds every option",
    "Report": "tells what other functions measure",
    "Belief": "a row of a report",
    "Secret": "what is asked of a chain or network; the cases of `ever` and the others hold it",
    "Signature": "what `verify` says",
    "Source": "a table that is read",
    "Statement": "text",
    "Step": "a theorem that was used",
    "Unknown": "says that nothing is claimed",
    "ValueSet": "a label",
    "Variable": "a table of a network, as it was given",
    "Witness": "labels of the place where a guarantee is tested hardest; tests/machines.py holds them",
}
"""Public classes that give no number of their own, and why."""

FORMS = {
    "a picture": {"plot"},
    "text": {"text", "html", "words", "meaning", "to_latex", "name", "title", "reason", "method", "notes", "doubts"},
    "the same numbers in another form": {
        "to_dict",
        "to_frame",
        "to_json",
        "of_document",
        "from_dict",
        "to_option",
        "typed",
        "read",
        "save",
    },
    "labels": {"secrets", "outcomes", "symbols", "pair", "unit", "kind", "columns", "labels", "actions", "column"},
    "how it was made": {"seconds", "created", "version", "source", "digest", "output", "known", "rows", "confidence"},
}
"""Members of any class that give no number of their own, and why."""


GIVEN: dict[str, str] = {
    "AdpRelease": "epsilon",
    "Assessment": "hierarchy outside pairs secret size",
    "Attack": "adversary case function measure outcome",
    "AttributeAudit": "claim",
    "Audit": "claim",
    "Bet": "side",
    "Comparison": "a b",
    "Composition": "releases",
    "Count": "by",
    "Design": "forbidden goal naming objective prior priors scored",
    "DiscreteGaussianMechanism": "sensitivity",
    "DiscreteLaplaceMechanism": "scale sensitivity",
    "DistributionPair": "p q",
    "ExponentialMechanism": "epsilon",
    "Filter": "aside goal releases",
    "FixedSizeSampled": "mechanism population sample",
    "GaussianMechanism": "sensitivity sigma",
    "Groups": "secret",
    "Hierarchy": "arguments",
    "Hits": "alarms hits",
    "Interval": "level reach",
    "LaplaceMechanism": "scale sensitivity",
    "LowerBounded": "least_probability",
    "Mean": "bounds by step",
    "MembershipAudit": "base_rate claim",
    "Metric": "norm points rooted size step",
    "NoisyMax": "monotone noise scale sensitivity",
    "PoissonSampled": "mechanism neighbors rate",
    "Polytope": "bounds matrix",
    "People": "by",
    "Preview": "by",
    "Proportion": "by value",
    "Published": "by others prior protected table_format",
    "Quantiles": "bounds by intervals probabilities step",
    "RandomizedResponse": "categories epsilon",
    "Receipt": "asked coarsened null_as purpose table_format untouched",
    "Refinement": "order riskier",
    "RenyiRelease": "alpha epsilon",
    "Score": "about least worst",
    "Shuffled": "local n",
    "SparseVector": "answers monotone scale sensitivity threshold",
    "Sum": "bounds by step",
    "TreeAggregation": "sensitivity sigma steps",
    "Variance": "bounds by step",
    "Verdict": "guarantee subject",
    "WorstPrior": "case gain",
    "ZcdpRelease": "rho",
}
"""Members that say what was asked or given, and are no answers."""

EXCUSED: dict[str, dict[str, str]] = {
    "labels, held by tests/machines.py": {
        "CappedCurve": "rho_pair xi_pair",
        "MeanConcentrated": "mu_pair tau_pair",
        "Verdict": "witness tested",
    },
    "how a number is worked out; what comes of it is held": {
        "Composition": "deltas directions",
        "Cost": "rule",
        "Frontier": "late",
        "Gain": "rule",
        "Hierarchy": "group",
        "Mean": "lattice",
        "Interval": "miss",
        "Metric": "cells classes lengths order_of",
        "Network": "question weights",
        "Quantiles": "lattice",
        "Receipt": "matrix_of",
        "Sum": "lattice",
        "Variance": "lattice",
    },
    "the way from a name to an object": {
        "Cost": "named",
        "Gain": "named",
        "Hits": "of",
        "Interval": "of",
        "Ledger": "of",
        "Receipt": "of",
    },
    "reads a file or another library's model; tests/networks holds it": {"Network": "from_bif from_pgmpy"},
    "a sentence, or what a document says of itself": {
        "Audit": "power remarks",
        "Generalization": "receipt",
        "Published": "aggregate arrow describes keeper numbers papers told",
        "Receipt": "answers describes names_of papers protects released_as together warnings",
    },
    "asks a kind of guarantee for what it measures": {"Design": "measured"},
    "refuses, or answers nothing": {"Contingency": "keep_missing_apart"},
    "spends within a transaction; `spent` is held": {"Ledger": "spending"},
    "draws; tests/dp/test_selection.py holds it against its law": {
        "NoisyMax": "draw",
        "SparseVector": "draw noise_of_threshold",
    },
    "sums of what each person gave; tests/dp/test_filters.py holds it": {
        "Accounts": "charge filter of releases spent take"
    },
    "what attacks have; tests/auditing/test_attributes.py holds it": {"SyntheticAudit": "attacks linkage singling"},
    "another recoding, or a mechanism on top; tests/tables/test_local.py and test_perturbed.py hold it": {
        "Generalization": "both local others perturbed"
    },
    "names tables; tests/app/test_asked.py holds it": {"Ledger": "tables"},
    "keeps or refuses; tests/releasing/test_recognition.py holds it": {
        "Ledger": "budgets file fingerprint keep key lasts require_writable"
    },
}
"""Why -> class -> members that give no number of their own."""


def members(thing: type) -> list[str]:
    """Return the public names that a class gives its objects, but for those of `FORMS`."""
    own = {name for base in thing.__mro__ if base.__module__.startswith("divulge") for name in vars(base)}
    fields = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    plain = set().union(*FORMS.values())
    found = {name for name in own | fields if not name.startswith("_") and name not in plain}
    return sorted(name for name in found if name in fields or _answers(inspect.getattr_static(thing, name, None)))


def excused() -> set[str]:
    """Return the members, each as Class.member, that are given or excused."""
    tables = [GIVEN, *EXCUSED.values()]
    return {f"{title}.{name}" for table in tables for title, names in table.items() for name in names.split()}


def _answers(member: Any) -> bool:
    return isinstance(member, (property, cached_property, classmethod, staticmethod)) or inspect.isfunction(member)


@cache
def used(function: Callable[..., Any]) -> frozenset[str]:
    """Return the attributes and the texts in the source of a function, and in those of the search that it calls."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Name):
            called = inspect.unwrap(function).__globals__.get(node.id)
            if inspect.isfunction(called) and called is not function and called.__module__.startswith("search"):
                found |= used(called)
    return frozenset(found)


def unheld(public: dict[str, Any]) -> Iterator[str]:
    """Yield the members of public classes that no case of their class uses."""
    for title, thing in public.items():
        if not inspect.isclass(thing) or title in NO_CLASS or issubclass(thing, (dv.Guarantee, Exception)):
            continue
        held = set().union(*(used(CASES[case]) for case in COVERED.get(title, ())))
        yield from (f"{title}.{name}" for name in members(thing) if name not in held)

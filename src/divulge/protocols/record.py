"""Protocols by name: as JSON holds them, and read back."""

from collections.abc import Callable, Mapping
from typing import Any

from divulge.errors import DivulgeError
from divulge.model.labels import is_default
from divulge.protocols import families
from divulge.protocols.protocol import Protocol
from divulge.protocols.sets.ordered import Subsets
from divulge.protocols.sets.prefixes import Prefixes
from divulge.protocols.sets.transformed import Hyperplanes


def _of_prefixes(values: Any, epsilon: float, **sets: Any) -> Protocol:
    if values is not None:
        raise DivulgeError.of("values", "be left out with prefix-extension, which any text goes through", "they",
                              "given")  # fmt: skip
    return families.prefix_extension(epsilon, **sets)


NAMES: dict[str, Callable[..., Protocol]] = {
    "randomized-response": families.randomized_response,
    "subset-selection": families.subset_selection,
    "symmetric-unary": lambda values, epsilon: families.unary(values, epsilon, symmetric=True),
    "optimized-unary": families.unary,
    "local-hashing": families.local_hashing,
    "prefix-extension": _of_prefixes,
    "hadamard": families.hadamard,
    "projective": families.projective,
}
"""Name -> what makes the protocol of values, epsilon and the parameters of its sets."""


PARAMETERS = ("size", "buckets", "field", "dimension", "lengths")
"""What the sets of protocols are made of, beside values and epsilon."""


def to_dict(protocol: Protocol) -> dict[str, Any]:
    """Return a protocol as JSON holds it: name, values (their number, their labels, or null for text), levels, sets.

    >>> found = to_dict(dv.protocols.local_hashing(["a", "b"], 1.0))
    >>> found["values"], found["buckets"], from_dict(found) == dv.protocols.local_hashing(["a", "b"], 1.0)
    (['a', 'b'], 4, True)
    """
    listed = protocol.size if is_default(protocol.values) else [str(value) for value in protocol.values]
    return {
        "name": protocol.name,
        "values": None if protocol.of_text else listed,
        "epsilon": float(protocol.epsilon),
        "ratio": str(protocol.ratio),
        **_of_sets(protocol),
    }


def _of_sets(protocol: Protocol) -> dict[str, Any]:
    sets = protocol.sets
    if isinstance(sets, Subsets) and protocol.name == "subset-selection":
        return {"size": sets.chosen}
    if isinstance(sets, Hyperplanes):
        return {"field": sets.field, "dimension": sets.dimension}
    prefixes = {"lengths": list(sets.lengths)} if isinstance(sets, Prefixes) else {}
    return prefixes | ({"buckets": protocol.q.denominator} if protocol.hashed else {})


def from_dict(found: Mapping[str, Any]) -> Protocol:
    """Return the protocol that `to_dict` described; refuse one whose ratio is not that of its epsilon.

    >>> from_dict(to_dict(dv.protocols.projective(13, 1.0))).sets.field
    3
    """
    sets = {name: found[name] for name in PARAMETERS if name in found}
    made = NAMES[found["name"]](found["values"], found["epsilon"], **sets)
    if str(made.ratio) != found["ratio"]:
        raise DivulgeError("must say what follows from the rest of it: the ratio is not that of epsilon.")
    return made

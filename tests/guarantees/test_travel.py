"""Verdicts between processes: what is pickled or copied says the same."""

import copy
import pickle
from typing import Any

import pytest

import divulge as dv
from divulge.guarantees.catalog import KINDS

JOINT = dv.Joint({"a": 0.25, "b": 0.75}, dv.Channel([[0.75, 0.25], [0.25, 0.75]], ["a", "b"], ["x", "y"]))


def guarantees(kind: type[dv.Guarantee]) -> Any:
    """Return a guarantee of a kind, at levels that it takes."""
    for level in (0.1, 2):
        for index in (0.5, 2, "kl"):
            values = {name: index if name in kind.index else level for name in kind.parameters()}
            try:
                return kind(**values)
            except dv.DivulgeError:
                continue
    return None


@pytest.mark.thin
@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS.values() if guarantees(kind) is not None], ids=lambda k: k.kind
)
def test_a_verdict_travels(kind: type[dv.Guarantee]) -> None:
    verdict = guarantees(kind).holds_for(JOINT)
    for again in (pickle.loads(pickle.dumps(verdict)), copy.copy(verdict), copy.deepcopy(verdict)):
        assert again == verdict
        assert repr(again) == repr(verdict)

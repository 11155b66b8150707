"""An attacker who looks at all of two published tables finds no more than is promised, and finds what is not hidden.

`python -m search.publications` does the same with 10,000 draws of each kind and option.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from search import publications
from search.publications import APPROXIMATE, OPTIONS, outcomes, pairs, repeated, shown
from support import few

DRAWS = 720
"""A sixth of them, 120, is enough to show an event that is sure in one table and never happens in the other."""


@pytest.mark.thin
@pytest.mark.parametrize(("kind", "option"), pairs())
def test_no_event_tells_neighbors_apart_beyond_the_promise(kind: str, option: str) -> None:
    found, promised = shown(kind, option, few(DRAWS))
    assert found <= promised


def noiseless(made: Any, totals: Any, rows: Any, draws: int) -> Any:
    """Publish with a tenth of the noise that was said."""
    noises = tuple(replace(one, scale=one.scale / 10) for one in made.noise.noises)
    return repeated(replace(made, noise=replace(made.noise, noises=noises)), totals, rows, draws)


def silent(made: Any, totals: Any, rows: Any, draws: int) -> Any:
    """Leave a group without anybody blank: what the exact count decides is seen."""
    for found in repeated(made, totals, rows, draws):
        nobody = np.ravel(totals[0]) == 0
        low = np.where(nobody, -math.inf, np.asarray(found[0].low, dtype=float))
        high = np.where(nobody, math.inf, np.asarray(found[0].high, dtype=float))
        yield [replace(found[0], low=low, high=high), *found[1:]]


@pytest.mark.parametrize(("publish", "kind"), [(noiseless, "counts"), (silent, "sums")])
def test_what_is_not_hidden_is_found(publish: Any, kind: str) -> None:
    found, promised = shown(kind, "as it is", 240, publish)
    assert found > promised


def test_a_threshold_that_is_too_low_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def low(counts: Any, by: Any, threshold: Any, level: float, rows: Any) -> Any:
        return published(counts, by, replace(threshold, least=2), level, rows)

    published = publications.published
    monkeypatch.setattr(publications, "published", low)
    found, promised = shown("unlisted", APPROXIMATE, 400)
    assert found > promised


def test_every_option_is_attacked() -> None:
    assert {option for _, option in pairs()} == set(OPTIONS)
    (here, there), loss = outcomes("counts", "no other", 2)
    assert here.shape == there.shape
    assert loss == pytest.approx(1.0)

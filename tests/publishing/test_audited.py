"""An attacker who looks at all of two published tables finds no more than is promised, and finds what is not hidden.

`python -m search.publications` does the same with 10,000 draws of each kind and option.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from search import publications
from search.publications import APPROXIMATE, OPTIONS, outcomes, pairs, repeated, shown
from support import NEVER, few

import divulge as dv
from divulge.publishing.counting.engines import counted
from divulge.publishing.describing import described
from divulge.publishing.preparing import ready
from divulge.publishing.request import Publish
from divulge.publishing.task import task

DRAWS = 900
"""A sixth of them, 150, is enough to show an event that is sure in one table and never happens in the other."""

SEEN = {"confidence": 0.999}
"""What is not hidden is shown with this confidence, and by so many draws that it is missed once in 1e12 times."""


LONG = ("variances", APPROXIMATE)
"""Its noise takes seconds to choose; sums, means and numbers under the same option are attacked in the suite."""


@pytest.mark.thin
@pytest.mark.parametrize(
    ("kind", "option"), [pytest.param(*pair, marks=pytest.mark.long if pair == LONG else ()) for pair in pairs()]
)
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
    found, promised = shown(kind, "as it is", 480, publish, **SEEN)
    assert found > promised


def test_a_threshold_that_is_too_low_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def low(counts: Any, by: Any, threshold: Any, level: float, rows: Any) -> Any:
        return published(counts, by, replace(threshold, least=2), level, rows)

    published = publications.published
    monkeypatch.setattr(publications, "published", low)
    found, promised = shown("unlisted", APPROXIMATE, 400, **SEEN)
    assert found > promised


def test_every_option_is_attacked() -> None:
    assert {option for _, option in pairs()} == set(OPTIONS)
    (here, there), loss = outcomes("counts", "no other", 2)
    assert here.shape == there.shape
    assert loss == pytest.approx(1.0)


def test_what_is_attacked_is_what_is_published() -> None:
    """Each number has the width of its own noise, as where it is drawn once, and holds the true one as often."""
    level, runs, asked = 0.8, 400, [dv.Count("sex"), dv.Mean("age", (0, 60), by="sex"), dv.Sum("age", (0, 60))]
    request = Publish(statistics=asked, guarantee="dp=2", values=publications.VALUES, per_row=True, level=level)
    made = ready(task(request), publications.tables()[0], "local")
    exact = counted(made.table, made.plan.queries, made.values, made.task.unit)
    held = 0
    for found in repeated(made, exact.totals, exact.rows, runs):
        widths = [float(np.ravel(one.high - one.low)[0]) / 2 for one in (found[0], found[2])]
        assert widths == [described(made, None).queries[place]["half_width"] for place in (0, 3)]
        counts, mean = found[0], found[1]
        held += bool((counts.low[0] <= 300 <= counts.high[0]) and (mean.low[0] <= 20 <= mean.high[0]))
    assert runs - held <= stats.binom.isf(NEVER, runs, 1 - level)

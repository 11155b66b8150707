"""What several benchmarks share: the least time of some runs."""

import math
import time
from collections.abc import Callable
from typing import Any


def timed(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return (least seconds of a run, its answer)."""
    best, answer = math.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        answer = run()
        best = min(best, time.perf_counter() - start)
    return best, answer

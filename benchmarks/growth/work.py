"""A kind of work: its sizes, makers of what is timed, goals; and random subjects that several kinds share."""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import divulge as dv

Task = Callable[[], Any]
Maker = Callable[[int], Task]
FOLDER = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
SQUARE = "secrets and outcomes"


@dataclass(frozen=True)
class Goal:
    """At most `most` times what `of` takes in the same run, at each of `sizes` (the largest when not given)."""

    most: float
    of: str
    sizes: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.most:.3g} x {self.of}"


@dataclass(frozen=True)
class Work:
    """A kind of work: what grows, its sizes, makers of what is timed by name, and goals.

    `check` says what is wrong with the answer of ours, or nothing.
    """

    title: str
    what: str
    sizes: tuple[int, ...]
    ours: Maker
    beside: dict[str, Maker] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    check: Callable[[Any], str] = lambda answer: ""


def stochastic(n: int, m: int, seed: int = 0) -> np.ndarray:
    """Return a random N x M channel matrix that owns its memory."""
    matrix = np.random.default_rng(seed).random((n, m))
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def weights(n: int) -> np.ndarray:
    """Return a random prior."""
    return np.random.default_rng(1).dirichlet(np.ones(n))


def few_enough(count: int, most: int) -> None:
    """Refuse a size for which a peer takes longer than all others together."""
    if count > most:
        raise LookupError("too slow for this size")


def sources_now() -> Path:
    """Return the sources that this process runs by, which `--compare` chooses."""
    return Path(dv.__file__).resolve().parent.parent

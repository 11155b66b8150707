"""Random priors, channels and joints for tests: float or exact, with zeros where wanted."""

import fractions
import os
import re
import secrets
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

import divulge as dv

T = TypeVar("T")


THOROUGH = bool(os.environ.get("DIVULGE_THOROUGH"))
"""Whether all drawn and listed cases are gone through, as `make search` does, or a part of them."""

_SEED = 20261122
"""Of the suite, which nobody passes or fails by luck: what it draws is the same each time."""


def fresh_seed() -> int:
    """Return the seed of this run: DIVULGE_SEED, else a new one in `make search`; a test says it when it fails."""
    return int(os.environ.get("DIVULGE_SEED") or (secrets.randbelow(10**9) if THOROUGH else _SEED))


NEVER = 1e-12
"""How often a check of draws from the system's randomness, which has no seed, may fail where all is right."""


def plausible(hits: int, times: int, share: float) -> bool:
    """Whether so many hits are no less, and no more, than a share of all tries gives, but for a chance of `NEVER`."""
    from scipy import stats

    law = stats.binom(times, share)
    return bool(min(law.cdf(hits), law.sf(hits - 1)) > NEVER / 2)


def few(cases: int, least: int = 3) -> int:
    """Return how many of so many drawn cases the suite goes through: a sixth, at least 3; all in `make search`."""
    return cases if THOROUGH else max(min(cases, least), -(-cases // 6))


def some(cases: Sequence[T]) -> list[T]:
    """Return a sixth of listed cases, 2 at least, spread over them and always the same; all in `make search`."""
    order = np.random.default_rng(0).permutation(len(cases))[: few(len(cases), least=2)]
    return [cases[i] for i in sorted(order.tolist())]


def watched_powers(monkeypatch: Any) -> list[str]:
    """Return a list that gets each text with a power of ten that no double has, of which a fraction was to be made.

    Fraction("1e999999999") is a number of a billion digits, and no signal ends it: here it is refused at once.
    """
    asked: list[str] = []
    known = fractions._RATIONAL_FORMAT  # pyright: ignore

    class Watch:
        def match(self, text: str) -> Any:
            if re.search(r"e[-+]?\d{6}", text, re.IGNORECASE):
                asked.append(text)
                return None
            return known.match(text)

    monkeypatch.setattr(fractions, "_RATIONAL_FORMAT", Watch())
    return asked


def key_pair(folder: Path) -> tuple[Path, Path]:
    """Write a new private key and its public key (Ed25519, PEM), and return where."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key, private, public = Ed25519PrivateKey.generate(), folder / "key.pem", folder / "public.pem"
    private.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))
    return private, public


ONE = 1 << 52
"""The whole, of which dyadic rows are parts: a double and a fraction hold each part alike."""


def random_prior(rng: np.random.Generator, n: int, *, exact: bool = False, zeros: float = 0.0) -> dv.Prior:
    """Return a random prior of n secrets; each is 0 with probability `zeros` (never all)."""
    weights = rng.integers(1, 1000, size=n) * (rng.random(n) >= zeros)
    if not weights.any():
        weights[rng.integers(n)] = 1
    return dv.Prior.from_counts([int(w) for w in weights] if exact else weights.astype(float))


def random_channel(
    rng: np.random.Generator, n: int, m: int, *, exact: bool = False, zeros: float = 0.0, span: float = 3.0
) -> dv.Channel:
    """Return a random N x M channel whose entries spread over `span` decades; each is 0 with probability `zeros`."""
    weights = np.exp(rng.uniform(0, span * np.log(10), size=(n, m)))
    weights[rng.random((n, m)) < zeros] = 0.0
    for i in np.flatnonzero(weights.sum(axis=1) == 0):
        weights[i, rng.integers(m)] = 1.0
    if exact:
        whole = np.ceil(weights).astype(int)
        return dv.Channel([[Fraction(int(v), int(row.sum())) for v in row] for row in whole])
    return dv.Channel(weights / weights.sum(axis=1, keepdims=True))


def random_joint(rng: np.random.Generator, n: int, m: int, *, exact: bool = False, zeros: float = 0.0) -> dv.Joint:
    """Return a random joint; zeros in prior and channel alike."""
    return dv.Joint(
        random_prior(rng, n, exact=exact, zeros=zeros / 2), random_channel(rng, n, m, exact=exact, zeros=zeros)
    )


def dyadic_rows(rng: np.random.Generator, n: int, m: int, zeros: float) -> np.ndarray:
    """Return whole numbers of shape (n, m), rows summing to 2^52, small ones near 2^52 10^-12."""
    out = np.zeros((n, m), dtype=object)
    for row in out:
        weights = np.exp(rng.uniform(np.log(1e-12), 0, size=m)) * (rng.random(m) >= zeros)
        weights[rng.integers(m)] += 1.0
        row[:] = [int(w) for w in weights / weights.sum() * (ONE // 2)]
        row[int(np.argmax(row))] += ONE - sum(row.tolist())
    return out


def close_rows(rng: np.random.Generator, n: int, m: int, shift: int) -> np.ndarray:
    """Return n rows of whole numbers that sum to 2^52, each nearly the same: up to `shift` in 2^52 apart."""
    rows = np.tile(dyadic_rows(rng, 1, m, 0.0)[0] // 2 + ONE // (2 * m), (n, 1))
    for row in rows:
        row[:-1] += [int(v) for v in rng.integers(-shift, shift + 1, size=m - 1)]
        row[-1] = ONE - sum(row[:-1].tolist())
    return rows


def twins(
    rng: np.random.Generator, n: int, m: int, zeros: float, shift: int | None = None
) -> tuple[dv.Joint, dv.Joint]:
    """Return one joint twice, in floats and in fractions; its rows are at most `shift` / 2^52 apart where given."""
    rows = dyadic_rows(rng, n, m, zeros) if shift is None else close_rows(rng, n, m, shift)
    prior = dyadic_rows(rng, 1, n, zeros)[0]
    exact = dv.Joint([Fraction(int(v), ONE) for v in prior], [[Fraction(int(v), ONE) for v in row] for row in rows])
    return dv.Joint((prior / ONE).astype(float), (rows / ONE).astype(float)), exact


@st.composite
def joints(
    draw: Any, max_n: int = 6, max_m: int = 6, exact: bool | None = None, zeros: float | None = None
) -> dv.Joint:
    """Draw a joint of random size, exactness and share of zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.2, 0.5])) if zeros is None else zeros
    kind = draw(st.booleans()) if exact is None else exact
    return random_joint(rng, draw(st.integers(1, max_n)), draw(st.integers(1, max_m)), exact=kind, zeros=share)


MODULES = ("measures", "adversaries", "guarantees", "dp", "noise", "networks", "tables", "results")
"""Public modules, beside the names at the top."""


def public() -> dict[str, Any]:
    """Return every public name with what it is: those at the top, then those of the public modules."""
    found = {name: getattr(dv, name) for name in dv.__all__ if not name.startswith("_")}
    for module in map(partial(getattr, dv), MODULES):
        found |= {name: getattr(module, name) for name in module.__all__}
    return found


RUNNING_PRIOR = dv.Prior(["1/4", "1/2", "1/4"], secrets=["b", "g", "bg"])
RUNNING_CHANNEL = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"], ["19/20", "1/20"]], ["b", "g", "bg"], ["b", "g"])
SURVEY_G = dv.Channel(
    [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]], "y m n".split(), "y m n".split()
)
SURVEY_R = dv.Channel(
    [["3/5", "1/5", "1/5"], ["1/5", "3/5", "1/5"], ["1/5", "1/5", "3/5"]], "y m n".split(), "y m n".split()
)

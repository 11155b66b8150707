"""Reports of many senders under frequency protocols."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import divulge as dv
from growth.columns import keystream
from growth.work import Goal, Maker, Task, Work, few_enough

VALUES = 1000
SENDERS = 1_000_000


def answered(count: int, values: int = VALUES) -> np.ndarray:
    """Return what senders have of a thousand values, or more, some frequent and most of them rare."""
    return np.random.default_rng(0).zipf(1.5, size=count) % values


def collected(make: Callable[[int, float], dv.protocols.Protocol]) -> Maker:
    """Return the maker of a collection: a report for each sender, and all frequencies from the reports."""

    def maker(count: int) -> Task:
        protocol, values = make(VALUES, 1.0), answered(count)
        return lambda: protocol.report(values).frequencies()

    return maker


def of_many(size: int) -> Task:
    protocol, values = dv.protocols.hadamard(size, 1.0), answered(SENDERS, size)
    return lambda: protocol.report(values).frequencies()


def by_pure_ldp(folder: str, name: str, most: int, **options: Any) -> Maker:
    """Return the maker of the same with pure-ldp, for so many senders at most: each is asked in turn."""

    def maker(count: int) -> Task:
        few_enough(count, most)
        return asked_in_turn(folder, name, answered(count), VALUES, **options)

    return maker


def asked_in_turn(folder: str, name: str, values: np.ndarray, size: int, **options: Any) -> Task:
    """Return a collection of pure-ldp: a report of each sender, then the frequencies of all values."""
    peer = importlib.import_module(f"pure_ldp.frequency_oracles.{folder}")
    own, asked = values.tolist(), {"index_mapper": int, **options}

    def collect() -> Any:
        server = getattr(peer, f"{name}Server")(1.0, size, **asked)
        hashes = (server.get_hash_funcs(),) if hasattr(server, "get_hash_funcs") else ()
        client = getattr(peer, f"{name}Client")(1.0, size, *hashes, **asked)
        for value in own:
            server.aggregate(client.privatise(value))
        return server.estimate_all(range(size))

    return collect


def many_by_pure_ldp(size: int) -> Task:
    return asked_in_turn("hadamard_response", "HadamardResponse", answered(SENDERS, size), size)


def by_multi_freq(count: int) -> Task:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    few_enough(count, 1000)
    values = answered(count).tolist()
    return lambda: UE_Aggregator_MI([UE_Client(value, VALUES, 1.0, True) for value in values], 1.0, True)


def near_theory(protocol: Callable[[int, float], dv.protocols.Protocol]) -> Callable[[Any], str]:
    """Return a check that the mean squared error of all frequencies is the variance of the protocol, within a half."""

    def check(found: Any) -> str:
        size = len(found.frequency)
        true = np.bincount(answered(found.rows, size), minlength=size) / found.rows
        ratio = float(np.mean((found.frequency - true) ** 2)) / protocol(size, 1.0).variance(0, found.rows)
        return "" if 0.5 < ratio < 1.5 else f"squared error {ratio:.2f} of the variance"

    return check


WORK = (
    # no hashing here: that of both peers hashes text, which xxhash has refused since it takes bytes alone
    Work("reports, Hadamard", "senders", (1000, 10_000, 100_000, 1_000_000), collected(dv.protocols.hadamard),
         {"pure-ldp": by_pure_ldp("hadamard_response", "HadamardResponse", 100_000)},
         (Goal(0.05, "pure-ldp", (100_000,)),), near_theory(dv.protocols.hadamard)),
    Work("a million reports, Hadamard", "values", (1000, 22_953, 1_000_000), of_many,
         {"pure-ldp": many_by_pure_ldp, "a keystream of 4 MB": lambda size: keystream(SENDERS)},
         (Goal(0.05, "pure-ldp", (1000, 22_953, 1_000_000)),), near_theory(dv.protocols.hadamard)),
    Work("reports, unary", "senders", (100, 1000, 10_000), collected(dv.protocols.unary),
         {"pure-ldp": by_pure_ldp("unary_encoding", "UE", 1000, use_oue=True), "multi-freq-ldpy": by_multi_freq},
         (Goal(0.5, "pure-ldp", (1000,)), Goal(0.5, "multi-freq-ldpy", (1000,))), near_theory(dv.protocols.unary)),
)  # fmt: skip

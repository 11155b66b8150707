"""Frequent texts without a list: how many of the most frequent are found, how exactly, how fast; pure-ldp beside it.

    python benchmarks/heavy.py [--senders 500000] [--peer 5000]

The data are made up: 26,756 addresses of at most 15 bytes whose shares fall as 1/i. Of the texts that are found it is
checked that somebody has each, and that every interval holds. Then PEER senders go through prefix extension here
and in pure-ldp (whose hash takes bytes alone since xxhash 3, so that its text is encoded here), with epsilon 4 and
letters as its alphabet, and are asked for the 10 most frequent texts of 3 letters.
"""

import argparse
import importlib
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

import divulge as dv

ADDRESSES = 26_756
ENDS = (".org", ".com", ".net", ".de")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def addresses(count: int = ADDRESSES, longest: int = 15) -> list[str]:
    """Return different made-up addresses."""
    rng = np.random.default_rng(0)
    found: dict[str, None] = {}
    while len(found) < count:
        end = ENDS[int(rng.integers(len(ENDS)))]
        length = int(rng.integers(2, longest - len(end) + 1))
        found["".join(rng.choice(list(LETTERS), length)) + end] = None
    return list(found)


def visited(names: list[str], senders: int) -> list[str]:
    """Return which of them each sender has: the i-th with a share in proportion to 1/i."""
    shares = 1 / np.arange(1, len(names) + 1)
    places = np.random.default_rng(1).choice(len(names), senders, p=shares / shares.sum())
    return [names[i] for i in places.tolist()]


def judged(found: dv.results.Frequencies, texts: list[str]) -> str:
    """Return what was found, and what of it is wrong, in words."""
    values, counts = np.unique(np.array(texts), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    share = dict(zip(values[order].tolist(), (counts[order] / len(texts)).tolist(), strict=True))
    ranked, there = list(share), set(found.values)
    first = next((i for i, text in enumerate(ranked) if text not in there), len(ranked))
    recall = ", ".join(f"{len(there & set(ranked[:top]))} of the first {top}" for top in (5, 10, 20, 50))
    false = sum(text not in share for text in there)
    off = sum(
        not low <= share.get(text, 0) <= high
        for text, low, high in zip(found.values, found.lower, found.upper, strict=True)
    )
    missed = f"the most frequent one missed has {share[ranked[first]]:.2%}"
    return f"{len(there)} found ({recall}); {missed}; {false} that nobody has, {off} intervals that miss"


def ours(names: list[str], senders: int, epsilon: float, lengths: Any) -> None:
    texts = visited(names, senders)
    protocol = dv.protocols.prefix_extension(epsilon, lengths)
    start = time.perf_counter()
    reports = protocol.report(texts)
    drawn = time.perf_counter()
    found = reports.frequencies()
    end = time.perf_counter()
    print(f"epsilon {epsilon:g}, {senders:,} senders, {protocol.sets.levels} lengths: {drawn - start:.1f} s to report, "
          f"{end - drawn:.1f} s to find; {judged(found, texts)}", flush=True)  # fmt: skip


def numbered(text: str) -> int:
    """Return a text of letters as a number, base 26."""
    found = 0
    for letter in text:
        found = found * len(LETTERS) + LETTERS.index(letter)
    return found


def peer(names: list[str], senders: int, epsilon: float = 4.0, longest: int = 3) -> None:
    """Print what pure-ldp finds of texts of three letters, and what is found here, in processor seconds.

    Its server goes through all 26^3 texts for each report: with a letter more it takes 26 times as long.
    """
    pem = importlib.import_module("pure_ldp.heavy_hitters.prefix_extending")
    for side in ("lh_client", "lh_server"):
        module = importlib.import_module(f"pure_ldp.frequency_oracles.local_hashing.{side}")
        hashes = module.xxhash
        module.xxhash = SimpleNamespace(xxh32=lambda text, seed, hashes=hashes: hashes.xxh32(text.encode(), seed=seed))
    oracle = importlib.import_module("pure_ldp.frequency_oracles.local_hashing")
    texts = [text.replace(".", "")[:longest].ljust(longest, "x") for text in visited(names, senders)]
    options: dict[str, Any] = {"alphabet": list(LETTERS), "index_mapper": numbered}
    start = time.process_time()
    server = pem.PEMServer(epsilon, 1, longest, 1, fo_server=oracle.LHServer(epsilon, 2, use_olh=True), **options)
    client = pem.PEMClient(epsilon, 1, longest, 1, fo_client=oracle.LHClient(epsilon, 2, use_olh=True), **options)
    for text in texts:
        server.aggregate(client.privatise(text))
    told, _ = server.find_heavy_hitters(k=10)
    taken = time.process_time() - start
    values, counts = np.unique(np.array(texts), return_counts=True)
    top = set(values[np.argsort(-counts)[:10]].tolist())
    print(f"pure-ldp, {senders:,} senders of {longest} letters, epsilon {epsilon:g}: {taken:.1f} s, "
          f"{len(top & set(told))} of the first 10, {len(set(told) - set(texts))} that nobody has")  # fmt: skip
    start = time.process_time()
    found = dv.protocols.prefix_extension(epsilon, [2, longest]).report(texts).frequencies(top=10)
    begun = {value.removesuffix("…") for value in found.values}
    print(f"here: {time.process_time() - start:.1f} s, {len(top & begun)} of the first 10, "
          f"{len(begun - set(texts))} that nobody has")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--senders", type=int, default=500_000)
    parser.add_argument("--peer", type=int, default=5000)
    asked = parser.parse_args()
    names = addresses()
    for epsilon in (2.0, 4.0):
        ours(names, asked.senders, epsilon, 16)
    peer(names, asked.peer)


if __name__ == "__main__":
    main()

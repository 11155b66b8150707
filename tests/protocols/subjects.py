"""Random priors and protocols that are small enough for their matrix."""

import numpy as np

import divulge as dv

P = dv.protocols

EPSILONS = (0.01, 0.3, 1.0, 2.5, 6.0)


def random_prior(rng: np.random.Generator, size: int) -> dv.Prior:
    """Return counts with zeros, floats, floats with a zero, or one value that is certain."""
    kind = int(rng.integers(4))
    if kind == 0:
        counts = rng.integers(0, 5, size)
        counts[int(rng.integers(size))] += 1
        return dv.Prior.from_counts(counts.tolist())
    shares = rng.dirichlet(np.full(size, 0.4))
    if kind == 1:
        shares[int(rng.integers(size))] = 0
    elif kind == 2:
        shares = np.round(shares * 64) + (np.arange(size) == 0)
    return dv.Prior(shares / shares.sum())


def random_protocol(rng: np.random.Generator, size: int) -> dv.protocols.Protocol:
    """Return a protocol of any family over so many values."""
    epsilon = float(rng.choice(EPSILONS))
    made = (
        lambda: P.randomized_response(size, epsilon),
        lambda: P.subset_selection(size, epsilon, size=int(rng.integers(1, size))),
        lambda: P.unary(size, epsilon),
        lambda: P.unary(size, epsilon, symmetric=True),
        lambda: P.local_hashing(size, epsilon, buckets=int(rng.integers(2, 6))),
        lambda: P.hadamard(size, epsilon),
        lambda: P.projective(size, epsilon),
        lambda: P.projective(size, epsilon, field=int(rng.choice([2, 3, 5]))),
    )
    return made[int(rng.integers(len(made)))]()

"""Inverses in closed form, against LAPACK's and the definition."""

import numpy as np
import pytest

from divulge.measures.numeric import inverses
from divulge.measures.numeric.inverses import inverse_of

SIZES = (65, 66, 97)


def _diagonal_beside_equal_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.diag(rng.uniform(0.2, 1, n)) + rng.dirichlet(np.ones(n))


def _scaled_circulant(rng: np.random.Generator, n: int) -> np.ndarray:
    column = np.where(rng.random(n) < 0.3, 1.0, 0.2)
    column[0] = 3.0 + n / 4  # which keeps the spectrum from 0
    return np.array([[column[(i - j) % n] for j in range(n)] for i in range(n)]) * rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("kind", [_diagonal_beside_equal_rows, _scaled_circulant])
@pytest.mark.parametrize("n", SIZES)
def test_inverses_in_closed_form_are_those_of_lapack(n: int, kind: object, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = kind(np.random.default_rng(n), n)  # pyright: ignore
    wanted, asked, lapack = np.linalg.inv(matrix), list[int](), np.linalg.inv
    monkeypatch.setattr(np.linalg, "inv", lambda given: asked.append(1) or lapack(given))
    found = inverse_of(matrix)
    assert not asked
    assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()
    assert np.abs(matrix @ found - np.eye(n)).max() < 1e-12
    for place in ((n - 1, n - 1), (0, n - 1), (n - 1, 0), (n // 2, 1), (1, 0)):
        # one entry that is off, but on the diagonal, and LAPACK is asked
        off = matrix.copy()
        off[place] *= 1 + 1e-9
        if place[0] == place[1] and kind is _diagonal_beside_equal_rows:
            continue
        assert (inverse_of(off) == lapack(off)).all()
        assert asked.pop()


@pytest.mark.parametrize("n", SIZES)
def test_what_has_no_inverse_is_left_to_lapack(n: int) -> None:
    rng = np.random.default_rng(n)
    equal = np.tile(rng.dirichlet(np.ones(n)), (n, 1))
    half = np.eye(n) + np.roll(np.eye(n), 1, axis=0)  # of an even number it has an eigenvalue 0
    assert (inverses._of_circulant(half) is None) == (n % 2 == 0)
    for matrix in (equal, np.zeros((n, n)), -np.eye(n) / n + 1 / n**2):  # the last has D + 1 b' with 1 + b' D^-1 1 = 0
        try:
            wanted = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError):
                inverse_of(matrix)
        else:
            assert (inverse_of(matrix) == wanted).all()

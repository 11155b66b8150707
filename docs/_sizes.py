"""How large each extra is on disk with all that it needs: the sum of the files of its packages, in megabytes.

`python docs/_sizes.py` prints it, where all of them are installed; what Python compiles is left out.
"""

from importlib.metadata import distribution
from pathlib import Path

from _licenses import EXTRAS, needed

WORK = ("test", "lint", "docs", "bench", "locks", "dev")
"""Extras for work on the project, which nobody else installs."""


def megabytes(name: str) -> float:
    """Return the size of the files of an installed package, without what Python compiles."""
    paths = (Path(str(file.locate())) for file in distribution(name).files or () if file.suffix != ".pyc")
    return sum(path.lstat().st_size for path in paths if path.is_file()) / 1e6


if __name__ == "__main__":
    for extra in EXTRAS:
        if extra not in WORK:
            parts = {name: megabytes(name) for name in needed(["", extra])}
            most = sorted(parts, key=lambda name: -parts[name])[:5]
            largest = ", ".join(f"{name} {parts[name]:.0f}" for name in most)
            print(f"{extra or 'none':12}{sum(parts.values()):8,.0f}  {largest}")

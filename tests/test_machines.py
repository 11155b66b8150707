"""What is public besides the numbers is the same on a processor of twenty years ago."""

import os
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

import pytest
from numpy._core import _multiarray_umath as umath
from support import fresh_seed

ROOT = Path(__file__).parent


def old_processor() -> dict[str, str]:
    """Return settings under which NumPy, OpenBLAS and the C library use what every x86-64 has, and other threads."""
    features = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(features),
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX",
        "PYTHONHASHSEED": "12345",
        "OMP_NUM_THREADS": "1" if os.environ.get("OMP_NUM_THREADS") == "2" else "2",
        "OPENBLAS_NUM_THREADS": "1" if os.environ.get("OPENBLAS_NUM_THREADS") == "2" else "2",
    }


def said(settings: dict[str, str], *arguments: str) -> list[str]:
    """Return the lines of machines.py, run under settings."""
    path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, ROOT / "machines.py", *arguments],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path} | settings,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.parametrize("name", ["geometric", "mirrored"])
def test_labels_pairs_orders_and_methods_do_not_depend_on_the_processor(name: str) -> None:
    seed = str(fresh_seed())
    here, there = said({}, seed, name), said(old_processor(), seed, name)
    assert len(here) > 30
    difference = "\n".join(unified_diff(here, there, "this processor", "an old one", lineterm="", n=0))
    assert not difference, f"python tests/machines.py {seed} {name}: {difference}"

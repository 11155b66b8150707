"""Settings under which this machine computes as others would.

`env $(python tests/processors.py oldest) python -m pytest ...` runs tests as on the oldest x86-64, `newest` with
the widest vectors that this processor has, on two threads.
"""

import sys

from numpy._core import _multiarray_umath as umath


def settings(name: str) -> dict[str, str]:
    """Return environment variables that NumPy, OpenBLAS and the C library read when they are loaded."""
    features = umath.__cpu_features__
    if name == "oldest":
        wide = [feature for feature in umath.__cpu_dispatch__ if features.get(feature)]
        return {
            "NPY_DISABLE_CPU_FEATURES": ",".join(wide),
            "OPENBLAS_CORETYPE": "Prescott",
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX",
            "PYTHONHASHSEED": "12345",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
    kernel = "SkylakeX" if features.get("AVX512F") else "Haswell" if features.get("AVX2") else None
    return {
        **({"OPENBLAS_CORETYPE": kernel} if kernel else {}),
        "PYTHONHASHSEED": "54321",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
    }


if __name__ == "__main__":
    print(" ".join(f"{key}={value}" for key, value in settings(sys.argv[1]).items()))

"""Ask the lists of known vulnerabilities about a lock file: exit 0 for none, 1 for some, 2 for no answer."""

import json
import subprocess
import sys
from typing import Any

SERVICES = ("osv", "pypi")
"""Whom pip-audit asks, one after the other, until one has answered for every package."""


def asked(service: str, lock: str) -> list[dict[str, Any]] | None:
    """Return the packages with what a service knows of each; None where it did not answer for all."""
    asking = [
        "-m",
        "pip_audit",
        "-r",
        lock,
        "--disable-pip",
        "--require-hashes",
        "--format",
        "json",
        "--service",
        service,
    ]
    command = [sys.executable, *asking, "--progress-spinner", "off"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(answer.stdout)["dependencies"]
    except (ValueError, KeyError):
        return None
    return None if not packages or any("skip_reason" in package for package in packages) else packages


def main(lock: str) -> int:
    """Print each known vulnerability with the versions that mend it."""
    packages = next((answer for service in SERVICES if (answer := asked(service, lock)) is not None), None)
    if packages is None:
        print(
            "No list of known vulnerabilities (OSV, PyPI) answered for every package: nothing was checked.",
            file=sys.stderr,
        )
        return 2
    known = [(package, each) for package in packages for each in package["vulns"]]
    for package, each in known:
        mended = ", ".join(each["fix_versions"]) or "no version"
        print(f"{package['name']} {package['version']}: {each['id']}, mended in {mended}")
    print(f"{len(packages)} packages, {len(known)} known vulnerabilities")
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Print the oldest versions that pyproject.toml allows, a pip requirement a line, for the extras given as arguments."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]


def oldest(requirements: list[str]) -> Iterator[str]:
    """Yield name==version for each name>=version, following the project's own extras."""
    for requirement in requirements:
        parts = re.fullmatch(r"([\w.-]+)(?:\[([\w,]+)\])?(?:>=([\w.]+)(?:,<[\w.]+)?)?", requirement)
        assert parts, f"{requirement} must have the form name>=version or name>=version,<version"
        name, extras, bound = parts.groups()
        if name == PROJECT["name"]:
            yield from (line for extra in extras.split(",") for line in oldest(PROJECT["optional-dependencies"][extra]))
        else:
            yield f"{name}{f'[{extras}]' if extras else ''}=={bound}"


def main(extras: list[str]) -> None:
    """Print the core's requirements and those of the extras, each once."""
    wanted = [*PROJECT["dependencies"], *(f"{PROJECT['name']}[{extra}]" for extra in extras)]
    print("\n".join(dict.fromkeys(oldest(wanted))))


if __name__ == "__main__":
    main(sys.argv[1:])

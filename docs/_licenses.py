"""Licenses of everything that an installation brings along, as the packages state them.

`python docs/_licenses.py` writes them into dependencies.md; a test compares what is installed with what stands there.
"""

import importlib.metadata as metadata
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).with_name("dependencies.md")
PROJECT = tomllib.loads(PAGE.parents[1].joinpath("pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
PARTS = {"users": ["all", "spark"], "work": ["dev", "bench", "locks"]}
"""What stands between `<!-- licenses: NAME -->` and `<!-- end of licenses -->`: extras, each once."""

SPDX = {
    "MIT": r"MIT( License)?",
    "Apache-2.0": r"Apache(( Software)? License)?([ -]2\.0)?",
    "BSD-3-Clause": r"BSD[ -](3[- ]Clause|\(3 clause\))( License)?",
    "BSD-2-Clause": r"(2-clause BSD|BSD[ -]2[- ]Clause)( License)?",
    "BSD": r"BSD( License)?",
    "ISC": r"ISC( license)?( \(ISCL\))?",
    "PSF-2.0": r"Python Software Foundation License|PSFL",
    "MPL-2.0": r"Mozilla Public License 2\.0 \(MPL 2\.0\)",
    "GPL-2.0": r"GNU General Public License v2 \(GPLv2\)",
    "LGPL-3.0": r"LGPL-3\.0-only",
}
"""What packages write, as expressions in full match, for the identifier that is shown; other text is shown as it is."""

LINE = 40
"""Characters of a line that is a name; longer ones begin the text of a license."""

SILENT = "not stated"
"""Shown for a package whose metadata names no license, whatever its files say."""


def license_of(name: str) -> str:
    """Return the license that an installed package states: its expression, else its classifier, else its first line."""
    about = metadata.metadata(name)
    classifiers = [
        line.split(" :: ")[-1] for line in about.get_all("Classifier") or [] if line.startswith("License ::")
    ]
    line = (about.get("License") or "").strip().partition("\n")[0]
    short = line if len(line) <= LINE and _identifier(line) in SPDX else ""
    stated = [about.get("License-Expression"), short if short != "BSD" else "", *classifiers, short]
    return _identifier(next(filter(None, stated), SILENT))


def _identifier(text: str) -> str:
    """Return the identifier of a license that is written in one of the known ways, or the text."""
    return next((name for name, pattern in SPDX.items() if re.fullmatch(pattern, text, re.IGNORECASE)), text)


def needed(extras: Iterable[str]) -> Iterator[str]:
    """Yield the names of installed packages that divulge with these extras needs, each once, and all that they need."""
    seen, waiting = set[tuple[str, str]](), [("divulge", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            requirements = _requirements(name, extra)
        except metadata.PackageNotFoundError:
            continue  # of another system, or an extra that is not installed
        if not extra and name != "divulge":
            yield name
        for requirement in requirements:
            waiting += [(canonicalize_name(requirement.name), each) for each in ("", *sorted(requirement.extras))]


def _requirements(name: str, extra: str) -> list[Requirement]:
    """Return what a package needs for an extra: divulge by its pyproject, every other by what is installed."""
    if name == "divulge":
        return [Requirement(line) for line in EXTRAS[extra]]
    given = map(Requirement, metadata.requires(name) or [])
    return [each for each in given if each.marker is None or each.marker.evaluate({"extra": extra})]


def licenses() -> dict[str, dict[str, str]]:
    """Return the license of each installed package by part of the page; no package stands in two parts."""
    parts, seen = dict[str, dict[str, str]](), set[str]()
    for part, extras in PARTS.items():
        names = sorted(set(needed(extras)) - seen)
        seen |= set(names)
        parts[part] = {name: license_of(name) for name in names}
    return parts


def rows(packages: dict[str, str]) -> str:
    """Return a table of licenses and of the packages under each, the most frequent license first."""
    by_license = defaultdict[str, list[str]](list)
    for name, license in packages.items():
        by_license[license].append(name)
    lines = [
        f"| {of} | {', '.join(names)} |"
        for of, names in sorted(by_license.items(), key=lambda row: (-len(row[1]), row[0]))
    ]
    return "\n".join(["| license | packages |", "|---|---|", *lines])


def written(text: str, part: str) -> dict[str, str]:
    """Return the license of each package that a part of the page names."""
    section = text.partition(f"<!-- licenses: {part} -->")[2].partition("<!-- end of licenses -->")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    return {name: license for license, names in cells for name in names.split(", ")}


def main() -> None:
    """Write the licenses of what is installed into the page."""
    text = PAGE.read_text()
    for part, packages in licenses().items():
        mark = f"<!-- licenses: {part} -->"
        text = re.sub(
            f"{mark}.*?<!-- end of licenses -->",
            lambda _, m=mark, p=packages: f"{m}\n{rows(p)}\n<!-- end of licenses -->",
            text,
            flags=re.DOTALL,
        )
    PAGE.write_text(text)


if __name__ == "__main__":
    main()

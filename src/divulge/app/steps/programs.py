"""The release as a command, a program and a notebook, for those who want to do it again without the pages."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from divulge.app.steps import how, table


def command(session: Any) -> str:
    """Return the release as a command."""
    known = session.choices
    name = _quoted("./" * known["data"]["name"].startswith("-") + known["data"]["name"])
    reading = [f"--{key} {_quoted(value)}" for key, value in known["reading"]["options"].items()]
    if known["how"]["way"] == "table":
        return " ".join(
            [f"divulge publish {name}", *reading, *_words(session), *_recorded(session), "-o statistics.csv"]
        )
    choice = how.options(session, known["how"]["way"], known["aim"])
    words = [f"divulge release {name}", *reading, f"--column {_quoted(choice['column'])}"]
    words += [
        f"--{key.replace('_', '-')} {_quoted(str(choice[key]))}"
        for key in ("guarantee", "mechanism", "epsilon", "purpose", "prior", "null_as")
        if key in choice
    ]
    words += ["--prior-from-data"] if choice.get("prior_from_data") else []
    return " ".join([*words, *_recorded(session), "-o perturbed.csv"])


def _recorded(session: Any) -> list[str]:
    """Return the words by which a command's release adds up with those of the pages, which know no path of the file."""
    return [f"--source-name {_quoted(session.choices['data']['name'])}"]


def script(session: Any) -> str:
    """Return the release as a Python program."""
    known = session.choices
    name, options = known["data"]["name"], known["reading"]["options"]
    table_ = "dv.datasets.census_path()" if name == "census.parquet" else repr(name)
    if options:
        table_ = f"dv.open_table({name!r}, " + ", ".join(f"{key}={value!r}" for key, value in options.items()) + ")"
    if known["how"]["way"] == "table":
        asked = table.arguments(session)
        statistics = "".join(f"        {_call(one)},\n" for one in asked["asked"])
        options = "".join(f"    {key}={_plain(key, value)!r},\n" for key, value in asked["options"].items())
        return (
            f"import divulge as dv\n\nfound = dv.publish(\n    {table_},\n    [\n{statistics}    ],\n"
            f"    sink='statistics.csv',\n{options})\nprint(found)\n"
        )
    choice = how.options(session, known["how"]["way"], known["aim"])
    arguments = "".join(f"    {key}={value!r},\n" for key, value in choice.items())
    return (
        f'import divulge as dv\n\nreceipt = dv.release(\n    {table_},\n    "perturbed.csv",\n{arguments})\n'
        'print(receipt)\nprint(dv.estimate_frequencies("perturbed.csv", receipt))\n'
    )


def notebook(session: Any) -> str:
    """Return the program as a notebook of one cell a step."""
    parts = script(session).split("\n\n", 1)
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell{i}",
            "metadata": {},
            "outputs": [],
            "source": part.splitlines(True),
        }
        for i, part in enumerate(parts)
    ]
    return json.dumps(
        {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5},
        indent=1,
    )


def written(folder: Path, made: Mapping[str, str]) -> dict[str, str]:
    """Write the program and the notebook; return where."""
    places: dict[str, str] = {}
    for kind, name in (("script", "release.py"), ("notebook", "release.ipynb")):
        path = folder / name
        path.write_text(made[kind], encoding="utf-8")
        places[kind] = str(path)
    return places


def _quoted(text: str) -> str:
    return shlex.quote(text)


def _words(session: Any) -> list[str]:
    """Return the statistics and options as words of the command."""
    asked = table.arguments(session)
    words: list[str] = []
    by = ""
    for one in asked["asked"]:
        if one["kind"] == "count":
            words.append(f"--count {_quoted(','.join(one['by']))}" if one["by"] else "--count ''")
            continue
        by = ",".join(one["by"])
        if one["kind"] == "share":
            words.append(f"--proportion {_quoted(one['column'] + ':' + one['value'])}")
            continue
        parts = [one["column"], one["low"], one["high"], *([",".join(one["at"])] if "at" in one else [])]
        words.append(f"--{one['kind']} {_quoted(':'.join([*parts, *([one['step']] if 'step' in one else [])]))}")
    words += [f"--by {_quoted(by)}"] if by else []
    for key, value in asked["options"].items():
        option = f"--{key.replace('_', '-')}"
        words.append(option if value is True else f"{option} {_quoted(str(_plain(key, value)))}")
    return words


def _plain(key: str, value: Any) -> Any:
    """Return an option as the owner of the files writes it: a list of values by the name of its file."""
    return Path(value).name if key == "values" else value


def _call(one: Mapping[str, Any]) -> str:
    """Return a statistic as it is made in Python."""
    if one["kind"] == "count":
        return f"dv.Count({', '.join(map(repr, one['by']))})"
    by = f", by={tuple(one['by'])!r}" if one["by"] else ""
    if one["kind"] == "share":
        return f"dv.Proportion({one['column']!r}, {one['value']!r}{by})"
    step = f", step={one['step']!r}" if "step" in one else ""
    at = f", probabilities={tuple(one['at'])!r}" if "at" in one else ""
    return f"dv.{one['kind'].capitalize()}({one['column']!r}, bounds={(one['low'], one['high'])!r}{at}{by}{step})"

"""The release as a program and a notebook, for those who want to do it again without the pages."""

import json
from pathlib import Path


def notebook(script: str) -> str:
    """Return a program as a notebook of one cell a step."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell{i}",
            "metadata": {},
            "outputs": [],
            "source": part.splitlines(True),
        }
        for i, part in enumerate(script.split("\n\n", 1))
    ]
    return json.dumps(
        {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5},
        indent=1,
    )


def written(folder: Path, script: str) -> dict[str, str]:
    """Write the program and the notebook; return where."""
    places: dict[str, str] = {}
    for kind, name, text in (("script", "release.py", script), ("notebook", "release.ipynb", notebook(script))):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        places[kind] = str(path)
    return places

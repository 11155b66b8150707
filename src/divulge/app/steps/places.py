"""Step 3, places: latitude and longitude, each moved by chance, so that near places are hard to tell apart."""

import csv
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from divulge.app import figures, work
from divulge.app.guard import MOST_FIELDS, Refused
from divulge.app.numbers import number_in
from divulge.app.sessions import Session
from divulge.errors import DivulgeError
from divulge.model.metrics.geography import Box
from divulge.model.metrics.quantities import quantity
from divulge.releasing.request import MOST_ROWS

ASKED = {
    "far": "1", "odds": "3", "grid": "100m", "south": "", "west": "", "north": "", "east": "", "whose": "",
    "person": "", "rows": "6", "quarters": "",
}  # fmt: skip
"""What is asked at first: how far apart places are that odds of at most so much tell apart, cells, region, people, and
who lives where."""
_BELOW = 1 - 1e-8
"""More than what rounding may add to the odds that the page shows."""
REGION = ("south", "west", "north", "east")
_CALLED = {"lat": re.compile(r"lat", re.IGNORECASE), "lon": re.compile(r"lon|lng", re.IGNORECASE)}


def numbers(session: Session) -> list[str]:
    """Return the columns of numbers."""
    return [column["name"] for column in session.choices["data"]["columns"] if column["kind"] == "numbers"]


def current(session: Session) -> dict[str, Any]:
    """Return what is asked so far; at first the columns that are called after latitude and longitude."""
    called = {name: next((one for one in numbers(session) if sign.match(one)), "") for name, sign in _CALLED.items()}
    return session.choices.setdefault("places", {**ASKED, **called})


def arguments(session: Session) -> dict[str, Any]:
    """Return the options of `release`."""
    asked = current(session)
    rate = rate_for(float(asked["odds"]), float(asked["far"]), asked["grid"], [asked[side] for side in REGION])
    whose: dict[str, Any] = {"per_row": True}
    if asked["whose"] == "some":
        whose = {"person": asked["person"], "rows_per_person": int(asked["rows"])}
    return {"column": [asked["lat"], asked["lon"]], "guarantee": f"metric={rate}/km", "grid": asked["grid"],
            "box": ",".join(asked[side] for side in REGION), **whose,
            **({"quarters": str(asked["file"])} if asked.get("file") else {})}  # fmt: skip


def rate_for(odds: float, far: float, grid: str, box: Sequence[Any]) -> Fraction:
    """Return the rate per km that keeps odds between places so far apart.

    They are a little farther apart on the flat map of the region, and their cells by up to a diagonal more.

    >>> town = (48.7, 2.1, 49, 2.6)
    >>> float(rate_for(3, 1, "1m", town)), float(rate_for(3, 1, "1km", town))
    (1.093769, 0.454492)
    """
    side, unit = quantity(grid, "grid")
    try:
        flat = Box.of(box).stretched
    except DivulgeError:  # the release refuses it, and says why
        flat = 1.0
    apart = far * flat + (math.sqrt(2) * float(side) if unit == "km" else 0.0)  # other units are refused there too
    return Fraction(math.floor(math.log(odds) / apart * _BELOW * 1e6), 10**6)


def _ready(pages: Any, request: Any, *, whole: bool = True) -> Session:
    session = pages.session(request)
    if "data" not in session.choices or len(numbers(session)) < 2:
        raise Refused(409, "Choose a table with latitude and longitude first.")
    if whole and not current(session)["whose"]:
        raise Refused(409, "Say first where, and whom it protects.")
    return session


def show(pages: Any, request: Any) -> Any:
    """The page."""
    session = _ready(pages, request, whole=False)
    return pages.page("places.html", session, "how", asked=current(session), numbers=numbers(session),
                      columns=[column["name"] for column in session.choices["data"]["columns"]])  # fmt: skip


def answer(pages: Any, request: Any) -> Any:
    """How far off places are, what a point makes of the odds, and one simulation beside the truth."""
    session = _ready(pages, request)
    job = session.job("places", work.blur, far=current(session)["far"],
                      path=session.choices["data"]["path"], options=arguments(session))  # fmt: skip

    def pictured(found: dict[str, Any]) -> dict[str, Any]:
        return {"found": found, "figure": figures.places(found["true"], found["moved"])}

    return pages.part(session, "places", job, "_places.html", pictured)


async def take(pages: Any, request: Any) -> Any:
    """Remember what is asked."""
    session = _ready(pages, request, whole=False)
    known = [column["name"] for column in session.choices["data"]["columns"]]
    async with request.form(max_fields=MOST_FIELDS) as form:
        given: dict[str, Any] = {name: str(form.get(name) or "").strip()[:60] for name in ("lat", "lon", *ASKED)}
        given["quarters"] = str(form.get("quarters") or "").strip()[:MOST_TYPED]
    if given["lat"] == given["lon"] or not {given["lat"], given["lon"]} <= set(numbers(session)):
        raise Refused(400, "Choose two columns of numbers: latitude and longitude.")
    given |= {name: _degrees(given[name]) for name in REGION}
    given["grid"] = _cell(given["grid"])
    _require_region([given[name] for name in REGION])
    for name, least in (("far", 0.001), ("odds", 1.01)):
        given[name] = number_in(given[name], "Say how far, and what the odds may be, as numbers.")
        if not least <= float(given[name]) <= 1000:
            raise Refused(400, "Say how far in km, from 0.001 to 1000, and odds from 1.01 to 1000.")
    if given["whose"] not in ("row", "some"):
        raise Refused(400, "Say whether each row is another person.")
    if given["whose"] == "some" and (
        given["person"] not in known or given["person"] in (given["lat"], given["lon"])
        or not given["rows"].isdecimal() or not 1 <= int(given["rows"][:7]) <= MOST_ROWS
    ):  # fmt: skip
        raise Refused(400, "Choose the column that says who, and say how many rows of a person count.")
    if given["quarters"]:
        given["file"] = _written(session, given)
    session.choices["places"] = given
    return pages.to(session, "places#moved")


MOST_TYPED = 100_000
"""So many characters of quarters can be typed."""


def _written(session: Session, given: Mapping[str, Any]) -> Path:
    """Write who lives where to a file of the session, as a request reads it."""
    rows = [("quarter", given["lat"], given["lon"], "people")]
    for line in filter(None, map(str.strip, given["quarters"].splitlines())):
        parts = [part.strip() for part in line.split("\t" if "\t" in line else ";")]
        if len(parts) != 4 or not parts[0]:
            raise Refused(400, _LINE)
        lat, lon = (_degrees(part, _LINE) for part in parts[1:3])
        rows.append((parts[0], lat, lon, number_in(parts[3], _LINE)))
    people = [float(row[3]) for row in rows[1:]]
    if min(people) < 0 or not any(people) or len({row[0] for row in rows}) < len(rows):
        raise Refused(400, _OTHERS)
    path = session.folder / secrets.token_hex(4) / "quarters.csv"
    path.parent.mkdir(mode=0o700)
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


_LINE = "Write one quarter a line: its name; latitude; longitude; people."
_OTHERS = "Quarters have a name of their own each, people from 0 on, and people in one of them at least."


def _require_region(sides: Sequence[str]) -> None:
    """Refuse what is no region on the map."""
    south, west, north, east = map(float, sides)
    if not -90 <= south < north <= 90 or west == east:
        raise Refused(400, "Give the region in degrees: south below north, from -90 to 90, and west of it not where "
                           "east of it is.")  # fmt: skip
    try:
        Box.of((south, west, north, east))
    except DivulgeError:
        raise Refused(400, "The region is too large for a flat map: take a smaller one.") from None


def _cell(text: str) -> str:
    """Return the side of a cell, a number with its unit."""
    why = "Say how long the sides of cells are, with m or km: from 0.001m to 1000km, such as 500m."
    if not (found := re.fullmatch(r"([\d.,]+)\s*(m|km)", text)):
        raise Refused(400, why)
    number = number_in(found[1], why)
    if not 1e-6 <= float(number) * (0.001 if found[2] == "m" else 1) <= 1000:
        raise Refused(400, why)
    return f"{number}{found[2]}"


_REGION = "Give the region in degrees: south, west, north, east."


def _degrees(text: str, why: str = _REGION) -> str:
    """Return degrees as they are typed, with a decimal point: no sign stands between thousands there."""
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        found = math.nan
    if not abs(found) <= 180:
        raise Refused(400, why)
    return text.replace(",", ".")


async def take_chosen(pages: Any, request: Any) -> Any:
    """Go on with this noise."""
    session = _ready(pages, request)
    job = session.job("places", work.blur, far=current(session)["far"],
                      path=session.choices["data"]["path"], options=arguments(session))  # fmt: skip
    if not job.over.is_set() or job.error is not None:
        raise Refused(409, "Look first at what would go out.")
    session.choices["how"] = {"way": "places"}
    session.choices.pop("form", None)
    return pages.to(session, "release")


ROUTES = [
    ("GET", "places", show),
    ("GET", "places/found", answer),
    ("POST", "places", take),
    ("POST", "places/chosen", take_chosen),
]

"""Step 3, a perturbed column: ways side by side, and what more or less protection costs."""

from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any

from divulge.app import figures, work
from divulge.app.guard import Refused
from divulge.app.jobs import Job
from divulge.app.numbers import number_in
from divulge.app.sessions import Session
from divulge.app.steps import aim
from divulge.app.words import filled

WAYS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "statistics": (
        "best for counting", "estimates of how frequent values are come out closest", {"purpose": "statistics"},
    ),
    "record": ("best for single rows", "as many rows as can be stay as they were", {"purpose": "record"}),
    "information": (
        "most informative", "what a published row tells about the true one, on average", {"purpose": "information"},
    ),
    "randomized-response": (
        "a known classic", "randomized response: the truth with fixed odds, else any other value alike",
        {"mechanism": "randomized-response"},
    ),
}  # fmt: skip
"""Way -> (its name, what it is good at, its options)."""
PRIORS = {
    "uniform": "all values alike (needs to know nothing)",
    "noisy=0.2": "estimated from this table with noise, which uses a little of the privacy budget (epsilon 0.2)",
    "counted": "counted in this table: the mechanism then tells the counts, and the statement says so",
}
"""What the mechanism is designed for."""
BELIEVED = {"frequencies": ("noisy=0.2", "counted"), "nothing": ("uniform",)}
"""Attacker -> the priors that hold what they believe: under these a promise for that belief alone is enough."""
ENOUGH = {
    "noisy=0.2": "the promise holds for who believes nearly that; the estimate is near enough in 95 of 100 cases",
    "counted": "the promise holds for who believes exactly that",
    "uniform": "the promise holds for who believes exactly that",
}
ALWAYS = "the promise then holds whatever is believed"
"""What is said of a prior that holds what the attacker believes, and of any other."""
AFTER = (1.2, 1.5, 2, 3, 4, 6, 10, 20)
"""The chances after, as multiples of the chance before, at which the cost of protection is shown."""


def options(session: Session, way: str, wanted: Mapping[str, Any], prior: str | None = None) -> dict[str, Any]:
    """Return the arguments of preview and release for a way under an aim."""
    given = dict(WAYS[way][2])
    prior = prior or session.choices.get("prior", "uniform")
    always = aim.whatever_is_believed(wanted)
    if "mechanism" in given:  # has fixed odds, for which nothing needs to be estimated
        given["epsilon"] = float(always.values()["epsilon"])
        prior = "uniform"
    elif prior in BELIEVED.get(wanted["attacker"], ()):
        given["guarantee"] = str_exactly(aim.guarantee(wanted))
    else:
        given["guarantee"] = str_exactly(always)
    if prior == "counted":
        given["prior_from_data"] = True
    else:
        given["prior"] = prior
    label = aim.secret(session)["null_as"]
    more = session.choices.get("whose", {}) | ({} if label is None else {"null_as": label})
    if answers := session.choices.get("answers"):
        more = more | {"values": str(session.choices["list"]), "other": answers["other"]}
    return {"column": session.choices["secret"], **given, **more}


def str_exactly(promise: Any) -> str:
    """Return a promise as a command takes it, with every digit."""
    return f"{promise.kind}=" + ":".join(repr(float(value)) for value in promise.values().values())


def said(wanted: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return prior -> what it is, and for whom the promise then holds, where that is not everybody anyway."""
    believed = BELIEVED.get(wanted["attacker"])
    if believed is None:
        return {prior: (words, "") for prior, words in PRIORS.items()}
    return {prior: (words, ENOUGH[prior] if prior in believed else ALWAYS) for prior, words in PRIORS.items()}


def show(pages: Any, request: Any) -> Any:
    """The page."""
    session = aim.aimed(pages, request)
    return pages.page(
        "how.html",
        session,
        "how",
        ways=WAYS,
        long=aim.secret(session)["values"] > LONG,
        priors=said(session.choices["aim"]),
        **aim.meaning(session, session.choices["aim"]),
    )


def ways(pages: Any, request: Any) -> Any:
    """The ways side by side: each is looked at by itself, the quickest first, and shown as soon as it is done."""
    session = aim.aimed(pages, request)
    wanted = session.choices["aim"]
    path = session.choices["data"]["path"]
    jobs = {
        way: session.job(f"ways:{way}", work.preview, path=path, options=[options(session, way, wanted)])
        for way in sorted(WAYS, key=QUICKEST.index)
    }
    left = monotonic() + PATIENCE
    for job in jobs.values():
        job.wait(max(0.0, left - monotonic()))
    found = [_looked_at(jobs[way]) for way in WAYS]
    return pages.page(
        "_ways.html", session, "ways", rows=list(zip(WAYS.values(), found, strict=True)),
        left=sum("waits" in one for one in found), many=aim.secret(session)["values"] > LONG,
        made=PRIORS[session.choices.get("prior", "uniform")],
        equal=[", ".join(filled(session.language, title) for title in titles) for titles in equal(found)],
    )  # fmt: skip


QUICKEST = ("randomized-response", "record", "information", "statistics")
"""The ways in the order in which they are looked at."""
PATIENCE = 1.5
"""So many seconds a page waits for ways before it shows those that are there."""
LONG = 100
"""Of columns with more values no levels are compared unasked: each is a search of seconds up to minutes."""


def _looked_at(job: Job) -> dict[str, Any]:
    """Return what is foreseen of a way, why there is nothing, or that it is not there yet."""
    if job.error is not None:
        return {"refused": job.error}
    return job.result[0] if job.over.is_set() else {"waits": True}


def equal(found: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the names of ways of which everything that is foreseen is the same, group by group.

    >>> same, other = {"levels": [{"stays": 0.5, "values": []}]}, {"levels": [{"stays": 0.6, "values": []}]}
    >>> equal([same, other, same, {"refused": "no"}])
    [['best for counting', 'most informative']]
    """
    groups: dict[Any, list[str]] = {}
    for (title, _, _), one in zip(WAYS.values(), found, strict=True):
        if "levels" in one:
            level = one["levels"][0]
            numbers = (level["stays"], *(value["half_width"] for value in level["values"]))
            groups.setdefault(tuple(f"{number:.6g}" for number in numbers), []).append(title)
    return [titles for titles in groups.values() if len(titles) > 1]


def cost(pages: Any, request: Any) -> Any:
    """How far off estimates are at each level of protection."""
    session = aim.aimed(pages, request)
    job, levels = _costs(session)

    def pictured(found: Any) -> dict[str, Any]:
        points = _points(levels, found)
        say = partial(filled, session.language)
        chosen = session.choices["aim"]["after"]
        figure = figures.frontier(points, chosen, say("estimates"), say(" points"), session.language)
        return {"points": points, "figure": figure, "back": "", "what": "estimates", "unit": " points"}

    return pages.part(session, "cost", job, "_cost.html", pictured)


def _costs(session: Session) -> tuple[Any, list[float]]:
    """Return the previews of the chosen way at several levels, and the levels: so many in 100 at most."""
    wanted = session.choices["aim"]
    way = session.choices.get("how", {}).get("way", "statistics")
    way = way if way in WAYS else "statistics"
    levels = sorted({round(min(99.0, wanted["before"] * times), 3) for times in AFTER} | {wanted["after"]})
    asked = [options(session, way, wanted | {"after": after}) for after in levels]
    return session.job("cost", work.preview, path=session.choices["data"]["path"], options=asked), levels


def _points(levels: Sequence[float], found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how far off the worst estimate is at each level that can be had, in points."""
    return [
        {"after": after, "off": 100 * max(value["half_width"] for value in one["levels"][0]["values"])}
        for after, one in zip(levels, found, strict=True)
        if "refused" not in one
    ]


async def take_level(pages: Any, request: Any) -> Any:
    """Take another level of protection: one of the picture, or the strongest that is accurate enough."""
    session = aim.aimed(pages, request)
    async with request.form() as form:
        after = form.get("after")
        if form.get("off"):
            job, levels = _costs(session)
            if not job.over.is_set() or job.error is not None:
                raise Refused(409, "The levels are still being compared.")
            near = [p["after"] for p in _points(levels, job.result) if p["off"] <= _number(form["off"], 1000)]
            if not near:
                raise Refused(
                    400, "None of these levels is as accurate as that. Fewer columns or more rows would help."
                )
            after = min(near)
    session.choices["aim"] = aim.read(session.choices["aim"] | {"after": after}, session)
    session.choices.pop("draft", None)
    return pages.to(session, "how#cost")


async def take(pages: Any, request: Any) -> Any:
    """Remember the way."""
    session = aim.aimed(pages, request)
    async with request.form() as form:
        way, prior = str(form.get("way", "")), str(form.get("prior", "uniform"))
        if way not in WAYS or prior not in PRIORS:
            raise Refused(400, "Choose one of the ways.")
        if prior == "counted" and session.choices.get("answers"):
            raise Refused(400, "Shares that are counted in this table tell which answers occur: take others, or take "
                               "the answers of the table on the first page.")  # fmt: skip
        session.choices["prior"] = prior
        session.choices["how"] = {"way": way}
    waiting = [name for name, job in session.jobs.items() if name.startswith("ways:") and not job.over.is_set()]
    session.forget(*waiting)  # what is looked at next does not wait for them
    return pages.to(session, "preview")


def _number(text: Any, most: float = 20) -> float:
    value = float(number_in(text, f"Give a number above 0, at most {most:g}."))
    if not 0 < value <= most:
        raise Refused(400, f"Give a number above 0, at most {most:g}.")
    return value


ROUTES = [
    ("GET", "how", show),
    ("GET", "ways/found", ways),
    ("GET", "cost/found", cost),
    ("POST", "level", take_level),
    ("POST", "how", take),
]

"""All cases: importing the modules registers them."""

from search import (
    adversaries,
    answers,
    designs,
    dp,
    families,
    guarantees,
    losses,
    measures,
    model,
    networks,
    noise,
    places,
    protocols,
    records,
    rest,
    tables,
    words,
)
from search.registry import CASES, COVERED

__all__ = [
    "CASES",
    "COVERED",
    "adversaries",
    "answers",
    "designs",
    "dp",
    "families",
    "guarantees",
    "losses",
    "measures",
    "model",
    "networks",
    "noise",
    "places",
    "protocols",
    "records",
    "rest",
    "tables",
    "words",
]

"""Loads with itself what statements say in each language: its sentences, and how it writes numbers."""

from contextlib import suppress

from divulge.errors import DivulgeError
from divulge.reporting.statements.voice import Voice, languages

with suppress(DivulgeError):  # nothing is published where what that needs is not installed
    for _language in languages():
        Voice(_language).number(0.5)

"""The sections of a report, in the order they are read."""

from divulge.reporting.blocks import Section
from divulge.reporting.reports.correlated import correlated
from divulge.reporting.reports.leaks import attackers, how_sure, outcomes, summary, values
from divulge.reporting.reports.promises import assumptions, compared, guarantees, reading, release, to_keep_in_mind
from divulge.reporting.reports.report import Report


def contents(report: Report) -> tuple[Section, ...]:
    """Return the sections that have something to say about this release; the first is the summary."""
    order = (summary, correlated, how_sure, outcomes, values, attackers, guarantees, assumptions, compared, release,
             to_keep_in_mind, reading)  # fmt: skip
    return tuple(section for made in order if (section := made(report)).blocks)

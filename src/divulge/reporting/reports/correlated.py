"""The section on a chain or a network: what all outputs say of each step or variable, as a table and a picture."""

from typing import TYPE_CHECKING

from divulge.networks.bayesian.network import Network
from divulge.networks.chain import Chain
from divulge.reporting.blocks import Picture, Rows, Section, Words
from divulge.reporting.reports import pictures
from divulge.reporting.reports.report import Report
from divulge.reporting.wording import amount
from divulge.units import nats_per

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def correlated(report: Report) -> Section:
    """Return what all outputs say of each step or variable, where the report is about a chain or a network."""
    voice, model = report.voice, report.model
    if model is None:
        return Section("correlated", voice.text("n_title"), ())
    blocks = _of_chain(report, model) if isinstance(model, Chain) else _of_network(report, model)
    return Section("correlated", voice.text("n_title"), (Words(voice.text("n_beware")), *blocks))


def _of_chain(report: Report, chain: Chain) -> tuple[Rows, Picture]:
    voice, per, table = report.voice, nats_per(report.unit), chain.over_time()
    unit = voice.text(f"unit_{report.unit}")
    levels = [(row.local, row.online.upper, row.exact.upper, row.pml.upper, row.pmc.upper) for row in table]
    rows = tuple(
        (voice.text("n_step", step=str(step)), *(amount(v / per, voice) for v in row))
        for step, row in enumerate(levels)
    )
    header = tuple(voice.text(name) for name in ("n_state", "n_own", "n_so_far", "n_all", "n_gain", "n_loss"))

    def draw(ax: "Axes") -> None:
        pictures.over_time(table, per, unit, ax, voice)

    most = amount(max(row.exact.upper for row in table) / per, voice)
    return (
        Rows(voice.text("n_steps", unit=unit), header, rows),
        Picture(voice.text("n_steps_seen", unit=unit), voice.text("n_steps_alt", most=most, unit=unit), draw),
    )


def _of_network(report: Report, network: Network) -> tuple[Rows, Picture]:
    voice, per = report.voice, nats_per(report.unit)
    unit = voice.text(f"unit_{report.unit}")
    gains, losses = network.by_variable(), network.by_variable("pmc")
    put_out = {output.variable for output in network.outputs.values()}
    rows = tuple(
        (name, voice.text("n_yes" if name in put_out else "n_no"),
         *(amount(worst[name].leakage.upper / per, voice) for worst in (gains, losses)))
        for name in network.variables
    )  # fmt: skip
    header = tuple(voice.text(name) for name in ("n_variable", "n_put_out", "n_gain", "n_loss"))
    most = amount(max(worst.leakage.upper for worst in gains.values()) / per, voice)
    return (
        Rows(voice.text("n_variables", unit=unit), header, rows, (0, 1)),
        Picture(
            voice.text("n_variables_seen"), voice.text("n_variables_alt", most=most, unit=unit),
            lambda ax: pictures.network(network, ax, voice, report.unit), (7.0, 5.0),
        ),
    )  # fmt: skip

"""The door of a report: from a mechanism, a receipt, or two columns of a table."""

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, cast

from divulge.auditing.audit import audit
from divulge.errors import DivulgeError
from divulge.files.tables.source import TableLike
from divulge.guarantees import kinds as k
from divulge.guarantees.catalog import as_guarantee, as_typed
from divulge.guarantees.guarantee import Guarantee
from divulge.model.accepted import ChannelLike, JointLike, PriorLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_joint, as_prior, is_pair
from divulge.model.integer import IntegerChannel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.networks.bayesian.network import Network
from divulge.networks.chain import Chain, is_step
from divulge.releasing.records.ledger import Ledger
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.reports.report import MOST_ENTRIES, MOST_EXACT, Report, bounds_something
from divulge.reporting.statements.voice import Voice
from divulge.units import Unit, nats_per

_PROMISED: dict[str, Callable[[Any], Guarantee]] = {"pml": k.PML, "pmc": k.PMC, "ldp": k.LDP}


def report(
    subject: JointLike | ChannelLike | Receipt | TableLike | Chain | Network,
    *,
    prior: PriorLike | None = None,
    secret: str | tuple[str, ...] | None = None,
    released: str | tuple[str, ...] | None = None,
    guarantees: Sequence[Guarantee | str] = (),
    column: str | Sequence[str] | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    null_as: Hashable = None,
    confidence: float = 0.95,
    unit: Unit = "nats",
    about: str | None = None,
    prior_source: str = "given",
    language: str = "en",
) -> Report:
    """Return a report on a mechanism, a release by its receipt, two columns of a table, or a chain or network.

    Parameters
    ----------
    subject : Joint, (prior, channel), Channel with `prior`; Receipt or its path; table or its path; Chain or Network
        A table comes with `secret` and `released`, and is counted: everything is then an estimate. A chain or network
        comes with `secret`, and the report is about it and all outputs, as long as these can be listed.
    prior : Prior or what converts to it, optional
        Instead of the prior of a receipt; with a channel that has none.
    secret, released : str, or tuples of str
        Columns of a table, as for `audit`; of a chain or network `secret` alone, as for its `joint`.
    guarantees : sequence of Guarantee or text such as "pml=0.5"
        Promises to check, in `unit`. Those of a receipt are checked anyway.
    column : str or sequence of str, optional
        Which columns of a receipt with several mechanisms.
    ledger : Ledger, path or URL, optional
        With a receipt: what all releases about the same columns add up to.
    null_as, confidence
        As for `audit`.
    unit : "nats" or "bits"
    about : str, optional
        What the report calls its subject.
    prior_source : str
        Where the prior is from, in words.
    language : "en" or "de"
        Of the report.

    Returns
    -------
    Report
        `save` writes the page (extras: plot, science), `text` and `to_dict` the same without pictures.

    Raises
    ------
    DivulgeError
        Where no prior is known, or an option belongs to another kind of subject.

    Examples
    --------
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    >>> found = report(coin, prior=["1/10", "9/10"], guarantees=["ldp=1", "pml=1"])
    >>> [verdict.holds for verdict in found.verdicts]  # ldp log 3 = 1.10, pml log 2.5 = 0.92
    [False, True]
    >>> found.to_dict()["guarantees"][1]["measured"]["epsilon"] == found.profile.pml.max()
    True
    """
    nats_per(unit)
    voice = Voice(language)
    if isinstance(guarantees, (str, Guarantee)):
        guarantees = (guarantees,)
    asked = tuple(as_guarantee(g, "guarantees").read_in(unit, to_keep=True) for g in guarantees)
    if isinstance(subject, Chain | Network):
        _refuse(
            {"prior": prior, "released": released, "column": column, "ledger": ledger, "null_as": null_as}, "a table"
        )
        return _of_model(subject, secret, asked, unit, about, voice)
    if (secret is None) != (released is None):
        raise DivulgeError("a table needs both columns. Hint: secret=COLUMN, released=COLUMN.")
    if secret is not None and released is not None:
        _refuse({"prior": prior, "column": column, "ledger": ledger}, "a channel or a receipt")
        found = audit(
            cast(TableLike, subject), secret=secret, released=released, null_as=null_as, confidence=confidence
        )
        joint = Joint.from_counts(found.counts.astype(float), found.secrets, found.outcomes)
        out, true = (part if isinstance(part, str) else ", ".join(part) for part in (released, secret))
        name = about or voice.text("r_about_of", released=out, secret=true)
        return Report(name, joint, "counted in the rows", asked, unit, audit=found, language=language)
    _refuse({"null_as": null_as}, "a table")
    receipt = Receipt.of(subject)
    if receipt is not None:
        return _of_receipt(receipt, prior, asked, column, ledger, unit, about, prior_source, voice)
    _refuse({"column": column, "ledger": ledger}, "a receipt")
    if isinstance(subject, Joint) or is_pair(subject):
        _refuse({"prior": prior}, "a channel that has none yet")
        joint = as_joint(subject)
    else:
        channel = as_channel(subject)
        if prior is None:
            raise DivulgeError.of("prior", "come with a channel", "it", "absent", "try Prior.uniform(N).")
        joint = Joint(as_prior(prior), channel)
    return Report(about or voice.text("r_mechanism"), joint, prior_source, asked, unit, language=language)


def _of_model(
    model: Chain | Network, secret: Any, asked: tuple[Guarantee, ...], unit: Unit, about: str | None, voice: Voice
) -> Report:
    """Return the report on one secret of a chain or a network and all that goes out."""
    if secret is None:
        raise DivulgeError.of(
            "secret", "name what the report is about", "it", "absent", "a step or variable, several, or an event."
        )
    joint, what = model.joint(secret), str(getattr(secret, "name", secret))
    if isinstance(model, Chain):
        what = voice.text("n_step", step=what) if is_step(secret) else what
    name = about or voice.text("n_about_chain" if isinstance(model, Chain) else "n_about_network", secret=what)
    return Report(name, joint, "the model itself", asked, unit, language=voice.language, model=model, secret=what)


def _refuse(given: Mapping[str, Any], home: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise DivulgeError.of(name, f"come with {home}", "it", "given with something else")


def _of_receipt(
    receipt: Receipt,
    prior: Any,
    asked: tuple[Guarantee, ...],
    column: str | Sequence[str] | None,
    ledger: Any,
    unit: Unit,
    about: str | None,
    prior_source: str,
    voice: Voice,
) -> Report:
    """Return the report on one mechanism of a receipt, with what the receipt promises of it."""
    columns = receipt.columns if column is None else (column,) if isinstance(column, str) else tuple(column)
    ran = receipt.matrix_of(columns)
    known = ran.assumed.prior if prior is None else as_prior(prior)
    if known is None:
        raise DivulgeError.of(
            "prior", "be given for a receipt that has none", "it", "absent", "try --prior uniform, or TABLE:COLUMN."
        )
    slack = 1.0 if ran.channel.weights.size <= MOST_ENTRIES else 1 + 1e-9  # decided in floats, past their rounding
    promised = [kind(ran.guarantees[name] * slack) for name, kind in _PROMISED.items() if name in ran.guarantees]
    kept = [g for g in promised if bounds_something(g) and (g.about == "channel" or prior is None)]
    typed = [] if receipt.mechanisms[1:] else [as_typed(one) for one in receipt.asked]
    first = [g for g in typed if g.about == "channel" or (prior is None and ran.assumed.prior is not None)]
    kept = [g for g in kept if g.kind not in {one.kind for one in first}]
    return Report(
        about or voice.text("r_about_in", columns=", ".join(columns), table=receipt.output or voice.text("r_table")),
        _joint_of(known, ran.channel),
        ran.prior_source if prior is None else prior_source,
        (*asked, *first, *kept),
        unit,
        receipt,
        columns,
        spent=None if ledger is None else _spent(receipt, ran, Ledger.of(ledger)),
        language=voice.language,
    )


def _joint_of(prior: Prior, channel: IntegerChannel) -> Joint:
    """Return prior and mechanism in fractions, or for many entries in floats, which whole multiples of 2^-53 are."""
    n, m = channel.shape
    if n * m <= MOST_EXACT:
        return Joint(prior, channel.exact)
    floats = Channel(channel.weights / 2.0**channel.bits, channel.secrets, channel.outcomes)
    return Joint(Prior(prior.floats, prior.secrets).aligned(channel.secrets), floats)


def _spent(receipt: Receipt, ran: Mechanism, ledger: Ledger) -> dict[str, float]:
    """Return what all releases about the columns add up to, in the ledger that holds the release of the receipt."""
    for entry in ledger.entries(columns=ran.columns):
        if (entry.output, entry.rows, entry.mechanisms) == (receipt.output, receipt.rows, receipt.mechanisms):
            return ledger.spent(entry.source, ran.columns, ran.prior)
    raise DivulgeError.of("ledger", "hold the release of this receipt", "it", "without an entry like it")

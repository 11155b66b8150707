"""A public model of how one row of a person follows another, as it is asked for with a release."""

import os
from typing import Any

from divulge.files import read_channel
from divulge.model.convert import as_channel
from divulge.releasing.column import Release
from divulge.releasing.records.ran.following import Following
from divulge.releasing.records.ran.placed import MetricNoise


def followed(choice: Release, mechanism: Any) -> Following | None:
    """Return the model in the order of the values of the mechanism; None where none is given."""
    if choice.chain is None:
        return None
    given = choice.chain
    model = read_channel(given) if isinstance(given, (str, os.PathLike)) else as_channel(given)
    if isinstance(mechanism, MetricNoise):
        return Following.of(model, None, mechanism.numbered, mechanism.times)
    prior = mechanism.assumed.alone if mechanism.assumed.public else None
    return Following.of(model, prior, mechanism.channel.secrets, mechanism.times)

"""The privacy loss of one ordered pair of distributions, as a random variable."""

from divulge.dp.loss import atoms as atoms  # what `PrivacyLoss.between` makes

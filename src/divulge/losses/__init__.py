"""What tells two secrets apart: the privacy loss, and the variants of differential privacy built on it."""

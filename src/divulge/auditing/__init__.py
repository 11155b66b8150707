"""From observed pairs of secret and outcome to leakage, with confidence."""

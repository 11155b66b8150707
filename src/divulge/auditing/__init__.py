"""From observed pairs of secret and outcome, scores and guesses to leakage, with confidence."""

"""What a leakage figure means: the attacker behind it, evaluated, made explicit, and played."""

"""Designs that protect S while X is seen: S - X - Y, another polytope, the same certificate."""

"""What guarantees leave of an outcome: limits of the lift, vertices, utilities and secant bounds."""

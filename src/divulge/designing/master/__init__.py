"""The restricted master program, column generation with its Lagrangian bound, and what makes its mixtures smaller."""

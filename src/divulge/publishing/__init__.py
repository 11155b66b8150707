"""Statistics of a table, published by its keeper: exact counts, noise by OpenDP, and what they tell of a record."""

"""The distribution of one record."""

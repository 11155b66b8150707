"""What several releases say about one secret, by information density."""

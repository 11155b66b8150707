"""Which mechanism runs on which columns, for what purpose, and what its outcomes are called."""

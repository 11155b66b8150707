"""Doing it: exact secure sampling, tables in and out, and the ledger of what was released."""

"""What ran on columns, as receipts and the ledger have it: a matrix, a protocol, or noise about a distance."""

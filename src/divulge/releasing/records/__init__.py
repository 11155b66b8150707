"""What stays of a release: receipts, what they promise together, and the ledger."""

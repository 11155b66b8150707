"""What a leakage means: promises as records, what they imply, and whether they hold."""

"""What an outcome looks like given a record, and in all."""

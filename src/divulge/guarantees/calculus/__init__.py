"""What follows from what: the tightest chain of theorems."""

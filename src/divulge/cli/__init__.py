ALREADY: list[str] = []
"""What is done for good: no error of what follows, such as a full disk behind standard output, may hide it."""

PUBLISHED = "What was drawn is published, and to repeat the call would spend again."

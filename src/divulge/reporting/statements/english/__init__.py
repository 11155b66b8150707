"""The sentences of statements and codebooks in English, by name."""

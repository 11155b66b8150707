"""The sentences of a statement that hold numbers, read one by one until none is left."""

import re

ANY = r"([\d.,]*\d)"
"""A number of the statement."""


class Reader:
    """Reads the sentences of a statement that hold numbers, each once; what was not read is left."""

    def __init__(self, text: str) -> None:
        self.left = " ".join(text.split())

    def numbers(self, sentence: str) -> list[list[float]]:
        """Return the numbers where a sentence stands, with # in the places of numbers, and take it away."""
        found = self.any(sentence)
        assert found, sentence
        return found

    def any(self, sentence: str) -> list[list[float]]:
        """Return the same, and nothing where the sentence stands nowhere."""
        pattern = ANY.join(map(re.escape, sentence.split("#")))
        found = [[float(one.replace(",", "")) for one in match.groups()] for match in re.finditer(pattern, self.left)]
        self.left = re.sub(pattern, "", self.left)
        return found

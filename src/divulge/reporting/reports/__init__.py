"""The report: what is told as data, in words, as a page and as text."""

"""Mechanisms on general alphabets: noise on numbers, what each outcome leaks and what the mechanism leaks at most."""

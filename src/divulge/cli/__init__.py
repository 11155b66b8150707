"""The commands: parse, call, print. No mathematics lives here."""

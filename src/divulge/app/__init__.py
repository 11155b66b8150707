"""The browser face: pages over the library, served to this machine alone. No mathematics lives here."""

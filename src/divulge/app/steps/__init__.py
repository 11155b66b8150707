"""One file a step: what its forms mean, which calls of the library answer, which page shows it."""

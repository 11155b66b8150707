"""Does it hold: how much there is of what a guarantee bounds, exactly, and who attains it."""

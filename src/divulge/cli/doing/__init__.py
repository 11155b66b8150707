"""Commands that put something out of the door, or keep its books."""

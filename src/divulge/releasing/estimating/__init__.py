"""From a released column back to frequencies, with intervals that hold."""

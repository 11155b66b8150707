"""Reports of frequency protocols: drawn exactly, and decoded to how often each value was sent."""

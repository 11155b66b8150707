"""What releases from a census reveal."""

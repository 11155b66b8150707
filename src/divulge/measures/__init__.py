"""What it leaks: one short function a measure, one file a family."""

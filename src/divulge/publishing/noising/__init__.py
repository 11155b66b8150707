"""Noise on whole numbers: drawn, calibrated, what it tells of a record, and estimates from what comes out."""

"""Audits of reports of frequency protocols."""

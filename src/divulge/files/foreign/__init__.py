"""Workbooks, and files of Stata, SPSS and SAS, read in a process of its own."""

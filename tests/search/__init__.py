"""The long search: random subjects of every kind, every public number against an oracle that shares no code with it.

`make search MINUTES=60` runs it; `python -m search --seed 7 --case pml` repeats a find. The suite runs a short slice.
"""

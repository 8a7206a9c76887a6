"""Programs that run inside the project's test process, under its own Python (3.9 or later) and without dependencies.

`launcher.py` is the entry point and loads its sibling files by path. Nothing here imports prd2pr, and other packages
only read these files by path.
"""

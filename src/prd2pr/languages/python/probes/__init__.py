"""Programs that run inside the test process of the project, with its own Python (3.9 or later) and no dependencies.

`launcher.py` is the entry point; it loads its siblings by file path. Nothing here imports prd2pr, and other packages
read these files by path only.
"""

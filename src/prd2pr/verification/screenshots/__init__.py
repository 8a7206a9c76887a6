"""Take screenshots of the project's pages in the sandbox.

`pages` is the interface, `camera` implements it, and `browser` is the program that runs inside the sandbox.
"""

"""Screenshots of the project's pages, taken in the sandbox.

`pages` is the interface, `camera` implements it, `browser` is the program that runs inside the sandbox.
"""

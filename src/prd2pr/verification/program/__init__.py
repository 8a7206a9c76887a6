"""Run the project's own program in the sandbox: take screenshots of its pages, and run it once for its output.

`checkout` runs a program in a fresh checkout; `pages` is the interface for screenshots, `camera` implements it, and
`browser` is the program that runs inside the sandbox.
"""

"""The server side of the sandbox: a privileged process that gives up its privileges step by step.

Offers `server.main`, run by prd2pr's own interpreter with `-I -S`. Imports the standard library alone, and as little
of it as possible.
"""

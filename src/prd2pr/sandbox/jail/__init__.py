"""The server side of the sandbox: a privileged process that gives up its privileges step by step.

Provides `server.main`, which prd2pr's own interpreter runs with `-I -S`. Imports only the standard library, and as
little of it as possible.
"""

"""Set-up of the GitHub App: create it, store its credentials, and onboard the repositories in which it is installed.

May import `prd2pr.github` and the server's settings and installations.
"""

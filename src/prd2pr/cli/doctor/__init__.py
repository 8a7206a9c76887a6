"""Checks of `prd2pr doctor`: the checkout, its stacks, the workflow file and the repository's settings on GitHub.

Each check returns a `SetupCheck` with what was found and how to fix it; `verbs.doctor` runs them in order.
"""

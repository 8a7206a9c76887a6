"""Checks of `prd2pr doctor`: the checkout, its stacks, the workflow file and the repository's settings on GitHub.

Each check returns a `SetupCheck` with the finding and its fix; `verbs.doctor` runs them in order.
"""

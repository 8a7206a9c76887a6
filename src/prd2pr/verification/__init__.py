"""Evidence and gates: what happened between two commits, and whether it passes.

`gather` collects evidence, `gates` judge it, `findings` describes every finding. `codebase` reads trees, `run_cache`
and `stack_runners` run tests. `commit_check` holds the results of `prd2pr verify`; `screenshots` captures pages.

May import `languages`, `sandbox`, `state` and `domain`.
"""

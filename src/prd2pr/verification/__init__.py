"""Gather evidence about the changes between two commits and decide whether they pass a gate.

`gather` collects evidence, `gates` judges it, and `findings` is the table of all findings. `codebase` reads trees;
`run_cache` and `stack_runners` run tests. `commit_check` defines the results of `prd2pr verify`, and `program` runs
the project's own program.

May import `languages`, `sandbox`, `state`, `prd` and `domain`.
"""

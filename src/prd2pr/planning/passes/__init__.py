"""Planning in four passes: cycles, tasks, acceptance criteria, hints.

Offers the answer models of each pass, their checks, and the merge into one plan. May import `planning.plan`,
`planning.problems`, `prd` and `domain`.
"""

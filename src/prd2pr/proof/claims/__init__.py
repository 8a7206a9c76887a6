"""Check the claims of a step commit against its parent, without running tests.

`claim` is the commit with both states, and `commits` is the entry point (`check_records`). `decisions` checks notes
that record a decision, `records` checks role answers and memory records, and `documents` renders the living docs that
the commit must contain.
"""

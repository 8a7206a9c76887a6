"""Check what a step commit claims against its parent, without running tests.

`claim` is the commit with both states, `commits` the entry (`check_records`), `decisions` checks notes that carry a
decision, `records` role answers and memory, `documents` renders the living docs that the commit must contain.
"""

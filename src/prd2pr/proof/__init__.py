"""Prove a branch again from its commits: `prd2pr verify`, `prd2pr gate` and attestations.

`verify` proves every step, `merged` what was merged, `claims` checks the records of a commit, `compare` compares saved
and new evidence, `judge` judges any two commits, and `attestation` and `statement_files` build and check in-toto
statements.

May import `workflow`, `livingdocs`, `agents`, `planning`, `views`, `memory`, `verification`, `languages`, `state`,
`prd` and `domain`.
"""

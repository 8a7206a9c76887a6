"""Gather evidence for a step: one path for runs, `prd2pr gate` and `prd2pr verify`.

`pipeline.gather` is the entry; `context` holds its settings and the step. `python_evidence` and `other_languages`
gather by phase; the other modules run one kind of check each. Gathering reads trees and runs tests; it does not judge.
"""

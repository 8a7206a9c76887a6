"""Gather the evidence for a step. Runs, `prd2pr gate` and `prd2pr verify` all use this package.

`pipeline.gather` is the entry point; `context` defines the settings and the step. `phases` gathers RED, GREEN, REFACTOR
and INTEGRATED for every language. What differs between languages is a `StepAnalysis`. Gathering reads trees and runs
tests but does not judge.
"""

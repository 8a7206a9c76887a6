"""Differential testing for Python: the same calls on the code before and after a refactoring.

Offers the plan (which functions, which tests), the comparison of outcomes, and the check for new code that no test
executes. The calls are made by the probes. May import the flat modules of this language and `mutation.functions`.
"""

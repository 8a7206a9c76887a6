"""Differential testing for Python: makes the same calls to the code before and after a refactoring.

Offers the plan (which functions and which tests), the comparison of outcomes, and the check for new code that no test
executes. The probes make the calls. May import the top-level modules of this language and `mutation.functions`.
"""

"""Runs pytest for a project under test and returns a report that can be trusted.

Offers `PytestRunner`, the implementation of the test runner for Python: clean runs with canaries, mutation runs and
differential runs. The code inside the test process is in `probes`. May import `sandbox` and the other Python modules.
"""

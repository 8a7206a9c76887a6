"""Runs pytest for a project under test and returns a trustworthy report.

Offers `PytestRunner`, the test runner for Python: clean runs with canaries, mutation runs and differential runs. The
code that runs inside the test process is in `probes`. May import `sandbox` and the other Python modules.
"""

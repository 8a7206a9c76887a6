"""Costs of the work: budgets, estimates, context sizes, and the model of each role in each profile.

Pure. It imports only `domain` modules.
"""

"""Costs of the work: budgets, estimates, context sizes, and which model plays which role in which profile.

Pure. It imports only `domain` modules.
"""

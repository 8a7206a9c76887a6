"""What the work costs: budgets, estimates, context sizes, and which model plays which role in which profile.

Pure. It imports `domain` modules only.
"""

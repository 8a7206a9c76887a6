"""Mutation testing for Python: plans deliberate faults from the source alone.

Offers `plan_mutations`, the overfitting check and the exemptions. The probes apply the faults and the gates judge the
results. May import the test model, the rules and the top-level modules of this language.
"""

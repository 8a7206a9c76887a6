"""Mutation testing for Python: plans deliberate faults from source text alone.

Offers `plan_mutations`, the overfitting check and the exemptions. The faults are applied by the probes and judged by
the gates. May import the test model, the rules and the flat modules of this language.
"""

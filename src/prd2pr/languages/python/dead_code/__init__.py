"""Checks steps that remove dead code together with its tests: what was removed, and whether it was dead.

Offers `find_removal`. May import the test model and the top-level modules of this language.
"""

"""Typed answers of the roles, one module per role, and the rules that code applies to them.

A model gives facts and reasons; verdicts, scores and additions to a plan follow from them by the rules here. May import
`planning`, `memory`, `languages` and `domain`.
"""

"""Typed answers of the roles, one module per role, and the rules that code applies to them.

A model provides facts and reasons; the rules here derive verdicts, scores and additions to a plan. May import
`planning`, `memory`, `languages` and `domain`.
"""

"""Shared code of the languages parsed with tree-sitter: queries, rules over their captures, faults and metrics.

Each language provides its queries (`.scm` files) and conventions as data, and Python code only for what a query cannot
express. May import the shared modules of `prd2pr.languages`, but no language.
"""

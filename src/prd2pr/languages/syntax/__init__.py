"""Code shared by the languages that are parsed with tree-sitter: queries, rules based on them, faults and metrics.

Each language provides its queries (`.scm` files) and conventions as data, and Python code only for what a query cannot
express. May import the shared modules of `prd2pr.languages`, but no language.
"""

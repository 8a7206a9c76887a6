"""What languages parsed with tree-sitter share: queries, rules over their captures, faults and metrics.

Each language has its queries (`.scm` files) and conventions as data; Python per language is only what a query cannot
express. May import the shared modules of `prd2pr.languages`, not the languages.
"""

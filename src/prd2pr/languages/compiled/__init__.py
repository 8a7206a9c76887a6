"""Code shared by the runners of compiled languages: reading the output of test binaries, and compiler errors.

Each language describes as data how its test binaries are invoked and how they report results. May import the shared
modules of `prd2pr.languages`, but no language.
"""

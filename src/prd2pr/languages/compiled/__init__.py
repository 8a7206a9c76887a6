"""What the runners of compiled languages share: reading the runs of test binaries, and errors of compilers.

Each language describes as data how its test binaries are invoked and how they report results. May import the shared
modules of `prd2pr.languages`, not the languages.
"""

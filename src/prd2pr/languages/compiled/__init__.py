"""What the runners of compiled languages share: reading the runs of test binaries, and errors of compilers.

A language says as data how its binaries are called and report. May import the shared modules of `prd2pr.languages`, not
the languages.
"""

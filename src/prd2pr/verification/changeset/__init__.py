"""Gather evidence about a changeset, such as a pull request, and judge it, for `prd2pr check`.

A changeset mixes tests, source and settings in commits of any form. `parts` splits it into trees that change one of
them at a time; `observation` runs the tests on these trees as RED, GREEN and REFACTOR do, and undoes the change of one
function at a time; `earlier_tests` compares the faults that the old and the new tests detect; `judgment` summarizes the
result on one line. The rules are in `verification.gates.changeset`. May import the rest of `verification`.
"""

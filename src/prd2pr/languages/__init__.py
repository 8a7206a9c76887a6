"""Languages: detection of stacks, the `Language` interface, test runs and mutation testing outside Python.

Each language has its own package; `registry` looks them up, and `capabilities` lists what is checked in which.
Language packages do not import each other.

May import `sandbox` and `domain`.
"""

"""Languages: detection of stacks, the `Language` interface, test runs and mutation testing outside Python.

Each language has its own package; `registry` looks them up, and `capabilities` lists what is checked in which.
May import `prd2pr.domain`, `prd2pr.config` and `prd2pr.sandbox`; language packages do not import each other.
"""

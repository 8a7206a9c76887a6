"""Languages: stack detection, the `Language` interface, and test runs and mutation testing outside Python.

Each language has its own package. `registry` looks languages up, and `capabilities` lists which checks exist for which
runner. Language packages do not import each other.

May import `sandbox` and `domain`.
"""

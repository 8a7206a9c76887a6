"""How a project is set up: detect its stacks, read its manifests, install its dependencies, find its tools.

It imports `domain`, `state` and `sandbox`, and the shared language tables.
"""

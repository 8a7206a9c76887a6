"""The set-up of a project: detect stacks, read manifests, install dependencies and find tools.

May import `domain`, `state` and `sandbox`, and the shared language tables.
"""

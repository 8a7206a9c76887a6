"""Read the repository's files: source code, manifests, containers, CI pipelines and settings.

Each reader takes a path and a text and returns plain records. Pure: nothing is imported or run.
"""

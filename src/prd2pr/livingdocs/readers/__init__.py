"""Readers of the repository's files: source code, manifests, containers, CI pipelines and settings.

Each takes a path and a text and returns plain records. Pure; nothing is imported or run.
"""

"""Decisions: pure functions over frozen data. Nothing here reads a file, runs a process or opens a connection."""

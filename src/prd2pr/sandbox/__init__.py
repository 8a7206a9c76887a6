"""Isolated test processes: detect what the machine allows, start a process in it, limit it and clean up.

It offers `detection` (which sandbox is available), `process` and `child_process` (start and watch), and `jail` (the
inside).

May import `domain`.
"""

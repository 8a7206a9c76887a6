"""Isolated test processes: detect the available sandbox, start a process in it, limit it and clean up.

`detection` finds out which sandbox is available, `process` and `child_process` start and watch the test process, and
`jail` runs inside the sandbox.

May import `domain`.
"""

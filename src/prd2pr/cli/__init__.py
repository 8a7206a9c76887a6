"""Command line and entry points of the program.

`table` defines all verbs and options, `verbs` has one module per verb, `wiring` and `context` build the objects that a
verb works with, `terminal` shows progress. `gate_job` and `ignored_events` run before the program is loaded.
This package may import every other one; nothing imports it. It wires and prints, and decides nothing.
"""

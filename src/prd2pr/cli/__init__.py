"""Command line and entry points of the program.

`table` defines all verbs and options, `verbs` has one module per verb, `wiring` and `context` build the objects that a
verb works with, `terminal` shows progress. `gate_job` and `ignored_events` run before the program is loaded.
It wires and prints, and decides nothing; nothing imports it.

May import `server`, `github`, `reports`, `proof`, `workflow`, `livingdocs`, `agents`, `planning`, `views`, `memory`,
`verification`, `languages`, `sandbox`, `state`, `prd` and `domain`.
"""

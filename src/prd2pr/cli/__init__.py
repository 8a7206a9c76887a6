"""Command line and entry points of the program.

`table` defines all verbs and options, `verbs` has one module per verb, `wiring` and `context` build the objects that
verbs use, and `terminal` shows progress. `gate_job` and `ignored_events` run before the rest of the program is
imported. This package wires components and prints results but makes no decisions, and no other package imports it.

May import `server`, `github`, `reports`, `proof`, `workflow`, `livingdocs`, `agents`, `planning`, `views`, `memory`,
`verification`, `languages`, `sandbox`, `state`, `prd` and `domain`.
"""

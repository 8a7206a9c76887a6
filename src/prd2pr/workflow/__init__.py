"""Run the workflow of one PRD on one branch: read the state, decide the next action, run it, commit it.

`run` is the main loop, `phases` runs the phases of a story, `roles` runs a model in a workspace, `planning` makes and
changes plans, `commits` writes steps and decisions, and `parallel` works on several stories at once. They all share the
objects in `session`.

May import `livingdocs`, `agents`, `planning`, `views`, `memory`, `verification`, `languages`, `state`, `prd` and
`domain`.
"""

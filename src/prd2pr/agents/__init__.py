"""Roles and the tool loop that runs them with a model.

Offers the table of roles, prompts, the tools of a role, the parser of its replies and the workspace that it edits.
`models` holds the adapters of the providers, `outputs` the typed answers of the roles.

May import `planning`, `memory`, `verification`, `languages` and `domain`.
"""

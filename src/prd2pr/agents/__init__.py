"""Roles, and the tool loop that runs them with a model.

Offers the table of roles, their prompts, tools and reply parser, and the workspace that they edit. `models` contains
the adapters of model providers, and `outputs` the typed answers of the roles.

May import `planning`, `memory`, `verification`, `languages`, `sandbox`, `prd` and `domain`.
"""

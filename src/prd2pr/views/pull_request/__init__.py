"""The pull request view: one frozen value that the Markdown body and the local HTML page are rendered from.

Offers the models, the assembly from branch records (`page`), the next step, the trace and the evidence of each step.
May import `domain`, `state` and `verification`.
"""

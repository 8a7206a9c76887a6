"""The pull request view: one frozen value from which the Markdown body and the local HTML page are rendered.

Offers the models, the assembly from branch records (`page`), the commits, the state and the next step. May import
`domain`, `state` and `verification`.
"""

"""The stories of a PRD as recorded on its branch: facts, cards, evidence of each step, pages and trace.

Shared by the pull request and the board. Pure. May import `verification`, `languages`, `state` and `domain`.
"""

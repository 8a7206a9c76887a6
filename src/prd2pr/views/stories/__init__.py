"""The stories of a PRD, from the records of its branch: facts, cards, evidence of each step, pages and trace.

The pull request and the board show the same. Pure. May import `verification`, `languages`, `state` and `domain`.
"""

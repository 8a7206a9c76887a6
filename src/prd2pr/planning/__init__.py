"""Plans of a PRD: their rules, replanning after a change, and decisions about stories.

Offers plan drafts and checks (`plan`), the diff of a changed plan (`plan_diff`), planning in four passes (`passes`) and
the effects of commands on the records (`decisions`).

May import `views`, `prd` and `domain`.
"""

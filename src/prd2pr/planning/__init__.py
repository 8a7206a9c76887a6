"""Plans of a PRD: their rules, replanning after a change, and decisions about stories.

Offers plan drafts and checks (`plan`, `answer_checks`), what follows from classified requirements (`classification`),
the parts of a large PRD (`parts`), the diff of a changed plan (`plan_diff`) and the effects of commands on the records
(`decisions`).

May import `views`, `prd` and `domain`.
"""

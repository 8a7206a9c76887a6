"""Plans of a PRD: their rules, replanning after a change, and decisions about stories.

`plan` and `answer_checks` define plan drafts and their rules, `classification` derives questions and stories from
classified requirements, `parts` splits a large PRD, `plan_diff` applies a changed PRD, and `decisions` computes the
effects of commands on the records.

May import `views`, `prd` and `domain`.
"""

"""Commits on the PRD's branch: accepted phases, plans, notes and decisions, and how commits by people are judged.

`phase_commit` makes a commit of code, state and evidence; `decisions` applies a person's command; `human_steps` judges
commits by people; `base_merges` and `hand_edits` recognise merges of the base and edits of the bot's state.
"""

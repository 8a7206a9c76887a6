"""Commits on the PRD's branch: accepted phases, plans, notes, decisions, and the judging of commits by people.

`phase_commit` commits code, state and evidence; `decisions` applies a person's command; `human_steps` judges commits by
people; `base_merges` and `hand_edits` recognize merges of the base and hand edits of the bot's state.
"""

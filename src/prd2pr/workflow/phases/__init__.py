"""The phases of a story: DESIGN, RED, GREEN, REFACTOR, INTEGRATED.

`story_phases` runs each phase; `attempts` makes and judges attempts; `hidden_examples`, `lessons`, `screenshots` and
`living_docs` add what a commit of a phase includes; `story_roles` asks the advising roles around a story.
"""

"""Run the phases of a story: DESIGN, RED, GREEN, REFACTOR, INTEGRATED.

`story_phases` runs each phase; `attempts` makes and judges attempts; `hidden_examples`, `lessons` and `observations`
add files and records to a phase's commit; `story_roles` consults the advising roles about a story.
"""

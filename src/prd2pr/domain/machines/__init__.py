"""The state machines of a project and of a story, and the decision about the next action.

`project_machine` and `story_machine` are tables of commands and states, and `commands` is the table of all slash
commands. `phase_transitions` and `story_transitions` change the records, and `next_action` decides what to do next.
Pure; it imports `domain` and `errors`.
"""

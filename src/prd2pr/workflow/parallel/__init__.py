"""Work on several stories of one PRD in parallel, each on its own branch. They are integrated one at a time.

`pool` assigns stories to workers, `story_branches` works on one story's branch, `merge_queue` integrates it into the
PRD's branch, and `restart` starts a story again on the new base if its branch cannot be merged.
"""

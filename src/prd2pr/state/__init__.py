"""Git access, and the state that is stored on the branch.

`git` reads and writes the repository without touching a checkout. `store` loads and commits `.orch-state/`; `layout`
defines its paths and `codec` its file format. `journal` stores events that are not committed yet, and `commit_message`
formats and parses the trailers of steps. `story_records` reads the records of many stories at once. `cache` stores
results that are slow to compute.

May import `domain`.
"""

"""Git, and the state that is stored on the branch.

`git` reads and writes the repository without touching a checkout. `store` loads and commits `.orch-state/`; `layout`
has its paths, `codec` its file format. `journal` keeps what is not committed yet, `commit_message` the trailers of
steps. `story_records` reads the records of many stories at once. `cache` keeps what takes long to compute.

May import `domain`.
"""

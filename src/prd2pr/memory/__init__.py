"""What was learnt: records under `.orch-state/memory/`, one file each, and how they are used.

Offers reading and writing of records, retention, similarity search, correction factors and the index for queries. It
neither makes nor judges commits.

May import `verification`, `languages`, `state` and `domain`.
"""

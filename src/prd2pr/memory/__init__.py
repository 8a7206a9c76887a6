"""Lessons from earlier work: records under `.orch-state/memory/`, one file each, and their uses.

Offers reading and writing of records, retention, similarity search, correction factors and the index for queries. It
neither creates nor judges commits.

May import `verification`, `languages`, `state` and `domain`.
"""

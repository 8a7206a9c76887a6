"""What was learnt: records under `.orch-state/memory/`, one file each, and how they are used.

Offers reading and writing of records, retention, similarity search, correction factors and the index for queries. May
import `domain`, `state`, and the Python metrics; nothing that makes or judges commits.
"""

"""The projection's tables. All of it can be dropped: the branches hold the truth."""

from __future__ import annotations

from prd2pr.server.database import Migration

TABLES = ("projected_stories", "projected_branches", "projected_repos")

MIGRATIONS = (
    Migration(
        30,
        "projection",
        (
            """CREATE TABLE projected_repos (
                repo TEXT PRIMARY KEY,
                problem TEXT NOT NULL,
                read_at TEXT NOT NULL
            )""",
            # One row for each PRD: `board` is its PrdBoard, empty where it cannot be read, and `problem` says why.
            """CREATE TABLE projected_branches (
                repo TEXT NOT NULL,
                prd TEXT NOT NULL,
                branch TEXT NOT NULL,
                head TEXT NOT NULL,
                form TEXT NOT NULL,
                stamp TEXT NOT NULL,
                problem TEXT NOT NULL,
                board {bytes},
                read_at TEXT NOT NULL,
                PRIMARY KEY (repo, prd)
            )""",
            # `digest` is of the page without its diffs: while it is the same, they are as well.
            """CREATE TABLE projected_stories (
                repo TEXT NOT NULL,
                prd TEXT NOT NULL,
                story TEXT NOT NULL,
                digest TEXT NOT NULL,
                page {bytes} NOT NULL,
                PRIMARY KEY (repo, prd, story)
            )""",
            "CREATE INDEX projected_story ON projected_stories (repo, story)",
        ),
    ),
)

"""The projection's tables: migrations, reads and writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, String, bindparam, text

from prd2pr.server.database import Migration
from prd2pr.server.projection.codec import compute_schema_digest

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
            # One row per PRD: `board` is its PrdBoard, or NULL if it cannot be read, in which case `problem` says why.
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
            # `digest` covers the page without its diffs; as long as it is unchanged, so are the diffs.
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


@dataclass(frozen=True)
class BranchRow:
    """A PRD as stored by the last refresh. `stamp` changes whenever any part of it changes."""

    repo: str
    prd: str
    branch: str
    head: str
    stamp: str
    problem: str
    form: str


COLUMNS = "repo, prd, branch, head, stamp, problem, form"


def read_branch_rows(connection: Connection, repos: Collection[str] | None = None) -> list[BranchRow]:
    statement = text(f"SELECT {COLUMNS} FROM projected_branches ORDER BY repo, prd")  # noqa: S608 - constant names
    given = {}
    if repos is not None:
        # Typed as text even if the list is empty, because PostgreSQL does not compare text with an untyped value.
        statement = text(
            f"SELECT {COLUMNS} FROM projected_branches WHERE repo IN :repos ORDER BY repo, prd"  # noqa: S608
        ).bindparams(bindparam("repos", expanding=True, type_=String))
        given = {"repos": list(repos)}
    return [BranchRow(**row) for row in connection.execute(statement, given).mappings()]


def read_repo_problems(connection: Connection) -> dict[str, str]:
    """Return every known repository with the reason why it cannot be read; the reason is empty if it can."""
    rows = connection.execute(text("SELECT repo, problem FROM projected_repos ORDER BY repo"))
    return {row.repo: row.problem for row in rows}


@dataclass(frozen=True)
class StoredBoard:
    stamp: str
    form: str
    data: bytes


def read_stored_board(connection: Connection, repo: str, prd: str) -> StoredBoard | None:
    """Return the stored board, or None if there is none or its state cannot be read."""
    row = connection.execute(
        text("SELECT stamp, form, board FROM projected_branches WHERE repo = :repo AND prd = :prd"),
        {"repo": repo, "prd": prd},
    ).first()
    return StoredBoard(row.stamp, row.form, bytes(row.board)) if row and row.board is not None else None


def upsert_branch(connection: Connection, row: BranchRow, board: bytes | None, at: str) -> None:
    given = {**vars(row), "board": board, "at": at}
    connection.execute(
        text(
            "INSERT INTO projected_branches (repo, prd, branch, head, form, stamp, problem, board, read_at)"
            " VALUES (:repo, :prd, :branch, :head, :form, :stamp, :problem, :board, :at)"
            " ON CONFLICT (repo, prd) DO UPDATE SET branch = :branch, head = :head, form = :form, stamp = :stamp,"
            " problem = :problem, board = :board, read_at = :at"
        ),
        given,
    )


def upsert_repo(connection: Connection, repo: str, problem: str, at: str) -> None:
    connection.execute(
        text(
            "INSERT INTO projected_repos (repo, problem, read_at) VALUES (:repo, :problem, :at)"
            " ON CONFLICT (repo) DO UPDATE SET problem = :problem, read_at = :at"
        ),
        {"repo": repo, "problem": problem, "at": at},
    )


def read_story_digests(connection: Connection, repo: str, prd: str) -> dict[str, str]:
    rows = connection.execute(
        text("SELECT story, digest FROM projected_stories WHERE repo = :repo AND prd = :prd"),
        {"repo": repo, "prd": prd},
    )
    return {row.story: row.digest for row in rows}


def read_story_page(connection: Connection, repo: str, story: str) -> bytes | None:
    if "\0" in repo + story:  # PostgreSQL rejects NUL, and no story key on a branch contains it
        return None
    row = connection.execute(
        text("SELECT page FROM projected_stories WHERE repo = :repo AND story = :story ORDER BY prd LIMIT 1"),
        {"repo": repo, "story": story},
    ).first()
    return bytes(row.page) if row else None


def upsert_story(connection: Connection, repo: str, prd: str, story: str, *, digest: str, page: bytes) -> None:
    connection.execute(
        text(
            "INSERT INTO projected_stories (repo, prd, story, digest, page)"
            " VALUES (:repo, :prd, :story, :digest, :page)"
            " ON CONFLICT (repo, prd, story) DO UPDATE SET digest = :digest, page = :page"
        ),
        {"repo": repo, "prd": prd, "story": story, "digest": digest, "page": page},
    )


def delete_stories(connection: Connection, repo: str, prd: str, stories: Iterable[str]) -> None:
    for story in stories:
        connection.execute(
            text("DELETE FROM projected_stories WHERE repo = :repo AND prd = :prd AND story = :story"),
            {"repo": repo, "prd": prd, "story": story},
        )


def delete_prd(connection: Connection, repo: str, prd: str) -> None:
    for table in ("projected_stories", "projected_branches"):
        connection.execute(
            text(f"DELETE FROM {table} WHERE repo = :repo AND prd = :prd"),  # noqa: S608 - constant names
            {"repo": repo, "prd": prd},
        )


def delete_repo(connection: Connection, repo: str) -> None:
    for table in TABLES:
        connection.execute(text(f"DELETE FROM {table} WHERE repo = :repo"), {"repo": repo})  # noqa: S608


def delete_all(connection: Connection) -> None:
    """Delete all rows of the projection; tokens and the inbox are not affected."""
    for table in TABLES:
        connection.execute(text(f"DELETE FROM {table}"))  # noqa: S608 - constant names


def is_branch_current(row: BranchRow, branch: str, head: str) -> bool:
    return row.head == head and row.branch == branch and row.form == compute_schema_digest()

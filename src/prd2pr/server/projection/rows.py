"""Writing and reading the projection's rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, String, bindparam, text

from prd2pr.server.projection.forms import form
from prd2pr.server.projection.tables import TABLES

HELD = 7_215_030  # any number that nothing else locks


@dataclass(frozen=True)
class BranchRow:
    """A PRD as it was read last. `stamp` differs whenever anything of it does."""

    repo: str
    prd: str
    branch: str
    head: str
    stamp: str
    problem: str
    form: str


COLUMNS = "repo, prd, branch, head, stamp, problem, form"


def branch_rows(connection: Connection, repos: Collection[str] | None = None) -> list[BranchRow]:
    statement = text(f"SELECT {COLUMNS} FROM projected_branches ORDER BY repo, prd")  # noqa: S608 - fixed words
    given = {}
    if repos is not None:
        # Texts also where there are none of them: PostgreSQL compares no text with what could be a number.
        statement = text(
            f"SELECT {COLUMNS} FROM projected_branches WHERE repo IN :repos ORDER BY repo, prd"  # noqa: S608
        ).bindparams(bindparam("repos", expanding=True, type_=String))
        given = {"repos": list(repos)}
    return [BranchRow(**row) for row in connection.execute(statement, given).mappings()]


def repo_problems(connection: Connection) -> dict[str, str]:
    """Every repository that was looked at, with what keeps it from being read; empty: nothing."""
    rows = connection.execute(text("SELECT repo, problem FROM projected_repos ORDER BY repo"))
    return {row.repo: row.problem for row in rows}


@dataclass(frozen=True)
class StoredBoard:
    stamp: str
    form: str
    data: bytes


def stored_board(connection: Connection, repo: str, prd: str) -> StoredBoard | None:
    """None: there is none (any more), or its state cannot be read."""
    row = connection.execute(
        text("SELECT stamp, form, board FROM projected_branches WHERE repo = :repo AND prd = :prd"),
        {"repo": repo, "prd": prd},
    ).first()
    return StoredBoard(row.stamp, row.form, bytes(row.board)) if row and row.board is not None else None


def hold(connection: Connection, repo: str) -> None:
    """One replica at a time writes what is known of a repository, so that nothing is announced twice."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key, hashtext(:repo))"), {"key": HELD, "repo": repo})


def put_branch(connection: Connection, row: BranchRow, board: bytes | None, at: str) -> None:
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


def put_repo(connection: Connection, repo: str, problem: str, at: str) -> None:
    connection.execute(
        text(
            "INSERT INTO projected_repos (repo, problem, read_at) VALUES (:repo, :problem, :at)"
            " ON CONFLICT (repo) DO UPDATE SET problem = :problem, read_at = :at"
        ),
        {"repo": repo, "problem": problem, "at": at},
    )


def story_digests(connection: Connection, repo: str, prd: str) -> dict[str, str]:
    rows = connection.execute(
        text("SELECT story, digest FROM projected_stories WHERE repo = :repo AND prd = :prd"),
        {"repo": repo, "prd": prd},
    )
    return {row.story: row.digest for row in rows}


def story_page_bytes(connection: Connection, repo: str, story: str) -> bytes | None:
    if "\0" in repo + story:  # PostgreSQL takes no such text, and no branch has one
        return None
    row = connection.execute(
        text("SELECT page FROM projected_stories WHERE repo = :repo AND story = :story ORDER BY prd LIMIT 1"),
        {"repo": repo, "story": story},
    ).first()
    return bytes(row.page) if row else None


def put_story(connection: Connection, repo: str, prd: str, story: str, *, digest: str, page: bytes) -> None:
    connection.execute(
        text(
            "INSERT INTO projected_stories (repo, prd, story, digest, page)"
            " VALUES (:repo, :prd, :story, :digest, :page)"
            " ON CONFLICT (repo, prd, story) DO UPDATE SET digest = :digest, page = :page"
        ),
        {"repo": repo, "prd": prd, "story": story, "digest": digest, "page": page},
    )


def drop_stories(connection: Connection, repo: str, prd: str, stories: Iterable[str]) -> None:
    for story in stories:
        connection.execute(
            text("DELETE FROM projected_stories WHERE repo = :repo AND prd = :prd AND story = :story"),
            {"repo": repo, "prd": prd, "story": story},
        )


def drop_prd(connection: Connection, repo: str, prd: str) -> None:
    for table in ("projected_stories", "projected_branches"):
        connection.execute(
            text(f"DELETE FROM {table} WHERE repo = :repo AND prd = :prd"),  # noqa: S608 - fixed words
            {"repo": repo, "prd": prd},
        )


def drop_repo(connection: Connection, repo: str) -> None:
    for table in TABLES:
        connection.execute(text(f"DELETE FROM {table} WHERE repo = :repo"), {"repo": repo})  # noqa: S608


def drop_all(connection: Connection) -> None:
    """Of the projection; tokens, inbox and settings are not in here."""
    for table in TABLES:
        connection.execute(text(f"DELETE FROM {table}"))  # noqa: S608 - fixed words


def is_current(row: BranchRow, branch: str, head: str) -> bool:
    return row.head == head and row.branch == branch and row.form == form()

"""A repository on the fake GitHub, with people in it, driven by the real program.

    with GitHubWorld(tmp_path) as world:
        world.push_prd("prds/calc.md", PRD, by="ada")
        world.act()                                     # the oldest event that nobody has handled yet
        world.comment(world.pull().number, "/tdd next", by="wendy")
        world.settle()                                  # until no event is left
        assert world.phases() == ["plan", "red(calc-1)"]

Actions of people add an event to `world.pending`; tests drop, repeat or reorder them there. Actions of the bot add
none, as on GitHub, except the workflows that it dispatches.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from fakes.github import ACTIONS_BOT, FakeGitHub, serve
from fakes.github.bare import CLEAN, Bare
from fakes.github.events import (
    ZERO,
    Event,
    comment_event,
    dispatch_event,
    issue_event,
    pull_event,
    pushed,
    review_event,
    schedule_event,
)  # fmt: skip
from fakes.github.on_issues import add_comment, edit_comment, open_issue, set_state
from fakes.github.on_labels import put_on
from fakes.github.on_pulls import MergeMethod, follow_branches, merge_pull
from fakes.github.state import CheckRun, Comment, Dispatch, Issue, Level, Repository, Review, ReviewComment
from github_runner import Acted, Ending, Runner
from world import BASE, COMPLETION, Blocks, World, script, show_state, with_strategy

ReviewState = Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED"]
PEOPLE: dict[str, Level] = {"ada": "admin", "max": "maintain", "wendy": "write", "tria": "triage", "rea": "read"}
OUTSIDER = "nobody"
STATUS_MARK = "<!-- prd2pr:status:"
ANSWER_MARK = "<!-- prd2pr:answer:"
# Enough of a workflow to be dispatched; the one that `init` writes is run in tests/act.
WORKFLOW = """name: prd2pr
on:
  push:
  workflow_dispatch:
    inputs:
      prd: {type: string}
      reason: {type: string}
jobs: {}
"""


def _place(where: str) -> tuple[str, int | None]:
    path, _, line = where.partition(":")
    return path, int(line) if line else None


@dataclass
class GitHubWorld:
    root: Path
    answers_of_model: dict[str, Blocks] = field(default_factory=script)
    name: str = "octo/calc"
    branch: str = "prd2pr/calc"
    permissions: Mapping[str, str] | None = None  # of GITHUB_TOKEN; None: all that a job can have
    files: Mapping[str, str] = field(default_factory=dict)  # in addition to the calculator's
    pending: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fake = FakeGitHub(self.root / "github")
        self.repo: Repository = self.fake.add_repository(self.name, PEOPLE)
        self.fake.add_user(OUTSIDER)
        self.token = self.fake.actions_token(self.name, self.permissions)
        self.runner = Runner(self.root / "runner", self.fake, self.repo)
        self.url = ""
        self._desk = self.root / "desk"
        self._stack = contextlib.ExitStack()
        self._seen_dispatches = 0

    def __enter__(self) -> Self:
        self.url = self._stack.enter_context(serve(self.fake))
        code = {name: text for name, text in BASE.items() if not name.startswith("prds/")}
        self._git("init", "-q", "-b", "main", str(self._desk), at=self.root)
        files = {".prd2pr.yml": "{}\n", ".github/workflows/prd2pr.yml": WORKFLOW, **self.files}
        self._commit({**code, **files}, "start", "ada")
        self._git("push", "-q", str(self.bare.path), "HEAD:main")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def bare(self) -> Bare:
        return self.fake.bare(self.repo)

    # --- actions of people ---

    def push(
        self,
        files: Mapping[str, str | None],
        by: str,
        *,
        branch: str = "main",
        message: str = "Work",
        force: bool = False,
    ) -> Event:
        """One commit by a person on a branch (None deletes a file); with `force`, in place of the last one."""
        before = self.bare.heads().get(branch, ZERO)
        self._git("fetch", "-q", str(self.bare.path), branch if before != ZERO else "main")
        self._git("checkout", "-q", "--detach", "FETCH_HEAD~1" if force else "FETCH_HEAD")
        after = self._commit(files, message, by)
        self._git("push", "-q", *(["-f"] if force else []), str(self.bare.path), f"HEAD:refs/heads/{branch}")
        return self._happened(pushed(self.fake, self.repo, by, branch, before, after))

    def by_git(self, act: Callable[[Path, Callable[..., str]], object], by: str, *, branch: str = "main") -> Event:
        """Changes by git itself: `act(checkout, git)`. Files that it leaves there are committed."""
        before = self.bare.heads()[branch]
        self._git("fetch", "-q", str(self.bare.path), branch)
        self._git("checkout", "-q", "--detach", "FETCH_HEAD")
        person = ("-c", f"user.name={by}", "-c", f"user.email={by}@example.org")
        act(self._desk, lambda *arguments: self._git(*person, *arguments))
        if self._git("status", "--porcelain"):
            self._git("add", "-A")
            self._git(*person, "commit", "-q", "-m", "Work")
        self._git("push", "-q", "-f", str(self.bare.path), f"HEAD:refs/heads/{branch}")
        return self._happened(pushed(self.fake, self.repo, by, branch, before, self._git("rev-parse", "HEAD").strip()))

    def push_prd(self, path: str, text: str, by: str = "ada") -> Event:
        return self.push({path: text}, by, message=f"Add {path}")

    def delete_branch(self, branch: str, by: str) -> Event:
        before = self.bare.heads()[branch]
        self.bare.delete(f"refs/heads/{branch}")
        with self.fake.lock:
            follow_branches(self.fake, self.repo)
        return self._happened(pushed(self.fake, self.repo, by, branch, before, ZERO))

    def open_issue(self, title: str, body: str, by: str = "ada", labels: tuple[str, ...] = ()) -> Issue:
        """An issue opened with labels has an event for each, as on GitHub."""
        with self._writing():
            issue = open_issue(self.fake, self.repo, by, title, body, labels)
        self._happened(issue_event(self.fake, self.repo, by, "opened", issue))
        for label in labels:
            self._happened(issue_event(self.fake, self.repo, by, "labeled", issue, label))
        return issue

    def label(self, issue: int, name: str, by: str = "ada") -> Event:
        with self._writing():
            row = self.repo.issues[issue]
            put_on(self.fake, self.repo, row, name, by)
        return self._happened(issue_event(self.fake, self.repo, by, "labeled", row, name))

    def unlabel(self, issue: int, name: str, by: str = "ada") -> Event:
        with self._writing():
            row = self.repo.issues[issue]
            row.labels.remove(name)
        return self._happened(issue_event(self.fake, self.repo, by, "unlabeled", row, name))

    def comment(self, number: int, body: str, by: str = "ada") -> Comment:
        with self._writing():
            row = add_comment(self.fake, self.repo, number, by, body)
        self._happened(comment_event(self.fake, self.repo, by, "created", row))
        return row

    def review(
        self, number: int, body: str = "", by: str = "wendy", *, state: ReviewState = "COMMENTED",
        lines: Mapping[str, str] | None = None, pending: int | None = None,
    ) -> Review:  # fmt: skip
        """A submitted review with comments on lines (`path:line` → text); `pending`: its id, from before."""
        with self._writing():
            comments = [
                ReviewComment(self.fake.new_id(), *_place(where), text) for where, text in (lines or {}).items()
            ]
            row = Review(pending or self.fake.new_id(), number, by, body, state, self.fake.stamp(), comments=comments)
            self.repo.reviews[row.id] = row
        self._happened(review_event(self.fake, self.repo, row))
        return row

    def edit_comment(self, comment: int, body: str, by: str = "ada") -> Event:
        row = self.repo.comments[comment]
        was = row.body
        with self._writing():
            edit_comment(self.fake, row, body)
        return self._happened(comment_event(self.fake, self.repo, by, "edited", row, was=was))

    def delete_comment(self, comment: int, by: str = "ada") -> Event:
        row = self.repo.comments[comment]
        event = comment_event(self.fake, self.repo, by, "deleted", row)
        with self._writing():
            del self.repo.comments[comment]
        return self._happened(event)

    def close(self, number: int, by: str = "ada") -> Event:
        row = self.repo.issues[number]
        with self._writing():
            set_state(self.fake, row, "closed", by)
        build = pull_event if row.pull else issue_event
        return self._happened(build(self.fake, self.repo, by, "closed", row))

    def reopen(self, number: int, by: str = "ada") -> Event:
        row = self.repo.issues[number]
        with self._writing():
            set_state(self.fake, row, "open", by)
        build = pull_event if row.pull else issue_event
        return self._happened(build(self.fake, self.repo, by, "reopened", row))

    def merge(self, number: int, by: str = "ada", *, method: MergeMethod = "merge", message: str = "") -> Event:
        with self._writing():
            merge_pull(self.fake, self.repo, number, by, method=method, message=message)
        return self._happened(pull_event(self.fake, self.repo, by, "closed", self.repo.issues[number]))

    def dispatch(self, by: str = "ada", **inputs: str) -> Event:
        row = Dispatch(self.fake.new_id(), "prd2pr.yml", "main", dict(inputs), by)
        return self._happened(dispatch_event(self.fake, self.repo, row))

    def tick(self) -> Event:
        """A scheduled event."""
        return self._happened(schedule_event(self.fake, self.repo))

    # --- the workflow ---

    def act(
        self, event: Event | None = None, *, env: Mapping[str, str] | None = None, ending: Ending | None = None,
        command: tuple[str, ...] = (), timeout: float = 240.0, cold: bool = False,
    ) -> Acted:  # fmt: skip
        """Run the program for this event or the oldest pending one; dispatched workflows are pending afterwards."""
        if event is None:
            event = self.pending.pop(0)
        given = {"GITHUB_TOKEN": self.token, "PRD2PR_MODEL": f"replay:{self.transcript()}", **(env or {})}
        acted = self.runner.run(event, given, command=command, ending=ending, timeout=timeout, cold=cold)
        rows = [row for row in self.repo.dispatches[self._seen_dispatches :] if row.workflow in ("", "prd2pr.yml")]
        self._seen_dispatches = len(self.repo.dispatches)
        self.pending += [dispatch_event(self.fake, self.repo, row) for row in rows]
        return acted

    def settle(self, most: int = 40, **more: Any) -> list[Acted]:
        acted: list[Acted] = []
        while self.pending:
            if len(acted) == most:
                raise AssertionError(f"still busy after {most} runs: {self.pending}")
            acted.append(self.act(**more))
        return acted

    def transcript(self) -> Path:
        return World(self.root, answers=self.answers_of_model).transcript()

    # --- what can be seen ---

    def pulls(self) -> list[Issue]:
        with self.fake.lock:
            follow_branches(self.fake, self.repo)
            return [row for row in self.repo.issues.values() if row.pull]

    def pull(self, branch: str = "") -> Issue:
        """The only pull request from this branch."""
        rows = [row for row in self.pulls() if row.pull and row.pull.head == (branch or self.branch)]
        assert len(rows) == 1, f"{len(rows)} pull requests from {branch or self.branch}"
        return rows[0]

    def comments(self, number: int | None = None, by: str = "") -> list[Comment]:
        rows = self.repo.comments.values()
        return [row for row in rows if number in (None, row.number) and by in ("", row.user)]

    def status_comment(self, number: int | None = None) -> Comment:
        """The only one; more than one is a bug."""
        rows = [row for row in self.comments(number, by=ACTIONS_BOT) if STATUS_MARK in row.body]
        assert len(rows) == 1, f"{len(rows)} status comments"
        return rows[0]

    def answers(self, number: int | None = None) -> list[Comment]:
        return [row for row in self.comments(number, by=ACTIONS_BOT) if ANSWER_MARK in row.body]

    def reactions(self, comment: int) -> list[str]:
        return [row.content for row in self.repo.comments[comment].reactions if row.user == ACTIONS_BOT]

    def checks(self) -> list[CheckRun]:
        return list(self.repo.checks.values())

    def subjects(self, branch: str = "") -> list[str]:
        if (branch or self.branch) not in self.bare.heads():
            return []
        span = f"main..{branch or self.branch}"
        return str(self.bare.git("log", "--first-parent", "--reverse", "--format=%s", span)).splitlines()

    def phases(self, branch: str = "") -> list[str]:
        """The phases of a branch, without the step that completes the PRD."""
        return [subject.partition(":")[0] for subject in self.subjects(branch) if subject != COMPLETION]

    def held(self) -> str:
        """The head of the commits that GitHub has, but not on the branch."""
        (head,) = self.bare.refs("refs/prd2pr/work/").values()
        return head

    def held_phases(self) -> list[str]:
        subjects = str(self.bare.git("log", "--reverse", "--format=%s", f"{self.branch}..{self.held()}"))
        return [subject.partition(":")[0] for subject in subjects.splitlines()]

    def show(self, path: str, rev: str = "") -> str:
        """The text of a file. A PRD's state is read as the program reads it, with the evidence of all steps."""
        if path.startswith(".orch-state/prds/"):
            return show_state(self.bare.path, path, rev or self.branch)
        return str(self.bare.git("show", f"{rev or self.branch}:{path}"))

    def tree(self, branch: str = "") -> str:
        return str(self.bare.git("rev-parse", f"{branch or self.branch}^{{tree}}"))

    # --- internal ---

    @contextlib.contextmanager
    def _writing(self) -> Any:
        with self.fake.lock:
            self.fake.remember()
            yield

    def _happened(self, event: Event) -> Event:
        self.pending.append(event)
        return event

    def _commit(self, files: Mapping[str, str | None], message: str, by: str) -> str:
        for name, text in files.items():
            path = self._desk / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(with_strategy(text) if name == ".prd2pr.yml" else text, encoding="utf-8")
        self._git("add", "-A")
        who = (f"user.name={by}", f"user.email={by}@users.noreply.github.com")
        self._git("-c", who[0], "-c", who[1], "commit", "-q", "--allow-empty", "-m", message)
        return self._git("rev-parse", "HEAD")

    def _git(self, *arguments: str, at: Path | None = None) -> str:
        env = {**os.environ, **CLEAN}
        done = subprocess.run(
            ["git", *arguments], cwd=at or self._desk, capture_output=True, text=True, check=True, env=env
        )
        return done.stdout.strip()

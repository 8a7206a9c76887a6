"""Every request of the real client, method by method, against GitHub's own description of its API."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from contract.openapi import Contract
from contract.tour import installed
from fakes.github import FakeGitHub, transport
from fakes.github.bare import Bare
from fakes.github.jwt import new_key_pair
from fakes.github.state import Review, ReviewComment
from prd2pr.domain.forge import Annotation, CheckRun, Issue, Label
from prd2pr.github.client.commits import ApiWriter, FileChange, LocalCommit
from prd2pr.github.client.factory import make_token_source, open_hub
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.tokens import StaticToken
from prd2pr.github.setup.app_permissions import WORK_ACCESS

HEAD = "prd2pr/calc"


@dataclass
class RecordingHub:
    """The hub, and which of its methods were called."""

    hub: GitHubHub
    called: set[str] = field(default_factory=set)

    def __getattr__(self, name: str) -> Any:
        self.called.add(name)
        return getattr(self.hub, name)


@dataclass
class Local:
    """A local repository, as the writer wants to see it."""

    bare: Bare

    def commit(self, sha: str) -> LocalCommit:
        facts = self.bare.commit(sha)
        return LocalCommit(facts.tree, facts.parents, facts.message)

    def changes(self, old: str, new: str) -> Iterator[FileChange]:
        for line in self.bare.git("diff-tree", "-r", "--no-renames", old, new).splitlines():
            facts, _, path = line.partition("\t")
            _, mode, _, blob, kind = facts.split(" ")
            yield FileChange(path, mode, None if kind == "D" else blob)

    def content(self, blob: str) -> bytes:
        return self.bare.read_blob(blob)

    def is_descendant(self, new: str, old: str) -> bool:
        return self.bare.is_ancestor(old, new)


@pytest.fixture
def hub(fake: FakeGitHub) -> Iterator[RecordingHub]:
    token = StaticToken(fake.actions_token("octo/calc"))
    with open_hub("octo/calc", token=token, transport=transport(fake)) as opened:
        yield RecordingHub(opened)


def use_all(hub: RecordingHub, sha: str, fake: FakeGitHub) -> None:
    assert hub.me().login == "github-actions[bot]"
    assert hub.ours() == (hub.me(),)
    assert (hub.permission("tria"), hub.default_branch()) == ("triage", "main")
    _issues(hub)
    _pulls(hub, fake)
    notes = tuple(Annotation("src/calc.py", line, "warning", "Look") for line in range(1, 61))
    for title in ("Red", "Green"):
        hub.check(CheckRun("calc-1/red", "prd2pr / red(calc-1)", sha, "success", title, "1 of 1", notes))
    assert [row.name for row in hub.check_results(sha)] == ["prd2pr / red(calc-1)"]
    hub.dispatch("prd2pr.yml", "main", {"prd": "calc"})
    assert hub.active_runs("prd2pr.yml") == frozenset()
    assert hub.is_disabled("prd2pr.yml") is hub.is_disabled("gone.yml") is False
    assert hub.clean("text") == "text"
    run = 4711
    fake.repo("octo/calc").at_work.add(run)
    fake.repo("octo/calc").jobs[run] = ["Story calc-1", "Story calc-2"]
    assert hub.active_jobs("prd2pr.yml", besides="") == {"Story calc-1", "Story calc-2"}
    assert hub.active_jobs("prd2pr.yml", besides=str(run)) == frozenset()


def _issues(hub: RecordingHub) -> None:
    marker = "<!-- prd2pr:story:calc/calc-1 -->"
    parent: Issue = hub.open_issue("Calc", "<!-- t --> Tracking", ("prd2pr",), marker="<!-- t -->")
    child: Issue = hub.open_issue("Add", f"{marker} Text", (), marker=marker)
    hub.add_sub_issue(parent.number, child)
    assert [row.id for row in hub.sub_issues(parent.number)] == [child.id]
    hub.edit_issue(child.number, title="Add!", body=f"{marker} More", closed=True)
    assert hub.issue(child.number).open is False
    assert hub.issue(99) is None
    assert hub.find_issue(marker).number == child.number
    assert [row.number for row in hub.issues_labelled("prd2pr")] == [parent.number]
    assert hub.last_labelling(parent.number, "prd2pr").by.login == "github-actions[bot]"
    said = hub.comment(parent.number, "<!-- m --> Hello", marker="<!-- m -->")
    hub.edit_comment(said.id, "<!-- m --> Hello again")
    assert hub.find_comment(parent.number, "<!-- m -->").id == said.id
    assert [row.id for row in hub.comments(parent.number, 0)] == [said.id]
    hub.react(said.id, "eyes")
    hub.has_reaction(said.id, "eyes")
    hub.set_labels(parent.number, (Label("prd2pr: red", "aa0000", "Tests fail"),), ("prd2pr", "prd2pr: red"))


def _pulls(hub: RecordingHub, fake: FakeGitHub) -> None:
    assert hub.pull_for_branch(HEAD) is None
    pull = hub.open_pull("Calc", "Body", HEAD, "main", draft=True)
    assert hub.pull_for_branch(HEAD).number == hub.pull(pull.number).number
    hub.edit_pull(pull, title="Calc!", body="More")
    hub.set_draft(pull, draft=False)
    assert hub.pull(pull.number).draft is False
    fake.repo("octo/calc").auto_merge, fake.repo("octo/calc").required_checks = True, ["tests"]
    hub.enable_auto_merge(pull, "squash")
    line = ReviewComment(7, "src/calc.py", 3, "Why?")
    now = fake.stamp()
    fake.repo("octo/calc").reviews[6] = Review(6, pull.number, "ada", "Hm", "CHANGES_REQUESTED", now, comments=[line])
    (review,) = hub.reviews(pull.number)
    assert (review.request, review.requests_changes) == ("Hm\n\nsrc/calc.py:3: Why?", True)
    assert hub.reviews(pull.number, after=review.id) == ()
    hub.set_draft(hub.pull(pull.number), draft=True)


def test_every_call_of_the_client_is_described_by_github(
    contract: Contract, fake: FakeGitHub, hub: RecordingHub
) -> None:
    use_all(hub, fake.bare(fake.repo("octo/calc")).heads()[HEAD], fake)
    asked_for = {name for name, _ in inspect.getmembers(GitHubHub, inspect.isfunction) if not name.startswith("_")}
    assert asked_for - hub.called == set()
    assert fake.violations == []
    assert contract.problems(fake.exchanges) == []


def test_commits_through_the_api_are_described_too(contract: Contract, fake: FakeGitHub, hub: RecordingHub) -> None:
    there = fake.bare(fake.repo("octo/calc"))
    here = Bare.create(fake.directory / "desk.git")
    here.git("fetch", "-q", str(there.path), "refs/heads/*:refs/heads/*")
    old, who = here.heads()[HEAD], ("ada", "ada@example.org", "2026-01-04T00:00:00Z")
    entries = [("bin/run", "100755", here.write_blob(b"\x00\xff")), ("README.md", "100644", None)]
    new = here.write_commit(here.write_tree(old, entries), [old], "Work\n\nTdd-Step: 3\n", who, who)
    made = ApiWriter(hub.api, Local(here)).move(HEAD, new, old)
    assert there.heads()[HEAD] == made != new
    assert there.commit(made).tree == here.commit(new).tree
    ApiWriter(hub.api, Local(here)).move("prd2pr/other", new, None)
    assert fake.violations == []
    assert contract.problems(fake.exchanges) == []


def test_the_calls_for_an_app_token_are_described_too(contract: Contract, fake: FakeGitHub) -> None:
    private, public = new_key_pair()
    app, _ = installed(fake, public)
    minted: list[str] = []
    env = {"PRD2PR_APP_ID": str(app.id), "PRD2PR_APP_PRIVATE_KEY": private}
    source = make_token_source(
        env, "octo/calc", permissions=WORK_ACCESS, on_minted=minted.append, transport=transport(fake)
    )
    with open_hub("octo/calc", token=source, transport=transport(fake)) as hub:
        assert hub.me().login == "proof[bot]"
    assert minted == [source.token()]
    assert fake.violations == []
    assert contract.problems(fake.exchanges) == []

"""The page of a huge plan: no process per commit, and no record of a settled story is read twice."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from growth.fast_import import FastImport

from fakes.pull_sample import Branch, many
from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.records import Phase, Project
from prd2pr.reports.commits import read_branch_commits
from prd2pr.reports.pull_request import build_pull_request_view
from prd2pr.state.codec import encode_document
from prd2pr.state.commit_message import StepRef, build_step_trailers, format_message
from prd2pr.state.git import Git
from prd2pr.state.git_process import ObjectReader
from prd2pr.state.layout import PROJECT, PrdLayout
from prd2pr.state.store import StateStore
from prd2pr.views.pull_request.models import PullRequestView

BRANCH = "prd2pr/loyalty"
EVIDENCE = "sha256:" + "0" * 64
SMALL, LARGE = 410, 450


def made(place: Path, count: int) -> Path:
    """`count` integrated stories of four commits each, three of which change code."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    branch = many(count)
    stories = tuple(story.model_copy(update={"status": "done"}) for story in branch.backlog.stories)
    branch = replace(branch, backlog=branch.backlog.model_copy(update={"stories": stories}))
    with FastImport(place) as history:
        history.commit("main", "Begin", {"README.md": b"A shop\n"})
        steps = [("plan", 1, Phase.PLAN), *steps_of(branch)]
        for number, (story, n, phase) in enumerate(steps):
            trailers = build_step_trailers(StepRef("loyalty", story, n, phase, EVIDENCE))
            files = {"src/shop.py": b"STEP = %d\n" % number} if number else records(branch)
            message = format_message(f"{phase.value}({story}): a step", "", trailers)
            history.commit(BRANCH, message, files, parent="" if number else "refs/heads/main")
    return place


def steps_of(branch: Branch) -> Iterator[tuple[str, int, Phase]]:
    return ((name, step.n, step.phase) for name, cycle in branch.cycles.items() for step in cycle.steps)


def records(branch: Branch) -> dict[str, bytes]:
    paths = PrdLayout("loyalty")
    documents = {
        PROJECT: Project(base_branch="main"),
        paths.prd: branch.prd,
        paths.status: branch.status,
        paths.backlog: branch.backlog,
        **{paths.cycle(name): cycle for name, cycle in branch.cycles.items()},
    }
    for name, n, phase in steps_of(branch):
        if (name, n) in branch.proofs:
            documents[paths.evidence(name, n, phase)] = branch.proofs[name, n]
    return {path: encode_document(document) for path, document in documents.items()}


class Counted:
    processes = 0
    objects = 0


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """Counts real processes and real answers."""
    counted = Counted()
    start, ask = subprocess.Popen.__init__, ObjectReader._ask

    def starting(self: subprocess.Popen, *arguments: object, **options: object) -> None:
        counted.processes += 1
        start(self, *arguments, **options)

    def asking(self: ObjectReader, command: str, names: list[str]) -> Iterator:
        counted.objects += len(names)
        return ask(self, command, names)

    with monkeypatch.context() as patched:
        patched.setattr(subprocess.Popen, "__init__", starting)
        patched.setattr(ObjectReader, "_ask", asking)
        yield counted


def build_page(place: Path) -> PullRequestView:
    with Git.open(place) as git:
        return build_pull_request_view(StateStore(git, "loyalty"), BRANCH, UsageLimits())


@pytest.mark.slow
def test_page_costs_no_more_with_more_settled_stories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {}
    for count in (SMALL, LARGE):
        place = made(tmp_path / str(count), count)
        first = build_page(place)
        with counting(monkeypatch) as counted:
            again = build_page(place)
        assert again == first
        assert first.figures[1].value == f"{count} of {count}" and first.commits_in_all == 4 * count + 1
        counts[count] = (counted.processes, counted.objects)
    assert counts[SMALL] == counts[LARGE]
    assert counts[LARGE][0] < 20


def test_patches_are_per_step(tmp_path: Path) -> None:
    place = made(tmp_path / "repo", 3)
    with Git.open(place) as git:
        line = git.log(f"main..{BRANCH}")
        pairs = [(before.tree, commit.tree) for before, commit in pairwise(line)]
        found = git.patches(pairs, (".orch-state",), limit=10_000)
        alone = [git.patch(git.code_tree(old), git.code_tree(new)) for old, new in pairs]
        cut = git.patches(pairs[:1], (".orch-state",), limit=20)
    assert found == alone and all("STEP" in patch for patch in found)
    assert cut[0].startswith(found[0][:20]) and "cut after 20 bytes" in cut[0]


def test_branch_history_is_extended_and_rebuilt_after_a_rewrite(tmp_path: Path) -> None:
    place = made(tmp_path / "repo", 2)
    with Git.open(place) as git:
        base, head = git.rev("main"), git.rev(BRANCH)
        whole = read_branch_commits(git, base, head)
        earlier = read_branch_commits(git, base, whole[3].sha)
        assert earlier == whole[:4]
        assert read_branch_commits(git, base, head) == whole
        assert [each.sha for each in whole] == [each.sha for each in git.log(f"{base}..{head}")]
        (kept,) = (git.private / "cache").glob("line-*")
        for damage in ("half a line", "x\ty\n"):
            with kept.open("a") as file:
                file.write(damage)
            assert read_branch_commits(git, base, head) == whole
        kept.write_text(kept.read_text() * 2)
        assert read_branch_commits(git, base, head) == whole

"""`prd2pr check`: judge a pull request of any form, without a model and without set-up."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from prd2pr.cli.actions_job import read_job
from prd2pr.cli.changeset_report import REFACTORING_LABEL, read_pull_request, report_to_job, write_sarif
from prd2pr.cli.context import read_config
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import make_gate_policy, make_gathering
from prd2pr.domain.changeset import ChangesetEvidence, ChangesetVerdict
from prd2pr.errors import CannotJudge, NotARepository, SetupProblem, StateProblem, UnknownRevision, UsageProblem
from prd2pr.state.commit_message import read_step
from prd2pr.state.git import Git
from prd2pr.verification.changeset.judgment import build_report, judge_changeset
from prd2pr.verification.changeset.observation import observe_changeset

TRAILER = "Refactoring"
_BASES = ("main", "master", "develop", "trunk")


@dataclass(frozen=True)
class Changeset:
    """The changeset to judge: its base and head, and the source of the claim that it is a refactoring."""

    base: str  # commit
    head: str  # commit, or the tree of the checkout
    shown: str
    refactoring: str = ""


def main(options: argparse.Namespace) -> int:
    """Check the changeset. A problem that prevents a judgment is not a refusal."""
    try:
        return check(options)
    except (SetupProblem, StateProblem) as problem:
        raise CannotJudge(problem.what, where=problem.where, remedy=problem.remedy) from problem


def check(options: argparse.Namespace) -> int:
    job = read_job() if options.job else None
    with Git.open(Path(options.repo)) as git:
        if job and (pull := read_pull_request(job)):
            refuse_missing_commits(git, pull[:2])
            options.base, options.head = options.base or pull[0], options.head or pull[1]
            options.label = pull[2]
        changeset = find_changeset(git, options)
        evidence, verdict = judge(git, changeset)
    if options.sarif:
        write_sarif(Path(options.sarif), verdict)
    if job:
        report_to_job(job, verdict, evidence)
    if options.json:
        report = {"base": changeset.base, "head": changeset.head, **build_report(evidence, verdict)}
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    else:
        with Terminal(sys.stdout) as terminal:
            terminal.changeset_verdict(changeset.shown, evidence, verdict)
    return 0 if verdict.accepted else 1


def judge(git: Git, changeset: Changeset) -> tuple[tuple[ChangesetEvidence, ...], ChangesetVerdict]:
    # Read from the base, so that a changeset cannot change its own rules.
    config = read_config(git, changeset.base)
    gathering = make_gathering(git, config, changeset.base, cached=True, many=True)
    evidence = observe_changeset(gathering, changeset.base, changeset.head, refactoring=changeset.refactoring)
    return evidence, judge_changeset(evidence, make_gate_policy(config))


def find_changeset(git: Git, options: argparse.Namespace) -> Changeset:
    if git.is_unborn():
        raise NotARepository(
            "the repository has no commit yet, so there is nothing to compare with",
            where=str(git.workdir or git.common_dir),
            remedy="git add -A && git commit -m 'First commit'",
        )
    base, name = find_base(git, options.base)
    tip = git.rev(options.head or "HEAD")
    start = find_merge_base(git, base, tip, name)
    commits = git.log(f"{start}..{tip}")
    if any(read_step(commit.trailers) for commit in commits):
        raise UsageProblem(
            "this branch was made by prd2pr, and each of its commits has its own proof",
            where=f"{name}..{options.head or 'HEAD'}",
            remedy=f"prd2pr verify {name}..{options.head or 'HEAD'}",
        )
    head, shown = tip, f"{start[:10]}..{tip[:10]}"
    if not options.head and git.workdir is not None and git.dirty_paths():
        head, shown = git.checkout_tree(), f"{start[:10]}..the files of the checkout, committed or not"
    return Changeset(start, head, shown, find_refactoring_claim(options, [commit.trailers for commit in commits]))


def find_base(git: Git, name: str | None) -> tuple[str, str]:
    """Return the commit of the base and its name. Without a name, use the default branch."""
    names = [name] if name else [*([git.default_branch()] if git.default_branch() else []), *_BASES]
    for each in names:
        for revision in (f"origin/{each}", each) if not name else (each, f"origin/{each}"):
            try:
                return git.rev(revision), revision
            except UnknownRevision:
                continue
    if name:
        git.rev(name)  # raises the error with a suggestion
    raise UsageProblem(
        "the branch to compare with is unknown", where="--base", remedy="name it: prd2pr check --base BRANCH"
    )


def refuse_missing_commits(git: Git, commits: Iterable[str]) -> None:
    for commit in commits:
        if not git.has_commit(commit):
            raise CannotJudge(
                "the checkout does not contain the commits of the pull request",
                where=commit[:10],
                remedy="set `fetch-depth: 0` on actions/checkout and remove its `ref`",
            )


def find_merge_base(git: Git, base: str, tip: str, name: str) -> str:
    found = git.merge_base(base, tip)
    if found:
        return found
    if (git.common_dir / "shallow").exists():
        raise CannotJudge(
            "this is a shallow clone, and the commit from which the branch started is missing",
            where=f"{name}..{tip[:10]}",
            remedy="git fetch --unshallow origin; in GitHub Actions, set `fetch-depth: 0` for actions/checkout",
        )
    raise UsageProblem(
        f"{name} and {tip[:10]} have no common commit",
        where="--base",
        remedy="name the branch that this one started from",
    )


def find_refactoring_claim(options: argparse.Namespace, trailers: Iterable[Mapping[str, tuple[str, ...]]]) -> str:
    if options.refactoring:
        return "--refactoring"
    if getattr(options, "label", False):
        return f"label `{REFACTORING_LABEL}`"
    claims = [value.strip().lower() for each in trailers for value in each.get(TRAILER, ())]
    return f"trailer `{TRAILER}: yes`" if {"yes", "true"} & {*claims} else ""

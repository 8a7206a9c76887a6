"""`/tdd verify` and `/tdd run_tests`: run everything again, without cached results."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.github.commands.request import BranchQuery
from prd2pr.github.messages.query_replies import TestRunReply, UnprovedRow, VerifyReply
from prd2pr.github.messages.replies import CommandReply
from prd2pr.languages.test_runner import RunRequest, TestRunner
from prd2pr.memory.commit import make_retention_policy
from prd2pr.proof.verify import Verifier
from prd2pr.state.branch_base import find_branch_start
from prd2pr.verification.commit_check import CommitCheck
from prd2pr.verification.run_cache import CachedRunner

MAX_SHOWN = 50


def show_verification(query: BranchQuery) -> CommandReply:
    """Verify the branch like `prd2pr verify`. With a story, only its steps are reported."""
    gathering = replace(query.session.services.gathering, runner=disable_cache(query.session.services.runner))
    seen: list[CommitCheck] = []
    days = make_retention_policy(query.session.config.retention)
    verifier = Verifier(query.session.git, gathering, query.session.constraints.gate_policy, seen.append, keeping=days)
    verifier.verify(find_branch_start(query.session.git, query.state.commit).commit, query.state.commit)
    only = query.command.story
    selected = [each for each in seen if not only or f"/{only.lower()}/" in each.step.lower()]
    steps = [each for each in selected if each.step and not each.draft]
    bad = [each for each in selected if not each.proved]
    return VerifyReply(
        steps=len(steps),
        proved=sum(each.proved for each in steps),
        # Excluded: commits that are no steps but are proved by a step, as a merge of the base, or as a join.
        commits=sum(not (each.proved_with or each.base_merge or (each.join and each.proved)) for each in selected),
        not_proved=tuple(UnprovedRow(each.commit, each.subject, each.step, each.findings) for each in bad[:MAX_SHOWN]),
        head=query.state.commit,
        warnings=sum(finding.severity == "warning" for each in selected for finding in each.findings),
    )


def show_test_run(query: BranchQuery) -> CommandReply:
    """Run the whole test suite, or the tests of one story."""
    cycle = query.state.cycle(query.command.story) if query.command.story in query.state.cycle_ids else None
    paths = tuple(file.promoted_to or file.path for file in cycle.test_files) if cycle else ()
    report = disable_cache(query.session.services.runner).run(
        RunRequest(code_tree=query.session.git.code_tree(query.state.commit), paths=paths)
    )
    return TestRunReply.of(query.state.commit, report, MAX_SHOWN)


def disable_cache(runner: TestRunner) -> TestRunner:
    """Return the runner without its cache, to get current results."""
    return runner.without_cache() if isinstance(runner, CachedRunner) else runner

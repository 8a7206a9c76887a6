"""Which tests a person's RED commit claims, where no story says so: for the GREEN that follows it."""

from __future__ import annotations

from prd2pr.core.evidence import RunReport
from prd2pr.core.paths import PathRules
from prd2pr.core.story_tests import not_failing, unproved_tests
from prd2pr.core.test_naming import USUAL
from prd2pr.errors import UnknownRevision
from prd2pr.flows.codebase import LOCKED_KINDS, Codebase, Pair, pair_of
from prd2pr.ports import RunRequest, TestRunner
from prd2pr.repo.git import Git


def red_tests_of(git: Git, rules: PathRules, runner: TestRunner, commit: str, report: RunReport) -> tuple[str, ...]:
    """Of the tests that fail at this commit, those that failed because of it.

    Mostly the texts tell. Where an old test fails in a file that the commit changed, or what tests lean on has changed,
    the commit before is asked; its run is mostly known, as what RED was compared with.
    """
    pair = _step(git, rules, commit)
    modules = [path for path in _changed(pair) if pair.naming.is_module(path)] if pair else []
    before = {path: text for path, text in pair.base.test_texts.items() if path in modules} if pair else {}
    after = {path: text for path, text in pair.head.test_texts.items() if path in modules} if pair else {}
    more = pair is not None and bool(changed_samples(pair) or _changed_helpers(pair))
    naming = pair.naming if pair else USUAL
    found = unproved_tests(report, before, after, more=more, naming=naming)
    if not found.doubtful or pair is None:
        return found.claimed
    kept = not_failing(found.doubtful, runner.run(RunRequest(pair.base.tree)))
    return tuple(sorted((*found.claimed, *kept))) or found.doubtful


def changed_samples(pair: Pair) -> tuple[str, ...]:
    """Files that tests compare with, and that have another content now."""
    kinds = [change for change in pair.changes if change.kind in LOCKED_KINDS and change.status == "modified"]
    return tuple(change.path for change in kinds if not change.path.endswith(".py"))


def _changed_helpers(pair: Pair) -> list[str]:
    return [path for path in _changed(pair) if not pair.naming.is_module(path)]


def _changed(pair: Pair) -> list[str]:
    return [change.path for change in pair.changed(*LOCKED_KINDS)]


def _step(git: Git, rules: PathRules, commit: str) -> Pair | None:
    """The commit against its first parent; None where only a tree is known."""
    try:
        commits = git.ancestors(commit, 2)
    except UnknownRevision:
        return None
    if len(commits) > 1:
        return pair_of(git, rules, commits[1], commits[0], with_state=False)
    return Pair(Codebase(git, git.empty_tree, rules), Codebase(git, git.code_tree(commit), rules))

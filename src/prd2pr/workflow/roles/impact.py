"""Run the tests that a role requests while it works: only those that its changes can affect, if that is known.

Gates do not use this; they run everything that they require.
"""

from __future__ import annotations

import json

from prd2pr.agents.tools import TestToolRun
from prd2pr.domain.evidence import PathKind, RunReport
from prd2pr.domain.paths import get_story_test_root
from prd2pr.errors import UnknownRevision
from prd2pr.languages.test_runner import RunRequest, Surveyor
from prd2pr.state.cache import Cache, find_cache_directory
from prd2pr.verification.codebase import Codebase
from prd2pr.workflow.roles.test_impact import (
    ChangedPaths,
    ReachSurvey,
    SelectedTests,
    format_selection_text,
    select_all_tests,
    select_tests,
)
from prd2pr.workflow.session import Session

SETTLED_OUTCOMES = frozenset({"passed", "skipped", "xfailed"})


def run_reached_tests(session: Session, surveyor: Surveyor, tree: str, story: str) -> TestToolRun:
    """Run the story's tests and the tests that the changes can affect.

    If those are not known, run all tests and record which files each of them executes.
    """
    survey = read_survey(session)
    code = Codebase(session.git, tree, session.constraints.paths)
    code = Codebase(session.git, tree, session.constraints.paths, code.configured_naming)
    tests = {path: text for path, text in code.test_texts.items() if code.naming.is_module(path)}
    selection = select_all_tests("it was not known yet which tests a change reaches")
    if survey is not None:
        selection = select_changed_tests(session, survey, code, tests, story) or selection
    if selection.paths:
        report = session.services.runner.run(RunRequest(tree, paths=selection.paths))
        return TestToolRun(report, format_selection_text(selection, len(tests)))
    surveyed = surveyor.survey(RunRequest(tree))
    if surveyed.reached is not None:
        save_survey(session, ReachSurvey(tree, surveyed.reached, list_unsure_files(surveyed.report)))
    return TestToolRun(surveyed.report, format_selection_text(selection, len(tests)))


def select_changed_tests(
    session: Session, survey: ReachSurvey, code: Codebase, tests: dict[str, str], story: str
) -> SelectedTests | None:
    """Return the selected tests, or None if the changes since the last recorded run cannot be determined."""
    try:
        paths = frozenset(change.path for change in session.git.diff(survey.tree, code.tree))
    except UnknownRevision:
        return None
    modules = frozenset(path for path in paths if path in tests or path in survey.reached)
    source = frozenset(path for path in paths if path.endswith(".py") and code.kind(path) is PathKind.SOURCE)
    ignored = frozenset(path for path in paths if code.kind(path) is PathKind.DOCS)
    changed = ChangedPaths(source, modules, paths - modules - source - ignored)
    return select_tests(survey, changed, tests, (path for path in tests if get_story_test_root(path, story)))


def list_unsure_files(report: RunReport) -> frozenset[str]:
    failed = (result.id for result in report.results if result.outcome not in SETTLED_OUTCOMES)
    return frozenset(test.partition("::")[0] for test in failed)


# --- cache; it can be deleted at any time -----------------------------------------------------------------------------


def open_survey(session: Session) -> tuple[Cache, str]:
    """Return the cache, and the key of the record that lists the files executed by each test."""
    return Cache(find_cache_directory(session.git.private)), f"impact@{session.prd.id}.json"


def read_survey(session: Session) -> ReachSurvey | None:
    cache, name = open_survey(session)
    try:
        data = json.loads(cache.read(name) or b"")
        reached = {str(test): frozenset(map(str, files)) for test, files in data["reached"].items()}
        return ReachSurvey(str(data["tree"]), reached, frozenset(map(str, data["unsure"])))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # missing or damaged, so all tests run and the survey is made again


def save_survey(session: Session, survey: ReachSurvey) -> None:
    cache, name = open_survey(session)
    reached = {test: sorted(files) for test, files in sorted(survey.reached.items())}
    content = json.dumps({"tree": survey.tree, "reached": reached, "unsure": sorted(survey.unsure)})
    cache.write(name, content.encode())

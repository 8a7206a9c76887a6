"""Runs that a role asks for while it works: only the tests that its changes can reach, where that is known.

No gate knows of this: it runs what it demands, whatever was left out here.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from prd2pr.agents.tools import TestsTried
from prd2pr.core.evidence import PathKind, RunReport
from prd2pr.core.impact import Changed, Selection, Survey, everything, select, told
from prd2pr.core.paths import story_place
from prd2pr.errors import UnknownRevision
from prd2pr.flows.codebase import Codebase
from prd2pr.flows.session import Session
from prd2pr.ports import RunRequest, Surveyor

SETTLED = frozenset({"passed", "skipped", "xfailed"})


def try_reached(session: Session, surveyor: Surveyor, tree: str, story: str) -> TestsTried:
    """The story's tests and those that the changes reach. Where all have to run, what they reach is noted anew."""
    known = read_survey(session)
    code = Codebase(session.git, tree, session.rules)
    code = Codebase(session.git, tree, session.rules, code.own_naming)
    tests = {path: text for path, text in code.test_texts.items() if code.naming.is_module(path)}
    chosen = everything("which tests a change reaches was not known yet")
    if known is not None:
        chosen = chosen_tests(session, known, code, tests, story) or chosen
    if chosen.paths:
        report = session.runner.run(RunRequest(tree, paths=chosen.paths))
        return TestsTried(report, told(chosen, len(tests)))
    surveyed = surveyor.survey(RunRequest(tree))
    if surveyed.reached is not None:
        keep_survey(session, Survey(tree, surveyed.reached, unsure_in(surveyed.report)))
    return TestsTried(surveyed.report, told(chosen, len(tests)))


def chosen_tests(
    session: Session, known: Survey, code: Codebase, tests: dict[str, str], story: str
) -> Selection | None:
    """None: what has changed since the survey cannot be told any more."""
    try:
        paths = frozenset(change.path for change in session.git.diff(known.tree, code.tree))
    except UnknownRevision:
        return None
    modules = frozenset(path for path in paths if path in tests or path in known.reached)
    source = frozenset(path for path in paths if path.endswith(".py") and code.kind(path) is PathKind.SOURCE)
    unheeded = frozenset(path for path in paths if code.kind(path) is PathKind.DOCS)
    changed = Changed(source, modules, paths - modules - source - unheeded)
    return select(known, changed, tests, (path for path in tests if story_place(path, story)))


def unsure_in(report: RunReport) -> frozenset[str]:
    failed = (result.id for result in report.results if result.outcome not in SETTLED)
    return frozenset(test.partition("::")[0] for test in failed)


# --- kept for the next time; a hint that anybody may delete -----------------------------------------------------------


def place(session: Session) -> Path:
    return session.git.private / "cache" / "impact" / f"{session.prd.id}.json"


def read_survey(session: Session) -> Survey | None:
    try:
        found = json.loads(place(session).read_bytes())
        reached = {str(test): frozenset(map(str, files)) for test, files in found["reached"].items()}
        return Survey(str(found["tree"]), reached, frozenset(map(str, found["unsure"])))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # none, or damaged: all tests are run, and it is made anew


def keep_survey(session: Session, survey: Survey) -> None:
    there = place(session)
    there.parent.mkdir(parents=True, exist_ok=True)
    reached = {test: sorted(files) for test, files in sorted(survey.reached.items())}
    handle, made = tempfile.mkstemp(dir=there.parent, prefix=".")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump({"tree": survey.tree, "reached": reached, "unsure": sorted(survey.unsure)}, file)
    Path(made).replace(there)

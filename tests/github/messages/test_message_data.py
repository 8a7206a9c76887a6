"""Decisions behind the messages: where a finding is shown, which label, which issues, which wording."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fakes.pull_sample import plan, sample
from prd2pr.config import Labels
from prd2pr.domain.evidence import Finding
from prd2pr.domain.forge import Actor, Issue
from prd2pr.domain.machines.command_aliases import to_slash_commands
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import ProjectState, Status
from prd2pr.domain.wording import neutralize_log_commands
from prd2pr.error_table import ERRORS_BY_CODE
from prd2pr.errors import SpendLimit
from prd2pr.github.messages.checks import (
    build_phase_check,
    build_whole_check,
    find_first_changed_line,
    find_test_line,
    list_steps_to_check,
    place_findings,
)
from prd2pr.github.messages.markers import make_marker, read_sha_marker
from prd2pr.github.messages.replies import ProblemReply
from prd2pr.github.messages.status import choose_headline, choose_next_step, get_state_label, list_state_label_names
from prd2pr.github.messages.tracking import (
    MAX_NEW_ISSUES,
    MAX_SUB_ISSUES,
    list_stories_without_issue,
    map_story_issues,
)

ME = Actor("github-actions[bot]", 41898282, bot=True)
TESTS = """import pytest


class TestPoints:
    @pytest.mark.parametrize("n", [1, 2])
    def test_earns(self, n):
        assert n


async def test_expires():
    assert True
"""
PATCH = """diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -10,3 +12,4 @@ def f():
 same
 same
+new
 same
diff --git a/src/b.py b/src/b.py
--- a/src/b.py
+++ b/src/b.py
@@ -1 +1,0 @@
-gone
"""

# --- lines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "line"),
    [
        ("t.py::TestPoints::test_earns[1]", 6),
        ("t.py::TestPoints", 4),
        ("t.py::test_expires", 10),
        ("t.py::test_elsewhere", 0),
        ("t.py", 0),
    ],
)
def test_a_test_is_found_where_it_is_declared(test: str, line: int) -> None:
    assert find_test_line(TESTS, test) == line


def test_source_that_is_not_python_has_no_tests() -> None:
    assert find_test_line("def broken(:", "t.py::test_x") == 0
    assert find_test_line("\x00", "t.py::test_x") == 0


def test_the_first_changed_line() -> None:
    assert find_first_changed_line(PATCH, "src/a.py") == 14
    assert find_first_changed_line(PATCH, "src/b.py") == 1
    assert find_first_changed_line(PATCH, "src/c.py") == 0


def finding(**more: object) -> Finding:
    return Finding.model_validate({"code": "GRN201", "severity": "error", "message": "it is\nso", **more})


def test_a_finding_is_shown_at_its_line() -> None:
    found = (
        finding(path="src/a.py", line=3),
        finding(path="src/a.py"),
        finding(test="t.py::test_expires", severity="warning"),
        finding(path="src/unknown.py"),
        finding(),
    )
    placed, unplaced = place_findings(found, {"t.py": TESTS}.get, PATCH)
    assert [(each.path, each.line, each.level) for each in placed] == [
        ("src/a.py", 3, "failure"),
        ("src/a.py", 14, "failure"),
        ("t.py", 10, "warning"),
        ("src/unknown.py", 1, "failure"),
    ]
    assert unplaced == (found[-1],)
    assert placed[0].message == "it is so"


def test_a_check_reports_the_gate_result() -> None:
    pull_view = sample().pull_view()
    checks = [build_phase_check("loyalty", story, step, "", ()) for story, step in list_steps_to_check(pull_view)]
    assert ("prd2pr / red(loyalty-1)", "success") in [(check.name, check.conclusion) for check in checks]
    assert ("prd2pr / green(loyalty-3)", "neutral") in [(check.name, check.conclusion) for check in checks]
    assert len({check.key for check in checks}) == len(checks) == 9
    story, step = next(list_steps_to_check(pull_view))
    unproven = build_phase_check("loyalty", story, step.model_copy(update={"tone": "unproven"}), "", ())
    assert unproven.conclusion == "failure"


def test_a_branch_with_an_unverified_commit_is_not_green() -> None:
    pull_view = replace(sample().pull_view(), tone="proven", state="Ready for review")
    assert build_whole_check(pull_view, "a" * 40, "").conclusion == "success"
    stranger = replace(pull_view, unproven=pull_view.commits[:1])
    assert build_whole_check(stranger, "a" * 40, "").conclusion == "action_required"
    assert build_whole_check(stranger, "a" * 40, "").title.endswith(", 1 commit without proof")


# --- headline and label -----------------------------------------------------------------------------------------------

RUNNING = Status(state=ProjectState.SPRINT_ACTIVE, order="run")
IDLE = Status(state=ProjectState.SPRINT_ACTIVE)
READY = Status(state=ProjectState.BACKLOG_READY)
PAUSED = Status(state=ProjectState.SPRINT_PAUSED, order="run")
STUCK = Status(state=ProjectState.BLOCKED, blocked_reason="CI failed three times")
STEPPED = NoAction("stopped", "loyalty-4 is waiting for green", "prd2pr next prds/loyalty.md")


@pytest.mark.parametrize(
    ("status", "stop", "headline", "label", "command"),
    [
        (RUNNING, None, "working", "prd2pr:active", ""),
        (RUNNING, STEPPED, "working", "prd2pr:active", ""),
        (IDLE, STEPPED, "waiting", "prd2pr:waiting", "/tdd next"),
        (RUNNING, NoAction("deadline", "time is up"), "deadline", "prd2pr:active", ""),
        (RUNNING, NoAction("budget", "used up", "raise it"), "budget", "prd2pr:waiting", "/tdd run"),
        (READY, NoAction("waiting", "not approved", "/approve"), "waiting", "prd2pr:waiting", "/approve"),
        (PAUSED, NoAction("paused", "paused", "/sprint resume"), "paused", "prd2pr:waiting", "/sprint resume"),
        (STUCK, NoAction("blocked", "out of attempts"), "blocked", "prd2pr:blocked", '/suggest_fix "what to try"'),
    ],
)
def test_each_state_has_one_headline_label_and_command(
    status: Status, stop: NoAction | None, headline: str, label: str, command: str
) -> None:
    branch = sample()
    branch.status = status
    pull_view = branch.pull_view(mode="plan" if status is READY else "none")
    said = choose_headline(pull_view, status, stop, None)
    assert said == headline
    assert get_state_label(Labels(), said).name == label
    assert choose_next_step(pull_view, stop, None).command == command


def test_a_problem_comes_first() -> None:
    pull_view, problem = sample().pull_view(), ProblemReply("this run", "no key", remedy="add it")
    assert choose_headline(pull_view, RUNNING, None, problem) == "stopped"
    assert choose_next_step(pull_view, None, problem).sentence == "add it"


def test_every_label_is_distinct() -> None:
    assert len(set(list_state_label_names(Labels()))) == 4


# --- tracking ---------------------------------------------------------------------------------------------------------


def test_stories_get_issues_a_few_at_a_time() -> None:
    model = plan().backlog.stories[0]
    stories = tuple(model.model_copy(update={"id": f"loyalty-{n}"}) for n in range(500))
    begun = (*stories[:-1], stories[-1].model_copy(update={"status": "in_progress"}))
    first = list_stories_without_issue(begun, {})
    assert len(first) == MAX_NEW_ISSUES
    assert first[0].id == "loyalty-499"
    there = {f"loyalty-{n}": Issue(n, "", "", ME) for n in range(MAX_SUB_ISSUES - 3)}
    assert len(list_stories_without_issue(begun, there)) == 3
    done = tuple(story.model_copy(update={"status": "done"}) for story in stories)
    assert len(list_stories_without_issue(done, {})) == MAX_NEW_ISSUES
    assert list_stories_without_issue((*done[:1], begun[-1]), {})[0] == begun[-1]
    skipped = tuple(story.model_copy(update={"status": "skipped"}) for story in stories)
    assert list_stories_without_issue(skipped, {}) == ()


def test_story_issues_are_recognized_by_their_first_line() -> None:
    ours = Issue(5, "", f"{make_marker('story', 'loyalty/loyalty-1')}\ntext", ME)
    quoted = Issue(6, "", f"see {make_marker('story', 'loyalty/loyalty-2')}", ME)
    others = Issue(7, "", make_marker("story", "other/loyalty-3"), ME)
    again = Issue(8, "", ours.body, ME)
    forged = Issue(4, "", ours.body, Actor("nobody", 99))
    assert map_story_issues([forged, ours, quoted, others, again], "loyalty", (ME,)) == {"loyalty-1": ours}


# --- wording ----------------------------------------------------------------------------------------------------------


def test_markers_carry_commits() -> None:
    text = f"x\n{make_marker('checked', 'a' * 40)}\ny"
    assert (read_sha_marker("checked", text), read_sha_marker("head", text)) == ("a" * 40, "")
    with pytest.raises(ValueError, match="part of a marker"):
        make_marker("story", "loyalty/x -->")


@pytest.mark.parametrize("text", ["::error::x", "  ::set-output name=a::b", "a\n::add-mask::x", "x ##[group]y"])
def test_workflow_commands_in_a_log_are_neutralized(text: str) -> None:
    quiet = neutralize_log_commands(text)
    assert quiet.replace("\u200b", "") == text
    assert "##[" not in quiet
    assert not any(line.lstrip().startswith("::") for line in quiet.splitlines())


def test_other_text_in_a_log_is_unchanged() -> None:
    assert neutralize_log_commands("tests/a.py::test_x passed\n# [x]") == "tests/a.py::test_x passed\n# [x]"


def test_a_command_is_named_as_it_is_called_where_it_is_read():
    raised = SpendLimit("too much", remedy="Raise it, then `prd2pr run` goes on.")
    assert ProblemReply.of("/tdd run", raised).remedy == "Raise it, then `/tdd run` goes on."
    assert to_slash_commands("`prd2pr explain RED104` tells") == "`/tdd explain RED104` tells"
    machine = "`prd2pr doctor`, `prd2pr run … --record FILE`"
    assert to_slash_commands(machine) == machine
    for code, kind in ERRORS_BY_CODE.items():
        assert not re.search(r"`prd2pr (run|next|explain)`", to_slash_commands(kind.remedy)), code

"""Decisions behind what is shown: where a finding stands, which label, which issues, which words."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fakes.pull_sample import plan, sample
from prd2pr.config import Labels
from prd2pr.core.decide import Rest
from prd2pr.core.error_kinds import BY_CODE
from prd2pr.core.evidence import Finding
from prd2pr.core.hub import Actor, Issue
from prd2pr.core.records import ProjectState, Status
from prd2pr.core.said.answers import Failed
from prd2pr.core.said.checks import (
    changed_line,
    line_of_test,
    phase_check,
    placed_findings,
    steps_to_check,
    whole_check,
)
from prd2pr.core.said.markers import checked_in, checked_marker, head_in, story_marker
from prd2pr.core.said.status import headline_of, next_on_host, state_label, state_names
from prd2pr.core.said.tracking import NEW_PER_RUN, SUB_ISSUES, by_story, wanted_stories
from prd2pr.core.two_names import in_comments
from prd2pr.core.wording import quiet_commands
from prd2pr.errors import SpendLimit

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
    assert line_of_test(TESTS, test) == line


def test_source_that_is_no_python_has_no_tests() -> None:
    assert line_of_test("def broken(:", "t.py::test_x") == 0
    assert line_of_test("\x00", "t.py::test_x") == 0


def test_the_first_changed_line() -> None:
    assert changed_line(PATCH, "src/a.py") == 14
    assert changed_line(PATCH, "src/b.py") == 1
    assert changed_line(PATCH, "src/c.py") == 0


def finding(**more: object) -> Finding:
    return Finding.model_validate({"code": "GRN201", "severity": "error", "message": "it is\nso", **more})


def test_a_finding_stands_at_its_line() -> None:
    found = (
        finding(path="src/a.py", line=3),
        finding(path="src/a.py"),
        finding(test="t.py::test_expires", severity="warning"),
        finding(path="src/unknown.py"),
        finding(),
    )
    placed, unplaced = placed_findings(found, {"t.py": TESTS}.get, PATCH)
    assert [(each.path, each.line, each.level) for each in placed] == [
        ("src/a.py", 3, "failure"),
        ("src/a.py", 14, "failure"),
        ("t.py", 10, "warning"),
        ("src/unknown.py", 1, "failure"),
    ]
    assert unplaced == (found[-1],)
    assert placed[0].message == "it is so"


def test_a_check_says_what_the_gate_said() -> None:
    picture = sample().picture()
    checks = [phase_check("loyalty", story, step, "", ()) for story, step in steps_to_check(picture)]
    assert ("prd2pr / red(loyalty-1)", "success") in [(check.name, check.conclusion) for check in checks]
    assert ("prd2pr / green(loyalty-3)", "neutral") in [(check.name, check.conclusion) for check in checks]
    assert len({check.key for check in checks}) == len(checks) == 9
    story, step = next(steps_to_check(picture))
    unproven = phase_check("loyalty", story, replace(step, tone="unproven"), "", ())
    assert unproven.conclusion == "failure"


def test_a_branch_with_a_commit_without_proof_is_not_green() -> None:
    picture = replace(sample().picture(), tone="proven", state="Ready for review")
    assert whole_check(picture, "a" * 40, "").conclusion == "success"
    stranger = replace(picture, unproven=picture.commits[:1])
    assert whole_check(stranger, "a" * 40, "").conclusion == "action_required"
    assert whole_check(stranger, "a" * 40, "").title.endswith(", 1 commit without proof")


# --- where it stands --------------------------------------------------------------------------------------------------

RUNNING = Status(state=ProjectState.SPRINT_ACTIVE, order="run")
IDLE = Status(state=ProjectState.SPRINT_ACTIVE)
READY = Status(state=ProjectState.BACKLOG_READY)
PAUSED = Status(state=ProjectState.SPRINT_PAUSED, order="run")
STUCK = Status(state=ProjectState.BLOCKED, blocked_reason="CI failed three times")
STEPPED = Rest("stopped", "loyalty-4 is waiting for green", "prd2pr next prds/loyalty.md")


@pytest.mark.parametrize(
    ("status", "rest", "headline", "label", "command"),
    [
        (RUNNING, None, "working", "prd2pr:active", ""),
        (RUNNING, STEPPED, "working", "prd2pr:active", ""),
        (IDLE, STEPPED, "waiting", "prd2pr:waiting", "/tdd next"),
        (RUNNING, Rest("deadline", "time is up"), "deadline", "prd2pr:active", ""),
        (RUNNING, Rest("budget", "used up", "raise it"), "budget", "prd2pr:waiting", "/tdd run"),
        (READY, Rest("waiting", "not approved", "/approve"), "waiting", "prd2pr:waiting", "/approve"),
        (PAUSED, Rest("paused", "paused", "/sprint resume"), "paused", "prd2pr:waiting", "/sprint resume"),
        (STUCK, Rest("blocked", "out of attempts"), "blocked", "prd2pr:blocked", '/suggest_fix "what to try"'),
    ],
)
def test_one_word_one_label_one_command(
    status: Status, rest: Rest | None, headline: str, label: str, command: str
) -> None:
    branch = sample()
    branch.status = status
    picture = branch.picture(mode="plan" if status is READY else "none")
    said = headline_of(picture, status, rest, None)
    assert said == headline
    assert state_label(Labels(), said).name == label
    assert next_on_host(picture, rest, None).command == command


def test_a_problem_comes_before_all_else() -> None:
    picture, problem = sample().picture(), Failed("this run", "no key", remedy="add it")
    assert headline_of(picture, RUNNING, None, problem) == "stopped"
    assert next_on_host(picture, None, problem).sentence == "add it"


def test_every_label_is_its_own() -> None:
    assert len(set(state_names(Labels()))) == 4


# --- tracking ---------------------------------------------------------------------------------------------------------


def test_stories_get_issues_a_few_at_a_time() -> None:
    model = plan().backlog.stories[0]
    stories = tuple(model.model_copy(update={"id": f"loyalty-{n}"}) for n in range(500))
    begun = (*stories[:-1], stories[-1].model_copy(update={"status": "in_progress"}))
    first = wanted_stories(begun, {})
    assert len(first) == NEW_PER_RUN
    assert first[0].id == "loyalty-499"
    there = {f"loyalty-{n}": Issue(n, "", "", ME) for n in range(SUB_ISSUES - 3)}
    assert len(wanted_stories(begun, there)) == 3
    done = tuple(story.model_copy(update={"status": "done"}) for story in stories)
    assert len(wanted_stories(done, {})) == NEW_PER_RUN
    assert wanted_stories((*done[:1], begun[-1]), {})[0] == begun[-1]
    skipped = tuple(story.model_copy(update={"status": "skipped"}) for story in stories)
    assert wanted_stories(skipped, {}) == ()


def test_story_issues_are_known_by_their_first_line() -> None:
    ours = Issue(5, "", f"{story_marker('loyalty', 'loyalty-1')}\ntext", ME)
    quoted = Issue(6, "", f"see {story_marker('loyalty', 'loyalty-2')}", ME)
    others = Issue(7, "", story_marker("other", "loyalty-3"), ME)
    again = Issue(8, "", ours.body, ME)
    forged = Issue(4, "", ours.body, Actor("nobody", 99))
    assert by_story([forged, ours, quoted, others, again], "loyalty", (ME,)) == {"loyalty-1": ours}


# --- words ------------------------------------------------------------------------------------------------------------


def test_marks_carry_commits() -> None:
    text = f"x\n{checked_marker('a' * 40)}\ny"
    assert (checked_in(text), head_in(text)) == ("a" * 40, "")
    with pytest.raises(ValueError, match="no marker"):
        story_marker("loyalty", "x -->")


@pytest.mark.parametrize("text", ["::error::x", "  ::set-output name=a::b", "a\n::add-mask::x", "x ##[group]y"])
def test_a_log_obeys_nothing(text: str) -> None:
    quiet = quiet_commands(text)
    assert quiet.replace("\u200b", "") == text
    assert "##[" not in quiet
    assert not any(line.lstrip().startswith("::") for line in quiet.splitlines())


def test_other_text_in_a_log_stays() -> None:
    assert quiet_commands("tests/a.py::test_x passed\n# [x]") == "tests/a.py::test_x passed\n# [x]"


def test_a_command_is_named_as_it_is_called_where_it_is_read():
    raised = SpendLimit("too much", remedy="Raise it, then `prd2pr run` goes on.")
    assert Failed.of("/tdd run", raised).remedy == "Raise it, then `/tdd run` goes on."
    assert in_comments("`prd2pr explain RED104` tells") == "`/tdd explain RED104` tells"
    machine = "`prd2pr doctor`, `prd2pr run … --record FILE`"
    assert in_comments(machine) == machine
    for code, kind in BY_CODE.items():
        assert not re.search(r"`prd2pr (run|next|explain)`", in_comments(kind.way_out)), code

"""One answer of each kind, as the sample branch would give it, and the same with every free text replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from pydantic import BaseModel

from fakes.pull_sample import many, plan, sample, sha, spend
from prd2pr.domain.costs.estimate import Estimate
from prd2pr.domain.evidence import Failure, FailureKind, Finding, RunReport, TestResult
from prd2pr.domain.forge import Actor, Issue
from prd2pr.domain.machines.commands import COMMANDS
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.records import ProjectState, RunRecord, Sprint, Status, Transition
from prd2pr.errors import SetupProblem
from prd2pr.github.messages.checks import CheckView
from prd2pr.github.messages.closed_pull_text import ClosedView, HaltedView
from prd2pr.github.messages.markers import make_marker
from prd2pr.github.messages.query_replies import (
    BacklogReply,
    BudgetReply,
    BudgetRow,
    ExplainReply,
    HelpReply,
    HelpRow,
    LogLine,
    LogsReply,
    MetricsReply,
    OverviewReply,
    ReportRow,
    SprintReply,
    StateReply,
    StoryStatusReply,
    TestRunReply,
    UnprovedRow,
    VerifyReply,
    VerifyReport,
)
from prd2pr.github.messages.rendering import (
    check_text,
    render_action_needed_text,
    render_closed_text,
    render_halted_text,
    render_offer_text,
    render_status_text,
    render_story_issue_text,
    render_tracking_text,
    render_whole_check_text,
)
from prd2pr.github.messages.replies import (
    CommandDone,
    CommandReply,
    CommandTooOld,
    DraftReply,
    GateReply,
    IllegalReply,
    NotNow,
    PermissionDenied,
    PlanReply,
    ProblemReply,
    RegisterReply,
    UnknownCommandReply,
    WrongArguments,
)
from prd2pr.github.messages.status import build_status_view
from prd2pr.github.messages.tracking import build_tracking_view
from prd2pr.github.publish.proof import mark_refuted
from prd2pr.proof.attestation import StatementCheck
from prd2pr.verification.commit_check import BranchRefutation, UnprovedCommit
from prd2pr.verification.findings import FINDINGS
from prd2pr.views.models import BurndownPoint, NextStep
from prd2pr.views.plan import PlanDiff, build_plan_view
from prd2pr.views.pull_request.models import PullRequestView, SpendLimits

GO_ON = NextStep("`loyalty-4` is waiting for its code. For one phase:", "/tdd next")
LOCKED = Finding(
    code="GRN201",
    severity="error",
    message="`tests/tdd/loyalty-2/test_redeem.py` is not the file that RED committed: line 14 `== 90` became `>= 0`",
    path="tests/tdd/loyalty-2/test_redeem.py",
    line=14,
)
KNOCKED = Finding(
    code="GRN301",
    severity="error",
    message="with `redeem()` knocked out, all 12 tests still pass: they do not test it",
    test="tests/tdd/loyalty-2/test_redeem.py::test_points_are_taken",
)
LITERALS = Finding(
    code="GRN402",
    severity="warning",
    message="two literals also occur in the tests",
    path="src/shop/points.py",
    line=31,
)
GUESS = Estimate(tokens_low=60_000, tokens_high=150_000, minutes_low=20, minutes_high=35, usd_low=1.10, usd_high=2.40,
                 models=("claude-sonnet-5-5",))  # fmt: skip

NAMED = Failure(kind=FailureKind.COLLECTION, stage="collect", exception="NameError", path="tests/test_a.py")
UNNAMED = Failure(kind=FailureKind.COLLECTION, stage="collect", exception="SyntaxError", path="tests/test_b.py")
HALF_COLLECTED = RunReport(
    code_tree="",
    command=(),
    tools={},
    results=(
        TestResult(id="tests/test_a.py::test_1", outcome="error", failure=NAMED),
        *(TestResult(id=f"tests/test_c.py::test_{n}", outcome="failed") for n in (1, 2)),
        TestResult(id="tests/test_c.py::test_3", outcome="passed"),
    ),
    collect_errors=(NAMED, UNNAMED),
)


def answers() -> dict[str, CommandReply]:
    return {**refused(), **executed(), **queries(), **plans()}


def refused() -> dict[str, CommandReply]:
    # Written out, not derived from the machines: their tables may grow without changing this text.
    active = CommandRefusal(
        "/sprint plan",
        "SPRINT_ACTIVE",
        ("/sprint status", "/sprint pause", "/backlog view", "/state"),
        ("BACKLOG_READY",),
        "it is allowed after all stories are done, then `/request_changes`",
    )
    early = CommandRefusal(
        "/tdd commit-code",
        "TEST_RED",
        ("/tdd test", "/tdd commit-tests", "/tdd next"),
        ("CODE_GREEN",),
        "`/tdd next` works on the current phase",
    )
    typo = CommandRefusal("/tdd nxt", "TEST_RED", ("/tdd next", "/tdd run"), did_you_mean="/tdd next")
    broken = SetupProblem(
        "GitHub Actions is not permitted to create pull requests",
        where="Settings > Actions > General",
        remedy="tick `Allow GitHub Actions to create and approve pull requests`, then `/tdd run`",
    )
    return {
        "illegal_project": IllegalReply(active),
        "illegal_cycle": IllegalReply(early),
        "illegal_unknown": IllegalReply(typo),
        "unknown": UnknownCommandReply("/tdd nxt", "/tdd next"),
        "unknown_far": UnknownCommandReply("/tdd frobnicate"),
        "misused": WrongArguments(
            "/backlog prioritize",
            "`first` is not a number from 1 to 5",
            "/backlog prioritize STORY NUMBER",
            "/backlog prioritize auth-3 1",
        ),
        "misused_length": WrongArguments(
            "/epic",
            "its text is longer than 10,000 characters",
            '/epic "TEXT"',
            '/epic "Gift cards"',
            "Write it shorter in a new comment.",
        ),
        "not_allowed": PermissionDenied("/tdd run", "rea", "read", "write"),
        "too_old": CommandTooOld("/tdd run", 3),
        "not_now": NotNow(
            "/tdd next", "the plan is not approved", NextStep("Read the plan, then comment", "/approve"), waits=True
        ),
        "not_done": NotNow("/backlog remove", "loyalty-1 is done, and what is done stays"),
        "failed": ProblemReply.of("/tdd run", broken),
        "failed_part": ProblemReply.of("the pull request", broken),
        "failed_run": ProblemReply.of("this run", broken),
    }


def executed() -> dict[str, CommandReply]:
    state = {"after": "SPRINT_ACTIVE", "before": "BLOCKED"}
    moved = {"after": "CODE_GREEN", "before": "REFACTOR"}
    texts = {"backlog prioritize": "1", "backlog add_story": "Refund points"}
    silent = ("tdd next", "tdd run", "tdd design", "tdd test", "tdd code", "tdd refactor")
    said = {
        f"carried_{name.replace(' ', '_')}": CommandDone(
            name,
            "wendy",
            ("loyalty-4",),
            text=texts.get(name, "round half up"),
            sha=sha(name),
            next=GO_ON,
            **(moved if spec.machine == "cycle" else state),
        )
        for name, spec in COMMANDS.items()
        if not spec.reads and name not in silent and "commit" not in name
    }
    return {
        **said,
        "carried_approve_all": CommandDone("approve", "ada", sha=sha("approve")),
        "drafted": DraftReply(
            "loyalty-4",
            ("tests/tdd/loyalty-4/test_tier.py",),
            sha("draft"),
            NextStep("Look at it, change it if you like, then have it judged:", "/tdd commit-tests"),
        ),
        "judged_refused": GateReply("loyalty-2", "green", accepted=False, findings=(LOCKED, KNOCKED), attempt=2, of=4),
        "judged_last": GateReply(
            "loyalty-2", "green", accepted=False, findings=(KNOCKED, LITERALS), attempt=4, of=4,
            next=NextStep("Say what to try, or skip the story:", '/suggest_fix "what to try"'),
        ),
        "judged_people": GateReply("loyalty-2", "green", accepted=False, findings=(LOCKED,), people=("wendy", "max")),
        "judged_accepted": GateReply(
            "loyalty-2", "red", accepted=True, people=("wendy",), sha=sha("red"), outcome="9 tests fail as expected",
            next=GO_ON,
        ),
    }  # fmt: skip


def queries() -> dict[str, CommandReply]:
    pull_view = sample().pull_view(mode="none")
    stories = tuple(row.id for row in pull_view.board)
    finding = FINDINGS["GRN201"]
    moves = (
        Transition(
            at="2026-11-16T09:00:00Z", by="ada", command="/approve", before="BACKLOG_READY", after="SPRINT_ACTIVE"
        ),
        Transition(
            at="2026-11-16T09:30:00Z", by="max", command="/sprint pause", before="SPRINT_ACTIVE", after="SPRINT_PAUSED"
        ),
    )  # fmt: skip
    paused = Status(state=ProjectState.SPRINT_PAUSED, sprint="s1", transitions=moves, order="run")
    fails = TestResult(
        id="tests/unit/test_a.py::test_x",
        outcome="failed",
        failure=Failure(kind=FailureKind.ASSERTION, stage="call", exception="AssertionError", message="assert 1 == 2"),
    )
    rows = sample().backlog.stories
    approved = frozenset(story.id for story in rows if story.id != "loyalty-5")
    return {
        "help": HelpReply(
            (
                HelpRow('/epic "TEXT"', "Plan stories for an epic.", '/epic "Gift cards"', "write", now=False),
                HelpRow("/approve [STORY…]", "Approve stories.", needs="write", now=False),
                HelpRow("/tdd next [STORY]", "Do the current phase and pass its gate.", "/tdd next", "write"),
                HelpRow("/tdd explain CODE", "Explain a finding.", "/tdd explain RED104", "triage"),
            ),
            "SPRINT_ACTIVE",
        ),
        "help_short": HelpReply(
            (HelpRow("/tdd next [STORY]", "Do the current phase and pass its gate.", needs="write"),)
        ),
        "state": StateReply(
            paused,
            ("/sprint resume", "/sprint status", "/backlog view", "/state"),
            NextStep("The sprint is paused.", "/sprint resume"),
        ),
        "story_status": StoryStatusReply(pull_view.board[3], "CODE_GREEN", 1, 4, (LOCKED,), GO_ON),
        "overview": OverviewReply(pull_view.board, pull_view.figures, pull_view.stories_in_all, GO_ON),
        "logs": LogsReply(
            (
                LogLine("2026-11-16T09:00:00Z", "call loyalty-1/red/tester/1/1: 2400 tokens"),
                LogLine("2026-11-16T09:00:11Z", "crossed loyalty-1 red at attempt 1"),
            ),
            120,
        ),
        "logs_none": LogsReply((), 0, "loyalty-5"),
        "metrics": MetricsReply(pull_view.figures, pull_view.costs, attempts=9, refused=2),
        "budget": BudgetReply(
            (
                BudgetRow("this run", "usd", 0.5, None),
                BudgetRow("this PRD", "usd", 5.02, 5.0),
                BudgetRow("this PRD", "tokens", 62_000, 200_000),
                BudgetRow("this run", "minutes", 14, 60),
            ),
            NextStep("Raise `budget.usd_per_prd` in `.prd2pr.yml`, then", "/tdd run"),
        ),
        "budget_unlimited": BudgetReply((BudgetRow("this PRD", "usd", None, None),)),
        "verified": VerifyReply(12, 12, 12, head=sha("head"), warnings=2),
        "verified_not": VerifyReply(
            12, 11, 14,
            (
                UnprovedRow(sha("a"), "green(loyalty-2): the tests pass", "loyalty/loyalty-2/3", (LOCKED,)),
                UnprovedRow(sha("b"), "quick fix"),
            ),
            sha("head"),
        ),
        "verify_report": VerifyReport(
            "NOT all proved: 11 of 12 steps; 1 commit claims no step: unproven",
            sha("base"),
            sha("head"),
            (
                ReportRow(sha("c"), "red(loyalty-2): redeem", "loyalty/loyalty-2/2", "red", "proved"),
                ReportRow(sha("a"), "green(loyalty-2): pass", "loyalty/loyalty-2/3", "green", "NOT SO", (LOCKED,)),
                ReportRow(sha("b"), "quick fix", "", "", "UNPROVEN"),
            ),
            "23 test runs made for it.",
            (("RUN104", "the run was not sandboxed", 12),),
            StatementCheck(12, 1, (Finding(code="VER201", severity="error", message="about another", path="a.json"),)),
        ),
        "tests_run": TestRunReply(sha("head"), 41, 39, 1, 0, 1, 3.2, (), (fails,)),
        "tests_run_uncollected": TestRunReply.of(sha("head"), HALF_COLLECTED, 50),
        "tests_run_dishonest": TestRunReply(
            sha("head"), 41, 41, seconds=3, problems=("the hidden failing test passed",)
        ),
        "explained": ExplainReply(
            finding.code, finding.title, finding.explanation, finding.bad, finding.good, finding.remedy,
            "error: refuses the step",
        ),
        "explained_not": ExplainReply("GRN999", did_you_mean=("GRN201", "GRN301")),
        "sprint": SprintReply(
            Sprint(id="s1", goal="Customers come back.", stories=stories, status="active"),
            pull_view.board, "SPRINT_ACTIVE", GO_ON,
            (
                BurndownPoint("2026-11-16T09:00:00Z", 5),
                BurndownPoint("2026-11-16T09:20:00Z", 4),
                BurndownPoint("2026-11-16T10:05:00Z", 2),
            ),
        ),
        "backlog": BacklogReply(
            rows, ("Do refunds take points back?",), NextStep("", "/approve loyalty-5"), approved
        ),
        "registered": RegisterReply("octo/calc", "main", (".prd2pr.yml", "prds/_template.md"), 7),
        "registered_before": RegisterReply("octo/calc", "main"),
    }  # fmt: skip


def plans() -> dict[str, CommandReply]:
    branch = plan()
    view = build_plan_view(
        branch.prd,
        branch.backlog,
        estimate=GUESS,
        limits=SpendLimits(usd=5.0),
        head=sha("plan"),
    )
    first, second, third, fourth, fifth = view.stories
    diff = PlanDiff(
        kept=(first, second),
        new=(fifth,),
        changed=(third,),
        dropped=(fourth,),
        asked=("FR-4 is gone from the PRD, and `loyalty-4` was built for it. Shall it stay?",),
    )
    after = branch.backlog.model_copy(update={"dropping": (fourth.id,)})
    changed = build_plan_view(branch.prd, after, estimate=GUESS, limits=SpendLimits(tokens=200_000), head=sha("plan"))
    free = build_plan_view(branch.prd, branch.backlog, command="", estimate=GUESS.model_copy(update={"usd_low": None}))
    built = build_plan_view(branch.prd, after, command="")
    taken_out = NextStep("To have it removed, comment", '/request_changes "remove it"')
    return {
        "plan": PlanReply(view),
        "plan_changed": PlanReply(changed, diff),
        "plan_free": PlanReply(free),
        "plan_removed": PlanReply(built, diff, taken_out),
    }


def views() -> dict[str, str]:
    """What is published without a request, as text."""
    branch = sample()
    pull_view = branch.pull_view(mode="none")
    links = {
        "pull_url": "https://github.com/acme/shop/pull/7",
        "run_url": "https://github.com/acme/shop/actions/runs/1",
    }
    going = Status(state=ProjectState.SPRINT_ACTIVE, order="run")
    stops = {
        "working": (going, None),
        "waiting": (
            branch.status,
            NoAction("stopped", "loyalty-4 is waiting for green", "prd2pr next prds/loyalty.md"),
        ),
        "approval": (
            Status(state=ProjectState.BACKLOG_READY),
            NoAction("waiting", "the plan is not approved", "/approve"),
        ),
        "paused": (
            Status(state=ProjectState.SPRINT_PAUSED),
            NoAction("paused", "the sprint is paused", "/sprint resume"),
        ),
        "budget": (going, NoAction("budget", "the budget of this PRD is used up: $5.02 of $5.00", "raise it")),
        "deadline": (going, NoAction("deadline", "this run's time is used up; another run goes on with it")),
    }
    made = {
        f"status_{name}": render_status_text(
            build_status_view(in_status(status), status, stop, **links), marks=[make_marker("status", "loyalty")]
        )
        for name, (status, stop) in stops.items()
    }
    installation = "https://github.com/settings/installations/7"
    made["offer"] = render_offer_text(
        (".prd2pr.yml", ".github/workflows/prd2pr.yml"),
        "acme/shop",
        secrets=("ANTHROPIC_API_KEY",),
        app_url=installation,
    )
    made["offer_without_secret"] = render_offer_text(
        (".github/workflows/prd2pr.yml",), "acme/shop", secrets=(), app_url=""
    )
    return {**made, **stopped_views(links), **check_views(pull_view), **tracking_views(pull_view)}


def in_status(status: Status) -> PullRequestView:
    branch = sample()
    branch.status = status
    return branch.pull_view(mode="plan" if status.state is ProjectState.BACKLOG_READY else "none")


def stopped_views(links: dict[str, str]) -> dict[str, str]:
    stuck = sample()
    stuck.update("loyalty-4", blocked="out of attempts: 4 of 4 were refused")
    stuck.status = Status(state=ProjectState.BLOCKED, blocked_reason="loyalty-4: out of attempts")
    blocked = build_status_view(
        stuck.pull_view(mode="none"),
        Status(state=ProjectState.BLOCKED),
        NoAction("blocked", "loyalty-4: out of attempts"),
        **links,
    )
    proven = many(2).pull_view(mode="none")
    done = build_status_view(
        proven, Status(state=ProjectState.SPRINT_REVIEW), NoAction("done", "all 2 stories are finished"), **links
    )
    asked = refused()["failed"]
    assert isinstance(asked, ProblemReply)
    problem = build_status_view(
        sample().pull_view(mode="none"),
        Status(),
        None,
        problem=asked,
        notes=(replace(asked, command="the checks"),),
        **links,
    )
    refuted = BranchRefutation(7, 8, (UnprovedCommit(sha("forged"), "green(loyalty-1): Earn", ("GRN201",)),))
    unproved = build_status_view(
        mark_refuted(proven, refuted),
        Status(state=ProjectState.SPRINT_REVIEW),
        NoAction("done", "all"),
        refuted=refuted,
        **links,
    )
    changed = build_status_view(
        many(2).pull_view(mode="none", unjudged=1),
        Status(state=ProjectState.SPRINT_REVIEW),
        NoAction("done", "all 2 stories are finished"),
        **links,
    )
    return {
        "status_unjudged": render_status_text(changed, marks=[make_marker("status", "loyalty")]),
        "status_unproved": render_status_text(unproved, marks=[make_marker("status", "loyalty")]),
        "needed_unproved": render_action_needed_text(unproved, marker=make_marker("waiting", "loyalty", "unproved")),
        **over_views(),
        "status_blocked": render_status_text(blocked, marks=[make_marker("status", "loyalty")]),
        "status_done": render_status_text(done, marks=[make_marker("status", "loyalty")]),
        "status_problem": render_status_text(problem, marks=[make_marker("status", "loyalty")]),
        "needed_blocked": render_action_needed_text(
            blocked, marker=make_marker("waiting", "loyalty", "blocked/loyalty-4/1")
        ),
        "needed_problem": render_action_needed_text(problem, marker=make_marker("waiting", "loyalty", "problem")),
    }


def over_views() -> dict[str, str]:
    closed = ClosedView("Loyalty points", 7, "main", "prd2pr/loyalty", merged=False, branch_there=True)
    closed = replace(closed, stories=5, settled=3)
    path = "prds/loyalty.md"
    shown = {
        "closed": closed,
        "closed_deleted": replace(closed, branch_there=False, stories=0, settled=0),
        "merged": replace(closed, merged=True, path=path, branch_there=False, settled=5),
        "merged_early": replace(closed, merged=True, path=path),
        "merged_issue": replace(closed, merged=True, settled=5),
    }
    reason = "prd2pr/loyalty was deleted, and is not made again"
    halted = HaltedView("Loyalty points", reason, "restore the branch of #7, or close it")
    marks = [make_marker("status", "loyalty")]
    return {
        **{f"over_{name}": render_closed_text(view, marks=marks) for name, view in shown.items()},
        "halted": render_halted_text(halted, marks=marks),
    }


def check_views(pull_view: PullRequestView) -> dict[str, str]:
    redeem = pull_view.stories[1]
    return {
        f"check_{step.phase}": check_text(CheckView(redeem, step, pull_view.check, 0, (KNOCKED,)))
        for step in redeem.steps
        if step.phase in ("red", "green")
    } | {"check_whole": render_whole_check_text(pull_view)}


def tracking_views(pull_view: PullRequestView) -> dict[str, str]:
    me = Actor("github-actions[bot]", 41898282, bot=True)
    issues = {"loyalty-1": Issue(12, "", "", me)}
    runs = [
        RunRecord(id=f"r{n}", started_at=f"2026-11-16T09:{n:02d}:00Z", ended_at=f"2026-11-16T09:{n:02d}:40Z",
                  model="claude-sonnet-5-5", steps=("loyalty-1/1", "loyalty-1/2"), spend=spend(2400))
        for n in range(12)
    ]  # fmt: skip
    view = build_tracking_view(pull_view, runs, 7, issues, GO_ON)
    branch = sample()
    story = branch.backlog.stories[0].model_copy(update={"description": "Points.\n\nAnd more.", "depends_on": ("x-1",)})
    return {
        "tracking": render_tracking_text(view, marker=make_marker("tracking", "loyalty")),
        "story_issue": render_story_issue_text(story, branch.prd, 7, marker=make_marker("story", "loyalty/loyalty-1")),
    }


# --- the same with other text -----------------------------------------------------------------------------------------


def replace_texts(value: Any, word: Callable[[], str]) -> Any:
    """Replace every free text in `value`; values that code depends on (units, severities, SHAs) and empty ones stay."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return word() if value else ""
    if isinstance(value, tuple):
        return tuple(replace_texts(part, word) for part in value)
    if isinstance(value, BaseModel):
        parts = {
            name: replace_texts(getattr(value, name), word) for name in type(value).model_fields if name not in FIXED
        }
        return value.model_copy(update=parts)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    kept = FIXED | ({"command"} if isinstance(value, CommandDone) else set())
    return replace(
        value, **{f.name: replace_texts(getattr(value, f.name), word) for f in fields(value) if f.name not in kept}
    )


FIXED = frozenset({"commit", "head", "joint", "order", "severity", "sha", "start", "tone", "unit"})

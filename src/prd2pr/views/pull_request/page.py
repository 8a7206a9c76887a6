"""Assemble the pull request view, one frozen value for the Markdown body and the local HTML page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from prd2pr.domain.costs.role_costs import RoleRow
from prd2pr.domain.machines.approval import ApprovalMode
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.next_action import ActionContext, NextAction, find_next_action, get_run_story
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.moderation import describe_alarms, find_alarms
from prd2pr.domain.records import Backlog, Phase, Spend
from prd2pr.domain.role_record import RoleRemark
from prd2pr.domain.wording import (
    clean_line,
    clip,
    count,
    escape_invisible,
    format_cost,
    format_duration,
    format_token_count,
    inflect_noun,
)
from prd2pr.views.blocked_story import build_blocked_view
from prd2pr.views.models import BOARD_PHASES, MAX_TITLE, Figure, NextStep, RefusedWriteView, RequirementRow
from prd2pr.views.pull_request.commits import build_commit_rows
from prd2pr.views.pull_request.models import (
    NO_LIMITS,
    ChangedDoc,
    CostRow,
    PlanningCost,
    PullRequestView,
    SpendLimits,
    StoryWarning,
)
from prd2pr.views.pull_request.next_step import suggest_answer, verify_command
from prd2pr.views.pull_request.state import BranchSummary
from prd2pr.views.stories.cards import build_card, format_planned_failures
from prd2pr.views.stories.facts import (
    ABORTED,
    ALREADY_BUILT,
    PROVEN,
    SETTLED_PROGRESS,
    SKIPPED,
    UNTESTED,
    WAITING,
    CommitFacts,
    PrdFacts,
)
from prd2pr.views.stories.pages import build_refusal_views, build_story_view, sanitize_refused_write
from prd2pr.views.stories.steps import build_finding_view
from prd2pr.views.stories.story_totals import PhaseTotal, StoryAccount
from prd2pr.views.stories.trace import build_requirement_rows, iter_trace_rows, list_uncovered_requirements

__all__ = [
    "BranchChanges",
    "ChangedDoc",
    "ModelUsage",
    "NextStep",
    "PlanningCost",
    "PullRequestView",
    "RefusedWriteView",
    "SpendLimits",
    "assemble_pull_request_view",
]

NO_PLANNING = PlanningCost()
NO_ACCOUNTS: Mapping[str, StoryAccount] = {}

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])")
CODE_PHASES = (Phase.GREEN, Phase.REFACTOR)
MAX_PATHS = 4
MAX_STORIES = 400
MAX_DONE_STORIES = 100
MAX_WAITING_STORIES = 50


@dataclass(frozen=True)
class BranchChanges:
    """Branch data apart from the steps: names of head and base, commits by people, changed docs."""

    head: str = ""  # empty for the default name of the PRD's branch
    base: str = "main"
    unclaimed_commits: tuple[CommitFacts, ...] = ()  # commits without a step, made by people
    unjudged: int = 0  # number of commits since the last step that change more than docs
    docs: Iterable[ChangedDoc] = ()
    refused_writes: Iterable[RefusedWriteView] = ()


@dataclass(frozen=True)
class ModelUsage:
    """The model used, its cost and its limits."""

    model: str = ""
    replayed: bool = False
    limits: SpendLimits = NO_LIMITS
    planning: PlanningCost = NO_PLANNING
    role_costs: tuple[RoleRow, ...] = ()


def assemble_pull_request_view(
    facts: PrdFacts,
    changes: BranchChanges,
    usage: ModelUsage,
    *,
    mode: ApprovalMode = "given",
    following: NextAction | None = None,
    remarks: tuple[RoleRemark, ...] = (),
) -> PullRequestView:
    """Assemble the view. Pass the next action as `following` if it cannot be derived from the records alone."""
    prd, backlog, status, cycles = facts.prd, facts.backlog, facts.status, facts.cycles
    near = replace(facts, backlog=select_shown_stories(facts))
    head, base, unjudged = changes.head or f"prd2pr/{prd.id}", changes.base, changes.unjudged
    context = ActionContext(BranchRecords(prd, status, backlog, cycles.get), mode, get_run_story(status, mode))
    following = following or find_next_action(context)
    cards = {story.id: build_card(near, story) for story in near.backlog.stories}
    requirements = build_requirement_rows(facts)
    commit_list = build_commit_rows(facts, changes.unclaimed_commits)
    unproven = tuple(row for row in commit_list if row.tone == "unproven")
    whole = BranchSummary(facts, context, following, head, base, unjudged, len(unproven), requirements)
    state, tone = whole.state
    return PullRequestView(
        prd=prd.id,
        path=clip(escape_invisible(prd.path), 300),
        title=clip(clean_line(prd.title), MAX_TITLE) or prd.id,
        head=clip(escape_invisible(head), 200),
        base=clip(escape_invisible(base), 200),
        state=state,
        tone=tone,
        model=clip(clean_line(usage.model), 120),
        replayed=usage.replayed,
        figures=build_figures(facts, requirements, usage.planning, usage.limits, unjudged),
        next=whole.next,
        next_action=following,
        check=verify_command(base, head),
        about=describe_change(near),
        built=describe_built_stories(near),
        board=tuple(cards.values()),
        stories_in_all=len(backlog.stories),
        refusals=tuple(each for story in near.backlog.stories for each in build_refusal_views(near, story)),
        refused_writes=tuple(map(sanitize_refused_write, changes.refused_writes)),
        questions=tuple(clip(clean_line(question), 400) for question in facts.questions),
        assumptions=tuple(clip(clean_line(assumption), 400) for assumption in backlog.assumptions),
        requirements=requirements,
        uncovered=list_uncovered_requirements(requirements),
        warnings=list_story_warnings(near),
        answer=suggest_answer(context),
        trace=tuple(iter_trace_rows(near)),
        costs=build_cost_rows(facts, usage.planning),
        stories=tuple(
            build_story_view(near, story, cards[story.id]) for story in near.backlog.stories if near.steps(story.id)
        ),
        commits=commit_list,
        commits_in_all=len(facts.commits) + len(changes.unclaimed_commits),
        unproven=unproven,
        unjudged=unjudged,
        blocked=build_blocked_view(context, head),
        alarms=tuple(describe_alarms((alarm,)) for alarm in find_alarms(backlog.stories, cycles.get, facts.warnings)),
        docs=tuple(ChangedDoc(escape_invisible(doc.path), doc.word) for doc in changes.docs),
        role_costs=usage.role_costs,
        remarks=remarks,
    )


def select_shown_stories(facts: PrdFacts) -> Backlog:
    """Select the stories of a very large plan to show: those in progress or blocked, the last finished and the next."""
    stories = facts.backlog.stories
    if len(stories) <= MAX_STORIES:
        return facts.backlog
    progress_by_story = facts.progress_by_story
    done = [story for story, progress in progress_by_story.items() if progress in SETTLED_PROGRESS]
    waiting = [story for story, progress in progress_by_story.items() if progress is WAITING]
    hidden = {*done[:-MAX_DONE_STORIES], *waiting[MAX_WAITING_STORIES:]}
    return facts.backlog.model_copy(update={"stories": tuple(story for story in stories if story.id not in hidden)})


def build_figures(
    facts: PrdFacts, requirements: Sequence[RequirementRow], planning: PlanningCost, limits: SpendLimits, unjudged: int
) -> tuple[Figure, ...]:
    spent = facts.totals_by_phase
    spend = sum((each.spend for each in spent.values()), planning.spend)
    seconds = planning.seconds + sum(each.seconds for each in spent.values())
    of_minutes = f" of {format_duration(limits.minutes * 60)}" if limits.minutes is not None else ""
    return (
        *build_requirement_figures(facts, requirements),
        *build_story_figures(facts),
        *build_test_figure(facts, unjudged),
        *build_gate_figure(facts),
        Figure(
            format_token_count(spend.tokens, limits.tokens),
            format_cost(spend.usd, limits.usd, unlimited=limits.none),
            joint=", ",
        ),
        Figure(f"{format_duration(seconds)}{of_minutes}", "of runner time"),
    )


def build_requirement_figures(facts: PrdFacts, rows: Sequence[RequirementRow]) -> Iterable[Figure]:
    counts, total = Counter(row.status for row in rows), len(facts.prd.requirements)
    yield Figure(
        f"{counts['proven']} of {total}", f"{inflect_noun(total, 'requirement')} proven", strong=True, claim=True
    )
    if already := counts["already implemented"]:
        yield Figure(f"{already} of {total}", "verified as already implemented", claim=True)


def build_story_figures(facts: PrdFacts) -> Iterable[Figure]:
    counts = Counter(facts.progress_by_story.values())
    total = len(facts.backlog.stories)
    yield Figure(f"{counts[PROVEN]} of {total}", f"{inflect_noun(total, 'story')} done", claim=True)
    others = {UNTESTED: "done without tests", ALREADY_BUILT: "already built", SKIPPED: "skipped", ABORTED: "given up"}
    for progress, label in others.items():
        if counts[progress]:
            yield Figure(f"{counts[progress]} of {total}", label)


def build_test_figure(facts: PrdFacts, unjudged: int) -> Iterable[Figure]:
    tests = [test for story in facts.started_stories() for test in facts.tests(story.id)]
    far = sum(account.tests for account in facts.accounts.values())
    total, passing = far + len(tests), far + sum(test.outcome == "passes" for test in tests)
    planned = sum(test.outcome == "fails as expected" for test in tests)
    if total:
        now = "passes" if 1 in (passing, total) else "pass"
        label = f"added {inflect_noun(total, 'test')} {'passed at the last step' if unjudged else now}"
        yield Figure(f"{passing} of {total}", label + (f", {format_planned_failures(planned)}" if planned else ""))


def build_gate_figure(facts: PrdFacts) -> Iterable[Figure]:
    claims = [(story, step) for story, step in facts.all_steps() if step.phase in GATED]
    counted = [claim for claim in claims if facts.is_proved(*claim) or facts.is_unproven(*claim)]
    far = sum(account.gates for account in facts.accounts.values())
    total, proved = far + len(counted), far + sum(facts.is_proved(*claim) for claim in counted)
    if total:
        yield Figure(f"{proved} of {total}", f"{inflect_noun(total, 'gate')} passed")


def describe_change(facts: PrdFacts) -> tuple[str, ...]:
    """Describe the pull request: the reason, from the PRD's summary, and the files that the accepted steps changed."""
    reasons = SENTENCE_END.split(clean_line(facts.prd.summary))[:2]
    proofs = (facts.proof(story, step) for story, step in facts.all_steps() if step.phase in CODE_PHASES)
    paths = sorted({change.path for proof in proofs if proof for change in proof.evidence.changes})
    if not paths:
        return tuple(clip(each, 300) for each in reasons if each)
    more = f" and {count(len(paths) - MAX_PATHS, 'more file')}" if len(paths) > MAX_PATHS else ""
    named = ", ".join(f"`{escape_invisible(path)}`" for path in paths[:MAX_PATHS])
    return (*(clip(each, 300) for each in reasons if each), f"The code is in {named}{more}.")


def list_story_warnings(facts: PrdFacts) -> tuple[StoryWarning, ...]:
    """List the warnings in the verdicts that accepted the stories' current steps, each once."""
    found = dict.fromkeys(
        StoryWarning(clean_line(story.id), build_finding_view(finding))
        for story in facts.started_stories()
        for step in facts.effective_steps(story.id)
        if (proof := facts.proof_summary(story.id, step))
        for finding in proof.warnings
    )
    return tuple(sorted(found, key=lambda each: not each.is_survivor))


def describe_built_stories(facts: PrdFacts) -> tuple[str, ...]:
    """Describe each finished story in one sentence from its design, after the summary of the PRD."""
    sentences = []
    for story in facts.started_stories():
        cycle = facts.cycles[story.id]
        if cycle.design and facts.progress(story) in (PROVEN, ALREADY_BUILT, UNTESTED):
            sentences.append(f"{clip(clean_line(story.title), 120)}: {clip(clean_line(cycle.design.summary), 240)}")
    about = clip(clean_line(facts.prd.summary), 400)
    return (about, *sentences) if about and sentences else tuple(sentences)


def build_cost_rows(facts: PrdFacts, planning: PlanningCost) -> tuple[CostRow, ...]:
    """Build one row for each phase, one for attempts that passed no phase, and one for the total."""
    spent = facts.totals_by_phase
    rows = [build_cost_row("plan", planning.spend, planning.seconds)] if planning != NO_PLANNING else []
    rows += [sum_cost_row(phase.value, [spent[phase.value]]) for phase in BOARD_PHASES if phase.value in spent]
    known = {phase.value for phase in BOARD_PHASES}
    others = [each for phase, each in spent.items() if phase not in known and each.spend.calls]
    if others:
        rows.append(sum_cost_row("given up", others))
    return (*rows, sum_cost_row("total", [PhaseTotal(planning.spend, planning.seconds), *spent.values()]))


def sum_cost_row(label: str, parts: Iterable[PhaseTotal]) -> CostRow:
    whole = tuple(parts)
    return build_cost_row(label, sum((each.spend for each in whole), Spend()), sum(each.seconds for each in whole))


def build_cost_row(label: str, spend: Spend, seconds: float) -> CostRow:
    usd = "no price known" if spend.usd is None else f"${spend.usd:,.4f}"
    return CostRow(
        label, spend.calls, spend.input_tokens, spend.cached_tokens, spend.output_tokens, usd, format_duration(seconds)
    )

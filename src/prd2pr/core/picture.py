"""All that a pull request shows, as one frozen value. The Markdown body and the local page are both made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from prd2pr.core.ahead import Ahead, Outlook, ahead, order_story
from prd2pr.core.approval import ApprovalMode
from prd2pr.core.blocked import blocked
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import Proof
from prd2pr.core.found import Found
from prd2pr.core.judgement.remarks import Remark
from prd2pr.core.moderation import alarms_of, evidence
from prd2pr.core.next_step import verify_command
from prd2pr.core.picture_account import Account, PhaseTotal
from prd2pr.core.picture_board import board, planned_text, refusals
from prd2pr.core.picture_commits import commit_rows
from prd2pr.core.picture_facts import (
    ABORTED,
    ALREADY_BUILT,
    PROVEN,
    SETTLED_STANDINGS,
    SKIPPED,
    UNTESTED,
    WAITING,
    BranchFacts,
    Key,
)
from prd2pr.core.picture_parts import (
    BOARD_PHASES,
    LONGEST_NAME,
    NO_LIMITS,
    ChangedDoc,
    CommitFacts,
    CostRow,
    Figure,
    NextStep,
    PlanningCost,
    PullPicture,
    RefusedWrite,
    SpendLimits,
)
from prd2pr.core.picture_steps import story_views
from prd2pr.core.picture_trace import requirement_rows, trace_rows, uncovered
from prd2pr.core.picture_whole import Whole
from prd2pr.core.records import Backlog, Cycle, Prd, Spend, Status
from prd2pr.core.role_costs import RoleRow
from prd2pr.core.wording import clip, duration, money, named, plain, token_count, visible

__all__ = [
    "ChangedDoc",
    "CommitFacts",
    "NextStep",
    "PlanningCost",
    "PullPicture",
    "RefusedWrite",
    "SpendLimits",
    "picture",
]

NO_PLANNING = PlanningCost()
NO_FILES: Mapping[str, bytes] = {}
NO_ACCOUNTS: Mapping[str, Account] = {}

SHOWN_STORIES = 400
SHOWN_DONE = 100
SHOWN_WAITING = 50


def picture(
    prd: Prd,
    backlog: Backlog,
    status: Status,
    cycles: Mapping[str, Cycle],
    *,
    proofs: Mapping[Key, Proof],
    commits: Mapping[Key, CommitFacts],
    limits: SpendLimits = NO_LIMITS,
    model: str = "",
    replayed: bool = False,
    head: str = "",
    base: str = "main",
    mode: ApprovalMode = "given",
    strangers: Iterable[CommitFacts] = (),
    refused_writes: Iterable[RefusedWrite] = (),
    planning: PlanningCost = NO_PLANNING,
    following: Ahead | None = None,
    unjudged: int = 0,
    files: Mapping[str, bytes] = NO_FILES,
    docs: Iterable[ChangedDoc] = (),
    role_costs: tuple[RoleRow, ...] = (),
    told: tuple[Remark, ...] = (),
    accounts: Mapping[str, Account] = NO_ACCOUNTS,
) -> PullPicture:
    """`commits` and `proofs` by story and step; `strangers` are commits on the branch without a step: people's work.

    `following`: what is next, where more is known than the records say. `unjudged`: how many commits since the last
    step change more than docs. `files`: pictures, by their digest. `accounts`: of settled stories out of sight, whose
    records need not be among the others.
    """
    facts = BranchFacts(prd, backlog, status, cycles, proofs, commits, files, accounts)
    near = replace(facts, backlog=window(facts))
    head = head or f"prd2pr/{prd.id}"
    view = Outlook(Found(prd, status, backlog, cycles.get), mode, order_story(status, mode))
    following = following or ahead(view)
    requirements = requirement_rows(facts)
    strangers = tuple(strangers)
    commit_list = commit_rows(facts, strangers)
    unproven = tuple(row for row in commit_list if row.tone == "unproven")
    whole = Whole(facts, view, following, head, base, unjudged, len(unproven))
    state, tone = whole.state
    return PullPicture(
        prd=prd.id,
        path=clip(visible(prd.path), 300),
        title=clip(plain(prd.title), LONGEST_NAME) or prd.id,
        head=clip(visible(head), 200),
        base=clip(visible(base), 200),
        state=state,
        tone=tone,
        model=clip(plain(model), 120),
        replayed=replayed,
        figures=figures(facts, planning, limits, unjudged),
        next=whole.next,
        ahead=following,
        check=verify_command(base, head),
        built=built(near),
        board=board(near),
        stories_in_all=len(backlog.stories),
        refusals=refusals(near),
        refused_writes=tuple(map(shown_write, refused_writes)),
        questions=tuple(clip(plain(question), 400) for question in backlog.questions),
        assumptions=tuple(clip(plain(assumption), 400) for assumption in backlog.assumptions),
        requirements=requirements,
        uncovered=uncovered(requirements),
        trace=trace_rows(near),
        costs=costs(facts, planning),
        stories=story_views(near),
        commits=commit_list,
        commits_in_all=len(commits) + len(strangers),
        unproven=unproven,
        unjudged=unjudged,
        blocked=blocked(view, head),
        alarms=tuple(evidence((alarm,)) for alarm in alarms_of(backlog.stories, cycles.get, facts.warnings)),
        docs=tuple(ChangedDoc(visible(doc.path), doc.word) for doc in docs),
        role_costs=role_costs,
        remarks=told,
    )


def window(facts: BranchFacts) -> Backlog:
    """What a page can show of a huge plan: what is under way or blocked, the last that are done, the next in line."""
    stories = facts.backlog.stories
    if len(stories) <= SHOWN_STORIES:
        return facts.backlog
    standings = facts.standings
    done = [story for story, standing in standings.items() if standing in SETTLED_STANDINGS]
    waiting = [story for story, standing in standings.items() if standing is WAITING]
    hidden = {*done[:-SHOWN_DONE], *waiting[SHOWN_WAITING:]}
    return facts.backlog.model_copy(update={"stories": tuple(story for story in stories if story.id not in hidden)})


def figures(facts: BranchFacts, planning: PlanningCost, limits: SpendLimits, unjudged: int) -> tuple[Figure, ...]:
    spent = facts.spent
    spend = sum((each.spend for each in spent.values()), planning.spend)
    seconds = planning.seconds + sum(each.seconds for each in spent.values())
    of_minutes = f" of {duration(limits.minutes * 60)}" if limits.minutes is not None else ""
    return (
        *story_figures(facts),
        *tests_figure(facts, unjudged),
        *steps_figure(facts),
        Figure(
            token_count(spend.tokens, limits.tokens),
            money(spend.usd, limits.usd, unlimited=limits.none),
            joint=", ",
        ),
        Figure(f"{duration(seconds)}{of_minutes}", "of runner time"),
    )


def story_figures(facts: BranchFacts) -> Iterable[Figure]:
    standings = Counter(facts.standings.values())
    total = len(facts.backlog.stories)
    yield Figure(f"{standings[PROVEN]} of {total}", f"{named(total, 'story')} proven", strong=True)
    others = {UNTESTED: "done without tests", ALREADY_BUILT: "already built", SKIPPED: "skipped", ABORTED: "given up"}
    for standing, label in others.items():
        if standings[standing]:
            yield Figure(f"{standings[standing]} of {total}", label)


def tests_figure(facts: BranchFacts, unjudged: int) -> Iterable[Figure]:
    tests = [test for story in facts.begun() for test in facts.tests(story.id)]
    far = sum(account.tests for account in facts.accounts.values())
    total, passing = far + len(tests), far + sum(test.outcome == "passes" for test in tests)
    planned = sum(test.outcome == "fails as planned" for test in tests)
    if total:
        now = "passes" if 1 in (passing, total) else "pass"
        label = f"added {named(total, 'test')} {'passed at the last step' if unjudged else now}"
        yield Figure(f"{passing} of {total}", label + (f", {planned_text(planned)}" if planned else ""))


def steps_figure(facts: BranchFacts) -> Iterable[Figure]:
    claims = [(story, step) for story, step in facts.all_steps() if step.phase in GATED]
    counted = [claim for claim in claims if facts.proved(*claim) or facts.unproven(*claim)]
    far = sum(account.gates for account in facts.accounts.values())
    total, proved = far + len(counted), far + sum(facts.proved(*claim) for claim in counted)
    if total:
        yield Figure(f"{proved} of {total}", f"{named(total, 'gate')} proved")


def built(facts: BranchFacts) -> tuple[str, ...]:
    """One sentence for each story that stands, out of its design, after what the PRD is about."""
    said = []
    for story in facts.begun():
        cycle = facts.cycles[story.id]
        if cycle.design and facts.standing(story) in (PROVEN, ALREADY_BUILT, UNTESTED):
            said.append(f"{clip(plain(story.title), 120)}: {clip(plain(cycle.design.summary), 240)}")
    about = clip(plain(facts.prd.summary), 400)
    return (about, *said) if about and said else tuple(said)


def shown_write(write: RefusedWrite) -> RefusedWrite:
    return RefusedWrite(
        plain(write.story), plain(write.phase), visible(write.path), plain(write.code), clip(plain(write.message), 300)
    )


def costs(facts: BranchFacts, planning: PlanningCost) -> tuple[CostRow, ...]:
    """One row for each phase over all stories, one for attempts that led to no phase, and the total."""
    spent = facts.spent
    rows = [cost_row("plan", planning.spend, planning.seconds)] if planning != NO_PLANNING else []
    rows += [phase_cost(phase.value, [spent[phase.value]]) for phase in BOARD_PHASES if phase.value in spent]
    known = {phase.value for phase in BOARD_PHASES}
    others = [each for phase, each in spent.items() if phase not in known and each.spend.calls]
    if others:
        rows.append(phase_cost("given up", others))
    return (*rows, phase_cost("total", [PhaseTotal(planning.spend, planning.seconds), *spent.values()]))


def phase_cost(label: str, parts: Iterable[PhaseTotal]) -> CostRow:
    whole = tuple(parts)
    return cost_row(label, sum((each.spend for each in whole), Spend()), sum(each.seconds for each in whole))


def cost_row(label: str, spend: Spend, seconds: float) -> CostRow:
    usd = "no price known" if spend.usd is None else f"${spend.usd:,.4f}"
    return CostRow(
        label, spend.calls, spend.input_tokens, spend.cached_tokens, spend.output_tokens, usd, duration(seconds)
    )

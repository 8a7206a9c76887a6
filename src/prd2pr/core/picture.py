"""All that a pull request shows, as one frozen value. The Markdown body and the local page are both made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from prd2pr.core.ahead import Ahead, Outlook, ahead, order_story
from prd2pr.core.approval import ApprovalMode
from prd2pr.core.blocked import blocked
from prd2pr.core.checked import BASE_HOLDS, JOINED
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import Proof
from prd2pr.core.found import Found
from prd2pr.core.judgement.remarks import Remark
from prd2pr.core.moderation import alarms_of, evidence
from prd2pr.core.next_step import verify_command
from prd2pr.core.picture_board import board, planned_text, refusals
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
    anchor,
)
from prd2pr.core.picture_parts import (
    BOARD_PHASES,
    LONGEST_NAME,
    NO_LIMITS,
    ChangedDoc,
    CommitFacts,
    CommitRow,
    CostRow,
    Figure,
    NextStep,
    PlanningCost,
    PullPicture,
    RefusedWrite,
    SpendLimits,
    Tone,
)
from prd2pr.core.picture_steps import story_views
from prd2pr.core.picture_trace import requirement_rows, trace_rows, uncovered
from prd2pr.core.picture_whole import Whole
from prd2pr.core.records import UNTESTED_KINDS, Backlog, Cycle, Prd, Spend, Status, Step
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
) -> PullPicture:
    """`commits` and `proofs` by story and step; `strangers` are commits on the branch without a step: people's work.

    `following`: what is next, where more is known than the records say. `unjudged`: how many commits since the last
    step change more than docs. `files`: pictures, by their digest.
    """
    facts = BranchFacts(prd, backlog, status, cycles, proofs, commits, files)
    near = replace(facts, backlog=window(facts))
    head = head or f"prd2pr/{prd.id}"
    view = Outlook(Found(prd, status, backlog, cycles.get), mode, order_story(status, mode))
    following = following or ahead(view)
    requirements = requirement_rows(facts)
    commit_list = commit_rows(facts, tuple(strangers))
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
    standings = [(story.id, facts.standing(story)) for story in stories]
    done = [story for story, standing in standings if standing in SETTLED_STANDINGS]
    waiting = [story for story, standing in standings if standing is WAITING]
    hidden = {*done[:-SHOWN_DONE], *waiting[SHOWN_WAITING:]}
    return facts.backlog.model_copy(update={"stories": tuple(story for story in stories if story.id not in hidden)})


def figures(facts: BranchFacts, planning: PlanningCost, limits: SpendLimits, unjudged: int) -> tuple[Figure, ...]:
    steps = [step for _, step in facts.all_steps()]
    spend = sum((step.spend for step in steps), planning.spend)
    seconds = planning.seconds + sum(step.seconds for step in steps)
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
    standings = Counter(facts.standing(story).word for story in facts.backlog.stories)
    total = len(facts.backlog.stories)
    yield Figure(f"{standings[PROVEN.word]} of {total}", f"{named(total, 'story')} proven", strong=True)
    others = {UNTESTED: "done without tests", ALREADY_BUILT: "already built", SKIPPED: "skipped", ABORTED: "given up"}
    for standing, label in others.items():
        if standings[standing.word]:
            yield Figure(f"{standings[standing.word]} of {total}", label)


def tests_figure(facts: BranchFacts, unjudged: int) -> Iterable[Figure]:
    tests = [test for story in facts.backlog.stories for test in facts.tests(story.id)]
    passing = sum(test.outcome == "passes" for test in tests)
    planned = sum(test.outcome == "fails as planned" for test in tests)
    if tests:
        now = "passes" if 1 in (passing, len(tests)) else "pass"
        label = f"added {named(len(tests), 'test')} {'passed at the last step' if unjudged else now}"
        yield Figure(f"{passing} of {len(tests)}", label + (f", {planned_text(planned)}" if planned else ""))


def steps_figure(facts: BranchFacts) -> Iterable[Figure]:
    claims = [(story, step) for story, step in facts.all_steps() if step.phase in GATED]
    counted = [claim for claim in claims if facts.proved(*claim) or facts.unproven(*claim)]
    if counted:
        proved = sum(facts.proved(*claim) for claim in counted)
        yield Figure(f"{proved} of {len(counted)}", f"{named(len(counted), 'gate')} proved")


def built(facts: BranchFacts) -> tuple[str, ...]:
    """One sentence for each story that stands, out of its design, after what the PRD is about."""
    said = []
    for story in facts.backlog.stories:
        cycle = facts.cycles.get(story.id)
        if cycle and cycle.design and facts.standing(story) in (PROVEN, ALREADY_BUILT, UNTESTED):
            said.append(f"{clip(plain(story.title), 120)}: {clip(plain(cycle.design.summary), 240)}")
    about = clip(plain(facts.prd.summary), 400)
    return (about, *said) if about and said else tuple(said)


def shown_write(write: RefusedWrite) -> RefusedWrite:
    return RefusedWrite(
        plain(write.story), plain(write.phase), visible(write.path), plain(write.code), clip(plain(write.message), 300)
    )


def costs(facts: BranchFacts, planning: PlanningCost) -> tuple[CostRow, ...]:
    """One row for each phase over all stories, one for attempts that led to no phase, and the total."""
    steps = [step for _, step in facts.all_steps()]
    rows = [cost_row("plan", planning.spend, planning.seconds)] if planning != NO_PLANNING else []
    for phase in BOARD_PHASES:
        of_phase = [step for step in steps if step.phase is phase]
        if of_phase:
            rows.append(phase_cost(phase.value, of_phase))
    others = [step for step in steps if step.phase not in BOARD_PHASES and step.spend.calls]
    if others:
        rows.append(phase_cost("given up", others))
    total = sum((step.spend for step in steps), planning.spend)
    return (*rows, cost_row("total", total, planning.seconds + sum(step.seconds for step in steps)))


def phase_cost(label: str, steps: list[Step]) -> CostRow:
    return cost_row(label, sum((step.spend for step in steps), Spend()), sum(step.seconds for step in steps))


def cost_row(label: str, spend: Spend, seconds: float) -> CostRow:
    usd = "no price known" if spend.usd is None else f"${spend.usd:,.4f}"
    return CostRow(
        label, spend.calls, spend.input_tokens, spend.cached_tokens, spend.output_tokens, usd, duration(seconds)
    )


def commit_rows(facts: BranchFacts, strangers: tuple[CommitFacts, ...]) -> tuple[CommitRow, ...]:
    """In the order in which they were made, as far as their times tell."""
    rows = [stepped(facts, key, commit) for key, commit in facts.commits.items()]
    rows += [judged_with(commit, "no step: not made by prd2pr", "") for commit in strangers]
    return tuple(sorted(rows, key=lambda row: row.at))


def judged_with(commit: CommitFacts, otherwise: str, link: str) -> CommitRow:
    """Work that no step claims for this commit alone: a person's, or a draft."""
    if commit.proved_with:
        return commit_row(commit, f"proven as part of {commit.proved_with}", "proven", link)
    if commit.base_merge:
        return commit_row(commit, f"the base merged in: {BASE_HOLDS}", "proven", link)
    if commit.join:
        return commit_row(commit, f"{JOINED}: nothing written into it", "quiet", link)
    return commit_row(commit, otherwise, "unproven", link)


def stepped(facts: BranchFacts, key: Key, commit: CommitFacts) -> CommitRow:
    story, number = key
    step = next((step for step in facts.steps(story) if step.n == number), None)
    if step is None:
        return commit_row(commit, "plan and notes", "quiet", "")
    link = anchor("step", story, number)
    if step.draft and changes_code(facts, story, step):
        return judged_with(commit, "draft: no gate has judged it", link)
    if facts.unproven(story, step):
        return commit_row(commit, f"{step.phase} without proof", "unproven", link)
    if step.phase not in GATED:
        return commit_row(commit, step.phase.value, "quiet", link)
    if facts.kind(story) in UNTESTED_KINDS:
        return commit_row(commit, f"{step.phase}, no tests asked for", "quiet", link)
    return commit_row(commit, f"{step.phase} proven", "proven", link)


def changes_code(facts: BranchFacts, story: str, step: Step) -> bool:
    proof = facts.proof(story, step)
    return proof is None or proof.evidence.base_tree != proof.evidence.head_tree


def commit_row(commit: CommitFacts, proof: str, tone: Tone, link: str) -> CommitRow:
    return CommitRow(visible(commit.sha), clip(plain(commit.subject), 160), plain(commit.at), proof, tone, link)

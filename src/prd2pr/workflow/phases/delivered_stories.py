"""The phases of a story that the programmer delivers in a conversation.

A delivered story is proved as a whole before its first commit: first RED with its code withheld, then GREEN. Refusals
are reported in the conversation. Later stories of the same answer are applied on top of the accepted ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from prd2pr.agents.outputs.story_roles import StoryReport
from prd2pr.agents.prompts import render_next_delivery
from prd2pr.agents.roles import FUSED, PROGRAMMER
from prd2pr.agents.task import EarlierAttempt
from prd2pr.domain.backlog_ids import find_next_number
from prd2pr.domain.costs.estimate import estimate_written_tokens
from prd2pr.domain.evidence import TestResult
from prd2pr.domain.machines.approval import limit_to_chosen_sprint, list_approved_stories
from prd2pr.domain.machines.phase_transitions import PassedPhase, advance_cycle
from prd2pr.domain.questions import list_contradictions
from prd2pr.domain.records import SETTLED, UNTESTED_KINDS, CycleState, Design, Phase, Step, Story
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.planning.unmet_requirements import build_unmet_story
from prd2pr.verification.codebase import find_story_entries
from prd2pr.verification.stack_scope import choose_planned_stack
from prd2pr.workflow.conversation.deltas import apply_change, derive_design
from prd2pr.workflow.conversation.dialogue import recover_exchange, request_delivery
from prd2pr.workflow.conversation.history import (
    ConversationHistory,
    Delivery,
    DeliveryRequest,
    load_history,
    record_judged,
)
from prd2pr.workflow.phases.attempts import (
    JudgedAttempt,
    Position,
    Stuck,
    find_declaration_problem,
    find_undeclared_tests,
    format_failures_text,
    load_earlier_attempts,
    make_story_assignment,
    record_refusal,
)
from prd2pr.workflow.phases.example_trials import (
    ExampleTrial,
    judge_failed_examples,
    judge_red_with_examples,
    list_failed_examples,
    load_trial,
    refuse_for_examples,
)
from prd2pr.workflow.phases.judgment import (
    AcceptedPhase,
    PhaseOutcome,
    accept_already_built,
    drop_code_changes,
    find_last_codes,
    find_unmet,
    is_already_built,
    is_passing_at_once,
    judge_already_built,
    judge_design,
    judge_tree,
)
from prd2pr.workflow.phases.story_roles import ask_root_cause, attempt_texts
from prd2pr.workflow.roles.role_runner import Assignment
from prd2pr.workflow.session import Session

OUTPUT_SHARE = 0.5  # of the output limit, for the estimated stories of one answer
ESTIMATE_FACTOR = 3  # stories are assumed to need up to three times their estimate

OWN_FILES = "Its files are as you delivered them. Change what is wrong with `edit_file`, then submit it again."
OTHER_FILES = (
    "It no longer applies to the code accepted since, so its files are discarded. Read what has changed, write it "
    "again and submit it."
)
DECLARE_OR_RESTORE = (
    "If a requirement of the story changes what an existing test asserts, name the test and the requirement in "
    "`changed_tests` of `submit`; restore all others."
)
WAITING = "Your later stories {names} are set aside and applied again on top; do not submit them now."


@dataclass(frozen=True)
class ProvedStory:
    """A delivered story that the gates accept, with its design, its judged RED and the tree with its code."""

    delivery: Delivery
    tree: str
    design: Design
    red: JudgedAttempt | None = None  # None for a story that needs no tests
    built_before: AcceptedPhase | None = None


class DeliveredTree(NamedTuple):
    """A delivered story and its code tree on the current head."""

    delivery: Delivery
    tree: str


@dataclass(frozen=True)
class ProofAttempt:
    """Whether earlier attempts at the story were refused, and whether this is the last one allowed."""

    was_refused: bool
    is_last: bool


@dataclass(frozen=True)
class RefusedStory:
    """A delivered story that a gate refuses."""

    judged: JudgedAttempt


def run_delivered_design(session: Session, position: Position) -> PhaseOutcome:
    proved = deliver_story(session, position)
    if isinstance(proved, Stuck):
        return proved
    return AcceptedPhase(
        Phase.DESIGN, judge_design(session, position, proved.delivery.report.explanation), design=proved.design
    )


def run_delivered_red(session: Session, position: Position) -> PhaseOutcome:
    proved = deliver_story(session, position)
    if isinstance(proved, Stuck):
        return proved
    if proved.built_before:
        return proved.built_before
    assert proved.red is not None, "only a story with tests is in RED"
    return AcceptedPhase(Phase.RED, proved.red, withheld=proved.tree)


def run_delivered_green(session: Session, position: Position) -> PhaseOutcome | None:
    """Judge the code of a delivered story, or return None if the builder has to write it."""
    if position.story.kind in UNTESTED_KINDS:
        proved = deliver_story(session, position)
        return proved if isinstance(proved, Stuck) else judge_delivered_code(session, position, proved.tree)
    delivery = load_history(session).find_open(position.story.id, position.head)
    tree = find_tree(session, position, delivery) if delivery else None
    return judge_delivered_code(session, position, tree) if tree else None


def judge_delivered_code(session: Session, position: Position, tree: str) -> PhaseOutcome | None:
    """Judge the code after RED was committed. If it is refused, this counts as GREEN's first attempt."""
    judged = judge_tree(session, position, Phase.GREEN, tree)
    delivery = load_history(session).find_open(position.story.id, position.head)
    if delivery:
        record_judged(session, delivery, position.head, "accepted" if judged.verdict.accepted else "used")
    if judged.verdict.accepted:
        return AcceptedPhase(Phase.GREEN, judged)
    record_refusal(session, position, judged, session.config.attempts)
    return None


# --- proving a story --------------------------------------------------------------------------------------------------


def deliver_story(session: Session, position: Position) -> ProvedStory | Stuck:
    """Return a story that was delivered and proved, asking for it until no attempts are left."""
    story, limit = position.story, session.config.attempts
    recover_exchange(session, make_assignment(position))
    while True:
        history = load_history(session)
        delivery = history.find_open(story.id, position.head)
        earlier = load_refused(session, position)
        used = len(earlier) + history.count_returned(story.id, position.head)
        if delivery is None:
            if used >= limit:
                return Stuck(f"{story.id} was refused {used} times, last by {find_last_codes(earlier)}")
            ask_for_stories(session, position, history, earlier, used + 1)
            continue
        if delivery.report.status == "contradiction":
            record_judged(session, delivery, position.head, "accepted")
            return Stuck(f"the {PROGRAMMER.title} reports a contradiction: {delivery.report.explanation}", is_own=True)
        tree = find_tree(session, position, delivery)
        problem = delivery.problem or find_problem(session, position, delivery, tree)
        if problem or tree is None:
            record_judged(session, delivery, position.head, "returned", problem)
            continue
        attempt = ProofAttempt(was_refused=bool(earlier), is_last=used + 1 >= limit)
        declared = replace(position, declared=(*position.declared, *delivery.report.changed_tests))
        proved = prove_story(session, declared, DeliveredTree(delivery, tree), attempt)
        if isinstance(proved, ProvedStory):
            record_judged(session, delivery, position.head, "proved")
            return proved
        if unmet := find_unmet(position, proved.judged):
            record_judged(session, delivery, position.head, "returned", format_unmet(session, position, unmet))
            return unmet
        record_judged(session, delivery, position.head, "refused", format_refusal(proved.judged))
        is_repeated = tree in list_refused_trees(session, position)[:-1]
        record_refusal(session, position, replace(proved.judged, attempt=used + 1), limit)
        if is_repeated:
            return Stuck(f"{story.id}: the attempts repeat: the last one equals an earlier one")


def find_tree(session: Session, position: Position, delivery: Delivery) -> str | None:
    """Return the story's code tree on the current head, or None if its change no longer applies."""
    integrated = (story.id for story in position.state.backlog.stories if story.status in SETTLED)
    return apply_change(session.git, delivery.base, delivery.tree, position.code_tree, integrated)


def find_problem(session: Session, position: Position, delivery: Delivery, tree: str | None) -> str:
    """Return why a delivered story cannot be judged, or an empty string."""
    if tree is None:
        return OTHER_FILES
    if delivery.report.status == "nothing_to_do":
        return "A story always has an answer: write its tests, also if they pass already, and submit it as `done`."
    declared = delivery.report.changed_tests
    foreign = find_undeclared_tests(session, position, tree, (*position.declared, *declared))
    if foreign:
        return f"It changes tests outside its own directory: {', '.join(foreign)}. {DECLARE_OR_RESTORE}"
    return find_declaration_problem(session, position, declared)


def prove_story(
    session: Session, position: Position, delivered: DeliveredTree, attempt: ProofAttempt
) -> ProvedStory | RefusedStory:
    """Judge RED without the code, then GREEN, each as if the preceding phases were committed."""
    (delivery, tree), story, rules = delivered, position.story, session.constraints.paths
    stack = choose_planned_stack(session.services.gathering.stacks, story, position.cycle.design)
    design = position.cycle.design or derive_design(
        session.git, (position.code_tree, tree), stack, rules, delivery.report.explanation
    )
    designed = position
    if position.cycle.state is CycleState.DESIGN:
        designed = pass_in_advance(session, position, judge_design(session, position), design)
    if story.kind in UNTESTED_KINDS:
        green = judge_tree(session, designed, Phase.GREEN, tree)
        return ProvedStory(delivery, tree, design) if green.verdict.accepted else RefusedStory(green)
    trial = load_trial(session, designed, list_stories_ahead(session, position))
    while True:  # each round drops an example
        outcome = prove_with_examples(session, designed, delivered, trial, attempt)
        if not isinstance(outcome, ExampleTrial):
            return outcome
        trial = outcome


def prove_with_examples(
    session: Session, position: Position, delivered: DeliveredTree, trial: ExampleTrial, attempt: ProofAttempt
) -> ProvedStory | RefusedStory | ExampleTrial:
    """Judge RED and GREEN with the hidden examples. If the judge drops some examples, return the remaining ones."""
    (delivery, tree), design, story = delivered, position.cycle.design, position.story
    assert design is not None, "passed in advance"
    tests_only = drop_code_changes(session, position.base_tree, tree)
    red, trial, lacking = judge_red_with_examples(session, position, tests_only, trial)
    red = replace(red, explanation=delivery.report.explanation, work_tree=tree)
    if (story.verify_only and is_passing_at_once(red)) or (attempt.was_refused and is_already_built(red)):
        judged = judge_already_built(session, position, replace(red, work_tree=tests_only))
        built = accept_already_built(judged)
        if isinstance(built, AcceptedPhase):
            return ProvedStory(delivery, tree, design, red, built)
        return RefusedStory(judged)
    if not red.verdict.accepted:
        return RefusedStory(red)
    green = red if lacking else judge_tree(session, pass_in_advance(session, position, red), Phase.GREEN, tree)
    failing = lacking or list_failed_examples(trial, green)
    if not failing:
        return ProvedStory(delivery, tree, design, red) if green.verdict.accepted else RefusedStory(green)
    rulings = judge_failed_examples(session, position, trial, failing, is_last=attempt.is_last)
    if any(each.verdict == "code wrong" for each in rulings):
        return RefusedStory(refuse_for_examples(green, trial, rulings))
    return trial.apply(rulings)


def format_unmet(session: Session, position: Position, unmet: Stuck) -> str:
    """Return the message that tells the programmer that unmet criteria move from a verify-only story to a new story."""
    name = f"{session.prd.id}-{find_next_number(session.prd.id, position.state.backlog)}"
    added = build_unmet_story(position.story, name, unmet.unmet)
    criteria = (f"{each.id}: {each.text}" for each in added.criteria)
    return "\n".join(
        (
            f"{unmet.reason}: their tests fail. They are story {name} now, which is built like the others:",
            *criteria,
            f"Take these tests out of {position.story.id} and submit it again, then {name}.",
        )
    )


def pass_in_advance(
    session: Session, position: Position, judged: JudgedAttempt, design: Design | None = None
) -> Position:
    """Return the position after a phase that is accepted but not committed yet."""
    step = Step(
        n=len(position.cycle.steps) + 1,
        phase=judged.verdict.phase,
        at=session.clock.now(),
        code_tree=judged.code_tree,
        evidence="",
    )
    entries = find_story_entries(session.git, judged.code_tree, position.story.id)
    passed = PassedPhase(
        step=step,
        verdict=judged.verdict,
        evidence=judged.evidence,
        story=position.story,
        design=design,
        test_blobs=tuple((entry.path, entry.blob) for entry in entries),
    )
    cycle = advance_cycle(position.cycle, passed)
    is_red = judged.verdict.phase is Phase.RED
    return replace(
        position, cycle=cycle, code_tree=judged.code_tree, judged_from="" if is_red else position.judged_from
    )


def load_refused(session: Session, position: Position) -> tuple[EarlierAttempt, ...]:
    """Return the refused attempts at the story, in RED and in GREEN, which are judged together."""
    found = [
        *load_earlier_attempts(session, position, Phase.RED),
        *load_earlier_attempts(session, position, Phase.GREEN),
    ]
    return tuple(found)


def list_refused_trees(session: Session, position: Position) -> list[str]:
    entries = session.services.journal.entries_since(position.head)
    return [
        entry.facts["tree"]
        for entry in entries
        if entry.kind == "refused" and entry.facts["story"] == position.story.id
    ]


def format_refusal(judged: JudgedAttempt) -> str:
    is_red = judged.verdict.phase is Phase.RED
    named = {each.test for each in judged.verdict.errors}

    def is_unexpected(result: TestResult) -> bool:
        """Return whether to show the failure. Failing tests are expected in RED and not shown."""
        is_collected = result.failure is None or result.failure.stage != "collect"
        return not is_red or result.id in named or not is_collected

    attempt = EarlierAttempt(
        1, judged.verdict.findings, output=format_failures_text(judged.evidence, is_shown=is_unexpected)
    )
    texts = attempt_texts(attempt)
    phase = "RED, without the code" if is_red else "GREEN, with the code"
    listed = (text for name, text in texts.items() if text and "wrote" not in name)
    is_regression = any(each.code == "GRN304" for each in judged.verdict.errors)
    return "\n".join((f"Refused in {phase}:", *listed, *([DECLARE_OR_RESTORE] if is_regression else ())))


# --- asking -----------------------------------------------------------------------------------------------------------


def ask_for_stories(
    session: Session,
    position: Position,
    history: ConversationHistory,
    earlier: tuple[EarlierAttempt, ...],
    number: int,
) -> None:
    """Ask for the story, and for as many of the next stories as fit into the same answer."""
    story, limit = position.story, session.config.attempts
    last = next((each for each in reversed(history.deliveries) if each.story == story.id), None)
    comes_back = last is not None and last.outcome in ("refused", "returned")
    planned = list_stories_ahead(session, position)
    waiting = tuple(each.id for each in planned if each.id != story.id and history.find_open(each.id, position.head))
    fresh = tuple(each for each in planned if each.id not in waiting)
    ahead = tuple(takewhile(lambda each: each.id not in waiting, planned))
    batch = ahead if comes_back and waiting else choose_batch(fresh)
    start, returned = position.code_tree, []
    if comes_back and last is not None:
        own = find_tree(session, position, last)
        start = own or start
        cause = ask_root_cause(session, position, FUSED, earlier) if number == limit and earlier else ""
        files = OWN_FILES if own else OTHER_FILES
        text = WAITING.format(names=", ".join(waiting)) if waiting else ""
        returned = [
            {
                "story": story.id,
                "number": number,
                "limit": limit,
                "text": last.reason,
                "advice": cause,
                "files": f"{files} {text}".strip(),
            }
        ]
    elif history.is_cut and not waiting:
        start = apply_rest(session, position, history) or start
    text = render_next_delivery(
        {
            "judged": [f"`{each.story}`: accepted" for each in history.news if each.outcome == "proved"],
            "returned": returned,
            "refactored": "",
            "now": [each.id for each in batch],
            "later": len(batch) < len(fresh),
            "cut": history.is_cut and bool(history.messages),
            "advice": position.advice,
        }
    )
    order = DeliveryRequest(
        story=story.id,
        wanted=tuple(each.id for each in batch),
        phase=Phase.RED,
        base=position.code_tree,
        start=start,
        text=text,
        number=history.count_attempts(story.id, Phase.RED) + 1,
        strong=number == limit > 1,
    )
    request_delivery(session, make_assignment(position), order, planned)


def apply_rest(session: Session, position: Position, history: ConversationHistory) -> str | None:
    """Return the head's code with the files that an incomplete answer wrote after its last `submit`."""
    base, tree = history.rest
    integrated = (story.id for story in position.state.backlog.stories if story.status in SETTLED)
    return apply_change(session.git, base, tree, position.code_tree, integrated) if base else None


def make_assignment(position: Position) -> Assignment[StoryReport]:
    policy = build_write_policy(Phase.RED, position.story.id, fused=True)
    return make_story_assignment(position, PROGRAMMER, policy)


def list_stories_ahead(session: Session, position: Position) -> tuple[Story, ...]:
    """List the stories that can be built one after the other, beginning with this one."""
    if session.target.story:
        return (position.story,)
    state, backlog = position.state, position.state.backlog
    sprint = state.sprint(state.status.sprint) if state.status.sprint else None
    approved = limit_to_chosen_sprint(
        list_approved_stories(session.constraints.approval, state.status, session.prd, backlog),
        sprint,
        state.status.state,
    )
    known = {story.id for story in backlog.stories}
    ready = {position.story.id, *(story.id for story in backlog.stories if story.status in SETTLED)}
    found = [position.story]
    for story in backlog.stories:
        cycle = state.cycle(story.id)
        is_fresh = cycle is None or (cycle.state in (CycleState.DESIGN, CycleState.TEST_RED) and not cycle.paused)
        is_free = story.status != "blocked" and (approved is None or story.id in approved)
        is_free = is_free and (session.config.assume or not list_contradictions(backlog, story))
        if story.id not in ready and is_fresh and is_free and ready.issuperset(known.intersection(story.depends_on)):
            found.append(story)
            ready.add(story.id)
    return tuple(found)


def choose_batch(stories: tuple[Story, ...]) -> tuple[Story, ...]:
    """Return as many stories as fit into one answer according to their estimates, but at least one."""
    room = int(PROGRAMMER.max_tokens * OUTPUT_SHARE)
    chosen: list[Story] = []
    for story in stories:
        room -= ESTIMATE_FACTOR * estimate_written_tokens(story)
        if chosen and room < 0:
            break
        chosen.append(story)
    return tuple(chosen)


# --- refactoring ------------------------------------------------------------------------------------------------------


def ask_for_refactoring(session: Session, position: Position, measures: str, number: int) -> Delivery:
    """Ask for a refactoring in the same conversation, unless a killed run has already received it."""
    recover_exchange(session, make_assignment(position))
    story = position.story.id
    found = load_history(session).find_open(story, position.head, Phase.REFACTOR)
    if found is not None:
        return found
    history = load_history(session)
    last = next((each for each in reversed(history.deliveries) if each.story == story), None)
    files = "Its files are as they were before."
    returned = (
        [{"story": story, "number": 0, "text": last.reason, "advice": "", "files": files}]
        if last is not None and last.phase is Phase.REFACTOR and last.reason
        else []
    )
    text = render_next_delivery({"returned": returned, "refactored": story, "measures": measures})
    order = DeliveryRequest(
        story=story,
        wanted=(story,),
        phase=Phase.REFACTOR,
        base=position.code_tree,
        start=position.code_tree,
        text=text,
        number=number,
    )
    request_delivery(session, make_assignment(position), order, list_stories_ahead(session, position))
    delivered = load_history(session).find_open(story, position.head, Phase.REFACTOR)
    assert delivered is not None, "an answer delivered the only story that it could"
    return delivered


def find_story_that_waits(session: Session, position: Position, paths: tuple[str, ...]) -> str:
    """Return a delivered story that is still to be judged and that changes one of these files, or an empty string."""
    for each in load_history(session).deliveries:
        if each.story != position.story.id and each.outcome == "":
            changed = {change.path for change in session.git.diff(each.base, each.tree)}
            if changed.intersection(paths):
                return each.story
    return ""

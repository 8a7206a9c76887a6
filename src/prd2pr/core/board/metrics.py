"""How the work goes: what crossed its gates at once, what refused the rest, how many faults the tests noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from prd2pr.core.bite.record import Bite
from prd2pr.core.board.costs import day_of
from prd2pr.core.board.source import PrdSource
from prd2pr.core.board.view import CodeMeasure, ColumnCount, DayCount, MetricsView, PhaseMeasure, added_counts
from prd2pr.core.burndown import settled_at
from prd2pr.core.findings import FINDINGS
from prd2pr.core.picture_facts import PROVEN, BranchFacts
from prd2pr.core.picture_parts import BOARD_PHASES
from prd2pr.core.records import Phase, RefusedAttempt, Spend, Story
from prd2pr.core.wording import plain


def prd_metrics(source: PrdSource, counts: tuple[ColumnCount, ...]) -> MetricsView:
    facts = source.facts
    stories = facts.backlog.stories
    tests = [test for story in stories for test in facts.tests(story.id)]
    bites = [bite for story in stories if (bite := bite_of(facts, story)) is not None]
    return MetricsView(
        stories=len(stories),
        proven=sum(facts.standing(story) is PROVEN for story in stories),
        counts=counts,
        tests=sum(test.outcome == "passes" for test in tests),
        tests_in_all=len(tests),
        faults=sum(bite.killed for bite in bites),
        faults_in_all=sum(len(bite.judged) for bite in bites),
        phases=tuple(phase_measure(facts, phase) for phase in BOARD_PHASES),
        codes=code_measures(Counter(plain(code) for each in refused_in(facts) for code in set(each.codes))),
        finished=day_counts(Counter(day for story in stories if (day := settled_on(facts, story)))),
    )


def added_metrics(metrics: Iterable[MetricsView]) -> MetricsView:
    listed = tuple(metrics)
    codes: Counter[str] = Counter()
    days: Counter[str] = Counter()
    for each in listed:
        codes.update({code.code: code.refused for code in each.codes})
        days.update({day.day: day.stories for day in each.finished})
    return MetricsView(
        stories=sum(each.stories for each in listed),
        proven=sum(each.proven for each in listed),
        counts=added_counts(count for each in listed for count in each.counts),
        tests=sum(each.tests for each in listed),
        tests_in_all=sum(each.tests_in_all for each in listed),
        faults=sum(each.faults for each in listed),
        faults_in_all=sum(each.faults_in_all for each in listed),
        phases=tuple(
            added_phase(phase.value, [each for view in listed for each in view.phases if each.phase == phase.value])
            for phase in BOARD_PHASES
        ),
        codes=code_measures(codes),
        finished=day_counts(days),
    )


def bite_of(facts: BranchFacts, story: Story) -> Bite | None:
    """Of the last step that measured it, as the board tells it."""
    steps = (facts.last_step(story.id, phase) for phase in (Phase.REFACTOR, Phase.GREEN))
    proofs = (facts.proof(story.id, step) for step in steps if step)
    return next((bite for proof in proofs if proof and (bite := proof.evidence.bite) and bite.judged), None)


def settled_on(facts: BranchFacts, story: Story) -> str:
    return day_of(settled_at(story, facts.cycles.get(story.id)) or "")


def refused_in(facts: BranchFacts) -> Iterable[RefusedAttempt]:
    """By gates; what people pushed is counted as no attempt."""
    for story in facts.backlog.stories:
        cycle = facts.cycles.get(story.id)
        yield from (each for each in (cycle.refused if cycle else ()) if each.attempt > 0)


def phase_measure(facts: BranchFacts, phase: Phase) -> PhaseMeasure:
    steps = [step for _, step in facts.all_steps() if step.phase is phase]
    return PhaseMeasure(
        phase.value,
        crossed=len(steps),
        at_first=sum(step.attempts <= 1 for step in steps),
        refused=sum(each.phase is phase for each in refused_in(facts)),
        seconds=sum(step.seconds for step in steps),
        spend=sum((step.spend for step in steps), Spend()),
    )


def added_phase(phase: str, measures: list[PhaseMeasure]) -> PhaseMeasure:
    return PhaseMeasure(
        phase,
        sum(each.crossed for each in measures),
        sum(each.at_first for each in measures),
        sum(each.refused for each in measures),
        sum(each.seconds for each in measures),
        sum((each.spend for each in measures), Spend()),
    )


def code_measures(codes: Counter[str]) -> tuple[CodeMeasure, ...]:
    ordered = sorted(codes.items(), key=lambda each: (-each[1], each[0]))
    return tuple(CodeMeasure(code, refused, title_of(code)) for code, refused in ordered)


def title_of(code: str) -> str:
    known = FINDINGS.get(code)
    return known.title if known else ""


def day_counts(days: Counter[str]) -> tuple[DayCount, ...]:
    return tuple(DayCount(day, stories) for day, stories in sorted(days.items()))

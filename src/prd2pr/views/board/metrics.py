"""Metrics of a PRD: phases passed at the first attempt, refusals by code, mutants killed, stories per day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import get_args

from prd2pr.domain.records import Phase, RefusedAttempt, Spend, Story, TestFile, TestFileStatus
from prd2pr.domain.wording import clean_line
from prd2pr.verification.findings import FINDINGS
from prd2pr.views.board.costs import parse_day
from prd2pr.views.board.models import CodeMeasure, CoverageMeasure, DayCount, MetricsView, PhaseMeasure, TestFileCount
from prd2pr.views.board.source import PrdSource
from prd2pr.views.burndown import find_settled_time
from prd2pr.views.models import BOARD_PHASES, ColumnCount, sum_column_counts
from prd2pr.views.stories.facts import PROVEN, MutationTotals, PrdFacts


def compute_prd_metrics(source: PrdSource, counts: tuple[ColumnCount, ...]) -> MetricsView:
    facts = source.facts
    stories = facts.backlog.stories
    tests = [test for story in stories for test in facts.tests(story.id)]
    mutations = [mutation for story in stories if (mutation := find_mutation_totals(facts, story)) is not None]
    return MetricsView(
        stories=len(stories),
        proven=sum(facts.progress(story) is PROVEN for story in stories),
        counts=counts,
        tests=sum(test.outcome == "passes" for test in tests),
        tests_in_all=len(tests),
        faults=sum(mutation.killed for mutation in mutations),
        faults_in_all=sum(mutation.judged for mutation in mutations),
        phases=tuple(measure_phase(facts, phase) for phase in BOARD_PHASES),
        codes=rank_codes(
            Counter(clean_line(code) for each in iter_refused_attempts(facts) for code in set(each.codes))
        ),
        finished=sort_day_counts(Counter(day for story in stories if (day := find_settled_day(facts, story)))),
        test_files=make_test_file_counts(
            Counter(file.status for story in stories for file in find_test_files(facts, story))
        ),
        coverage=tuple(
            CoverageMeasure(at, facts.prd.id, story, each.statements, each.executed, each.share, each.own)
            for at, story, each in facts.line_coverages
        ),
    )


def sum_metrics(metrics: Iterable[MetricsView]) -> MetricsView:
    listed = tuple(metrics)
    codes: Counter[str] = Counter()
    days: Counter[str] = Counter()
    files: Counter[TestFileStatus] = Counter()
    for each in listed:
        codes.update({code.code: code.refused for code in each.codes})
        days.update({day.day: day.stories for day in each.finished})
        files.update({count.status: count.files for count in each.test_files})
    return MetricsView(
        stories=sum(each.stories for each in listed),
        proven=sum(each.proven for each in listed),
        counts=sum_column_counts(count for each in listed for count in each.counts),
        tests=sum(each.tests for each in listed),
        tests_in_all=sum(each.tests_in_all for each in listed),
        faults=sum(each.faults for each in listed),
        faults_in_all=sum(each.faults_in_all for each in listed),
        phases=tuple(
            sum_phase(phase.value, [each for view in listed for each in view.phases if each.phase == phase.value])
            for phase in BOARD_PHASES
        ),
        codes=rank_codes(codes),
        finished=sort_day_counts(days),
        test_files=make_test_file_counts(files),
        coverage=tuple(sorted((point for each in listed for point in each.coverage), key=lambda point: point.at)),
    )


def find_test_files(facts: PrdFacts, story: Story) -> tuple[TestFile, ...]:
    cycle = facts.cycles.get(story.id)
    return cycle.test_files if cycle else ()


def make_test_file_counts(counts: Counter[TestFileStatus]) -> tuple[TestFileCount, ...]:
    return tuple(TestFileCount(status, counts[status]) for status in get_args(TestFileStatus))


def find_mutation_totals(facts: PrdFacts, story: Story) -> MutationTotals | None:
    """Return the totals of the last step with mutation testing."""
    steps = (facts.last_step(story.id, phase) for phase in (Phase.REFACTOR, Phase.GREEN))
    proofs = (facts.proof_summary(story.id, step) for step in steps if step)
    return next((proof.mutation for proof in proofs if proof and proof.mutation and proof.mutation.judged), None)


def find_settled_day(facts: PrdFacts, story: Story) -> str:
    return parse_day(find_settled_time(story, facts.cycles.get(story.id)) or "")


def iter_refused_attempts(facts: PrdFacts) -> Iterable[RefusedAttempt]:
    """Yield the attempts that gates refused. Commits by people do not count as attempts."""
    for story in facts.backlog.stories:
        cycle = facts.cycles.get(story.id)
        yield from (each for each in (cycle.refused if cycle else ()) if each.attempt > 0)


def measure_phase(facts: PrdFacts, phase: Phase) -> PhaseMeasure:
    steps = [step for _, step in facts.all_steps() if step.phase is phase]
    return PhaseMeasure(
        phase.value,
        crossed=len(steps),
        at_first=sum(step.attempts <= 1 for step in steps),
        refused=sum(each.phase is phase for each in iter_refused_attempts(facts)),
        seconds=sum(step.seconds for step in steps),
        spend=sum((step.spend for step in steps), Spend()),
    )


def sum_phase(phase: str, measures: list[PhaseMeasure]) -> PhaseMeasure:
    return PhaseMeasure(
        phase,
        sum(each.crossed for each in measures),
        sum(each.at_first for each in measures),
        sum(each.refused for each in measures),
        sum(each.seconds for each in measures),
        sum((each.spend for each in measures), Spend()),
    )


def rank_codes(codes: Counter[str]) -> tuple[CodeMeasure, ...]:
    ordered = sorted(codes.items(), key=lambda each: (-each[1], each[0]))
    return tuple(CodeMeasure(code, refused, find_finding_title(code)) for code, refused in ordered)


def find_finding_title(code: str) -> str:
    known = FINDINGS.get(code)
    return known.title if known else ""


def sort_day_counts(days: Counter[str]) -> tuple[DayCount, ...]:
    return tuple(DayCount(day, stories) for day, stories in sorted(days.items()))

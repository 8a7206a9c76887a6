"""The trace: requirement → story → criterion → test → commit → verdict.

A requirement is judged by its own criteria and the tests that name them, not by whether its story is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from prd2pr.domain.records import Criterion, Requirement, Step, Story
from prd2pr.domain.wording import clean_line, clip, inflect_noun
from prd2pr.prd.requirement_ids import find_mentioned_ids, get_requirement_key
from prd2pr.views.models import (
    VERIFIED_STATUSES,
    RequirementRow,
    RequirementStatus,
    Tone,
    TracedTest,
    TraceRow,
    make_html_anchor,
)
from prd2pr.views.stories.facts import (
    ABORTED,
    ALREADY_BUILT,
    PROVEN,
    SETTLED_PROGRESS,
    SKIPPED,
    UNPROVEN,
    UNTESTED,
    PrdFacts,
    RequirementCoverage,
    StoryProgress,
)

NO_CRITERION = Criterion(id="", text="")
MAX_NAMED_STORIES = 20
MAX_REASON = 200
STATUSES: dict[StoryProgress, RequirementStatus] = {PROVEN: "proven", ALREADY_BUILT: "already implemented"}
LEFT_OUT = {SKIPPED: "skipped", ABORTED: "given up"}
TONES: dict[RequirementStatus, Tone] = {
    "proven": "proven",
    "already implemented": "proven",
    "partly": "unproven",
    "indirect": "unproven",
    "untested": "unproven",
    "excluded": "quiet",
    "not covered": "refused",
    "open question": "unproven",
    "failing": "refused",
    "pending": "waiting",
}

Judgment = tuple[RequirementStatus, str]


# --- requirements -----------------------------------------------------------------------------------------------------


def build_requirement_rows(facts: PrdFacts, wanted: Iterable[Requirement] | None = None) -> tuple[RequirementRow, ...]:
    """Build the rows of the given or all requirements, and rows for open questions and excluded requirements."""
    if wanted is not None:
        return tuple(build_requirement_row(facts, each) for each in wanted)
    others: tuple[tuple[Requirement, RequirementStatus, str], ...] = (
        *((each, "open question", "open question") for each in facts.unplanned.questions),
        *((each, "excluded", "excluded: out of scope") for each in facts.unplanned.excluded),
    )
    return (
        *(build_requirement_row(facts, each) for each in facts.prd.requirements),
        *(
            replace(format_requirement_row(each, (), status, verdict), planned=False)
            for each, status, verdict in others
        ),
    )


def build_requirement_row(facts: PrdFacts, requirement: Requirement) -> RequirementRow:
    own = list_own_criteria(facts, requirement)
    by = facts.requirement_coverage(find_covering_keys(facts, requirement))
    stories = tuple(dict.fromkeys((*(story.id for story, _ in own), *by.stories)))
    return format_requirement_row(requirement, stories, *judge_requirement(facts, requirement))


def format_requirement_row(
    requirement: Requirement, stories: Sequence[str], status: RequirementStatus, verdict: str
) -> RequirementRow:
    rest = [f"and {len(stories) - MAX_NAMED_STORIES} more"] if len(stories) > MAX_NAMED_STORIES else []
    working = status == "pending" and not verdict.startswith("0 of")
    return RequirementRow(
        id=clean_line(requirement.id),
        text=clip(clean_line(requirement.text), 240),
        stories=(*map(clean_line, stories[:MAX_NAMED_STORIES]), *rest),
        verdict=clip(clean_line(verdict), MAX_REASON + 40),
        tone="working" if working else TONES[status],
        status=status,
    )


def find_covering_keys(facts: PrdFacts, requirement: Requirement) -> frozenset[str]:
    """Return the keys by which stories refer to a requirement: its own, those of its parts, or that of its parent."""
    key = get_requirement_key(requirement.id)
    parts = {get_requirement_key(part.id) for part in facts.parts.get(key, ())}
    for keys in ({key}, parts, {get_requirement_key(requirement.parent)} if requirement.parent else set()):
        if any(each in facts.by_requirement for each in keys):
            return frozenset(keys)
    return frozenset()


def list_own_criteria(facts: PrdFacts, requirement: Requirement) -> tuple[tuple[Story, Criterion], ...]:
    """Return the criteria that come from a requirement or from the PRD's acceptance criteria for it."""
    key = get_requirement_key(requirement.id)
    accepting = (get_requirement_key(part.id) for part in facts.parts.get(key, ()) if part.kind == "acceptance")
    found = {
        criterion.id: (story, criterion)
        for each in (key, *accepting)
        for story, criterion in facts.criteria_by_requirement.get(each, ())
    }
    return tuple(found.values())


def judge_requirement(facts: PrdFacts, requirement: Requirement) -> Judgment:
    if own := list_own_criteria(facts, requirement):
        return judge_own_criteria(facts, own)
    parts = [each for each in facts.parts.get(get_requirement_key(requirement.id), ()) if each.kind != "acceptance"]
    judged = [judge_requirement(facts, part)[0] for part in parts]
    verified = sum(each in VERIFIED_STATUSES for each in judged)
    text = f"{verified} of {len(judged)} {inflect_noun(len(judged), 'part')} proven"
    if "pending" in judged:
        return "pending", text
    if judged and verified == len(judged):
        return ("proven", text) if "proven" in judged else ("already implemented", "verified as already implemented")
    return judge_indirect_coverage(
        facts, requirement, facts.requirement_coverage(find_covering_keys(facts, requirement))
    )


def judge_own_criteria(facts: PrdFacts, own: Sequence[tuple[Story, Criterion]]) -> Judgment:
    """Judge a requirement by its own criteria."""
    verdicts = [judge_criterion_status(facts, story, criterion) for story, criterion in own]
    counts = Counter(verdicts)
    proven, verified = counts["proven"], counts["proven"] + counts["already implemented"]
    text = f"{verified} of {len(own)} {'criterion' if len(own) == 1 else 'criteria'} proven"
    if not proven and verified == len(own):
        return "already implemented", "verified as already implemented"
    if verified == len(own):
        return "proven", "proven" if proven == verified else "proven, partly as already implemented"
    if counts["failing"] or counts["pending"]:
        return ("failing", "a test does not pass") if counts["failing"] else ("pending", text)
    reasons = dict.fromkeys(
        format_open_reason(facts, story, criterion, verdict)
        for (story, criterion), verdict in zip(own, verdicts, strict=True)
        if verdict not in VERIFIED_STATUSES
    )
    status: RequirementStatus = "partly" if verified else "excluded" if counts["excluded"] == len(own) else "untested"
    return status, f"{text if verified else status}: {', '.join(reasons)}"


def judge_criterion_status(facts: PrdFacts, story: Story, criterion: Criterion) -> RequirementStatus:
    progress, account = facts.progress(story), facts.accounts.get(story.id)
    tests = () if account else find_criterion_tests(facts, story.id, criterion.id)
    named = criterion.id in account.traced if account else bool(tests)
    if progress in LEFT_OUT:
        return "excluded"
    if any(test.tone == "refused" for test in tests):
        return "failing"
    if progress not in SETTLED_PROGRESS:
        return "pending"
    return STATUSES.get(progress, "untested") if named else "untested"


def format_open_reason(facts: PrdFacts, story: Story, criterion: Criterion, status: RequirementStatus) -> str:
    progress, name = facts.progress(story), clean_line(story.id)
    if status == "excluded":
        return f"{name} was {LEFT_OUT[progress]}"
    if progress is UNTESTED:
        return f"{name} is {story.kind}, which needs no tests"
    return f"{name} is {progress.word}" if progress is UNPROVEN else f"no test names {clean_line(criterion.id)}"


def judge_indirect_coverage(facts: PrdFacts, requirement: Requirement, by: RequirementCoverage) -> Judgment:
    """Judge a requirement without own criteria by the stories that name it."""
    stories, counts = by.stories, by.progress_counts
    if not stories:
        return judge_without_story(facts, requirement)
    if counts.keys() <= LEFT_OUT.keys():
        dropped = (
            f"{clean_line(story)} was {LEFT_OUT[facts.progress_by_story[story]]}"
            for story in stories[:MAX_NAMED_STORIES]
        )
        return "excluded", f"excluded: {', '.join(dropped)}"
    if counts.keys() == {UNTESTED}:
        kinds = dict.fromkeys(facts.kind(story) for story in stories)
        return "untested", f"untested: {' and '.join(kinds)} stories need no tests"
    if all(progress in SETTLED_PROGRESS for progress in counts):
        return "indirect", "covered only indirectly: no criterion comes from it"
    done = sum(counts[progress] for progress in SETTLED_PROGRESS)
    return "pending", f"{done} of {len(stories)} {inflect_noun(len(stories), 'story')} done"


def judge_without_story(facts: PrdFacts, requirement: Requirement) -> Judgment:
    """Judge a requirement that no story names by the plan, which asks a question about it or considers it met."""
    key = get_requirement_key(requirement.id)
    stated = next((each for each in facts.backlog.classified if get_requirement_key(each.id) == key), None)
    if stated and stated.status == "not_a_requirement":
        return "excluded", clip(f"excluded: not a requirement: {clean_line(stated.note)}", MAX_REASON)
    if question := find_text_about(key, facts.backlog.questions):
        return "open question", f"open question: {question}"
    if assumption := find_text_about(key, facts.backlog.assumptions):
        return "untested", f"untested: {assumption}"
    return "not covered", "no story covers it"


def find_text_about(key: str, texts: Iterable[str]) -> str:
    """Return the first text that names a requirement, clipped, or an empty string."""
    about = (text for text in texts if key in map(get_requirement_key, find_mentioned_ids(text)))
    return clip(clean_line(next(about, "")), MAX_REASON)


def list_uncovered_requirements(rows: Iterable[RequirementRow]) -> tuple[str, ...]:
    """List the requirements that no test proves directly, one line for each reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.is_uncovered:
            found.setdefault(row.verdict, []).append(row.id)
    return tuple(f"{', '.join(names)} ({verdict})" for verdict, names in found.items())


# --- criteria ---------------------------------------------------------------------------------------------------------


def iter_trace_rows(facts: PrdFacts) -> Iterator[TraceRow]:
    """Yield the trace of all stories, one story after the other."""
    for story in facts.backlog.stories:
        for criterion in story.criteria or (NO_CRITERION,):
            yield build_trace_row(facts, story, criterion)


def build_trace_row(facts: PrdFacts, story: Story, criterion: Criterion) -> TraceRow:
    tests = find_criterion_tests(facts, story.id, criterion.id)
    step = find_last_proved_step(facts, story.id)
    verdict, tone = judge_criterion(facts.progress(story), story, tests)
    return TraceRow(
        requirements=tuple(map(clean_line, facts.criterion_requirements(story, criterion))),
        story=clean_line(story.id),
        id=clean_line(criterion.id),
        text=clip(clean_line(criterion.text), 240),
        tests=tests,
        commit=facts.sha(story.id, step) if step else "",
        anchor=make_html_anchor("step", story.id, step.n) if step else make_html_anchor("story", story.id),
        verdict=verdict,
        tone=tone,
    )


def find_criterion_tests(facts: PrdFacts, story: str, criterion: str) -> tuple[TracedTest, ...]:
    """Return the tests that name the criterion, with their current outcome."""
    return facts.criterion_tests(story).get(criterion, ())


def find_last_proved_step(facts: PrdFacts, story: str) -> Step | None:
    steps = [step for step in facts.steps(story) if facts.is_proved(story, step) and facts.sha(story, step)]
    return steps[-1] if steps else None


def judge_criterion(progress: StoryProgress, story: Story, tests: Sequence[TracedTest]) -> tuple[str, Tone]:
    if progress is UNTESTED or progress in LEFT_OUT or not story.criteria:
        return progress.word, progress.tone
    if not tests:
        return ("no test named", "unproven") if progress in SETTLED_PROGRESS else ("no test yet", "waiting")
    if any(test.tone == "refused" for test in tests):
        return "a test does not pass", "refused"
    if progress in STATUSES:
        return ("proven" if progress is PROVEN else "verified as already implemented"), "proven"
    if all(test.outcome == "fails as expected" for test in tests):
        return "fails as expected, code to come", "working"
    return f"{progress.word}, tests pass" if all(
        test.tone == "proven" for test in tests
    ) else progress.word, progress.tone

"""What the bot says in its commits: a subject and two or three lines of what and why, from facts alone."""

from __future__ import annotations

from collections import Counter
from textwrap import fill

from prd2pr.core.commit_message import format_subject
from prd2pr.core.evidence import Evidence, FailureKind, RunSummary
from prd2pr.core.held_out import held_out_words
from prd2pr.core.records import Backlog, Design, Phase, Prd, Story
from prd2pr.core.said.plans import PlanDiff

MEASURES = {
    "lines": "lines",
    "complexity_max": "highest complexity",
    "complexity_sum": "complexity",
    "longest_function": "longest function",
    "duplicate_lines": "repeated lines",
}
WHY_RED = {
    FailureKind.ASSERTION: "on an assertion",
    FailureKind.MISSING_SYMBOL: "because what was planned does not exist yet",
    FailureKind.NOT_IMPLEMENTED: "because the code says it is not implemented",
    FailureKind.EXCEPTION: "because the code cannot do it yet",
}


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def plan_text(prd: Prd, backlog: Backlog) -> tuple[str, str]:
    criteria = sum(len(story.criteria) for story in backlog.stories)
    body = (
        f"{counted(len(backlog.stories), 'story', 'stories')} with {counted(criteria, 'criterion', 'criteria')} "
        f"for {counted(len(prd.requirements), 'requirement')} of {prd.path}."
    )
    return f"plan({prd.id}): {prd.title}", body


def replan_text(prd: Prd, diff: PlanDiff) -> tuple[str, str]:
    """What a changed PRD made of the plan."""
    parts = (("new", diff.new), ("changed", diff.changed), ("dropped", diff.dropped), ("kept", diff.kept))
    counts = ", ".join(f"{len(stories)} {word}" for word, stories in parts if stories)
    lines = [f"{word}: {', '.join(story.id for story in stories)}" for word, stories in parts if stories]
    asked = [f"To be decided: {question}" for question in diff.asked]
    body = wrapped("\n".join([f"{prd.path} has changed since it was planned.", "", *lines, *asked]))
    return f"plan({prd.id}): the PRD changed: {counts}", body


def plan_outcome(backlog: Backlog) -> str:
    criteria = sum(len(story.criteria) for story in backlog.stories)
    return f"{counted(len(backlog.stories), 'story', 'stories')}, {counted(criteria, 'criterion', 'criteria')}"


def phase_text(story: Story, evidence: Evidence, explanation: str, note: str, design: Design | None) -> tuple[str, str]:
    """Subject and body of a phase's commit. The role's own explanation comes last, marked as such."""
    phase = evidence.phase
    match phase:
        case Phase.DESIGN if design is not None:
            names = ", ".join(symbol.name for symbol in design.symbols)
            facts = design.summary + (f"\n\nPlanned: {names}." if names else "")
        case Phase.DESIGN:
            facts = "No design was made: names and files are chosen by whoever writes tests and code."
        case Phase.RED:
            facts = f"{red_outcome(evidence)}\nNothing but tests has changed."
        case Phase.GREEN:
            facts = f"{passing(evidence)}\nNo test has changed since RED."
        case Phase.INTEGRATED:
            facts = f"{moved(evidence)}{passing(evidence)}"
        case _:
            facts = passing(evidence)
    held_out = held_out_words(evidence)
    facts += f"\n{held_out}" if held_out else ""
    said = f"\n\nThe worker says: {explanation}" if explanation and phase is not Phase.DESIGN else ""
    subject = format_subject(phase.value, story.id, story.title)
    whole_title = f"{story.title}\n\n" if subject.endswith("…") else ""
    return subject, wrapped(whole_title + facts + (f"\n{note}" if note else "") + said)


def wrapped(text: str) -> str:
    """As `git log` is read: lines of up to 76 characters, paragraphs kept."""
    return "\n".join(fill(line, 76, break_long_words=False, break_on_hyphens=False) for line in text.splitlines())


def phase_outcome(evidence: Evidence, note: str) -> str:
    """The same in one line, for whoever watches."""
    match evidence.phase:
        case Phase.DESIGN:
            return note.removeprefix("design: ") or "ok"
        case Phase.RED:
            run = evidence.head_run
            number = len(run.story) if run else 0
            return f"{counted(number, 'test')} fail{'s' if number == 1 else ''} as planned"
        case Phase.INTEGRATED:
            places = new_places(evidence)
            return ", ".join(part for part in (", ".join(places) or passing_short(evidence), note) if part)
        case Phase.REFACTOR:
            return ", ".join(part for part in (gained(evidence), passing_short(evidence)) if part)
        case Phase.GREEN if evidence.bite and evidence.bite.judged:
            bite = evidence.bite
            return f"{passing_short(evidence)}, bite {bite.killed} of {len(bite.judged)}{held_out_short(evidence)}"
        case _:
            return passing_short(evidence)


def held_out_short(evidence: Evidence) -> str:
    held = evidence.held_out
    return f", {len(held.results)} held out" if held and held.files else ""


def passing_short(evidence: Evidence) -> str:
    run = evidence.head_run
    if run is None:
        return "no test run"
    passed = [result.id for result in run.story if result.outcome == "passed"]
    tests = len({name.partition("[")[0] for name in passed})
    # RED cannot count the cases of a parametrised test whose module does not import yet: both numbers are told.
    cases = f" in {len(passed)} cases" if tests != len(passed) else ""
    return f"{counted(tests, 'test')} pass{'es' if tests == 1 else ''}{cases}, {others_told(others_passed(run))}"


def gained(evidence: Evidence) -> str:
    """What a refactoring made better, by measure."""
    before, after = evidence.improvement.get("before", {}), evidence.improvement.get("after", {})
    better = [name for name in before if name in after and after[name] < before[name]]
    return ", ".join(f"{MEASURES.get(name, name)} {before[name]} → {after[name]}" for name in better[:2])


def new_places(evidence: Evidence) -> list[str]:
    """Of the tests; the living docs that come along have a place of their own."""
    added = (change.path for change in evidence.changes if change.status == "added")
    return sorted({path.rpartition("/")[0] for path in added if path not in evidence.living_docs})


def docs_written(evidence: Evidence) -> int:
    return sum(change.path in evidence.living_docs for change in evidence.changes)


def moved(evidence: Evidence) -> str:
    places, docs = new_places(evidence), docs_written(evidence)
    tests = f"The tests now live in {', '.join(places)}.\n" if places else ""
    return tests + (f"{counted(docs, 'living doc')} follow{'s' if docs == 1 else ''} the code.\n" if docs else "")


def red_outcome(evidence: Evidence) -> str:
    run = evidence.head_run
    failures = [result.failure for result in (run.story if run else ()) if result.failure]
    kinds = Counter(WHY_RED.get(failure.kind, failure.kind.value) for failure in failures)
    reasons = ", ".join(f"{number} {why}" for why, number in kinds.most_common())
    return f"{counted(len(failures), 'test')} fail{'s' if len(failures) == 1 else ''} as planned: {reasons}."


def passing(evidence: Evidence) -> str:
    run = evidence.head_run
    if run is None:
        return "No test run."
    story_passed = sum(result.outcome == "passed" for result in run.story)
    return (
        f"{story_passed} of {counted(len(run.story), 'story test')} pass, "
        f"and {others_passed(run)} of {run.collected - len(run.story)} others."
    )


def others_told(number: int) -> str:
    return "1 other passes" if number == 1 else f"{number} others pass"


def others_passed(run: RunSummary) -> int:
    return run.passed - sum(result.outcome == "passed" for result in run.story)

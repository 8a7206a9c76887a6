"""Subjects and bodies of the bot's commits: what was done and why, in two or three lines generated from the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from textwrap import fill

from prd2pr.domain.evidence import Evidence, FailureKind, RunSummary
from prd2pr.domain.records import AnsweredQuestion, Backlog, Design, Phase, Prd, Story
from prd2pr.languages.hidden_examples import describe_hidden_examples
from prd2pr.state.commit_message import format_subject
from prd2pr.views.plan import PlanDiff

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


def count_noun(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def plan_message(prd: Prd, backlog: Backlog) -> tuple[str, str]:
    criteria = sum(len(story.criteria) for story in backlog.stories)
    body = (
        f"{count_noun(len(backlog.stories), 'story', 'stories')} with {count_noun(criteria, 'criterion', 'criteria')} "
        f"for {count_noun(len(prd.requirements), 'requirement')} of {prd.path}."
    )
    return f"plan({prd.id}): {prd.title}", body


def replan_message(prd: Prd, diff: PlanDiff, answered: Sequence[AnsweredQuestion] = ()) -> tuple[str, str]:
    """Return the subject and body of the commit that plans a changed PRD or an answered question."""
    parts = (("new", diff.new), ("changed", diff.changed), ("dropped", diff.dropped), ("kept", diff.kept))
    counts = ", ".join(f"{len(stories)} {word}" for word, stories in parts if stories)
    lines = [f"{word}: {', '.join(story.id for story in stories)}" for word, stories in parts if stories]
    asked = [f"To be decided: {question}" for question in diff.asked]
    answers = [f"Q{each.number} is answered: {each.answer}" for each in answered]
    why = answers or [f"{prd.path} has changed since it was planned."]
    body = wrap_lines("\n".join([*why, "", *lines, *asked]))
    return f"plan({prd.id}): {'after an answer' if answers else 'the PRD changed'}: {counts}", body


def plan_outcome(backlog: Backlog) -> str:
    criteria = sum(len(story.criteria) for story in backlog.stories)
    return f"{count_noun(len(backlog.stories), 'story', 'stories')}, {count_noun(criteria, 'criterion', 'criteria')}"


def format_phase_message(
    story: Story, evidence: Evidence, explanation: str, note: str, design: Design | None
) -> tuple[str, str]:
    """Return the subject and body of a phase's commit, with the role's explanation marked as such at the end."""
    phase = evidence.phase
    match phase:
        case Phase.DESIGN if design is not None:
            names = ", ".join(symbol.name for symbol in design.symbols)
            facts = design.summary + (f"\n\nPlanned: {names}." if names else "")
        case Phase.DESIGN:
            facts = "No design was made: the roles that write tests and code choose names and files."
        case Phase.RED:
            facts = f"{format_red_text(evidence)}\nNothing but tests has changed."
        case Phase.GREEN if evidence.pre_implemented:
            facts = f"Already implemented, verified: {format_passing_text(evidence)}"
        case Phase.GREEN:
            facts = f"{format_passing_text(evidence)}\nNo test has changed since RED."
        case Phase.INTEGRATED:
            facts = f"{format_moved_text(evidence)}{format_passing_text(evidence)}"
        case _:
            facts = format_passing_text(evidence)
    hidden_examples = describe_hidden_examples(evidence)
    facts += f"\n{hidden_examples}" if hidden_examples else ""
    explanation_text = f"\n\nThe role's explanation: {explanation}" if explanation and phase is not Phase.DESIGN else ""
    subject = format_subject(phase.value, story.id, story.title)
    whole_title = f"{story.title}\n\n" if subject.endswith("…") else ""
    return subject, wrap_lines(whole_title + facts + (f"\n{note}" if note else "") + explanation_text)


def wrap_lines(text: str) -> str:
    """Wrap lines at 76 characters for `git log`, keeping paragraphs."""
    return "\n".join(fill(line, 76, break_long_words=False, break_on_hyphens=False) for line in text.splitlines())


def format_phase_outcome(evidence: Evidence, note: str) -> str:
    """Return the outcome of a phase in one line, for progress output."""
    match evidence.phase:
        case Phase.DESIGN:
            return note.removeprefix("design: ") or "ok"
        case Phase.RED:
            run = evidence.head_run
            number = len(run.story) if run else 0
            return f"{count_noun(number, 'test')} fail{'s' if number == 1 else ''} as expected"
        case Phase.INTEGRATED:
            places = list_new_directories(evidence)
            return ", ".join(part for part in (", ".join(places) or format_passing_summary(evidence), note) if part)
        case Phase.REFACTOR:
            return ", ".join(
                part for part in (format_improvement_text(evidence), format_passing_summary(evidence)) if part
            )
        case Phase.GREEN:
            verified = "already implemented, verified: " if evidence.pre_implemented else ""
            return f"{verified}{format_passing_summary(evidence)}{format_killed_mutants(evidence)}"
        case _:
            return format_passing_summary(evidence)


def format_killed_mutants(evidence: Evidence) -> str:
    mutation = evidence.bite
    if mutation is None or not mutation.judged:
        return ""
    killed = f"{mutation.killed} of {len(mutation.judged)} mutants killed"
    return f", {killed}{format_hidden_examples_text(evidence)}"


def format_hidden_examples_text(evidence: Evidence) -> str:
    held = evidence.held_out
    if held is None or not (held.files or held.dropped):
        return ""
    dropped = f", {len(held.dropped)} dropped" if held.dropped else ""
    return f", {count_noun(len(held.results), 'hidden example')}{dropped}"


def format_passing_summary(evidence: Evidence) -> str:
    run = evidence.head_run
    if run is None:
        return "no test run"
    passed = [result.id for result in run.story if result.outcome == "passed"]
    tests = len({name.partition("[")[0] for name in passed})
    # RED cannot count the cases of a parametrized test whose module does not import yet, so both numbers are given.
    cases = f" in {len(passed)} cases" if tests != len(passed) else ""
    others = format_others_text(count_others_passed(run))
    return f"{count_noun(tests, 'test')} pass{'es' if tests == 1 else ''}{cases}, {others}"


def format_improvement_text(evidence: Evidence) -> str:
    """Return the metrics that a refactoring improved, before and after."""
    before, after = evidence.improvement.get("before", {}), evidence.improvement.get("after", {})
    better = [name for name in before if name in after and after[name] < before[name]]
    return ", ".join(f"{MEASURES.get(name, name)} {before[name]} → {after[name]}" for name in better[:2])


def list_new_directories(evidence: Evidence) -> list[str]:
    """Return the directories of the added files, ignoring living docs."""
    added = (change.path for change in evidence.changes if change.status == "added")
    return sorted({path.rpartition("/")[0] for path in added if path not in evidence.living_docs})


def count_docs_written(evidence: Evidence) -> int:
    return sum(change.path in evidence.living_docs for change in evidence.changes)


def format_moved_text(evidence: Evidence) -> str:
    places, docs = list_new_directories(evidence), count_docs_written(evidence)
    tests = f"The tests are now in {', '.join(places)}.\n" if places else ""
    return tests + (f"{count_noun(docs, 'living doc')} updated.\n" if docs else "")


def format_red_text(evidence: Evidence) -> str:
    run = evidence.head_run
    failures = [result.failure for result in (run.story if run else ()) if result.failure]
    kinds = Counter(WHY_RED.get(failure.kind, failure.kind.value) for failure in failures)
    reasons = ", ".join(f"{number} {why}" for why, number in kinds.most_common())
    return f"{count_noun(len(failures), 'test')} fail{'s' if len(failures) == 1 else ''} as expected: {reasons}."


def format_passing_text(evidence: Evidence) -> str:
    run = evidence.head_run
    if run is None:
        return "No test run."
    story_passed = sum(result.outcome == "passed" for result in run.story)
    return (
        f"{story_passed} of {count_noun(len(run.story), 'story test')} pass, "
        f"and {count_others_passed(run)} of {run.collected - len(run.story)} others."
    )


def format_others_text(number: int) -> str:
    return "1 other passes" if number == 1 else f"{number} others pass"


def count_others_passed(run: RunSummary) -> int:
    return run.passed - sum(result.outcome == "passed" for result in run.story)

"""Render each progress event, verdict and error as styled lines, with one function per kind."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from prd2pr.domain.changeset import ChangesetEvidence, ChangesetVerdict
from prd2pr.domain.costs.estimate import Estimate, describe_story_minutes
from prd2pr.domain.evidence import Evidence, Finding, RunSummary, Verdict
from prd2pr.domain.results.isolation import is_unsandboxed, list_missing_protections
from prd2pr.domain.wording import (
    clean_line,
    count,
    escape_invisible,
    format_dollars,
    format_duration,
    format_models,
    format_tokens,
)
from prd2pr.errors import Prd2prError
from prd2pr.views.blocked_story import BlockedView

Facts = Mapping[str, object]

MAX_WIDTH = 100
NARROW = 72  # below this width, columns leave no room for the outcome
MIN_MESSAGE_WIDTH = 30  # a narrower column is harder to read than lines that start at the edge
LABEL = 14
MAX_WARNINGS = 20
QUIET, GOOD, BAD, CARE, STRONG = "dim", "green", "red", "yellow", "bold"


# Progress events of a run, for the terminal and other listeners: `progress.say("phase", story=…, …)`.
# An unknown event, or a missing or unknown fact, is an error of the caller.


@dataclass(frozen=True)
class ProgressEvent:
    meaning: str
    facts: tuple[str, ...]
    optional: tuple[str, ...] = ()


EVENTS: Mapping[str, ProgressEvent] = {
    "plan": ProgressEvent("the plan is made", ("stories", "criteria", "questions"), ("estimate", "models")),
    "story": ProgressEvent("a story starts", ("id", "title")),
    "working": ProgressEvent("a role or a test run is in progress", ("phase", "what"), ("attempt", "log")),
    "phase": ProgressEvent("a phase was passed", ("story", "phase", "outcome"), ("seconds", "tokens", "sha")),
    "refused": ProgressEvent("a gate refused an attempt", ("story", "phase", "codes", "attempt", "of"), ("summary",)),
    "refused_write": ProgressEvent("a role tried to write a path that it may not write", ("path", "code")),
    "retry": ProgressEvent("a model call is retried", ("why",), ("seconds",)),
    "note": ProgressEvent("other information", ("text",)),
    "resumed": ProgressEvent("an earlier run is resumed", ("text",)),
    "review": ProgressEvent("what a reviewer should know", ("state", "figures", "warnings")),
    "done": ProgressEvent("all stories are integrated", ("page", "branch", "proved", "steps")),
    "costs": ProgressEvent("cost of each role in this run", ("lines",)),
    "stopped": ProgressEvent("the run stopped before the end", ("reason",), ("next", "blocked")),
}


def check_event(event: str, facts: Mapping[str, object]) -> None:
    if event not in EVENTS:
        raise ValueError(f"unknown event {event!r}; known events: {', '.join(EVENTS)}")
    expected = EVENTS[event]
    missing = [name for name in expected.facts if name not in facts]
    unknown = [name for name in facts if name not in expected.facts + expected.optional]
    if missing or unknown:
        raise ValueError(f"event {event!r}: missing {missing}, unknown {unknown}")


def render_event(event: str, facts: Facts, width: int = MAX_WIDTH) -> list[Text]:
    return RENDERERS[event](facts, width)


def read_fact_text(facts: Facts, name: str) -> str:
    value = facts.get(name)
    return "" if value is None else clean_line(str(value))


def read_fact_number(facts: Facts, name: str) -> float:
    value = facts.get(name)
    return value if isinstance(value, int | float) else 0


def pad_cells(text: str, width: int) -> str:
    """Pad text to a width measured in terminal cells."""
    return text + " " * (width - cell_len(text))


def count_fact(facts: Facts, name: str, noun: str) -> str:
    return count(int(read_fact_number(facts, name)), noun)


def plan_lines(facts: Facts, width: int) -> list[Text]:
    criteria = int(read_fact_number(facts, "criteria"))
    sizes = (
        f"{count_fact(facts, 'stories', 'story')}, {criteria} {'criterion' if criteria == 1 else 'criteria'}, "
        f"{count_fact(facts, 'questions', 'question')}"
    )
    estimated = facts.get("estimate")
    estimate = format_estimate(estimated) if isinstance(estimated, Estimate) else read_fact_text(facts, "estimate")
    names = facts.get("models")
    models = format_models(names if isinstance(names, tuple) else ())
    basis = describe_story_minutes(estimated) if isinstance(estimated, Estimate) else ""
    parts = [part for part in (sizes, f"est. {estimate}" if estimate else "", basis, models) if part]
    return [Text.assemble(("Plan     ", STRONG), *space_apart(parts, width - 9))]


def format_estimate(estimate: Estimate) -> str:
    minutes = f"{estimate.minutes_low}–{estimate.minutes_high} min"
    if estimate.usd_low is None or estimate.usd_high is None:
        unpriced = ", ".join(clean_line(model) for model in estimate.unpriced)
        known = f"{format_tokens(estimate.tokens_low)}–{format_tokens(estimate.tokens_high)} tokens"
        return f"{known}, {minutes}, no price configured{f' for {unpriced}' if unpriced else ''}"
    return f"{format_dollars(estimate.usd_low)}–{format_dollars(estimate.usd_high).removeprefix('$')}, {minutes}"


def space_apart(parts: Sequence[str], width: int) -> list[str]:
    """Distribute the parts evenly over the width."""
    used = sum(cell_len(part) for part in parts)
    gap = max(3, min(8, (width - used) // max(1, len(parts) - 1)))
    return [
        part if last else part + " " * gap
        for part, last in zip(parts, [False] * (len(parts) - 1) + [True], strict=True)
    ]


def format_story_lines(facts: Facts, width: int) -> list[Text]:
    del width
    return [Text.assemble((read_fact_text(facts, "id"), STRONG), "  ", read_fact_text(facts, "title"))]


def format_working_lines(facts: Facts, width: int) -> list[Text]:
    """Render the activity line, which is shown only on a terminal."""
    del width
    attempt = int(read_fact_number(facts, "attempt"))
    again = f", attempt {attempt}" if attempt > 1 else ""
    return [
        Text.assemble(
            pad_cells(read_fact_text(facts, "phase"), LABEL - 2), f"{read_fact_text(facts, 'what')}{again}", style=QUIET
        )
    ]


def format_phase_lines(facts: Facts, width: int) -> list[Text]:
    name, outcome = read_fact_text(facts, "phase"), read_fact_text(facts, "outcome")
    seconds = format_duration(read_fact_number(facts, "seconds")) if facts.get("seconds") is not None else ""
    spent = f"{format_tokens(int(read_fact_number(facts, 'tokens')))} tok" if facts.get("tokens") else ""
    sha = read_fact_text(facts, "sha")[:7]
    if width < NARROW:
        tail = ", ".join(part for part in (seconds, spent, sha) if part)
        return [Text.assemble("  ", (name, GOOD), f"  {outcome}", (f" ({tail})" if tail else "", QUIET))]
    room = min(width, MAX_WIDTH) - LABEL - 31
    return [
        Text.assemble(
            "  ", (pad_cells(name, LABEL - 2), GOOD), pad_cells(outcome, room),
            (f" {seconds:>8} {spent:>11}   {sha}".rstrip(), QUIET),
        )
    ]  # fmt: skip


def format_refused_lines(facts: Facts, width: int) -> list[Text]:
    del width
    codes = facts.get("codes")
    code_text = (
        " ".join(clean_line(str(code)) for code in codes)
        if isinstance(codes, list | tuple)
        else read_fact_text(facts, "codes")
    )
    attempt, of = int(read_fact_number(facts, "attempt")), int(read_fact_number(facts, "of"))
    outcome = f"retrying ({attempt + 1} of {of})" if attempt < of else f"no attempts left ({attempt} of {of})"
    first = Text.assemble(
        "  ", (pad_cells(read_fact_text(facts, "phase"), LABEL - 2), BAD), ("refused", BAD), f" {code_text}, {outcome}"
    )
    summary = read_fact_text(facts, "summary")
    return [first, indent_line(summary)] if summary else [first]


def indent_line(text: str) -> Text:
    return Text(" " * LABEL + text, style=QUIET)


def format_refused_write_lines(facts: Facts, width: int) -> list[Text]:
    del width
    return [indent_line(f"not written: {escape_invisible(str(facts['path']))} ({read_fact_text(facts, 'code')})")]


def format_retry_lines(facts: Facts, width: int) -> list[Text]:
    del width
    when = (
        f", retrying in {format_duration(read_fact_number(facts, 'seconds'))}"
        if facts.get("seconds") is not None
        else ", retrying"
    )
    return [indent_line(f"{read_fact_text(facts, 'why')}{when}")]


def format_note_event(facts: Facts, width: int) -> list[Text]:
    del width
    return [Text.assemble(("Note     ", CARE), read_fact_text(facts, "text"))]


def format_resumed_lines(facts: Facts, width: int) -> list[Text]:
    del width
    return [Text.assemble(("Resumed  ", STRONG), read_fact_text(facts, "text"))]


def format_review_lines(facts: Facts, width: int) -> list[Text]:
    del width
    listed = facts.get("warnings")
    warnings = listed if isinstance(listed, tuple) else ()
    lines = [Text(read_fact_text(facts, "state"), style=STRONG), Text(read_fact_text(facts, "figures"))]
    lines += [Text.assemble(("  ", CARE), clean_line(each)) for each in warnings[:MAX_WARNINGS]]
    if len(warnings) > MAX_WARNINGS:
        lines.append(Text(f"  and {count(len(warnings) - MAX_WARNINGS, 'more warning')} on the page", style=QUIET))
    return lines


def format_done_lines(facts: Facts, width: int) -> list[Text]:
    proved, steps = int(read_fact_number(facts, "proved")), int(read_fact_number(facts, "steps"))
    parts = (
        f"PR page: {escape_invisible(str(facts['page']))}",
        f"branch {escape_invisible(str(facts['branch']))}",
        f"{proved} of {count(steps, 'step')} proved",
    )
    if width < NARROW:
        return [Text(part, style=STRONG if part is parts[0] else "") for part in parts]
    return [
        Text.assemble(
            (f"{parts[0]}        ", STRONG), f"{parts[1]}        ", (parts[2], GOOD if proved == steps else BAD)
        )
    ]


def format_role_cost_lines(facts: Facts, width: int) -> list[Text]:
    del width
    lines = facts.get("lines")
    return [Text(f"  {line}", style=QUIET) for line in (lines if isinstance(lines, tuple) else ())]


def format_stopped_lines(facts: Facts, width: int) -> list[Text]:
    del width
    lines = [Text.assemble(("Stopped  ", CARE), read_fact_text(facts, "reason"))]
    blocked_story = facts.get("blocked")
    if isinstance(blocked_story, BlockedView):
        lines += format_blocked_lines(blocked_story)
    next_step = read_fact_text(facts, "next")
    return [*lines, Text.assemble(("Next     ", STRONG), next_step)] if next_step else lines


def format_blocked_lines(blocked: BlockedView) -> list[Text]:
    """Render the evidence, then the options, each with a command to copy."""
    evidence = [f"{one.phase}, attempt {one.attempt}: {' '.join(one.codes)} {one.summary}" for one in blocked.tried]
    evidence += [f"failed in the last attempt: {test}" for test in blocked.tests]
    evidence += [f"spent on {blocked.story} so far: {blocked.cost}"] if blocked.cost else []
    labels = ("Next     ", *("  or     " for _ in blocked.ways))
    ways = [
        Text.assemble((label, STRONG), way.command, (f"  {way.effect}", QUIET))
        for label, way in zip(labels, blocked.ways, strict=False)
    ]
    return [*map(indent_line, evidence), *ways]


RENDERERS: Mapping[str, Callable[[Facts, int], list[Text]]] = {
    "plan": plan_lines,
    "story": format_story_lines,
    "working": format_working_lines,
    "phase": format_phase_lines,
    "refused": format_refused_lines,
    "refused_write": format_refused_write_lines,
    "retry": format_retry_lines,
    "note": format_note_event,
    "resumed": format_resumed_lines,
    "review": format_review_lines,
    "done": format_done_lines,
    "costs": format_role_cost_lines,
    "stopped": format_stopped_lines,
}


# --- a gate's verdict, an error ---------------------------------------------------------------------------------------


def format_verdict_lines(
    evidence: Evidence, verdict: Verdict, width: int = MAX_WIDTH, wrap_at: int | None = None
) -> list[Text]:
    errors = len(verdict.errors)
    word, style = ("accepted", GOOD) if verdict.accepted else ("not judged" if verdict.undecided else "refused", BAD)
    counts = f": {count(errors, 'error')}, {count(len(verdict.findings) - errors, 'warning')}"
    run = run_summary_text(evidence.head_run)
    gap = 3 if width < NARROW else max(3, 50 - len(word) - len(counts))
    place_width = min(40, max((cell_len(format_finding_location(finding)) for finding in verdict.findings), default=0))
    return [
        Text.assemble((word, f"{STRONG} {style}"), f"{counts}{' ' * gap}", (run, QUIET)),
        *(format_finding_line(finding, place_width if width >= NARROW else 0, wrap_at) for finding in verdict.findings),
    ]


def format_changeset_lines(
    shown: str,
    evidence: Sequence[ChangesetEvidence],
    verdict: ChangesetVerdict,
    width: int = MAX_WIDTH,
    wrap_at: int | None = None,
) -> list[Text]:
    word, style = ("accepted", GOOD) if verdict.accepted else ("refused", BAD)
    place_width = min(48, max((cell_len(format_finding_location(finding)) for finding in verdict.findings), default=0))
    runs = [each.head_run for each in evidence if each.head_run]
    codes = dict.fromkeys(each.code for each in verdict.errors)
    lines = [
        Text.assemble((word, f"{STRONG} {style}"), f": {clean_line(verdict.headline)}"),
        *(format_finding_line(finding, place_width if width >= NARROW else 0, wrap_at) for finding in verdict.findings),
        Text(f"  {clean_line(shown)}", style=QUIET),
        *(Text(f"  {run_summary_text(run, 'new or changed test')}", style=QUIET) for run in runs),
    ]
    if codes:
        lines.append(Text.assemble(("Next     ", STRONG), f"prd2pr explain {next(iter(codes))}"))
    return lines


def run_summary_text(run: RunSummary | None, noun: str = "story test") -> str:
    if run is None:
        return "no test run"
    sandboxed = "partly sandboxed" if list_missing_protections(run.sandbox) else "sandboxed"
    sandbox = "no sandbox" if is_unsandboxed(run.sandbox) else sandboxed
    honest = (
        "trusted run"
        if run.honest
        else f"run NOT trusted: {'; '.join(clean_line(problem) for problem in run.problems)}"
    )
    others = run.collected - len(run.story)
    return f"{count(len(run.story), noun)}, {count(others, 'other')}, {sandbox}, {honest}"


def format_finding_location(finding: Finding) -> str:
    path = finding.path or finding.test
    return escape_invisible(f"{path}:{finding.line}" if finding.path and finding.line else path)


def format_finding_line(finding: Finding, place_width: int, wrap_at: int | None = None) -> Text:
    """Return one line, or with `wrap_at`, lines of that width in which the message stays in its column."""
    style = BAD if finding.severity == "error" else CARE
    line = Text.assemble(
        "  ", (f"{finding.severity:<7} ", style), f"{clean_line(finding.code):<6}  ",
        f"{pad_cells(format_finding_location(finding), place_width)}  ",
    )  # fmt: skip
    message, column = clean_line(finding.message), line.cell_len
    if wrap_at is not None and wrap_at - column >= MIN_MESSAGE_WIDTH:
        message = f"\n{' ' * column}".join(textwrap.wrap(message, wrap_at - column) or [""])
    return line.append(message)


def format_error_lines(error: Prd2prError) -> list[Text]:
    styles = {"error": f"{STRONG} {BAD}", "to do": STRONG}
    lines = []
    for line in error.lines():
        label, colon, rest = clean_line(line).partition(":")
        lines.append(Text.assemble((f"{label}{colon}", styles.get(label, QUIET)), rest))
    return lines

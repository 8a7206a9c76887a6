"""What the terminal shows for each event, verdict and error: one function each, from facts to styled lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from prd2pr.core.blocked import Blocked
from prd2pr.core.estimate import Estimate, stories_text
from prd2pr.core.evidence import Evidence, Finding, RunSummary, Verdict
from prd2pr.core.isolation import is_none, missing
from prd2pr.core.wording import count, dollars, duration, models_text, plain, tokens, visible
from prd2pr.errors import Prd2prError

Facts = Mapping[str, object]

WIDEST = 100
NARROW = 72  # below it, columns would leave no room for the outcome
LABEL = 14
QUIET, GOOD, BAD, CARE, STRONG = "dim", "green", "red", "yellow", "bold"


def lines_of(event: str, facts: Facts, width: int = WIDEST) -> list[Text]:
    return LINES[event](facts, width)


def text(facts: Facts, name: str) -> str:
    value = facts.get(name)
    return "" if value is None else plain(str(value))


def number(facts: Facts, name: str) -> float:
    value = facts.get(name)
    return value if isinstance(value, int | float) else 0


def padded(words: str, width: int) -> str:
    """Filled up to a column, by the cells that a terminal will use."""
    return words + " " * (width - cell_len(words))


def wholly(facts: Facts, name: str, noun: str) -> str:
    return count(int(number(facts, name)), noun)


def plan(facts: Facts, width: int) -> list[Text]:
    criteria = int(number(facts, "criteria"))
    sizes = (
        f"{wholly(facts, 'stories', 'story')}, {criteria} {'criterion' if criteria == 1 else 'criteria'}, "
        f"{wholly(facts, 'questions', 'question')}"
    )
    guess = facts.get("estimate")
    estimate = estimate_text(guess) if isinstance(guess, Estimate) else text(facts, "estimate")
    names = facts.get("models")
    models = models_text(names if isinstance(names, tuple) else ())
    learnt = stories_text(guess) if isinstance(guess, Estimate) else ""
    parts = [part for part in (sizes, f"est. {estimate}" if estimate else "", learnt, models) if part]
    return [Text.assemble(("Plan     ", STRONG), *spread(parts, width - 9))]


def estimate_text(guess: Estimate) -> str:
    minutes = f"{guess.minutes_low}–{guess.minutes_high} min"
    if guess.usd_low is None or guess.usd_high is None:
        unpriced = ", ".join(plain(model) for model in guess.unpriced)
        known = f"{tokens(guess.tokens_low)}–{tokens(guess.tokens_high)} tokens"
        return f"{known}, {minutes}, no price known{f' for {unpriced}' if unpriced else ''}"
    return f"{dollars(guess.usd_low)}–{dollars(guess.usd_high).removeprefix('$')}, {minutes}"


def spread(parts: Sequence[str], width: int) -> list[str]:
    """Apart, as far as there is room."""
    used = sum(cell_len(part) for part in parts)
    gap = max(3, min(8, (width - used) // max(1, len(parts) - 1)))
    return [
        part if last else part + " " * gap
        for part, last in zip(parts, [False] * (len(parts) - 1) + [True], strict=True)
    ]


def story(facts: Facts, width: int) -> list[Text]:
    del width
    return [Text.assemble((text(facts, "id"), STRONG), "  ", text(facts, "title"))]


def working(facts: Facts, width: int) -> list[Text]:
    """The one line that may be overwritten: shown only where there is a cursor."""
    del width
    attempt = int(number(facts, "attempt"))
    again = f", attempt {attempt}" if attempt > 1 else ""
    return [Text.assemble(padded(text(facts, "phase"), LABEL - 2), f"{text(facts, 'what')}{again}", style=QUIET)]


def phase(facts: Facts, width: int) -> list[Text]:
    name, outcome = text(facts, "phase"), text(facts, "outcome")
    seconds = duration(number(facts, "seconds")) if facts.get("seconds") is not None else ""
    spent = f"{tokens(int(number(facts, 'tokens')))} tok" if facts.get("tokens") else ""
    sha = text(facts, "sha")[:7]
    if width < NARROW:
        tail = ", ".join(part for part in (seconds, spent, sha) if part)
        return [Text.assemble("  ", (name, GOOD), f"  {outcome}", (f" ({tail})" if tail else "", QUIET))]
    room = min(width, WIDEST) - LABEL - 31
    return [
        Text.assemble(
            "  ", (padded(name, LABEL - 2), GOOD), padded(outcome, room),
            (f" {seconds:>8} {spent:>11}   {sha}".rstrip(), QUIET),
        )
    ]  # fmt: skip


def refused(facts: Facts, width: int) -> list[Text]:
    del width
    codes = facts.get("codes")
    named = " ".join(plain(str(code)) for code in codes) if isinstance(codes, list | tuple) else text(facts, "codes")
    attempt, of = int(number(facts, "attempt")), int(number(facts, "of"))
    then = f"trying again ({attempt + 1} of {of})" if attempt < of else f"no attempt left ({attempt} of {of})"
    first = Text.assemble("  ", (padded(text(facts, "phase"), LABEL - 2), BAD), ("refused", BAD), f" {named}, {then}")
    summary = text(facts, "summary")
    return [first, indented(summary)] if summary else [first]


def indented(words: str) -> Text:
    return Text(" " * LABEL + words, style=QUIET)


def refused_write(facts: Facts, width: int) -> list[Text]:
    del width
    return [indented(f"not written: {visible(str(facts['path']))} ({text(facts, 'code')})")]


def retry(facts: Facts, width: int) -> list[Text]:
    del width
    when = f", again in {duration(number(facts, 'seconds'))}" if facts.get("seconds") is not None else ", again"
    return [indented(f"{text(facts, 'why')}{when}")]


def note(facts: Facts, width: int) -> list[Text]:
    del width
    return [Text.assemble(("Note     ", CARE), text(facts, "text"))]


def resumed(facts: Facts, width: int) -> list[Text]:
    del width
    return [Text.assemble(("Resumed  ", STRONG), text(facts, "text"))]


def done(facts: Facts, width: int) -> list[Text]:
    proved, steps = int(number(facts, "proved")), int(number(facts, "steps"))
    parts = (
        f"PR page: {visible(str(facts['page']))}",
        f"branch {visible(str(facts['branch']))}",
        f"proved {proved} of {count(steps, 'step')}",
    )
    if width < NARROW:
        return [Text(part, style=STRONG if part is parts[0] else "") for part in parts]
    return [
        Text.assemble(
            (f"{parts[0]}        ", STRONG), f"{parts[1]}        ", (parts[2], GOOD if proved == steps else BAD)
        )
    ]


def costs(facts: Facts, width: int) -> list[Text]:
    del width
    lines = facts.get("lines")
    return [Text(f"  {line}", style=QUIET) for line in (lines if isinstance(lines, tuple) else ())]


def stopped(facts: Facts, width: int) -> list[Text]:
    del width
    said = [Text.assemble(("Stopped  ", CARE), text(facts, "reason"))]
    stuck = facts.get("blocked")
    if isinstance(stuck, Blocked):
        said += blocked_lines(stuck)
    then = text(facts, "next")
    return [*said, Text.assemble(("Next     ", STRONG), then)] if then else said


def blocked_lines(stuck: Blocked) -> list[Text]:
    """The evidence, then the ways out, each ready to copy."""
    seen = [f"{one.phase}, attempt {one.attempt}: {' '.join(one.codes)} {one.summary}" for one in stuck.tried]
    seen += [f"failed in the last one: {test}" for test in stuck.tests]
    seen += [f"spent on {stuck.story} so far: {stuck.cost}"] if stuck.cost else []
    labels = ("Next     ", *("  or     " for _ in stuck.ways))
    ways = [
        Text.assemble((label, STRONG), way.command, (f"  {way.does}", QUIET))
        for label, way in zip(labels, stuck.ways, strict=False)
    ]
    return [*map(indented, seen), *ways]


LINES: Mapping[str, Callable[[Facts, int], list[Text]]] = {
    "plan": plan,
    "story": story,
    "working": working,
    "phase": phase,
    "refused": refused,
    "refused_write": refused_write,
    "retry": retry,
    "note": note,
    "resumed": resumed,
    "done": done,
    "costs": costs,
    "stopped": stopped,
}


# --- a gate's verdict, an error ---------------------------------------------------------------------------------------


def verdict_lines(evidence: Evidence, verdict: Verdict, width: int = WIDEST) -> list[Text]:
    errors = len(verdict.errors)
    word, style = ("accepted", GOOD) if verdict.accepted else ("refused", BAD)
    counted = f": {count(errors, 'error')}, {count(len(verdict.findings) - errors, 'warning')}"
    seen = run_text(evidence.head_run)
    gap = 3 if width < NARROW else max(3, 50 - len(word) - len(counted))
    place_width = min(40, max((cell_len(place(finding)) for finding in verdict.findings), default=0))
    return [
        Text.assemble((word, f"{STRONG} {style}"), f"{counted}{' ' * gap}", (seen, QUIET)),
        *(finding_line(finding, place_width if width >= NARROW else 0) for finding in verdict.findings),
    ]


def run_text(run: RunSummary | None) -> str:
    if run is None:
        return "no test run"
    partly = "partly sandboxed" if missing(run.sandbox) else "sandboxed"
    sandbox = "no sandbox" if is_none(run.sandbox) else partly
    honest = "run honest" if run.honest else f"run NOT honest: {'; '.join(plain(problem) for problem in run.problems)}"
    others = run.collected - len(run.story)
    return f"{count(len(run.story), 'story test')}, {count(others, 'other')}, {sandbox}, {honest}"


def place(finding: Finding) -> str:
    where = finding.path or finding.test
    return visible(f"{where}:{finding.line}" if finding.path and finding.line else where)


def finding_line(finding: Finding, place_width: int) -> Text:
    style = BAD if finding.severity == "error" else CARE
    return Text.assemble(
        "  ", (f"{finding.severity:<7} ", style), f"{plain(finding.code):<6}  ",
        f"{padded(place(finding), place_width)}  ", plain(finding.message),
    )  # fmt: skip


def error_lines(error: Prd2prError) -> list[Text]:
    styles = {"error": f"{STRONG} {BAD}", "to do": STRONG}
    said = []
    for line in error.lines():
        label, colon, rest = plain(line).partition(":")
        said.append(Text.assemble((f"{label}{colon}", styles.get(label, QUIET)), rest))
    return said

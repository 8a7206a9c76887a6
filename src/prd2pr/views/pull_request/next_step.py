"""The next step for people: one sentence and a command to copy, identical on GitHub, terminal and dashboard."""

from __future__ import annotations

import shlex

from prd2pr.domain.costs.budget import PRICE_REMEDY
from prd2pr.domain.machines.next_action import (
    ActionContext,
    NextAction,
    PhaseAction,
    find_next_action,
    format_next_command,
    format_run_command,
)
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import Phase, ProjectState
from prd2pr.domain.wording import clean_line, clip, count
from prd2pr.views.models import NextStep

AWAITED_WORK = {
    Phase.DESIGN: "its design",
    Phase.RED: "its tests",
    Phase.GREEN: "its code",
    Phase.REFACTOR: "its refactoring",
    Phase.INTEGRATED: "its tests to move to their permanent place",
}
# The command that continues a draft. A design has no gate, so its draft continues with the tests.
DRAFT_COMMANDS = {
    Phase.DESIGN: "/tdd test",
    Phase.RED: "/tdd commit-tests",
    Phase.GREEN: "/tdd commit-code",
    Phase.REFACTOR: "/tdd commit-refactor",
}
ALL_SETTLED = "Every story is finished."
RUN_CONTINUES = NextStep("The run continues automatically. Nothing for you to do.")
BASE_MERGED = NextStep(
    "Every story is finished, and the base was merged after that. The status comment shows whether the suite passes "
    "with it."
)
# The command that plans a story for changes made after the last step.
STORY_COMMANDS = {
    ProjectState.SPRINT_REVIEW: '/request_changes "what it changes"',
    ProjectState.IDLE: '/epic "what it changes"',
}
MAX_REASON = 400


def build_next_step(context: ActionContext, found: NextAction) -> NextStep:
    if isinstance(found, PhaseAction):
        return build_phase_step(context, found)
    if found.outcome == "done":
        return NextStep(f"{ALL_SETTLED} Review it and merge.")
    if found.outcome == "blocked" and not context.is_local:  # the story shows the reason
        return NextStep("Suggest a fix for the next attempt:", found.next)
    reason, helps = to_sentence(clip(clean_line(found.reason), MAX_REASON)), build_remedy_step(found)
    how = " Comment" if helps.command.startswith("/") else f" {helps.sentence}" if helps.sentence else ""
    return NextStep(f"{reason}{how}", helps.command)


def build_remedy_step(stop: NoAction) -> NextStep:
    """Return a step with a command to copy, or only a sentence if no command helps."""
    if not stop.next or stop.next.startswith(("/", "prd2pr ")):
        return NextStep("", stop.next)
    return NextStep(to_sentence(stop.next))


def build_phase_step(context: ActionContext, action: PhaseAction) -> NextStep:
    story = clean_line(action.story.id)
    waits = f"`{story}` is waiting for {AWAITED_WORK[action.phase]}."
    if context.is_local:
        return NextStep(waits, format_run_command(context))
    if context.records.status.order == "run":
        return RUN_CONTINUES
    if action.draft and action.phase in DRAFT_COMMANDS:
        how = "Continue from it:" if action.phase is Phase.DESIGN else "Submit it to the gate:"
        return NextStep(
            f"`{story}` has a draft of {AWAITED_WORK[action.phase]}. {how}", f"{DRAFT_COMMANDS[action.phase]} {story}"
        )
    return NextStep(
        f"{waits} Comment `{format_run_command(context)}` to run everything, or one phase:",
        format_next_command(context),
    )


def stop_after_step_limit(context: ActionContext) -> NoAction:
    """Return why the run ended: it reached its maximum number of steps."""
    found = find_next_action(context)
    if isinstance(found, NoAction):
        return found
    return NoAction("stopped", f"{found.story.id} is waiting for {found.phase.value}", format_next_command(context))


def suggest_verification(*, local: bool, head: str, base: str) -> NextStep:
    """Suggest verifying the branch because a step has no proof."""
    command = verify_command(base, head) if local else "/tdd verify"
    return NextStep("Not every step has a proof. Verify the branch:", command)


def suggest_merge(*, unproven: int, local: bool, head: str) -> NextStep:
    """Suggest reviewing and merging. `unproven` is the number of commits by people that no gate has checked."""
    note = f" No gate has checked {count(unproven, 'commit')} in between." if unproven else ""
    if local:
        merge = f"git merge --no-ff {shlex.quote(clean_line(head))}"
        return NextStep(f"{ALL_SETTLED}{note} Review it, then merge:", merge)
    return NextStep(f"{ALL_SETTLED}{note} Review it and merge.")


def suggest_review_of_changes(commits: int, state: ProjectState, *, local: bool, head: str, base: str) -> NextStep:
    """Suggest reviewing the commits after the last step, which no gate has checked."""
    one = commits == 1
    note = f"No gate has checked the {'commit' if one else count(commits, 'commit')} after the last step."
    choice = "Review it yourself, or revert it." if one else "Review them yourself, or revert them."
    if local:
        return NextStep(f"{note} {choice} To see what is proved:", verify_command(base, head))
    text = f"{note} {choice} `/tdd run_tests` shows whether the tests pass now."
    if state not in STORY_COMMANDS:
        return NextStep(text)
    return NextStep(f"{text} To plan a story for it, with its own gates, comment", STORY_COMMANDS[state])


def suggest_answer(context: ActionContext) -> NextStep:
    """Suggest how to answer an open question. The answer changes the plan or leads to a new story."""
    path, state = context.records.prd.path, context.records.status.state
    if context.is_local:
        return NextStep(
            f"Write the answer into `{clean_line(path)}` as a requirement, then", format_run_command(context)
        )
    command = STORY_COMMANDS.get(state, '/backlog add_story "what it changes"')
    return NextStep("If the assumptions are right, no answer is needed. Otherwise comment", command)


def verify_command(base: str, head: str) -> str:
    return f"prd2pr verify {shlex.quote(clean_line(f'{base}..{head}'))}"


def to_sentence(reason: str) -> str:
    """Capitalize the text, unless it starts with a story's id or a path, and add a full stop."""
    first = reason.partition(" ")[0]
    text = reason[:1].upper() + reason[1:] if first.isalpha() else reason
    return text if text.endswith((".", "!", "?")) else f"{text}."


RAISE_THE_LIMIT = "Raise the limit under `budget` in `.prd2pr.yml` on the base branch"


def format_limit_remedy(remedy: str) -> str:
    """Return the remedy after a limit was reached: raise the limit, or set a price if a limit in dollars has none."""
    return remedy.rstrip(" .") if remedy.startswith(PRICE_REMEDY) else RAISE_THE_LIMIT


def build_budget_step(remedy: str) -> NextStep:
    return NextStep(f"{format_limit_remedy(remedy)}, then comment", "/tdd run")

"""What is next, in words: one sentence and the command to copy, the same wherever it is told."""

from __future__ import annotations

import shlex

from prd2pr.core.ahead import Ahead, Due, Outlook, ahead, next_command, run_command
from prd2pr.core.decide import Rest
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Phase, ProjectState
from prd2pr.core.wording import clip, count, plain

WAITS_FOR = {
    Phase.DESIGN: "its design",
    Phase.RED: "its tests",
    Phase.GREEN: "its code",
    Phase.REFACTOR: "its refactoring",
    Phase.INTEGRATED: "its tests to move to their permanent place",
}
# What takes a draft further; a drafted design has no gate.
TAKEN_ON_BY = {
    Phase.DESIGN: "/tdd test",
    Phase.RED: "/tdd commit-tests",
    Phase.GREEN: "/tdd commit-code",
    Phase.REFACTOR: "/tdd commit-refactor",
}
SETTLED = "Every story is settled."
GOES_ON = NextStep("The work goes on by itself. Nothing for you to do.")
BASE_TAKEN_IN = NextStep(
    "Every story is settled, and the base was merged in since. The status comment says whether the suite holds with it."
)
# The command that makes a story of what somebody has changed after the last one.
TAKES_IT_UP = {
    ProjectState.SPRINT_REVIEW: '/request_changes "what it changes"',
    ProjectState.IDLE: '/epic "what it changes"',
}
LONGEST_REASON = 400


def next_step(view: Outlook, found: Ahead) -> NextStep:
    if isinstance(found, Due):
        return going_on(view, found)
    if found.outcome == "done":
        return NextStep(f"{SETTLED} Review it and merge.")
    if found.outcome == "blocked" and not view.local:  # the reason stands with the story, wherever this does
        return NextStep("Say what to try; it reaches the next attempt:", found.next)
    reason, helps = sentence(clip(plain(found.reason), LONGEST_REASON)), what_helps(found)
    how = " Comment" if helps.command.startswith("/") else f" {helps.sentence}" if helps.sentence else ""
    return NextStep(f"{reason}{how}", helps.command)


def what_helps(rest: Rest) -> NextStep:
    """A command to copy; where none would do, what a person has to do himself."""
    if not rest.next or rest.next.startswith(("/", "prd2pr ")):
        return NextStep("", rest.next)
    return NextStep(sentence(rest.next))


def going_on(view: Outlook, due: Due) -> NextStep:
    story = plain(due.story.id)
    waits = f"`{story}` is waiting for {WAITS_FOR[due.phase]}."
    if view.local:
        return NextStep(waits, run_command(view))
    if view.found.status.order == "run":
        return GOES_ON
    if due.draft and due.phase in TAKEN_ON_BY:
        how = "Go on from it:" if due.phase is Phase.DESIGN else "The gate judges it with"
        return NextStep(f"`{story}` has a draft of {WAITS_FOR[due.phase]}. {how}", f"{TAKEN_ON_BY[due.phase]} {story}")
    return NextStep(
        f"{waits} Comment `{run_command(view)}` for all that is left, or for one phase:", next_command(view)
    )


def ended_by_count(view: Outlook) -> Rest:
    """Why the loop ended when the number of steps was what ended it."""
    found = ahead(view)
    if isinstance(found, Rest):
        return found
    return Rest("stopped", f"{found.story.id} is waiting for {found.phase.value}", next_command(view))


def prove_again(*, local: bool, head: str, base: str) -> NextStep:
    """After the last story, where a step carries no proof: before anything is merged."""
    command = verify_command(base, head) if local else "/tdd verify"
    return NextStep("Not every step carries its proof. Prove the branch again:", command)


def finish(*, unproven: int, local: bool, head: str) -> NextStep:
    """After the last story. `unproven`: commits that no gate has judged, of people who worked between the steps."""
    told = f" No gate has judged {count(unproven, 'commit')} on the way." if unproven else ""
    if local:
        merge = f"git merge --no-ff {shlex.quote(plain(head))}"
        return NextStep(f"{SETTLED}{told} Review it, then merge:", merge)
    return NextStep(f"{SETTLED}{told} Review it and merge.")


def changed_after(commits: int, state: ProjectState, *, local: bool, head: str, base: str) -> NextStep:
    """What the last step proved is not what would be merged now."""
    one = commits == 1
    told = f"No gate has judged the {'commit' if one else count(commits, 'commit')} after the last step."
    choice = "Review it yourself, or take it back." if one else "Review them yourself, or take them back."
    if local:
        return NextStep(f"{told} {choice} For what is proved and what is not:", verify_command(base, head))
    tried = f"{told} {choice} `/tdd run_tests` shows whether the tests pass now."
    if state not in TAKES_IT_UP:
        return NextStep(tried)
    return NextStep(
        f"{tried} To have it taken up by a story, whose gates run on top of it, comment", TAKES_IT_UP[state]
    )


def verify_command(base: str, head: str) -> str:
    return f"prd2pr verify {shlex.quote(plain(f'{base}..{head}'))}"


def sentence(reason: str) -> str:
    """With a capital, unless it begins with a story's id or a path, and with its full stop."""
    first = reason.partition(" ")[0]
    text = reason[:1].upper() + reason[1:] if first.isalpha() else reason
    return text if text.endswith((".", "!", "?")) else f"{text}."

"""Before something new is begun: whether what is finished still holds, and the story that mends what does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prd2pr.core.evidence import TestResult
from prd2pr.core.records import SETTLED, UNTESTED_KINDS, Backlog, Criterion, Cycle, Story
from prd2pr.core.runs import bare_id
from prd2pr.core.wording import clip, plain, visible

LOOKED_AT = 2  # finished stories, where nobody has run their tests on this very code
NOT_PASSED = ("failed", "error")
MOST_CRITERIA = 5
SHOWN_TESTS = 3


@dataclass(frozen=True)
class Regression:
    """A finished story, and those of its tests that fail now."""

    story: Story
    tests: tuple[TestResult, ...]

    def sentence(self) -> str:
        named = ", ".join(f"`{visible(test.id)}`" for test in self.tests[:SHOWN_TESTS])
        more = f" and {len(self.tests) - SHOWN_TESTS} more" if len(self.tests) > SHOWN_TESTS else ""
        fail = "fails" if len(self.tests) == 1 else "fail"
        return f"{self.story.id} was proved, and does not hold any more: {named}{more} {fail}"


def finished(backlog: Backlog) -> tuple[Story, ...]:
    """Those that tests hold."""
    return tuple(story for story in backlog.stories if story.status == "done" and story.kind not in UNTESTED_KINDS)


def in_turn(stories: Sequence[Story], turn: int) -> tuple[Story, ...]:
    """Two of them, others in each turn, until all had theirs."""
    if len(stories) <= LOOKED_AT:
        return tuple(stories)
    return tuple(stories[(turn * LOOKED_AT + n) % len(stories)] for n in range(LOOKED_AT))


def regression(stories: Iterable[tuple[Story, Cycle]], results: Iterable[TestResult]) -> Regression | None:
    """The first story that fails. A test that is gone fails not: whoever took it away did so openly."""
    failing = [result for result in results if result.outcome in NOT_PASSED]
    for story, cycle in stories:
        own = {bare_id(test) for test in cycle.tests}
        broken = tuple(result for result in failing if bare_id(result.id) in own)
        if broken:
            return Regression(story, broken)
    return None


# --- the story that mends it ------------------------------------------------------------------------------------------


def holds_again(story: str) -> str:
    """What such a story is done by; it is known by this."""
    return f"{story} holds again"


def mends(story: Story, broken: str) -> bool:
    return story.kind == "bug" and holds_again(broken) in story.done_criteria


def menders(backlog: Backlog, broken: str) -> tuple[Story, ...]:
    return tuple(story for story in backlog.stories if mends(story, broken))


def mending_story(found: Regression, name: str, since: str) -> Story:
    """First in order, and waiting for nothing: what is begun on top of something broken is broken too."""
    story, tests = found.story, found.tests[:MOST_CRITERIA]
    return Story(
        id=name,
        epic=story.epic,
        title=clip(f"{holds_again(story.id)}: {plain(story.title)}", 100),
        description=f"{found.sentence()}{f', since {since}' if since else ''}.",
        kind="bug",
        criteria=tuple(
            Criterion(id=f"{name}.c{n}", text=f"{visible(test.id)} passes again", example=failure_of(test))
            for n, test in enumerate(tests, start=1)
        ),
        priority=1,
        estimate_minutes=story.estimate_minutes,
        complexity=story.complexity,
        module=story.module,
        interface=story.interface,
        source_paths=story.source_paths,
        done_criteria=(holds_again(story.id),),
    )


def failure_of(test: TestResult) -> str:
    return clip(plain(test.failure.message), 200) if test.failure else ""


def first_in_order(backlog: Backlog, name: str) -> Backlog:
    """Before everything that nobody has begun."""
    mine = next(story for story in backlog.stories if story.id == name)
    others = [story for story in backlog.stories if story.id != name]
    begun = (*SETTLED, "in_progress", "blocked")
    place = next((n for n, story in enumerate(others) if story.status not in begun), len(others))
    return backlog.model_copy(update={"stories": (*others[:place], mine, *others[place:])})

"""Rules for regression checks before a new story starts, and the bug story that fixes a regression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prd2pr.domain.evidence import TestResult
from prd2pr.domain.records import SETTLED, UNTESTED_KINDS, Backlog, Criterion, Cycle, Story
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.domain.wording import clean_line, clip, escape_invisible

STORIES_PER_TURN = 2  # finished stories tested per turn
NOT_PASSED = ("failed", "error")
MAX_CRITERIA = 5
MAX_SHOWN_TESTS = 3


@dataclass(frozen=True)
class Regression:
    """A finished story with its tests that now fail."""

    story: Story
    tests: tuple[TestResult, ...]

    def sentence(self) -> str:
        tests = ", ".join(f"`{escape_invisible(test.id)}`" for test in self.tests[:MAX_SHOWN_TESTS])
        more = f" and {len(self.tests) - MAX_SHOWN_TESTS} more" if len(self.tests) > MAX_SHOWN_TESTS else ""
        fail = "fails" if len(self.tests) == 1 else "fail"
        return f"{self.story.id} was proved but no longer passes: {tests}{more} {fail}"


def list_finished_stories(backlog: Backlog) -> tuple[Story, ...]:
    """Return the finished stories that tests prove."""
    return tuple(story for story in backlog.stories if story.status == "done" and story.kind not in UNTESTED_KINDS)


def select_turn(stories: Sequence[Story], turn: int) -> tuple[Story, ...]:
    """Return two stories to check. Each turn selects different ones until all have been selected."""
    if len(stories) <= STORIES_PER_TURN:
        return tuple(stories)
    return tuple(stories[(turn * STORIES_PER_TURN + n) % len(stories)] for n in range(STORIES_PER_TURN))


def find_broken_story(stories: Iterable[tuple[Story, Cycle]], results: Iterable[TestResult]) -> Regression | None:
    """Return the first story with a failing test. A deleted test does not count as failing."""
    failing = [result for result in results if result.outcome in NOT_PASSED]
    for story, cycle in stories:
        own = {strip_test_parameters(test) for test in cycle.tests}
        broken = tuple(result for result in failing if strip_test_parameters(result.id) in own)
        if broken:
            return Regression(story, broken)
    return None


# --- the bug story ----------------------------------------------------------------------------------------------------


def make_regression_criterion(story: str) -> str:
    """Return the done criterion that identifies the bug story of a broken story."""
    return f"{story} holds again"


def is_fix_for(story: Story, broken: str) -> bool:
    return story.kind == "bug" and make_regression_criterion(broken) in story.done_criteria


def list_fix_stories(backlog: Backlog, broken: str) -> tuple[Story, ...]:
    return tuple(story for story in backlog.stories if is_fix_for(story, broken))


def build_fix_story(found: Regression, name: str, since: str) -> Story:
    """Build the bug story, with priority 1 and without dependencies, so that it comes before all other work."""
    story, tests = found.story, found.tests[:MAX_CRITERIA]
    return Story(
        id=name,
        epic=story.epic,
        title=clip(f"{make_regression_criterion(story.id)}: {clean_line(story.title)}", 100),
        description=f"{found.sentence()}{f', since {since}' if since else ''}.",
        kind="bug",
        criteria=tuple(
            Criterion(
                id=f"{name}.c{n}", text=f"{escape_invisible(test.id)} passes again", example=format_test_failure(test)
            )
            for n, test in enumerate(tests, start=1)
        ),
        priority=1,
        estimate_minutes=story.estimate_minutes,
        complexity=story.complexity,
        module=story.module,
        interface=story.interface,
        source_paths=story.source_paths,
        done_criteria=(make_regression_criterion(story.id),),
    )


def format_test_failure(test: TestResult) -> str:
    return clip(clean_line(test.failure.message), 200) if test.failure else ""


def move_before_unstarted(backlog: Backlog, name: str) -> Backlog:
    mine = next(story for story in backlog.stories if story.id == name)
    others = [story for story in backlog.stories if story.id != name]
    started = (*SETTLED, "in_progress", "blocked")
    place = next((n for n, story in enumerate(others) if story.status not in started), len(others))
    return backlog.model_copy(update={"stories": (*others[:place], mine, *others[place:])})

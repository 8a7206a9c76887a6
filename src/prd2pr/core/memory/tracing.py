"""`query trace`: requirement → story → criterion → test → commit → verdict, as the pull request's page has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prd2pr.core.picture_facts import BranchFacts
from prd2pr.core.picture_trace import requirement_rows, trace_rows

SHORT_SHA = 7


@dataclass(frozen=True)
class TraceLine:
    """Without a story: what the PRD asks for and nobody builds."""

    prd: str
    requirements: tuple[str, ...]
    story: str
    criterion: str
    text: str
    tests: tuple[str, ...]
    commit: str
    verdict: str

    def is_about(self, name: str) -> bool:
        """A commit may be named by its beginning, as the table shows it."""
        by_commit = len(name) >= SHORT_SHA and self.commit.startswith(name)
        return by_commit or name in (self.prd, self.story, self.criterion, *self.requirements, *self.tests)


def trace(branches: Iterable[BranchFacts], about: str = "") -> tuple[TraceLine, ...]:
    """Of all PRDs; or what is about one of them, a requirement, story, criterion, test or commit."""
    lines = (line for facts in branches for line in lines_of(facts))
    return tuple(line for line in lines if not about or line.is_about(about))


def lines_of(facts: BranchFacts) -> Iterator[TraceLine]:
    prd = facts.prd.id
    for row in trace_rows(facts):
        tests = tuple(test.id for test in row.tests)
        yield TraceLine(prd, row.requirements, row.story, row.criterion, row.text, tests, row.commit, row.verdict)
    for wanted in requirement_rows(facts):
        if not wanted.stories:
            yield TraceLine(prd, (wanted.id,), "", "", wanted.text, (), "", wanted.verdict)

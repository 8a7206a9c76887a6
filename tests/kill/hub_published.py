"""What is published about a PRD on the code host, in a form in which two worlds can be compared.

Commits are named by their place on the branch, comments of people by their place in time. What may differ between two
runs of the same work is left out: times, durations, which run did it, the table of runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fakes.github import ACTIONS_BOT
from fakes.github.state import Comment, Issue
from github_world import GitHubWorld
from kill.battery import TIMED
from prd2pr.state.layout import PrdLayout

HEX = re.compile(r"(?<![0-9a-f])[0-9a-f]{7,40}(?![0-9a-f])")
MARK = re.compile(r"<!-- prd2pr:(\w+)")
# What a later run need not look up again: a digest of text with times in it. Nobody sees it.
SHOWN = re.compile(r"<!-- prd2pr:shown:[^>]*-->\n?")
PASSES = (
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://host"),
    (re.compile(r"/actions/runs/\d+"), "/actions/runs/N"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?( UTC)?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min|h)\b"), "DURATION"),
    (re.compile(r"^### Last runs .*$", re.MULTILINE), ""),
    (re.compile(r"^\| TIME \|.*\n?", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Published:
    code: str  # every path and blob outside the state directory
    steps: tuple[str, ...]  # the subjects of the branch's commits
    standing: str  # what is ordered, and which comments are done
    objects: tuple[str, ...]  # one line or text for each object

    def differences(self, other: Published) -> list[str]:
        """What `other` has in addition, and what it lacks."""
        found = [] if self.code == other.code else ["the code tree is another one"]
        if self.steps != other.steps:
            found.append(f"steps: {list(self.steps)} became {list(other.steps)}")
        if self.standing != other.standing:
            found.append(f"standing: {self.standing} became {other.standing}")
        left = list(other.objects)
        for each in self.objects:
            if each in left:
                left.remove(each)
            else:
                found.append(f"missing: {each}")
        return [*found, *(f"one too many: {each}" for each in left)]


def read_published(world: GitHubWorld) -> Published:
    with world.fake.lock:
        world.pulls()  # so that they follow their branches
        words = _PlainText(world)
        return Published(_code(world), tuple(world.subjects()), words.standing(), tuple(sorted(words.objects())))


def _code(world: GitHubWorld) -> str:
    if world.branch not in world.bare.heads():
        return ""
    listing = str(world.bare.git("ls-tree", "-r", world.branch)).splitlines()
    return "\n".join(line for line in listing if not line.split("\t")[1].startswith(TIMED))


class _PlainText:
    def __init__(self, world: GitHubWorld) -> None:
        self.world = world
        there = world.branch in world.bare.heads()
        span = ["rev-list", "--reverse", "--first-parent", f"main..{world.branch}"]
        self.commits = str(world.bare.git(*span)).split() if there else []
        # Those of an unfinished story are on the work ref.
        held = [f"{self.commits[-1]}..{ref}" for ref in self.world.bare.refs("refs/prd2pr/work/") if there]
        self.held = [each for part in held for each in str(world.bare.git("rev-list", "--reverse", part)).split()]
        people = sorted(row.id for row in world.repo.comments.values() if row.user != ACTIONS_BOT)
        self.people = {number: f"person-{at}" for at, number in enumerate(people, 1)}

    def standing(self) -> str:
        if not self.commits:
            return ""
        prd = self.world.branch.partition("/")[2]
        status = json.loads(self.world.show(PrdLayout(prd).status))
        cursors = [{**each, "comment": self.people[each["comment"]]} for each in status.get("cursors", ())]
        return f"order {status.get('order')!r}, cursors {cursors}"

    def objects(self) -> Iterator[str]:
        repo = self.world.repo
        for issue in repo.issues.values():
            yield self._issue(issue)
        for comment in repo.comments.values():
            yield self._comment(comment)
        yield from self._checks()
        yield from ("a work ref" for _ in self.world.bare.refs("refs/prd2pr/work/"))
        yield from (f"label {label.name}" for label in repo.labels.values())
        # A run that continues a killed one ends elsewhere, and may hand over once more or once less.
        yield from {f"dispatch {row.workflow} {row.inputs}" for row in repo.dispatches}

    def _checks(self) -> Iterator[str]:
        """The branch's own check is on every head that a run has ended with; only the last one matters."""
        there = set()
        for check in self.world.repo.checks.values():
            where = (check.external_id, self._commit(check.head_sha), check.status, check.conclusion)
            past = check.external_id.endswith("/whole") and [check.head_sha] != self.commits[-1:]
            if past and where not in there:
                there.add(where)
                continue
            words = "\n".join(self.plain(text or "") for text in (check.title, check.summary, check.text))
            yield f"check {check.name} {where} {len(check.annotations)} annotations\n{words}"

    def _issue(self, row: Issue) -> str:
        titles = {each.id: each.title for each in self.world.repo.issues.values()}
        below = sorted(titles[each] for each in row.sub_issues)
        pull = ""
        if row.pull:
            pull = f"{row.pull.head}@{self._commit(row.pull.head_sha)} draft={row.pull.draft}"
        facts = f"{row.state} by {row.user} labels={sorted(row.labels)} below={below} {pull}"
        return f"{'pull' if row.pull else 'issue'} {row.title}: {facts}\n{self.plain(row.body or '')}"

    def _comment(self, row: Comment) -> str:
        mark = MARK.search(row.body)
        kind = mark[1] if mark and row.user == ACTIONS_BOT else "comment"
        reactions = sorted((each.user, each.content) for each in row.reactions)
        return f"{kind} under {row.number} by {row.user} {reactions}\n{self.plain(row.body)}"

    def _commit(self, sha: str) -> str:
        named = [*self.commits, *self.held]
        return next((f"@{at}" for at, each in enumerate(named, 1) if each.startswith(sha)), sha)

    def plain(self, text: str) -> str:
        text = SHOWN.sub("", text)
        text = HEX.sub(lambda found: self._commit(found[0]), text)
        text = re.sub(r"prd2pr:answer:(\d+)", lambda found: f"prd2pr:answer:{self.people[int(found[1])]}", text)
        for pattern, word in PASSES:
            text = pattern.sub(word, text)
        return text.strip()

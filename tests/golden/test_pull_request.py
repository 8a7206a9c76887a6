"""What reviewers read: the body, the local page, and everything that is published on GitHub.

`tests/github/messages` pins the same texts for samples made in memory. Here they come from whole branches.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from golden_branches import (
    FINISHED,
    HALF_WAY,
    JAVASCRIPT,
    Branch,
    Continued,
    check,
    git,
    program,
    without_durations,
    without_place,
)

from github_world import GitHubWorld
from world import PRD

PAGES = ".git/prd2pr/pr"
WITH_NODE = pytest.param(
    JAVASCRIPT, id="javascript", marks=pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
)


class Text(HTMLParser):
    """The visible text of a page, one line for each piece, with the targets of links."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.hidden = ""
        self.lines: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"style", "script"}:
            self.hidden = tag
        self.lines += [f"-> {value}" for name, value in attrs if name == "href"]

    def handle_endtag(self, tag: str) -> None:
        if tag == self.hidden:
            self.hidden = ""

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.lines.append(data.strip())


def page_text(page: Path) -> str:
    return "\n".join(Text(page.read_text(encoding="utf-8")).lines) + "\n"


def named_commits(text: str, commits: dict[str, str]) -> str:
    """Replace the ids of commits made now, whole or shortened, by their subjects without the title."""
    for commit, name in commits.items():
        text = re.sub(rf"\b{commit[:7]}[0-9a-f]*\b", f"<{name}>", text)
    return text


def subjects(place: Path, span: str) -> dict[str, str]:
    lines = git(place, "log", "--format=%H %s", span).splitlines()
    return {line[:40]: line[41:].partition(":")[0] for line in lines}


@pytest.mark.parametrize("branch", [pytest.param(FINISHED, id="finished"), WITH_NODE])
def test_the_page_of_a_finished_branch(branch: Branch, tmp_path: Path) -> None:
    """Nothing is left to do on the branch, so that `run` only publishes the page again."""
    place = branch.clone(tmp_path)
    before = git(place, "for-each-ref", "refs/heads")
    done = program(place, "run", branch.path, "--model", branch.model)
    check(f"{branch.bundle}/run_again.txt", without_place(done.text, place))
    assert git(place, "for-each-ref", "refs/heads") == before
    check(f"{branch.bundle}/pull_request.md", (place / PAGES / f"{branch.prd}.md").read_text(encoding="utf-8"))
    if branch is JAVASCRIPT:  # the page of the other one has half a megabyte of patches
        check(f"{branch.bundle}/pull_request_page.txt", page_text(place / PAGES / f"{branch.prd}.html"))


@pytest.mark.slow
def test_the_page_of_a_branch_in_the_middle_of_a_story(continued: Continued) -> None:
    place = continued.place
    assert continued.ended.status == 0, continued.ended.text
    made_now = dict(list(subjects(place, f"main..{HALF_WAY.name}").items())[:1])
    body = (place / PAGES / "loyalty.md").read_text(encoding="utf-8")
    check("half_way/pull_request.md", without_durations(named_commits(body, made_now)))
    page = without_dates(page_text(place / PAGES / "loyalty.html"))
    check("half_way/pull_request_page.txt", without_durations(named_commits(page, made_now)))


def without_dates(text: str) -> str:
    """Replace the minute of a commit that was made now; those of the recorded commits go with it."""
    return re.sub(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\dZ)?", "<date>", text)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHubWorld]:
    """A PRD was pushed to the fake GitHub, and nobody has approved the plan yet."""
    with GitHubWorld(tmp_path_factory.mktemp("hub")) as world:
        world.push_prd("prds/calc.md", PRD)
        assert world.act().outputs["outcome"] == "waiting"
        yield world


def published(world: GitHubWorld) -> str:
    """Everything that people can read on GitHub."""
    parts = []
    for issue in world.repo.issues.values():
        kind = f"draft={issue.pull.draft} {issue.pull.head} -> {issue.pull.base}" if issue.pull else "issue"
        parts.append(f"==== #{issue.number} {issue.title} [{issue.state}] {issue.labels} {kind}\n{issue.body}\n")
        parts += [f"---- {each.user} in #{issue.number}\n{each.body}\n" for each in world.comments(issue.number)]
    for each in world.checks():
        parts.append(f"==== check {each.name} of {each.head_sha} [{each.status} {each.conclusion}]\n")
        parts.append(f"{each.title}\n{each.summary}\n{each.text or ''}\n")
    return "".join(parts)


def steadied(text: str, world: GitHubWorld) -> str:
    """Replace the fake's address, ids of commits, digests that follow from them, and times."""
    text = named_commits(text.replace(world.url, "<github>"), subjects(world.bare.path, "--all"))
    text = re.sub(r"(prd2pr:shown:<[^>]*>:)[0-9a-f]{16}", r"\1<digest>", text)
    text = re.sub(r"sha256:[0-9a-f]{64}", "sha256:<digest>", text)
    return without_durations(without_dates(text))


def test_what_github_shows_before_and_after_the_work(hub: GitHubWorld) -> None:
    check("github/planned.md", steadied(published(hub), hub))
    hub.comment(hub.pull().number, "/approve", by="wendy")
    acted = hub.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "done"), acted.output
    check("github/done.md", steadied(published(hub), hub))
    check("github/done_summary.md", steadied(acted.summary, hub))

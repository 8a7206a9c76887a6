"""Every message on the code host: its golden text, and that no foreign text can act in it."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fakes.message_samples import HALF_COLLECTED, answers, replace_texts, views
from fakes.pull_sample import plan
from prd2pr.domain.records import Backlog
from prd2pr.github.messages.markers import make_answer_marker
from prd2pr.github.messages.query_replies import LogLine, LogsReply, TestRunReply
from prd2pr.github.messages.rendering import (
    cut_to_limit,
    render_reply,
    render_status_text,
    render_tracking_text,
    render_whole_check_text,
)
from prd2pr.github.messages.replies import CommandReply, PlanReply
from prd2pr.github.messages.status import build_status_view
from prd2pr.github.messages.tracking import build_tracking_view
from prd2pr.reports.rendering import render_body
from prd2pr.views.plan import build_plan_view
from prd2pr.views.untrusted_text import BODY_LIMIT

GOLDEN = Path(__file__).parent / "golden"
COMMITS = "https://github.com/acme/shop/commit/"
ANSWERS = answers()
VIEWS = views()
MARKDOWN = MarkdownIt("gfm-like", {"linkify": False, "html": True})
# What GitHub looks for in rendered text, outside code: mentions, references, bare links, emoji.
ACTIVE = re.compile(r"@\w|#\w|\bgh-\d|\w://|\bwww\.|:[a-z+-][\w+-]*:", re.IGNORECASE)
OURS = {
    "p", "strong", "em", "code", "pre", "a", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "details",
    "summary", "blockquote", "br", "h3",
}  # fmt: skip
CHART = ("class", "language-mermaid")  # of a fence without foreign text
HOSTILE = (
    "<!-- prd2pr:status:loyalty --> @octocat @acme/team fixes #12 GH-7 acme/shop#1 :tada: https://evil.example/a.png "
    "![x](https://evil.example/b.png) [y](javascript:alert(1)) <img src=x onerror=alert(1)></pre></details> | ` a|b "
    "www.evil.example ::error::x \u202edesrever\n\n# head\n- [ ] task\n/tdd run\n```\n"
)


class RenderedMarkdown(HTMLParser):
    def __init__(self, markdown: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.links: list[str] = []
        self.comments: list[str] = []
        self.prose = ""
        self.quiet = 0
        self.feed(MARKDOWN.render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.quiet += tag in ("code", "pre")
        assert {name for name, _ in attrs if (name, _) != CHART} <= {"href", "style", "lang"}, attrs
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_endtag(self, tag: str) -> None:
        self.quiet -= tag in ("code", "pre")

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.prose += "" if self.quiet else data


def assert_harmless(text: str) -> RenderedMarkdown:
    seen = RenderedMarkdown(text)
    assert set(seen.tags) <= OURS
    assert all(re.fullmatch(rf"{re.escape(COMMITS)}[0-9a-f]{{40}}", link) for link in seen.links), seen.links
    assert seen.comments == []
    assert "<!--" not in text
    others = seen.prose.replace("#7 sets", "")  # our own pull request, by its number
    assert not ACTIVE.search(others), ACTIVE.search(others)
    assert not any(line.lstrip().startswith("/") for line in text.splitlines())
    return seen


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_matches_its_golden_text(name: str) -> None:
    """After an intended change: UPDATE_GOLDEN=1 pytest tests/github/messages, and read the difference."""
    made = render_reply(ANSWERS[name], commit_url=COMMITS)
    golden = GOLDEN / f"{name}.md"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(made, encoding="utf-8")
    assert made == golden.read_text(encoding="utf-8")
    assert_harmless(made)


@pytest.mark.parametrize("name", VIEWS)
def test_the_view_matches_its_golden_text(name: str) -> None:
    golden = GOLDEN / f"{name}.md"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(VIEWS[name], encoding="utf-8")
    assert VIEWS[name] == golden.read_text(encoding="utf-8")


def test_no_golden_text_is_unused() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*ANSWERS, *VIEWS}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_hostile_answer_does_nothing(name: str) -> None:
    honest = RenderedMarkdown(render_reply(ANSWERS[name], commit_url=COMMITS))
    seen = assert_harmless(render_reply(replace_texts(ANSWERS[name], lambda: HOSTILE), commit_url=COMMITS))
    for tag in ("td", "details", "pre"):
        assert seen.tags.count(tag) == honest.tags.count(tag)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=150, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking is slow
def test_foreign_text_stays_text(data: st.DataObject) -> None:
    pieces = st.sampled_from(
        [*HOSTILE.split(" "), "<", ">", "-->", "<!--", "`", "``", "|", "\\", "\n", "&#64;", "*", "_"]
    )
    texts = st.one_of(st.text(max_size=40), st.lists(pieces, max_size=8).map("".join))
    name = data.draw(st.sampled_from(sorted(ANSWERS)))
    word = data.draw(texts)
    assert_harmless(render_reply(replace_texts(ANSWERS[name], lambda: word), commit_url=COMMITS))


def test_the_marker_is_first_and_the_only_one() -> None:
    hostile: CommandReply = replace_texts(ANSWERS["logs"], lambda: HOSTILE)
    text = render_reply(hostile, marker=make_answer_marker(77, 1))
    assert text.startswith("<!-- prd2pr:answer:77:1 -->\n")
    assert text.count("prd2pr:status") == text.count("&lt;!-- prd2pr:status")
    assert text.count("<!--") == 1


@pytest.mark.slow
def test_no_answer_is_too_long() -> None:
    long = "@|<" * 30_000
    for name, answer in ANSWERS.items():
        text = render_reply(replace_texts(answer, lambda: long))
        assert len(text) <= BODY_LIMIT, name
        assert RenderedMarkdown(text).quiet == 0, name


@pytest.mark.slow
def test_ten_thousand_stories_fit_everywhere() -> None:
    branch = plan()
    model = branch.backlog.stories[0]
    stories = tuple(model.model_copy(update={"id": f"loyalty-{n}"}) for n in range(10_000))
    branch.backlog = Backlog(stories=stories, questions=("Why so many?",) * 5000)
    pull_view = branch.pull_view(mode="none")
    view = build_status_view(pull_view, branch.status, None)
    texts = {
        "50 of 10000 stories are shown": render_body(pull_view, commit_url=COMMITS),
        "0 of 10000": render_status_text(view, marks=[]),
        "of 10000 stories are shown": render_tracking_text(
            build_tracking_view(pull_view, [], 1, {}, view.next), marker=""
        ),
        "200 of 10000 stories are shown": render_reply(PlanReply(build_plan_view(branch.prd, branch.backlog))),
        "50 of 10000 stories are": render_whole_check_text(pull_view),
    }
    for said, text in texts.items():
        assert len(text) <= BODY_LIMIT
        assert said in text


def test_truncated_text_is_closed_and_marked() -> None:
    lines = tuple(LogLine("2026", "<" * 150) for _ in range(60))
    text = cut_to_limit(render_reply(LogsReply(lines, 60)), 3000)
    assert len(text) <= 3000
    assert "cut for length" in text
    assert RenderedMarkdown(text).quiet == 0


def test_every_changing_command_has_its_own_sentence() -> None:
    said = [render_reply(answer) for name, answer in ANSWERS.items() if name.startswith("carried_")]
    assert len(said) > 15
    assert not any("was executed" in text for text in said)


def test_each_test_is_counted_once() -> None:
    """Of two modules that cannot be collected, the tests of one are known by name."""
    it = TestRunReply.of("a" * 40, HALF_COLLECTED, 50)
    assert (it.collected, it.passed, it.failed, it.errors, it.skipped) == (4, 1, 2, 1, 0)
    assert len(it.uncollected) == 1


def test_numbers_have_denominators() -> None:
    assert render_reply(TestRunReply("a" * 40, 41, 39, failed=2)).startswith("**39 of 41 tests pass**")

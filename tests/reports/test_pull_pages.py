"""The pull request body and page of the sample branch: their content, and what is kept out."""

from __future__ import annotations

import base64
import html
import os
import re
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from fakes.pull_sample import CommitFacts, many, plan, refused_write, sample, sha
from prd2pr.cli.terminal_lines import render_event
from prd2pr.domain.evidence import Finding
from prd2pr.domain.records import ProjectState, Status
from prd2pr.github.messages.rendering import render_status_text, render_story_evidence_text
from prd2pr.github.messages.status import build_status_view
from prd2pr.reports.rendering import OPTIONAL_PARTS, render_body, render_page
from prd2pr.views.models import NextStep, PageView, format_figures
from prd2pr.views.pull_request.models import SURVIVOR_CODE
from prd2pr.views.pull_request.page import ChangedDoc, PullRequestView
from prd2pr.views.untrusted_text import BODY_LIMIT

GOLDEN = Path(__file__).parent / "golden"
COMMITS = "https://github.com/acme/shop/commit/"
HOSTILE = (
    "</title></td><script>alert(1)</script>\"'><img src=x onerror=alert(1)> "
    "@octocat fixes #12 https://evil.example | `a|b"
)
VOID = {"meta", "br", "img", "link", "input", "hr"}


def sample_view(**options: object) -> PullRequestView:
    stranger = CommitFacts(sha("stranger"), "quick fix", "2026-11-16T09:09:00Z")
    return sample().pull_view(replayed=True, refused_writes=[refused_write()], unclaimed_commits=(stranger,), **options)


def test_changed_living_docs_are_listed_in_a_fold() -> None:
    docs = [ChangedDoc("docs/TRACE.md", "new"), ChangedDoc("docs/`x|.md", "changed")]
    text, html = render_body(sample_view(docs=docs)), render_page(sample_view(docs=docs))
    assert "<details><summary>Living docs changed (2)</summary>\n\n- `docs/TRACE.md` new\n- <code>docs/" in text
    assert "<code>docs/TRACE.md</code> new" in html
    assert "Living docs" not in render_body(sample_view()) + render_page(sample_view())


def test_screenshots_are_images_of_their_commit_and_an_odd_path_is_none() -> None:
    view, file = sample_view(), ".orch-state/prds/loyalty/screenshots/loyalty-1/1.png"
    pages = (
        PageView("/points", file, "sha256:0", sha=sha("x")),
        PageView("/odd", "a) ![b](c", "sha256:0", sha=sha("x")),
    )
    story = view.stories[0].model_copy(update={"pages": pages})
    image = f"({COMMITS.removesuffix('commit/')}blob/{sha('x')}/{file}?raw=true)"
    body = render_body(replace(view, stories=(story,)), commit_url=COMMITS)
    evidence = render_story_evidence_text(story, 7, COMMITS, marker="<!-- m -->")
    for text in (body, evidence):
        assert text.count("![") == 1 and image in text
    assert "Screenshots" not in render_body(view, commit_url=COMMITS)


def hostile() -> PullRequestView:
    branch = sample()
    branch.prd = branch.prd.model_copy(update={"title": HOSTILE, "summary": HOSTILE})
    stories = tuple(
        story.model_copy(
            update={
                "title": HOSTILE,
                "criteria": tuple(criterion.model_copy(update={"text": HOSTILE}) for criterion in story.criteria),
            }
        )
        for story in branch.backlog.stories
    )
    branch.backlog = branch.backlog.model_copy(
        update={"stories": stories, "questions": (HOSTILE,), "assumptions": (HOSTILE,)}
    )
    patch = f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n+{HOSTILE}\n"
    commits = {key: replace(commit, subject=HOSTILE, patch=patch) for key, commit in branch.commits.items()}
    branch.commits = commits
    for story, cycle in branch.cycles.items():
        refused = tuple(attempt.model_copy(update={"summary": HOSTILE}) for attempt in cycle.refused)
        branch.update(story, refused=refused, blocked=HOSTILE if story == "loyalty-4" else "")
    branch.status = Status(state=ProjectState.BLOCKED, blocked_reason=HOSTILE)
    return branch.pull_view(
        model=HOSTILE, head=f"prd2pr/{HOSTILE}", unclaimed_commits=(CommitFacts(sha("s"), HOSTILE),)
    )


class Parsed(HTMLParser):
    """Fails on unbalanced tags; records ids, links, tags and visible text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes[name] += 1
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        where = self.open[-1] if self.open else ""
        self.texts[where] = self.texts.get(where, "") + data

    @property
    def text(self) -> str:
        return " ".join(text for tag, text in self.texts.items() if tag != "style")


# --- the body ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pull_view"),
    [
        ("sample", sample_view()),
        ("github", sample_view(mode="none")),
        ("hostile", hostile()),
        ("empty", plan().pull_view()),
    ],
)
def test_body_matches_the_golden_file(name: str, pull_view: PullRequestView) -> None:
    """After a deliberate change: UPDATE_GOLDEN=1 pytest tests/reports, then review the diff."""
    made = render_body(pull_view, commit_url=COMMITS if name == "github" else "")
    golden = GOLDEN / f"{name}.md"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(made, encoding="utf-8")
    assert made == golden.read_text(encoding="utf-8")


def test_the_outcome_comes_first() -> None:
    title, _, figures, _, state, _, following = render_body(sample_view()).splitlines()[:7]
    assert state == "**In progress**"
    assert title == "**Loyalty points** · from `prds/loyalty.md`"
    assert figures.startswith("**2 of 5 requirements proven** · 2 of 5 stories done · ")
    assert following == "**Next:** `loyalty-4` is waiting for its code. `prd2pr run prds/loyalty.md`"


def test_a_reviewer_of_six_stories_sees_at_most_ten_kilobytes() -> None:
    branch = many(6)
    texts = tuple(f"{'A rather long sentence about points and what they are worth. ' * 4}{n}" for n in range(20))
    branch.backlog = branch.backlog.model_copy(update={"questions": texts, "assumptions": texts})
    warnings = tuple(
        Finding(code=code, severity="warning", message=f"{text} {code}", path="src/shop/points.py", line=n)
        for n, text in enumerate(texts)
        for code in ("GRN402", SURVIVOR_CODE)
    )
    for key, each in branch.proofs.items():
        verdict = each.verdict.model_copy(update={"findings": warnings})
        branch.proofs[key] = each.model_copy(update={"verdict": verdict})
    text = render_body(branch.pull_view(), commit_url=COMMITS)
    folds = re.compile(r"<details>.*?</details>", re.DOTALL)
    assert "<details>" not in folds.sub("", text)
    assert len(folds.sub("", text).encode()) <= 10_000
    assert len(text) > 2 * 10_000, "everything else is in folds"


def test_warnings_and_surviving_mutants_are_named_in_body_and_page() -> None:
    branch = sample()
    survivor = Finding(code=SURVIVOR_CODE, severity="warning", message="mutant survived: `a < 0` → `a <= 0`", line=7,
                       path="src/shop/points.py")  # fmt: skip
    green = branch.proofs["loyalty-1", 3]
    branch.proofs["loyalty-1", 3] = green.model_copy(
        update={"verdict": green.verdict.model_copy(update={"findings": (survivor,)})}
    )
    pull_view = branch.pull_view()
    assert [(each.story, each.finding.code) for each in pull_view.warnings] == [
        ("loyalty-1", SURVIVOR_CODE),
        ("loyalty-2", "GRN402"),
    ]
    for text in (render_body(pull_view), render_page(pull_view)):
        mutants, warnings = text.index("Surviving mutants"), text.index("GRN402")
        assert mutants < text.index("src/shop/points.py:7") < warnings


def test_every_place_shows_the_same_numbers() -> None:
    pull_view = sample_view()
    line = format_figures(pull_view.figures)
    page = re.sub(r"<[^>]+>", " ", render_page(pull_view).partition('<ul class="figures">')[2].partition("</ul>")[0])
    status = build_status_view(pull_view, Status(state=ProjectState.SPRINT_ACTIVE), None)
    texts = (render_body(pull_view), render_status_text(status, marks=()), page)
    review = render_event("review", {"state": pull_view.state, "figures": line, "warnings": ()})
    texts = (*texts, " ".join(each.plain for each in review))
    for text in texts:
        plain = " ".join(html.unescape(text).replace("*", "").replace(",", " ").split())
        for each in pull_view.figures:
            assert " ".join(f"{each.value} {each.label}".replace(",", " ").split()) in plain


def test_folds_are_closed_and_rendered_as_markdown() -> None:
    html = Parsed(
        MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(render_body(sample_view(), commit_url=COMMITS))
    )
    assert html.tags["details"] == html.tags["summary"] == 6
    assert html.tags["table"] == 4
    assert html.tags["tr"] == (1 + 5) + (1 + 5) + (1 + 9) + (1 + 7)
    assert {link.removeprefix(COMMITS) for link in html.links} == {row.sha for row in sample_view().commits}


def test_hostile_body_is_inert() -> None:
    html = Parsed(MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(render_body(hostile())))
    assert html.tags["script"] == html.tags["img"] == html.tags["a"] == 0
    assert html.tags["tr"] == (1 + 5) + (1 + 5) + (1 + 9) + (1 + 7)
    outside_code = " ".join(text for tag, text in html.texts.items() if tag != "code")
    assert "octocat" in outside_code
    assert not re.search(r"@\w|#\d|https?://", outside_code)


@pytest.mark.slow
def test_three_hundred_stories_fit() -> None:
    text = render_body(many(300).pull_view(), commit_url=COMMITS)
    assert len(text) <= BODY_LIMIT
    assert "300 of 300 stories done" in text
    assert (
        "Left out for length: the list of commits, the trace, what was built, cost by phase, links to commits" in text
    )
    assert text.count("\n| `loyalty-") == 300
    assert text.endswith("`prd2pr verify main..prd2pr/loyalty`\n")


@pytest.mark.slow
def test_board_of_a_thousand_stories_is_shortened_with_a_note() -> None:
    pull_view = many(1000).pull_view()
    text = render_body(pull_view, commit_url=COMMITS)
    assert len(text) <= BODY_LIMIT
    assert "1000 of 1000 stories done" in text
    assert text.count("\n| `loyalty-") == 100
    assert "100 of 1000 stories are shown." in text
    assert "100 of 1000 stories" in render_page(pull_view)


@pytest.mark.slow
def test_tight_limit_shortens_the_board_with_a_note() -> None:
    text = render_body(many(300).pull_view(), commit_url=COMMITS, limit=20_000)
    assert 19_500 < len(text) <= 20_000
    shown_rows = text.count("\n| `loyalty-")
    assert f"{shown_rows} of 300 stories" in text
    assert all(words in text for words in OPTIONAL_PARTS.values())


@pytest.mark.slow
def test_shortest_body_fits_with_the_worst_texts() -> None:
    worst = "@" * 5000
    branch = sample()
    branch.prd = branch.prd.model_copy(update={"title": worst, "path": worst})
    stories = tuple(story.model_copy(update={"title": worst}) for story in branch.backlog.stories)
    branch.backlog = branch.backlog.model_copy(update={"stories": stories * 50, "questions": (worst,) * 500})
    branch.update("loyalty-4", blocked=worst)
    branch.status = Status(state=ProjectState.BLOCKED, blocked_reason=worst)
    unclaimed_commits = tuple(CommitFacts(f"{n:040x}", worst) for n in range(500))
    text = render_body(branch.pull_view(unclaimed_commits=unclaimed_commits, head=worst, base=worst, model=worst))
    assert len(text) <= BODY_LIMIT
    assert "and 480 more" in text


def test_body_that_fits_is_not_shortened() -> None:
    assert "Left out" not in render_body(sample_view())


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pull_view", [sample_view(), hostile(), plan().pull_view()], ids=["sample", "hostile", "empty"]
)
def test_page_is_well_formed_and_self_contained(pull_view: PullRequestView) -> None:
    html = Parsed(render_page(pull_view))
    assert [name for name, number in Counter(html.ids).items() if number > 1] == []
    assert [link for link in html.links if not link.startswith("#") or link[1:] not in html.ids] == []
    assert not {"script", "img", "link", "iframe", "form", "object", "svg"} & set(html.tags)
    assert not {"style", "src", "onerror", "onclick", "srcset", "action"} & set(html.attributes)
    assert html.tags["h1"] == html.tags["main"] == html.tags["title"] == 1


def test_the_policy_allows_this_style_and_nothing_else() -> None:
    text = render_page(sample_view())
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    assert f"content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\"" in text
    assert not re.search(r"url\(|@import|https?:", style)
    assert "prefers-color-scheme: dark" in style


def test_hostile_text_is_shown_as_text() -> None:
    html = Parsed(render_page(hostile()))
    assert html.texts["h1"].startswith("</title></td><script>alert(1)</script>")
    assert html.texts["title"].startswith("</title></td><script>")
    assert "+</title></td><script>alert(1)</script>" in html.texts["span"]


def test_page_and_body_agree() -> None:
    pull_view = sample_view()
    html, text = Parsed(render_page(pull_view)).text, render_body(pull_view, limit=10**9)
    facts = [
        *(figure.value for figure in pull_view.figures),
        *(row.sha[:7] for row in pull_view.commits),
        *(row.title for row in pull_view.board),
        *(code for refusal in pull_view.refusals for code in refusal.codes),
        *(test.id for row in pull_view.trace for test in row.tests),
        *(row.verdict for row in pull_view.trace),
        *pull_view.questions,
        *pull_view.assumptions,
        pull_view.next.command,
        pull_view.check,
        "every test run and gate is real",
        "not measured",
    ]
    assert len(facts) > 50
    assert [fact for fact in facts if fact not in html] == []
    assert [fact for fact in facts if fact not in text.replace("&#36;", "$")] == []


def test_only_a_replay_has_the_banner() -> None:
    assert "Replayed transcript" in render_page(sample_view())
    assert "Replayed transcript" not in render_page(sample().pull_view())
    assert "Replayed transcript" not in render_body(sample().pull_view())


def test_diff_is_shown_without_state_files() -> None:
    html = Parsed(render_page(sample_view()))
    assert "+def earned(total: Money) -> int:" in html.texts["span"]
    assert "-    return Receipt(lines=cart.lines, total=total)" in html.texts["span"]
    assert "SPRINT_ACTIVE" not in html.text


def test_same_view_gives_the_same_bytes() -> None:
    assert render_page(sample_view()) == render_page(sample_view())


def test_a_page_without_a_next_command() -> None:
    made = render_page(replace(sample_view(), next=NextStep("Nothing to do.")))
    assert made.count('class="command"') == 1


def test_description_links_to_the_attestations_if_there_are_any() -> None:
    body = render_body(sample_view(), commit_url=COMMITS, attested=True)
    assert f"]({COMMITS.removesuffix('commit/')}attestations)" in body
    assert "attestations)" not in render_body(sample_view(), commit_url=COMMITS)

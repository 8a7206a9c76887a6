"""Untrusted text stays text in Markdown, HTML, diagrams and templates."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from living_tree import LivingTree, done, prd
from mermaid_check import check_diagrams
from prd2pr.domain.memory_records import DecisionRecord, FailureRecord, Lesson, Pattern, SpikeRecord
from prd2pr.domain.records import Design, Phase, RefusedAttempt
from prd2pr.livingdocs.mermaid import draw_bar_chart, draw_flowchart, format_label

HOSTILE = (
    '</td><script>alert(1)</script><img src=x onerror=alert(1)> | `a|b` ``` "]; click n0 "javascript:x" '
    "{{ 7 * 7 }} {% raw %} ${x} @octocat fixes #12 https://evil.example [a](javascript:x) **b** "
    "<!-- prd2pr:end ARCHITECTURE --> \u202egnp.exe\n\n# Heading\n- item\n<!-- prd2pr:begin TRACE -->\n```\n/tdd run\n"
)
NAME = 'a`b|c<d>{{ 7 * 7 }}"];x[y](z) @octocat <!-- prd2pr:end X -->'
ALLOWED = {"h1", "h2", "h3", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "a", "br"}
ALLOWED |= {"strong", "em"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.comments: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        assert all(name in {"href", "class", "style"} for name, _ in attrs), attrs

    def handle_comment(self, data: str) -> None:
        self.comments.append(data.strip())


def rendered(text: str) -> Tags:
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    tags = Tags()
    tags.feed(html)
    return tags


@pytest.fixture
def docs(tree: LivingTree) -> dict[str, str]:
    design = Design(summary=HOSTILE, decisions=(HOSTILE,), source_paths=(NAME,))
    refused = (RefusedAttempt(phase=Phase.RED, attempt=1, codes=("RED104", NAME), summary=HOSTILE),)
    common = {"prd": "shop", "at": "2026-11-16T09:00:00Z"}
    tree.put(
        {
            f"src/{NAME}/{NAME}.py": f'"""{HOSTILE.replace(chr(34), chr(39))}"""\ndef f(): ...\n',
            "src/a.py": f"import os\nos.getenv({NAME!r}, {HOSTILE!r})\n@app.get({'/' + HOSTILE!r})\ndef f(): ...\n",
            "src/b.ts": f"app.get('/{NAME}', x)\nexport const x = 1\n",
            "src/c.ts": "import { x } from './b'\n",
            "Dockerfile": f"FROM {NAME}\nEXPOSE {NAME}\nCMD {NAME}\n",
            "Procfile": f"web: {NAME}\n",
            "Makefile": f"test: ## {NAME}\n\ttrue\n",
            "package.json": '{"name": "<b>|`x`", "version": "{{ 7 * 7 }}", "scripts": {"test|`": "<i>"}}',
            ".github/workflows/x.yml": f"name: {NAME!r}\non: {{push: {{branches: [{NAME!r}]}}}}\njobs:\n"
            f"  {NAME!r}: {{runs-on: {NAME!r}, needs: [other], steps: [{{run: {NAME!r}}}]}}\n  other: {{}}\n",
            ".orch-state/prds/shop/pipeline/security.json": '{"output": {"risks": '
            '[{"what": "<script>x</script> | {{ 7 * 7 }}"}]}}',
        }
    )
    tree.remember(
        FailureRecord(id="f", feature=HOSTILE, approach=HOSTILE, why_failed=HOSTILE, lesson=HOSTILE, **common),
        Lesson(id="l", feature=HOSTILE, surprises=(HOSTILE,), would_change=(HOSTILE,), **common),
        DecisionRecord(id="d", title=HOSTILE, text=HOSTILE, why=HOSTILE, **common),
        Pattern(id="p", name=HOSTILE, description=HOSTILE, example=HOSTILE, **common),
        SpikeRecord(id="s", feature="", question=HOSTILE, approach=HOSTILE, result=HOSTILE, viable=True, **common),
    )
    story = done("shop-1", HOSTILE, design=design, refused=refused, description=HOSTILE)
    tree.work(prd(title=HOSTILE, text=HOSTILE), story, assumptions=(HOSTILE,))
    return tree.docs()


def test_untrusted_tags_links_and_comments_are_removed(docs: dict[str, str]) -> None:
    for name, text in docs.items():
        tags = rendered(text)
        assert tags.tags <= ALLOWED, (name, tags.tags - ALLOWED)
        assert all(
            re.fullmatch(r"\.\./[^:]*|[A-Z_]+\.md|https://keepachangelog\.com/en/1\.1\.0/", link) for link in tags.links
        )
        mark = "INDEX" if name == "README" else name
        assert len(tags.comments) == 3, (name, tags.comments)
        assert tags.comments[0] == f"prd2pr:begin {mark}" and tags.comments[-1] == f"prd2pr:end {mark}"


def test_untrusted_text_adds_no_headings_or_list_items(docs: dict[str, str]) -> None:
    for text in docs.values():
        assert not re.search(r"^(# Heading|- item|/tdd run)", text, re.MULTILINE)


def test_values_are_not_evaluated_as_templates(docs: dict[str, str]) -> None:
    assert not any("49" in text.replace("&#8203;", "") for text in docs.values() if "{{ 7" not in text)
    assert any("{{ 7 \\* 7 }}" in text or "{{ 7 * 7 }}" in text for text in docs.values())


def test_no_mentions_and_no_closing_keywords(docs: dict[str, str]) -> None:
    for name, text in docs.items():
        outside_fences = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        outside_code = re.sub(r"`[^`\n]*`", "", outside_fences)
        assert not re.search(r"@octocat|(?<!&)#12\b|https://evil", outside_code), name


def test_rows_have_as_many_cells_as_the_header(docs: dict[str, str]) -> None:
    for name, text in docs.items():
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(cells) == 1, (name, block)


def test_diagrams_contain_only_boxes_and_arrows(docs: dict[str, str]) -> None:
    assert sum(check_diagrams(text) for text in docs.values()) >= 3


@pytest.mark.parametrize("text", [HOSTILE, NAME, "", "\u202e", '"', "end", "%%{init}%%", "a;b", "«»", "Ä ß 漢字"])
def test_labels(text: str) -> None:
    shown = format_label(text)
    assert re.fullmatch(r"[\w./: -]{1,60}…?", shown) and shown.strip()
    chart = draw_flowchart([f"{text}1", f"{text}2"], [(f"{text}1", f"{text}2")])
    chart_text = "\n".join(
        ["```mermaid", *chart, "```", "```mermaid", *draw_bar_chart(text, text, [text], ([1], [2])), "```"]
    )
    assert check_diagrams(chart_text) == 2

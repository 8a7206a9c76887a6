"""The examples in docs/examples are accepted by the gates: their files are committed and judged."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from languages.corpus_judge import INSTALLED
from prd2pr.cli.wiring import make_gathering
from prd2pr.config_file import load_config
from prd2pr.domain.records import Phase
from prd2pr.domain.stack_policy import ENDINGS
from prd2pr.errors import SetupProblem
from prd2pr.proof.judge import judge_commits
from prd2pr.state.git import Git
from prd2pr.verification.verdict import GatePolicy

PAGES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.md"))
NEEDED = {"javascript": "node", "typescript": "npm", "monorepo": "node", "go": "go", "rust": "cargo"}
LONG = {"typescript", "go", "rust", "monorepo"}  # their gates are tested elsewhere
COMPILED = ("go", "rust")
FILE = re.compile(r"^`([^`\s]+)`\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections(page: Path) -> dict[str, dict[str, str]]:
    """Heading → path → text."""
    _, *parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.partition("\n")[0]: dict(FILE.findall(part)) for part in parts}


def commit(git: Git, parent: str, files: dict[str, str]) -> str:
    base = git.tree(parent) if parent else git.empty_tree
    tree = git.edit_tree(base, {path: text.encode() for path, text in files.items()})
    return git.commit(tree, [parent] if parent else [], "A step")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in LONG else [])
        for page in PAGES
        if page.stem != "README"
    ],
)
def test_example_on_the_page_is_accepted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = NEEDED.get(page.stem, "git")
    if shutil.which(tool) is None:
        pytest.skip(f"NOT TESTED: {tool} is not installed")
    if page.stem in COMPILED and page.stem not in ENDINGS:
        pytest.skip(f"NOT TESTED: this version does not know {page.stem}")
    monkeypatch.setenv("PRD2PR_DEPENDENCIES", str(INSTALLED))
    shown = sections(page)
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    git = Git.open(tmp_path)
    base = commit(git, "", shown["The repository"])
    gathering = make_gathering(git, load_config(shown["The repository"].get(".prd2pr.yml")), base, cached=False)
    for phase, heading in ((Phase.RED, "RED"), (Phase.GREEN, "GREEN")):
        head = commit(git, base, shown[heading])
        try:
            evidence, verdict = judge_commits(gathering, GatePolicy(), phase, base, head)
        except SetupProblem as problem:
            if tool != "npm":
                raise
            pytest.skip(f"NOT TESTED: {problem.what}")
        assert verdict.accepted, [finding.message for finding in verdict.errors]
        assert evidence.story_tests
        base = head


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r"\]\((\w+)\.md\)", PAGES[0].with_name("README.md").read_text(encoding="utf-8")))
    assert listed == {page.stem for page in PAGES} - {"README"}

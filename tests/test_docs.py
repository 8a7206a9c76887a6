"""The docs match the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prd2pr import errors
from prd2pr.cli.reference import render_reference_pages
from prd2pr.cli.table import COMMANDS
from prd2pr.domain.machines.project_machine import iter_project_moves
from prd2pr.error_table import ERROR_KINDS

ROOT = Path(__file__).parents[1]


PAGES = render_reference_pages()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_reference_pages_are_current(name):
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name], (
        "stale: run .venv/bin/python -m prd2pr.cli.reference"
    )


def test_every_error_is_explained():
    def tree(kind: type) -> set[type]:
        return {kind}.union(*(tree(each) for each in kind.__subclasses__()))

    raised = {kind for kind in tree(errors.Prd2prError) if kind.__module__ == errors.__name__}
    assert {kind.error for kind in ERROR_KINDS} == raised - {errors.Prd2prError}
    assert len({kind.code for kind in ERROR_KINDS}) == len(ERROR_KINDS)


def test_readme_has_exactly_two_set_up_commands():
    block = re.search(r"```console\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    assert block.group(1).split("\n")[:-1] == ["make demo", "make test"]


def test_every_command_named_in_the_docs_exists():
    names = {command.name for command in COMMANDS}
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        used = set(re.findall(r"`prd2pr ([a-z]+)", path.read_text(encoding="utf-8")))
        assert used <= names, f"{path.name} names unknown commands"


def test_links_between_docs_have_targets():
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_architecture_diagram_has_every_project_transition():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    drawn = re.search(r"```mermaid\nstateDiagram-v2\n(.*?)```", text, re.DOTALL)
    assert drawn is not None
    arrows = re.findall(r"(\w+) --> (\w+): (.+)", drawn[1])
    assert {(label, source, target) for source, target, labels in arrows for label in labels.split(", ")} == {
        (label.strip("`/"), source, target) for label, source, target in iter_project_moves()
    }


PAGES_ABOUT_CODE = [ROOT / "docs/architecture.md", *sorted((ROOT / "docs/decisions").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES_ABOUT_CODE, ids=lambda page: page.stem)
def test_pages_about_the_code_name_existing_files_and_functions(page: Path):
    source = ROOT / "src/prd2pr"
    gone = []
    for path, name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)(?:: (\w+))?`", page.read_text(encoding="utf-8")):
        found = next((root / path for root in (source, ROOT) if (root / path).is_file()), None)
        definition = rf"^\s*(?:async )?(?:def|class) {name}\b|^{name}\b.* = "
        if found is None or (name and not re.search(definition, found.read_text(encoding="utf-8"), re.MULTILINE)):
            gone.append(f"{path}: {name}")
    assert gone == []


def test_the_site_has_every_page():
    """Pages of single findings, decisions and languages are reached from the pages that list them."""
    navigation = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in navigation if not (ROOT / "docs" / name).is_file()] == []
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= {*navigation}

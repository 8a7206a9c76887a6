"""A document is written when it has something to say; the index lists the others. Files of people are not replaced."""

from __future__ import annotations

import pytest

from living_tree import LivingTree, done, prd
from prd2pr.config import Docs
from prd2pr.config_file import load_config
from prd2pr.domain.documents import (
    DOCUMENT_NAMES,
    DOCUMENTS,
    INDEX,
    README,
    SECURITY_POLICY,
    format_attributes,
    is_own_attributes,
)
from prd2pr.errors import ConfigInvalid
from prd2pr.livingdocs.merge import format_marks
from prd2pr.livingdocs.own_changelog import add_changelog_entries, is_own_changelog, only_adds_lines

CODE = {
    "pyproject.toml": '[project]\nname = "shop"\n[tool.pytest]\n',
    "src/shop/cart.py": "from shop import money\n",
    "src/shop/money.py": "",
    "tests/test_cart.py": "def test_total():\n    assert True\n",
}
ROUTE = {"src/shop/web.py": "@app.get('/cart')\ndef cart(): ...\n"}


def words(tree: LivingTree, *names: str) -> dict[str, str]:
    return {each.document.name: each.word for each in tree.render("docs", *names).documents}


def test_a_document_appears_with_its_content_and_is_removed_with_it(tree: LivingTree) -> None:
    assert sorted(tree.put(CODE).docs()) == ["ARCHITECTURE", "CODEBASE_MAP", "README", "RUNBOOK"]
    index = tree.docs_text("README")
    assert "| [Runbook](RUNBOOK.md) | How to set up" in index and "| Routing | routes, programs or commands |" in index
    assert sorted(tree.put(ROUTE).docs()) == ["ARCHITECTURE", "CODEBASE_MAP", "README", "ROUTING"], (
        "the others are current"
    )
    assert "[Routing](ROUTING.md)" in tree.docs_text("README")
    tree.put(dict.fromkeys(ROUTE))
    assert words(tree)["ROUTING"] == "removed"
    assert tree.render().files["docs/ROUTING.md"] is None
    tree.docs()
    assert tree.docs_text("ROUTING") == "" and "[Routing]" not in tree.docs_text("README")


def test_a_document_with_text_by_people_stays_with_an_empty_generated_part(tree: LivingTree) -> None:
    tree.put({**CODE, **ROUTE}).docs()
    tree.put({"docs/ROUTING.md": f"{tree.docs_text('ROUTING')}\nAsk Ada.\n", **dict.fromkeys(ROUTE)}).docs()
    text = tree.docs_text("ROUTING")
    assert "Ask Ada." in text and "/cart" not in text and "prd2pr:begin ROUTING" in text
    tree.put(ROUTE).docs()
    assert "/cart" in tree.docs_text("ROUTING") and tree.docs_text("ROUTING").endswith("Ask Ada.\n")


def test_a_document_by_people_is_left_alone_while_there_is_nothing_to_add(tree: LivingTree) -> None:
    tree.put({**CODE, "docs/ROUTING.md": "# Ours\n"}).docs()
    assert tree.docs_text("ROUTING") == "# Ours\n" and "[Routing](ROUTING.md)" in tree.docs_text("README")
    tree.put(ROUTE).docs()
    assert tree.docs_text("ROUTING").startswith("# Ours\n\n<!-- prd2pr:begin ROUTING -->")


def test_the_index_does_not_touch_a_readme_without_marks(tree: LivingTree) -> None:
    tree.put({**CODE, "docs/README.md": "# Our docs\n"}).docs()
    assert tree.docs_text("README") == "# Our docs\n" and "INDEX" not in words(tree)
    begin, end = format_marks(INDEX)
    tree.put({"docs/README.md": f"# Our docs\n\n{begin}\n{end}\n"}).docs()
    assert tree.docs_text("README").startswith("# Our docs\n") and "[Runbook](RUNBOOK.md)" in tree.docs_text("README")


def test_no_index_at_the_root_and_none_for_a_single_document(tree: LivingTree) -> None:
    assert "README.md" not in tree.put(CODE).render(".").files
    assert sorted(tree.render("docs", "runbook").files) == ["docs/.gitattributes", "docs/RUNBOOK.md"]


def test_documents_that_are_not_selected_are_removed_and_named_in_the_index(tree: LivingTree) -> None:
    tree.put({**CODE, **ROUTE}).docs()
    found = words(tree, "architecture", "trace", "runbook")
    assert found["ROUTING"] == found["CODEBASE_MAP"] == "removed" and found["TRACE"] == "nothing to say"
    tree.put(tree.render("docs", "architecture", "runbook").files)
    assert words(tree, "architecture", "runbook")["ROUTING"] == "not selected"
    assert "`docs.documents` in `.prd2pr.yml`: `CODEBASE_MAP.md`, `ROUTING.md`." in tree.docs_text("README")


def test_the_setting_selects_documents_and_suggests_names() -> None:
    assert load_config("docs: off").docs == load_config("docs: false").docs == Docs(enabled=False)
    assert load_config("docs: {enabled: false, directory: a/b}").docs.directory == "a/b"
    chosen = load_config("docs: {directory: docs, documents: [architecture, trace]}").docs.selected
    assert {each.name for each in chosen} == {"ARCHITECTURE", "TRACE", "INDEX", "README"}
    with pytest.raises(ConfigInvalid, match="cannot be `archtecture`") as refused:
        load_config("docs:\n  documents: [archtecture]\n")
    assert "Did you mean `architecture`?" in refused.value.remedy and "routing" in refused.value.remedy
    assert len(set(DOCUMENT_NAMES)) == len(DOCUMENTS)


# --- SECURITY.md ------------------------------------------------------------------------------------------------------

SECRET = {"src/shop/pay.py": "import os\nKEY = os.environ['PAY_API_KEY']\n"}


@pytest.mark.parametrize("directory", ["docs", "."])
def test_no_security_policy_is_created(tree: LivingTree, directory: str) -> None:
    made = [path.rpartition("/")[2] for path in tree.put(SECRET).render(directory).files]
    assert "SECURITY_REVIEW.md" in made and "SECURITY.md" not in made


def test_an_earlier_generated_policy_is_removed_but_not_one_that_people_wrote(tree: LivingTree) -> None:
    begin, end = format_marks(SECURITY_POLICY)
    about = "Risks that were named, and places in the code to look at."
    earlier = f"# Security\n\n{about}\n\n{begin}\nold\n{end}\n"
    docs = tree.put({**SECRET, "docs/SECURITY.md": earlier}).docs()
    assert tree.docs_text("SECURITY") == "" and "PAY_API_KEY" in docs["SECURITY_REVIEW"]
    tree.put({"docs/SECURITY.md": f"Write to us.\n\n{begin}\n{end}\n"}).docs()
    assert tree.docs_text("SECURITY").startswith("Write to us.\n") and "PAY_API_KEY" in tree.docs_text("SECURITY")
    assert tree.docs_text("SECURITY_REVIEW") == "", "it is not written twice"
    assert "(SECURITY.md)" in tree.docs_text("README")
    tree.put({"docs/SECURITY.md": "Write to us.\n"}).docs()
    assert tree.docs_text("SECURITY") == "Write to us.\n" and tree.docs_text("SECURITY_REVIEW")


# --- the project's own README and changelog ---------------------------------------------------------------------------

LOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Tea\n\n## [1.0.0] - 2026-01-01\n\n### Added\n\n- Cups\n"


def test_a_finished_story_is_added_to_the_projects_changelog_once(tree: LivingTree) -> None:
    story, cycle = done("shop-1", "Sell *all* tea")
    tree.put({"CHANGELOG.md": LOG}).work(prd(), (story, cycle))
    assert "CHANGELOG.md" not in tree.render().files, "only the commit that integrates it adds it"
    files = tree.integrate("shop", "shop-1", cycle)
    expected = LOG.replace("- Tea\n", "- Tea\n- Sell \\*all\\* tea (`shop-1`)\n")
    assert files["CHANGELOG.md"] == expected.encode() and "docs/CHANGELOG.md" not in files
    assert "[Changelog](../CHANGELOG.md)" in (files["docs/README.md"] or b"").decode()
    assert tree.put(files).integrate("shop", "shop-1", cycle) == {}, "it is named already"
    edited = expected.replace("Sell \\*all\\* tea (`shop-1`)", "We sell tea")
    tree.put({"CHANGELOG.md": edited})
    assert "CHANGELOG.md" not in tree.render().files, "people may edit the entry"


def test_entries_move_from_the_generated_changelog_to_one_that_is_added_later(tree: LivingTree) -> None:
    tree.work(prd(), done("shop-1"), done("shop-2", "Mend", kind="bug"), done("shop-3", "Tidy", kind="refactor")).docs()
    assert "shop-1" in tree.docs_text("CHANGELOG")
    tree.put({"CHANGELOG.md": LOG}).docs()
    assert tree.docs_text("CHANGELOG") == ""
    log = (tree.git.read(tree.tree, "CHANGELOG.md") or b"").decode()
    assert "- Tea\n- Sell (`shop-1`)\n\n### Fixed\n\n- Mend (`shop-2`)\n\n## [1.0.0]" in log and "shop-3" not in log


def test_only_a_marked_section_of_the_readme_is_written(tree: LivingTree) -> None:
    begin, end = format_marks(README)
    tree.put({"README.md": "# Shop\n"}).work(prd(), done("shop-1", "Sell tea")).docs()
    assert tree.git.read(tree.tree, "README.md") == b"# Shop\n"
    tree.put({"README.md": f"# Shop\n\n{begin}\n{end}\n\nBye.\n"}).docs()
    text = (tree.git.read(tree.tree, "README.md") or b"").decode()
    assert "**A shop** (`prds/shop.md`)\n\n- Sell tea\n" in text and text.endswith("\nBye.\n")
    assert "[Codebase map]" not in text and "docs/README.md" not in text


SECTIONS = "### Added\n\n- New\n\n### Fixed\n\n- Fix\n"
FORMATS = {
    "# Changes\n\n## 1.2\n\n* a\n": "# Changes\n\n## Unreleased\n\n* New\n* Fix\n\n## 1.2\n\n* a\n",
    "# C\r\n\r\n## Unreleased\r\n- x\r\n": "# C\r\n\r\n## Unreleased\r\n- x\r\n- New\r\n- Fix\r\n",
    "# C\n\n## [Unreleased]\n\n[x]: http://x\n": f"# C\n\n## [Unreleased]\n\n{SECTIONS}\n[x]: http://x\n",
    "# C\n\n## [1.0]\n### Added\n- z": f"# C\n\n## [Unreleased]\n\n{SECTIONS}\n## [1.0]\n### Added\n- z",
    "# C\n\n```\n## Unreleased\n```\n": f"# C\n\n```\n## Unreleased\n```\n\n## [Unreleased]\n\n{SECTIONS}",
}


@pytest.mark.parametrize("before", FORMATS)
def test_the_format_of_a_changelog_is_kept(before: str) -> None:
    made = add_changelog_entries(before.encode(), [("Added", "New"), ("Fixed", "Fix")])
    assert made.decode() == FORMATS[before]
    assert only_adds_lines(before.encode(), made) and not only_adds_lines(made, before.encode())


def test_what_is_not_a_changelog_of_people() -> None:
    assert not is_own_changelog(b"") and not is_own_changelog(b"See the releases.\n") and not is_own_changelog(b"\xff#")
    assert not is_own_changelog(b"# Changelog\n\n<!-- prd2pr:begin CHANGELOG -->\n<!-- prd2pr:end CHANGELOG -->\n")


# --- .gitattributes ---------------------------------------------------------------------------------------------------


def test_diffs_of_generated_documents_fold_but_not_those_with_text_by_people(tree: LivingTree) -> None:
    tree.put({**CODE, "docs/RUNBOOK.md": "# Ours\n"}).docs()
    attributes = (tree.git.read(tree.tree, "docs/.gitattributes") or b"").decode()
    assert "\nCODEBASE_MAP.md merge=union linguist-generated\n" in attributes
    assert "\nREADME.md merge=union linguist-generated\n" in attributes and "\nRUNBOOK.md merge=union\n" in attributes
    assert tree.put(ROUTE).render().attributes == {}, "it is current"
    tree.put({"docs/.gitattributes": "*.md text\n", **dict.fromkeys(ROUTE)})
    assert "docs/.gitattributes" not in tree.render().files, "a person's file is left alone"
    assert is_own_attributes(format_attributes(())) and not is_own_attributes(
        format_attributes(()) + b"*.py filter=x\n"
    )

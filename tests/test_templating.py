from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from prd2pr import templating
from prd2pr.templating import get_environment, template_root


def test_templates_of_the_source_checkout_are_found() -> None:
    assert (template_root() / "prompts").is_dir()


def test_an_undefined_value_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "hello.j2").write_text("hello {{ name }}")
    with pytest.raises(UndefinedError, match="'name' is undefined"):
        get_environment(root=tmp_path).get_template("hello.j2").render()


@pytest.mark.parametrize(
    ("name", "expected"), [("page.html.j2", "&lt;b&gt;"), ("body.md.j2", "<b>"), ("plain.j2", "<b>")]
)
def test_only_html_is_escaped(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / name).write_text("{{ text }}")
    assert get_environment(root=tmp_path).get_template(name).render(text="<b>") == expected


def test_a_value_is_never_a_template(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("{{ title }}")
    title = "{{ 7 * 7 }}{% include 'secret' %}"
    assert get_environment(root=tmp_path).get_template("a.j2").render(title=title) == title


def test_only_the_given_filters_exist(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("{{ 'x' | twice }}")
    assert get_environment({"twice": lambda text: text * 2}, root=tmp_path).get_template("a.j2").render() == "xx"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is treated as the program's own."""
    monkeypatch.setattr(templating, "template_root", lambda: tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def rendered(root: Path, monkeypatch: pytest.MonkeyPatch, *, compiles: bool) -> str:
    """Render with a new environment, as in a new process."""
    templating._create_environment.cache_clear()
    made = get_environment(root=root)
    if not compiles:
        monkeypatch.setattr(made, "compile", lambda *_: pytest.fail("it was compiled again"))
    return made.get_template("a.j2").render(name="you")


def test_compiled_template_is_cached_until_the_template_changes(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "a.j2").write_text("hello {{ name }}")
    assert rendered(own, monkeypatch, compiles=True) == "hello you"
    assert rendered(own, monkeypatch, compiles=False) == "hello you"
    (own / "a.j2").write_text("goodbye {{ name }}")
    assert rendered(own, monkeypatch, compiles=True) == "goodbye you"


def test_template_compiled_by_another_version_is_compiled_again(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "a.j2").write_text("hello {{ name }}")
    rendered(own, monkeypatch, compiles=True)
    (kept,) = (own / "__pycache__").iterdir()
    before = kept.read_bytes()
    monkeypatch.setattr(templating, "_read_own_source", lambda: "other settings")
    assert rendered(own, monkeypatch, compiles=True) == "hello you"
    assert kept.read_bytes() != before


def test_a_damaged_copy_is_compiled_again(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "a.j2").write_text("hello {{ name }}")
    rendered(own, monkeypatch, compiles=True)
    (kept,) = (own / "__pycache__").iterdir()
    kept.write_bytes(kept.read_bytes()[:-20])
    assert rendered(own, monkeypatch, compiles=True) == "hello you"


def test_nothing_is_cached_if_python_writes_no_bytecode(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (own / "a.j2").write_text("hello {{ name }}")
    assert rendered(own, monkeypatch, compiles=True) == "hello you"
    assert not (own / "__pycache__").exists()


def test_foreign_template_directories_have_no_bytecode_cache(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("hello")
    assert get_environment(root=tmp_path).bytecode_cache is None

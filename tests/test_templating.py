from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import UndefinedError

from prd2pr.templating import environment, template_root


def test_templates_of_the_source_checkout_are_found() -> None:
    assert (template_root() / "prompts").is_dir()


def test_an_undefined_value_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "hello.j2").write_text("hello {{ name }}")
    with pytest.raises(UndefinedError, match="'name' is undefined"):
        environment(root=tmp_path).get_template("hello.j2").render()


@pytest.mark.parametrize(
    ("name", "expected"), [("page.html.j2", "&lt;b&gt;"), ("body.md.j2", "<b>"), ("plain.j2", "<b>")]
)
def test_only_html_is_escaped(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / name).write_text("{{ text }}")
    assert environment(root=tmp_path).get_template(name).render(text="<b>") == expected


def test_a_value_is_never_a_template(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("{{ title }}")
    title = "{{ 7 * 7 }}{% include 'secret' %}"
    assert environment(root=tmp_path).get_template("a.j2").render(title=title) == title


def test_filters_are_those_that_were_given(tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text("{{ 'x' | twice }}")
    assert environment({"twice": lambda text: text * 2}, root=tmp_path).get_template("a.j2").render() == "xx"

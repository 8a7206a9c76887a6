"""Templates: found beside the code, rendered with strict undefined.

Text templates are not escaped; `*.html.j2` are. What goes into a template is data: a value is never rendered as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from prd2pr.errors import SetupProblem

Filters = Mapping[str, Callable[..., Any]]


def template_root() -> Path:
    """`prd2pr/templates` of an installed package, or `templates` of a source checkout."""
    here = Path(__file__).resolve()
    for candidate in (here.parent / "templates", here.parents[2] / "templates"):
        if candidate.is_dir():
            return candidate
    raise SetupProblem(
        "the templates of prd2pr are missing",
        where=str(here.parent / "templates"),
        remedy="install prd2pr again: this installation is incomplete",
    )


def environment(filters: Filters | None = None, *, root: Path | None = None) -> Environment:
    return _environment(tuple(sorted((filters or {}).items())), root or template_root())


@cache  # compiling a template takes longer than filling it a hundred times
def _environment(filters: tuple[tuple[str, Callable[..., Any]], ...], root: Path) -> Environment:
    made = Environment(
        loader=FileSystemLoader(root),
        undefined=StrictUndefined,
        autoescape=select_autoescape(("html.j2", "html"), default_for_string=False),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(filters)
    return made


def render(name: str, values: Mapping[str, object], filters: Filters | None = None) -> str:
    """The template `name` (`prompts/system.j2`), filled with `values`."""
    return environment(filters).get_template(name).render(values)

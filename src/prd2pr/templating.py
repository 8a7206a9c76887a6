"""Templates: found beside the code, rendered with strict undefined.

Text templates are not escaped; `*.html.j2` are. What goes into a template is data: a value is never rendered as one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined, select_autoescape
from jinja2.bccache import Bucket

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


class KeptBeside(BytecodeCache):
    """Compiled templates, where Python would keep them if they were modules of its own, and under the same conditions.

    Who can write there can change the program itself. So only our own templates have one, never a directory of others.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        return cache_from_source(f"{filename or name}.py")

    def get_source_checksum(self, source: str) -> str:
        """With all else that a compiled template depends on: how it is compiled, by this file and by which Jinja."""
        return sha256("\0".join((source, _own_text(), jinja2.__version__)).encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError), Path(bucket.key).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):  # the program may lie where it may not write
                keep(bucket)


def keep(bucket: Bucket) -> None:
    place = Path(bucket.key)
    place.parent.mkdir(exist_ok=True)
    handle, made = tempfile.mkstemp(dir=place.parent, prefix=place.name)
    os.fchmod(handle, 0o644)  # who may read the program may read this
    with os.fdopen(handle, "wb") as file:
        bucket.write_bytecode(file)
    Path(made).replace(place)


@cache
def _own_text() -> str:
    return Path(__file__).read_text(encoding="utf-8")


def environment(filters: Filters | None = None, *, root: Path | None = None) -> Environment:
    return _environment(tuple(sorted((filters or {}).items())), root or template_root())


@cache  # compiling a template takes longer than filling it a hundred times
def _environment(filters: tuple[tuple[str, Callable[..., Any]], ...], root: Path) -> Environment:
    made = Environment(
        loader=FileSystemLoader(root),
        bytecode_cache=KeptBeside() if root == template_root() else None,
        optimized=False,  # what is compiled depends on the template, and on nothing that a filter answers
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

"""The package's Jinja templates, rendered with strict handling of undefined values.

`*.html.j2` templates are escaped, text templates are not. Values are data and are never rendered as templates.
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
    """Return `prd2pr/templates` of an installed package, or `templates` of a source checkout."""
    here = Path(__file__).resolve()
    for candidate in (here.parent / "templates", here.parents[2] / "templates"):
        if candidate.is_dir():
            return candidate
    raise SetupProblem(
        "the templates of prd2pr are missing",
        where=str(here.parent / "templates"),
        remedy="install prd2pr again: this installation is incomplete",
    )


class TemplateCache(BytecodeCache):
    """A cache of compiled templates in `__pycache__`, used under the same conditions as Python's own bytecode.

    Anyone who can write there can change the program itself, so only the package's own templates are cached.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        return cache_from_source(f"{filename or name}.py")

    def get_source_checksum(self, source: str) -> str:
        """Return a checksum of all inputs of a compiled template, including this file and Jinja's version."""
        return sha256("\0".join((source, _read_own_source(), jinja2.__version__)).encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError), Path(bucket.key).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):  # the package's directory may be read-only
                write_bytecode(bucket)


def write_bytecode(bucket: Bucket) -> None:
    place = Path(bucket.key)
    place.parent.mkdir(exist_ok=True)
    handle, made = tempfile.mkstemp(dir=place.parent, prefix=place.name)
    os.fchmod(handle, 0o644)  # world-readable, like the installed package
    with os.fdopen(handle, "wb") as file:
        bucket.write_bytecode(file)
    Path(made).replace(place)


@cache
def _read_own_source() -> str:
    return Path(__file__).read_text(encoding="utf-8")


def get_environment(filters: Filters | None = None, *, root: Path | None = None) -> Environment:
    return _create_environment(tuple(sorted((filters or {}).items())), root or template_root())


@cache  # compiling a template takes longer than rendering it a hundred times
def _create_environment(filters: tuple[tuple[str, Callable[..., Any]], ...], root: Path) -> Environment:
    made = Environment(
        loader=FileSystemLoader(root),
        bytecode_cache=TemplateCache() if root == template_root() else None,
        optimized=False,  # the bytecode must depend only on the template, not on the results of filters
        undefined=StrictUndefined,
        autoescape=select_autoescape(("html.j2", "html"), default_for_string=False),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(filters)
    return made


def render_template(name: str, values: Mapping[str, object], filters: Filters | None = None) -> str:
    """Render the template `name`, such as `prompts/system.j2`, with `values`."""
    return get_environment(filters).get_template(name).render(values)

"""Compile the templates used by runs ahead of time, as `compileall` does for modules.

Run as `python -m prd2pr.cli.compile_templates` when the package is built.
"""

from __future__ import annotations

import sys

from prd2pr.agents import prompts
from prd2pr.github.messages import rendering as messages_rendering
from prd2pr.livingdocs import render
from prd2pr.reports import rendering
from prd2pr.templating import get_environment


def compile_all_templates() -> None:
    """Compile the templates of prompts, living docs, pull requests and comments."""
    render.load_docs_templates()
    rendering.compile_pr_templates()
    for filters, directory in ((prompts.FILTERS, "prompts/"), (messages_rendering.FILTERS, "github/")):
        templates = get_environment(filters)
        for name in templates.list_templates(extensions=("j2",)):
            if name.startswith(directory):
                templates.get_template(name)


if __name__ == "__main__":
    sys.dont_write_bytecode = False  # writing the cache is the purpose of this program
    compile_all_templates()

"""`python -m prd2pr.entry.templates` compiles the templates of a run beforehand, as `compileall` does with modules."""

from __future__ import annotations

import sys

from prd2pr.agents import prompts
from prd2pr.flows import living_docs
from prd2pr.forges import pull_pages, said
from prd2pr.templating import environment


def load_templates() -> None:
    """Of prompts, living docs, pull requests and comments."""
    living_docs.load_templates()
    pull_pages.load_templates()
    for filters, directory in ((prompts.FILTERS, "prompts/"), (said.FILTERS, "github/")):
        templates = environment(filters)
        for name in templates.list_templates(extensions=("j2",)):
            if name.startswith(directory):
                templates.get_template(name)


if __name__ == "__main__":
    sys.dont_write_bytecode = False  # it is called for nothing else
    load_templates()

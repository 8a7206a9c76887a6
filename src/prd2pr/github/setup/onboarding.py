"""`/project register`: open a pull request that adds the missing files to a repository.

Workflow files are not included, because the job's token may not write them. A person runs `prd2pr init` for that.
"""

from __future__ import annotations

from prd2pr.build_info import ACTION
from prd2pr.config import CONFIG_PATH, DEFAULT_PRDS
from prd2pr.github.branch_writer import sync_branch
from prd2pr.github.context import GitHubContext
from prd2pr.github.messages.rendering import render_onboarding_text
from prd2pr.github.messages.replies import RegisterReply
from prd2pr.state.layout import ARCHITECTURE, BEST_PRACTICES
from prd2pr.templating import render_template
from prd2pr.workflow.session import Session

SETUP_BRANCH = "prd2pr-setup"  # without the slash of PRD branches, so that it cannot clash with a PRD id
SETUP_TITLE = "Set up prd2pr"
TEMPLATE_PATH = "prds/_template.md"


def render_starting_files() -> dict[str, str]:
    """Return the contents of the files by path. The workflow is generated from the first one."""
    return {
        CONFIG_PATH: render_template("init/prd2pr.yml.j2", {"prds": DEFAULT_PRDS, "action": ACTION}),
        TEMPLATE_PATH: render_template("init/prd_template.md.j2", {}),
        ARCHITECTURE: render_template("init/architecture.md.j2", {}),
        BEST_PRACTICES: render_template("init/best-practices.md.j2", {}),
    }


def open_setup_pull(context: GitHubContext, session: Session) -> RegisterReply:
    """Open the setup pull request, unless it is already open or no file is missing."""
    missing = list_missing_setup_files(context, context.base_commit)
    if not missing:
        return RegisterReply(context.repository, context.base_branch)
    there = context.hub.pull_for_branch(SETUP_BRANCH, context.base_branch)
    if there is None or not there.open:
        push_setup_files(context, session)
        text = render_onboarding_text(tuple(missing), context.repository)
        there = context.hub.open_pull(SETUP_TITLE, text, SETUP_BRANCH, context.base_branch, draft=False)
    return RegisterReply(context.repository, context.base_branch, tuple(missing), there.number)


def list_missing_setup_files(context: GitHubContext, commit: str) -> dict[str, bytes]:
    return {
        path: text.encode() for path, text in render_starting_files().items() if context.git.read(commit, path) is None
    }


def push_setup_files(context: GitHubContext, session: Session) -> None:
    """Push the missing files, after any files that an interrupted run has pushed."""
    old = sync_branch(context.git, context.remote, SETUP_BRANCH)
    parent = old or context.base_commit
    missing = list_missing_setup_files(context, parent)
    if missing:
        made = context.git.commit(
            context.git.edit_tree(context.git.tree(parent), missing), [parent], f"{SETUP_TITLE}\n"
        )
        session.services.writer.move(SETUP_BRANCH, made, old)

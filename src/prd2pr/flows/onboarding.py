"""`/project register`: what a repository lacks to be set up, as a pull request.

Workflow files are not among it: the job's own token may not write them, so `prd2pr init` does on a person's machine.
"""

from __future__ import annotations

from prd2pr.config import CONFIG_PATH, DEFAULT_PRDS
from prd2pr.core.said.answers import Registered
from prd2pr.flows.drive import head_of
from prd2pr.flows.host import Host
from prd2pr.flows.obey import obey
from prd2pr.flows.obey.order import Obeyed, Ordered
from prd2pr.flows.remote_writers import follow
from prd2pr.flows.session import Session
from prd2pr.forges.said import onboarding_text
from prd2pr.templating import render

REGISTER = "project register"
BRANCH = "prd2pr-setup"  # without the slash of the PRDs' branches: no PRD's id can make it its own
TITLE = "Set prd2pr up"
TEMPLATE_PATH = "prds/_template.md"


def starting_files() -> dict[str, str]:
    """By path; the workflow is made from the first of them."""
    return {
        CONFIG_PATH: render("init/prd2pr.yml.j2", {"prds": DEFAULT_PRDS}),
        TEMPLATE_PATH: render("init/prd_template.md.j2", {}),
    }


def obeyed_on(host: Host, session: Session, ordered: Ordered) -> Obeyed:
    """Every command is about the PRD's branch, but for the one that sets the repository up."""
    if ordered.command.name == REGISTER:
        return Obeyed(head_of(session), set_up(host, session))
    return obey(session, ordered)


def set_up(host: Host, session: Session) -> Registered:
    """One pull request, however often it is asked for; none where nothing is missing."""
    missing = lacking(host, host.base_commit)
    if not missing:
        return Registered(host.repository, host.base_branch)
    there = host.hub.pull_of(BRANCH, host.base_branch)
    if there is None or not there.open:
        push_missing(host, session)
        text = onboarding_text(tuple(missing), host.repository)
        there = host.hub.open_pull(TITLE, text, BRANCH, host.base_branch, draft=False)
    return Registered(host.repository, host.base_branch, tuple(missing), there.number)


def lacking(host: Host, commit: str) -> dict[str, bytes]:
    return {path: text.encode() for path, text in starting_files().items() if host.git.read(commit, path) is None}


def push_missing(host: Host, session: Session) -> None:
    """On top of what a run before this one, cut off, has pushed."""
    old = follow(host.git, host.remote, BRANCH)
    parent = old or host.base_commit
    missing = lacking(host, parent)
    if missing:
        made = host.git.commit(host.git.edit_tree(host.git.tree(parent), missing), [parent], f"{TITLE}\n")
        session.writer.move(BRANCH, made, old)

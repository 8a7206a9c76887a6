"""Which events are none of prd2pr's business, by their payload alone: most of those in any repository.

They must cost next to nothing, so this module needs nothing but the standard library. It errs on the side of letting an
event through. The Action's gate and the server's inbox both ask here.
"""

from __future__ import annotations

from typing import Any

COMMAND_WORDS = ("/tdd", "/epic", "/approve", "/sprint", "/suggest_fix", "/skip_task", "/request_changes", "/feedback",
                 "/backlog", "/state", "/project")  # fmt: skip
PARTS = ("added", "modified", "removed")
PRD_ENDINGS = (".md", ".markdown", ".yml", ".yaml", ".json")


def irrelevant(name: str, event: dict[str, Any]) -> str:
    """Why the event can be ignored; empty when it may matter."""
    return REASONS[name](event) if name in REASONS else f"the event {name} starts nothing"


def push(event: dict[str, Any]) -> str:
    commits = event.get("commits")
    if not isinstance(commits, list) or len(commits) >= 20:  # GitHub lists no more than 20 with their files
        return ""
    if not commits:  # a branch was made or deleted
        return ""
    lists = [commit.get(part) if isinstance(commit, dict) else None for commit in commits for part in PARTS]
    if not all(isinstance(each, list) for each in lists):  # Actions leaves the files out
        return ""
    paths = [path for each in lists for path in each or ()]
    return "" if any(str(path).endswith(PRD_ENDINGS) for path in paths) else "no PRD was pushed"


def comment(event: dict[str, Any]) -> str:
    if event.get("action") != "created":
        return "only new comments count, not edited or deleted ones"
    said = event.get("comment")
    body = said.get("body") if isinstance(said, dict) else None
    lines = [line.lstrip() for line in (body if isinstance(body, str) else "").lower().replace("-", "_").splitlines()]
    if any(line.startswith(COMMAND_WORDS) for line in lines):
        return ""
    slashed = [line for line in lines if line.startswith("/")]
    return "" if slashed and is_ours(event) and any(map(nearly, slashed)) else "the comment holds no command"


def nearly(line: str) -> bool:
    """`/aprove`: answered with what was meant, but not everywhere, since other bots have their commands too."""
    from prd2pr.core.near_words import near_word

    word = line[1:].split(maxsplit=1)[0] if line[1:].strip() else ""
    return bool(near_word(word.rstrip(".,;:!?"), (known[1:] for known in COMMAND_WORDS)))


def is_ours(event: dict[str, Any]) -> bool:
    """A pull request or an issue that we wrote, or that carries one of our labels, names us."""
    there = event.get("issue")
    issue = there if isinstance(there, dict) else {}
    labels = issue.get("labels")
    names = [each.get("name") for each in labels if isinstance(each, dict)] if isinstance(labels, list) else []
    return any("prd2pr" in str(text).lower() for text in (issue.get("body"), *names))


def issue(event: dict[str, Any]) -> str:
    return "" if event.get("action") == "labeled" else "no label was added"


def pull(event: dict[str, Any]) -> str:
    if event.get("action") in ("closed", "reopened", "labeled"):
        return ""
    return "the pull request was neither closed, opened again nor given a label"


def matters(_: dict[str, Any]) -> str:
    return ""


REASONS = {
    "push": push,
    "issue_comment": comment,
    "issues": issue,
    "pull_request": pull,
    "workflow_dispatch": matters,
    "repository_dispatch": matters,
    "schedule": matters,
    "installation": matters,
    "installation_repositories": matters,
}

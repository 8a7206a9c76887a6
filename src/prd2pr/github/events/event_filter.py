"""Decide from the payload alone whether prd2pr can ignore an event. This is the case for most events in any repository.

The check must be fast, so it uses only the standard library. In doubtful cases, an event is not ignored. The Action's
gate and the server's inbox both use this filter.
"""

from __future__ import annotations

from typing import Any

COMMAND_WORDS = ("/tdd", "/epic", "/approve", "/sprint", "/suggest_fix", "/skip_task", "/request_changes", "/feedback",
                 "/backlog", "/state", "/project")  # fmt: skip
FILE_LISTS = ("added", "modified", "removed")
PRD_ENDINGS = (".md", ".markdown", ".yml", ".yaml", ".json")

# Reasons that `events.py` also uses.
NOT_A_NEW_COMMENT = "only new comments are read, not edited or deleted ones"
NO_COMMAND = "the comment contains no command"
NO_LABEL_ADDED = "no label was added"
PULL_UNCHANGED = "the pull request was neither closed, reopened nor labeled"


def explain_ignored(name: str, event: dict[str, Any]) -> str:
    """Return why the event can be ignored, or an empty string if it may be relevant."""
    return FILTERS_BY_EVENT[name](event) if name in FILTERS_BY_EVENT else f"the event {name} is irrelevant"


def check_push(event: dict[str, Any]) -> str:
    commits = event.get("commits")
    if not isinstance(commits, list) or len(commits) >= 20:  # GitHub lists files for at most 20 commits
        return ""
    if not commits:  # a branch was created or deleted
        return ""
    lists = [commit.get(part) if isinstance(commit, dict) else None for commit in commits for part in FILE_LISTS]
    if not all(isinstance(each, list) for each in lists):  # Actions omits the files
        return ""
    paths = [path for each in lists for path in each or ()]
    return "" if any(str(path).endswith(PRD_ENDINGS) for path in paths) else "no PRD was pushed"


def check_comment(event: dict[str, Any]) -> str:
    if event.get("action") != "created":
        return NOT_A_NEW_COMMENT
    comment = event.get("comment")
    body = comment.get("body") if isinstance(comment, dict) else None
    lines = [line.lstrip() for line in (body if isinstance(body, str) else "").lower().replace("-", "_").splitlines()]
    if any(line.startswith(COMMAND_WORDS) for line in lines):
        return ""
    slashed = [line for line in lines if line.startswith("/")]
    return "" if slashed and names_prd2pr(event) and any(map(is_near_command, slashed)) else NO_COMMAND


def is_near_command(line: str) -> bool:
    """Return whether the line is similar to a command, such as `/aprove`, and gets a suggestion."""
    from prd2pr.domain.spelling import find_near_word

    word = line[1:].split(maxsplit=1)[0] if line[1:].strip() else ""
    return bool(find_near_word(word.rstrip(".,;:!?"), (known[1:] for known in COMMAND_WORDS)))


def names_prd2pr(event: dict[str, Any]) -> bool:
    """Return whether the issue or pull request is ours or has one of our labels.

    In other places, text similar to our commands may be meant for other bots.
    """
    found = event.get("issue")
    issue = found if isinstance(found, dict) else {}
    labels = issue.get("labels")
    names = [each.get("name") for each in labels if isinstance(each, dict)] if isinstance(labels, list) else []
    return any("prd2pr" in str(text).lower() for text in (issue.get("body"), *names))


def check_review(event: dict[str, Any]) -> str:
    """A review can be input without a command, so its text does not decide."""
    return "" if event.get("action") in ("submitted", "created") else NOT_A_NEW_COMMENT


def check_issue(event: dict[str, Any]) -> str:
    return "" if event.get("action") == "labeled" else NO_LABEL_ADDED


def check_pull(event: dict[str, Any]) -> str:
    if event.get("action") in ("closed", "reopened", "labeled"):
        return ""
    return PULL_UNCHANGED


def accept_event(_: dict[str, Any]) -> str:
    return ""


FILTERS_BY_EVENT = {
    "push": check_push,
    "issue_comment": check_comment,
    "issues": check_issue,
    "pull_request": check_pull,
    "pull_request_review": check_review,
    "pull_request_review_comment": check_review,
    "workflow_dispatch": accept_event,
    "repository_dispatch": accept_event,
    "schedule": accept_event,
    "installation": accept_event,
    "installation_repositories": accept_event,
}

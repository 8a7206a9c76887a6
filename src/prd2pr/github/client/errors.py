"""Convert GitHub's error responses to named errors with a remedy, by status, message and path.

The first matching row of the table is used, so specific rows come first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from prd2pr.errors import (
    BadCredentials,
    BranchProtected,
    HubProblem,
    NotFoundThere,
    PullLimit,
    PullsNotAllowed,
    RateLimited,
    RepositoryArchived,
    ScopeMissing,
    TextTooLong,
    TrackerMissing,
    WorkflowFilesLocked,
    WorkflowMissing,
)
from prd2pr.github.client.exchange import ApiResponse, RestCall

MAX_TEXT_LENGTH = 65_536
MAX_MESSAGE_LENGTH = 300

PULLS_SETTING_REMEDY = (
    "Settings → Actions → General → Workflow permissions: tick `Allow GitHub Actions to create and approve pull "
    "requests`, then start the workflow again. If it is grayed out, change it in the organization's settings. "
    "A GitHub App token does not need the setting."
)

WORKFLOW_FILES_REMEDY = (
    "GITHUB_TOKEN can never change workflow files. Let a person change them, or use a GitHub App with the permission "
    "Workflows: write."
)


@dataclass(frozen=True)
class ErrorPattern:
    """A pattern for one error. `words` and `address` are regular expressions; an empty one matches everything."""

    problem: type[HubProblem]
    statuses: tuple[int, ...]
    words: str
    what: str
    remedy: str
    address: str = ""

    def matches(self, call: RestCall, answer: ApiResponse) -> bool:
        return (
            (not self.statuses or answer.status in self.statuses)
            and re.search(self.words, answer.message, re.IGNORECASE) is not None
            and re.search(self.address, call.path) is not None
        )


ERROR_PATTERNS: tuple[ErrorPattern, ...] = (
    ErrorPattern(
        RateLimited,
        (403, 429),
        r"secondary rate limit|abuse detection",
        "GitHub's secondary rate limit (many calls in a short time) is reached",
        "Nothing is lost. Wait a few minutes, then start it again.",
    ),
    ErrorPattern(
        RateLimited,
        (403, 429),
        r"rate limit",
        "GitHub's rate limit is used up",
        "Nothing is lost. Start it again in the next hour.",
    ),
    ErrorPattern(
        PullsNotAllowed,
        (),
        r"not permitted to create or approve pull requests",
        "GitHub Actions is not allowed to open pull requests in this repository",
        PULLS_SETTING_REMEDY,
    ),
    ErrorPattern(
        WorkflowFilesLocked,
        (),
        r"without `?workflows?`? (permission|scope)|workflows? permission",
        "the token is not allowed to change files under `.github/workflows`",
        WORKFLOW_FILES_REMEDY,
    ),
    ErrorPattern(
        RepositoryArchived,
        (403, 422),
        r"archived|read-only",
        "the repository is archived and read-only",
        "Settings → General → Danger Zone → Unarchive this repository.",
    ),
    ErrorPattern(
        BranchProtected,
        (),
        r"protected branch|GH006|GH013|repository rule|rule violations",
        "a rule of the repository protects the branch",
        "Settings → Rules (or Branches): exclude `prd2pr/**`, or add the bot to the bypass list. If signed commits "
        "are required, set `commit: api` in `.prd2pr.yml`.",
    ),
    ErrorPattern(
        WorkflowMissing,
        (404, 422),
        r"",
        "the workflow cannot be started: its file is not on the default branch, or has no `workflow_dispatch`",
        "Merge the workflow file that `prd2pr init` wrote into the default branch.",
        address=r"/actions/workflows/[^/]+/dispatches$",
    ),
    ErrorPattern(
        HubProblem,
        (),
        r"auto.?merge is not allowed",
        "auto-merge is not allowed in this repository",
        "Settings → General → Pull Requests: tick `Allow auto-merge`, or remove `auto_merge` from `.prd2pr.yml`.",
    ),
    ErrorPattern(
        HubProblem,
        (),
        r"is in (clean|unstable) status",
        "GitHub merges by itself only where the base branch requires something, such as a check or a review",
        "Protect the base branch (Settings → Rules), then merge this pull request by hand.",
    ),
    ErrorPattern(
        BadCredentials,
        (401,),
        r"",
        "GitHub does not accept the token: it is wrong, or it has expired",
        "Start the workflow again for a fresh token. If the problem persists, set the secret again.",
    ),
    ErrorPattern(
        TextTooLong,
        (422,),
        r"body is too long|is too long",
        "the text is too long for GitHub",
        "Please report this: the text should have been shortened. The commits are safe.",
    ),
    ErrorPattern(
        PullLimit,
        (403, 422),
        r"(too many|maximum|limit).{0,60}pull request|pull request.{0,60}(too many|maximum|limit)"
        r"|temporarily blocked from content creation|was submitted too quickly",
        "GitHub does not accept more pull requests from this account at the moment",
        "Close or merge some, or wait an hour; the branch with all proved commits is pushed.",
    ),
    ErrorPattern(
        TrackerMissing,
        (404, 410, 422),
        r"",
        "GitHub does not support sub-issues in this repository",
        "Set `tracker: {sub_issues: false}` in `.prd2pr.yml` on the base branch; the tracking issue lists the stories.",
        address=r"/issues/\d+/sub_issues\b",
    ),
    ErrorPattern(
        TrackerMissing,
        (404, 410),
        r"issues.{0,20}disabled",
        "issues are disabled in this repository",
        "Set `tracker: {kind: none}` in `.prd2pr.yml` on the base branch; "
        "or Settings → General → Features: tick `Issues`.",
        address=r"/issues\b",
    ),
    ErrorPattern(
        NotFoundThere,
        (301, 302, 307, 308),
        r"",
        "the repository has moved: it was renamed or transferred",
        "Start it from the repository under its new name.",
    ),
    ErrorPattern(
        NotFoundThere,
        (404, 410),
        r"",
        "not found on GitHub: deleted, renamed, or not visible to this token",
        "Check the name, and that the token or the App has access to this repository.",
    ),
)

# The permission that a workflow's token needs, by path. The first match wins.
PERMISSION_BY_PATH: tuple[tuple[str, str], ...] = (
    (r"/check-runs|/check-suites", "checks: write"),
    (r"/statuses/", "statuses: write"),
    (r"/actions/", "actions: write"),
    (r"/pulls", "pull-requests: write"),
    (r"/graphql$", "pull-requests: write"),
    (r"/issues|/labels", "issues: write"),
    (r"/git/|/contents/|/dispatches$", "contents: write"),
    (r"/collaborators/", "metadata: read"),
)


def classify_error(call: RestCall, answer: ApiResponse) -> HubProblem:
    """Return the named error with its remedy and GitHub's own message."""
    for sign in ERROR_PATTERNS:
        if sign.matches(call, answer):
            return sign.problem(f"{sign.what}{_github_message(answer)}", where=str(call), remedy=sign.remedy)
    if answer.status == 403:
        return _missing_scope_error(call, answer)
    return HubProblem(
        f"GitHub answered {answer.status}{_github_message(answer)}",
        where=str(call),
        remedy="Fix the problem that GitHub reports, then start it again; it continues from the last push.",
    )


def _github_message(answer: ApiResponse) -> str:
    words = " ".join(answer.message.split())
    return f" (GitHub: {words[:MAX_MESSAGE_LENGTH]})" if words else ""


def _missing_scope_error(call: RestCall, answer: ApiResponse) -> ScopeMissing:
    line = get_required_permission(call, answer)
    return ScopeMissing(
        f"the token lacks the permission `{line}`{_github_message(answer)}",
        where=str(call),
        remedy=f"Add `{line}` under `permissions:` of the job in the workflow file on the default branch; "
        "for a GitHub App, add that permission and accept it in the installation.",
    )


def get_required_permission(call: RestCall, answer: ApiResponse) -> str:
    """Return the permission as spelled in workflow files, from GitHub's header or else by path."""
    named = re.match(r"\s*([a-z_]+)=(read|write|admin)", answer.headers.get("x-accepted-github-permissions", ""))
    if named is not None:
        return f"{named[1].replace('_', '-')}: {named[2]}"
    if call.path == "/graphql" and "updateRefs" in str(call.body):
        return "contents: write"
    return next((line for pattern, line in PERMISSION_BY_PATH if re.search(pattern, call.path)), "contents: write")


def check_text_length(call: str, text: str) -> TextTooLong | None:
    """Return an error if the text is too long. GitHub's own response names neither the limit nor the length."""
    if len(text) <= MAX_TEXT_LENGTH:
        return None
    return TextTooLong(
        f"the text has {len(text):,} characters; GitHub accepts at most {MAX_TEXT_LENGTH:,}",
        where=call,
        remedy="Please report this: the text should have been shortened. The commits are safe.",
    )

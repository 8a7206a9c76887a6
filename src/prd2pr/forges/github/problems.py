"""What GitHub's refusals mean to a person: each recognised by status, words and address, and named with its remedy.

The first row that fits is the answer, so the narrow ones stand first. The texts are data of this table alone.
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
from prd2pr.forges.github.exchange import Answer, Call

TEXT_LIMIT = 65_536
WORDS_KEPT = 300

PULLS_SETTING = (
    "Settings → Actions → General → Workflow permissions: tick `Allow GitHub Actions to create and approve pull "
    "requests`, then start the workflow again. If it is greyed out, the organisation's settings decide. "
    "A GitHub App token does not need the setting."
)

WORKFLOW_FILES = (
    "GITHUB_TOKEN can never change them. Leave workflow files to a person, or use a GitHub App with the permission "
    "Workflows: write."
)


@dataclass(frozen=True)
class Sign:
    """How a problem shows. `words` and `address` are searched, an empty one fits everything."""

    problem: type[HubProblem]
    statuses: tuple[int, ...]
    words: str
    what: str
    remedy: str
    address: str = ""

    def fits(self, call: Call, answer: Answer) -> bool:
        return (
            (not self.statuses or answer.status in self.statuses)
            and re.search(self.words, answer.message, re.IGNORECASE) is not None
            and re.search(self.address, call.path) is not None
        )


SIGNS: tuple[Sign, ...] = (
    Sign(
        RateLimited,
        (403, 429),
        r"secondary rate limit|abuse detection",
        "GitHub's limit for many calls in a short time is reached",
        "Nothing is lost. Wait some minutes, then start it again.",
    ),
    Sign(
        RateLimited,
        (403, 429),
        r"rate limit",
        "GitHub's rate limit is used up",
        "Nothing is lost. Start it again in the next hour.",
    ),
    Sign(
        PullsNotAllowed,
        (),
        r"not permitted to create or approve pull requests",
        "GitHub Actions may not open pull requests in this repository",
        PULLS_SETTING,
    ),
    Sign(
        WorkflowFilesLocked,
        (),
        r"without `?workflows?`? (permission|scope)|workflows? permission",
        "the token may not change files under `.github/workflows`",
        WORKFLOW_FILES,
    ),
    Sign(
        RepositoryArchived,
        (403, 422),
        r"archived|read-only",
        "the repository is archived, it can only be read",
        "Settings → General → Danger Zone → Unarchive this repository.",
    ),
    Sign(
        BranchProtected,
        (),
        r"protected branch|GH006|GH013|repository rule|rule violations",
        "a rule of the repository protects the branch",
        "Settings → Rules (or Branches): leave out `prd2pr/**`, or put the bot on the bypass list. Where signed "
        "commits are asked for, set `commit: api` in `.prd2pr.yml`.",
    ),
    Sign(
        WorkflowMissing,
        (404, 422),
        r"",
        "the workflow cannot be started: its file is not on the default branch, or has no `workflow_dispatch`",
        "Merge the workflow file that `prd2pr init` wrote into the default branch.",
        address=r"/actions/workflows/[^/]+/dispatches$",
    ),
    Sign(
        BadCredentials,
        (401,),
        r"",
        "GitHub does not accept the token: it is wrong, or it has expired",
        "Start the workflow again for a fresh token. If it goes on, put the secret in anew.",
    ),
    Sign(
        TextTooLong,
        (422,),
        r"body is too long|is too long",
        "the text is too long for GitHub",
        "Please report this: the text should have been shortened. The commits are safe.",
    ),
    Sign(
        PullLimit,
        (403, 422),
        r"(too many|maximum|limit).{0,60}pull request|pull request.{0,60}(too many|maximum|limit)"
        r"|temporarily blocked from content creation|was submitted too quickly",
        "GitHub takes no more pull requests from this account now",
        "Close or merge some, or wait an hour; the branch with all proved commits is pushed.",
    ),
    Sign(
        TrackerMissing,
        (404, 410, 422),
        r"",
        "GitHub does not take issues below another one here",
        "Set `tracker: {sub_issues: false}` in `.prd2pr.yml` on the base branch; the tracking issue lists the stories.",
        address=r"/issues/\d+/sub_issues\b",
    ),
    Sign(
        TrackerMissing,
        (404, 410),
        r"issues.{0,20}disabled",
        "issues are switched off in this repository",
        "Set `tracker: {kind: none}` in `.prd2pr.yml` on the base branch; "
        "or Settings → General → Features: tick `Issues`.",
        address=r"/issues\b",
    ),
    Sign(
        NotFoundThere,
        (301, 302, 307, 308),
        r"",
        "the repository has moved: it was renamed or transferred",
        "Start it from the repository under its new name.",
    ),
    Sign(
        NotFoundThere,
        (404, 410),
        r"",
        "not found on GitHub: it was deleted or renamed, or this token may not see it",
        "Check the name, and that the token or the App has access to this repository.",
    ),
)

# What a workflow's token needs, by the address that was refused. The first that fits.
PERMISSIONS: tuple[tuple[str, str], ...] = (
    (r"/check-runs|/check-suites", "checks: write"),
    (r"/statuses/", "statuses: write"),
    (r"/actions/", "actions: write"),
    (r"/pulls", "pull-requests: write"),
    (r"/graphql$", "pull-requests: write"),
    (r"/issues|/labels", "issues: write"),
    (r"/git/|/contents/|/dispatches$", "contents: write"),
    (r"/collaborators/", "metadata: read"),
)


def recognise(call: Call, answer: Answer) -> HubProblem:
    """The problem's name, its remedy, and GitHub's own words."""
    for sign in SIGNS:
        if sign.fits(call, answer):
            return sign.problem(f"{sign.what}{_said(answer)}", where=str(call), remedy=sign.remedy)
    if answer.status == 403:
        return _scope_missing(call, answer)
    return HubProblem(
        f"GitHub answered {answer.status}{_said(answer)}",
        where=str(call),
        remedy="Mend what the message names, then start it again: it goes on from the last push.",
    )


def _said(answer: Answer) -> str:
    words = " ".join(answer.message.split())
    return f" (GitHub: {words[:WORDS_KEPT]})" if words else ""


def _scope_missing(call: Call, answer: Answer) -> ScopeMissing:
    line = permission_line(call, answer)
    return ScopeMissing(
        f"the token lacks the permission `{line}`{_said(answer)}",
        where=str(call),
        remedy=f"Add `{line}` under `permissions:` of the job in the workflow file on the default branch; "
        "for a GitHub App, give it that permission and accept it at the installation.",
    )


def permission_line(call: Call, answer: Answer) -> str:
    """As written in a workflow: GitHub's own word where it names the permission, else by the address."""
    named = re.match(r"\s*([a-z_]+)=(read|write|admin)", answer.headers.get("x-accepted-github-permissions", ""))
    if named is not None:
        return f"{named[1].replace('_', '-')}: {named[2]}"
    if call.path == "/graphql" and "updateRefs" in str(call.body):
        return "contents: write"
    return next((line for pattern, line in PERMISSIONS if re.search(pattern, call.path)), "contents: write")


def too_long(call: str, text: str) -> TextTooLong | None:
    """Asked before sending, since GitHub's own answer names neither the limit nor the length."""
    if len(text) <= TEXT_LIMIT:
        return None
    return TextTooLong(
        f"the text has {len(text):,} characters, GitHub takes {TEXT_LIMIT:,}",
        where=call,
        remedy="Please report this: the text should have been shortened. The commits are safe.",
    )

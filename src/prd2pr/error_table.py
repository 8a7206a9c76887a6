"""The explanation of each error in `prd2pr.errors`: one row per class, for `prd2pr explain ERR…` and the docs page."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr import errors


@dataclass(frozen=True)
class ErrorKind:
    error: type[errors.Prd2prError]
    title: str
    explanation: str
    remedy: str

    @property
    def code(self) -> str:
        return self.error.code


ERROR_KINDS: tuple[ErrorKind, ...] = (
    ErrorKind(
        errors.UsageProblem,
        "wrong usage",
        "An option or argument is not valid.",
        "`prd2pr COMMAND --help` shows the valid ones.",
    ),
    ErrorKind(
        errors.SetupProblem,
        "the repository or the machine is not ready",
        "Something that prd2pr needs is missing or does not work.",
        "`prd2pr doctor` lists what is missing and how to fix each item.",
    ),
    ErrorKind(
        errors.NotARepository,
        "not a git repository",
        "prd2pr keeps its state in git, so it needs a repository with at least one commit.",
        "Run `git init` and make the first commit, or name the repository with `--repo DIR`.",
    ),
    ErrorKind(
        errors.ConfigInvalid,
        "`.prd2pr.yml` cannot be used",
        "A key is unknown, or its value has the wrong type. Nothing was run.",
        "Fix the line that the message names; `prd2pr schema` prints what is allowed.",
    ),
    ErrorKind(
        errors.RunnerMissing,
        "the test runner is missing",
        "The Python interpreter that runs the tests cannot import pytest, or the tools of another language are "
        "not installed.",
        "Install what the message names, or set `test.python` or `stacks` in `.prd2pr.yml`.",
    ),
    ErrorKind(
        errors.ModelMissing,
        "no model is configured",
        "There is no API key, or the model is unknown.",
        "Set ANTHROPIC_API_KEY, or pass `--model`; with `--model human` a person does the work.",
    ),
    ErrorKind(
        errors.TokenMissing,
        "no token for GitHub",
        "Neither a token nor the id and key of a GitHub App is set.",
        "Set GITHUB_TOKEN; the workflow that `prd2pr init` writes does this. For an App, set PRD2PR_APP_ID and "
        "PRD2PR_APP_PRIVATE_KEY.",
    ),
    ErrorKind(
        errors.IdentityMissing,
        "git does not know who you are",
        "Locally, you are the author of the commits that prd2pr makes, as with `git commit`, so git needs your name "
        "and address. Nothing was run.",
        "Set `user.name` and `user.email` with `git config`.",
    ),
    ErrorKind(
        errors.InputInvalid,
        "a file cannot be used",
        "A file that a person wrote is not valid.",
        "Fix the line that the message names.",
    ),
    ErrorKind(
        errors.PrdInvalid,
        "the PRD cannot be used",
        "It is empty, too large or not UTF-8, two requirements have the same id, or its YAML has aliases, tags or "
        "duplicate keys.",
        "Fix the line that the message names; `prd2pr init` writes a template that works.",
    ),
    ErrorKind(
        errors.PlanInvalid,
        "no valid plan",
        "The planned stories break a rule: a dependency cycle, a requirement that no story covers, or a story that is "
        "too large.",
        "Run `prd2pr plan` again, or make the PRD clearer at the line that the message names.",
    ),
    ErrorKind(
        errors.PrdRejected,
        "the PRD should not be built as it is",
        "Before planning, the Why role found that an earlier decision rules the PRD out, that the same approach has "
        "failed before, or that the feature exists already. Nothing was planned.",
        "Change the PRD, or put `despite: why you want it` at its top to plan it anyway. Only the profile `full` runs "
        "this check.",
    ),
    ErrorKind(
        errors.StateProblem,
        "the state on the branch cannot be used",
        "A file under `.orch-state/` is missing, or contains data that prd2pr did not write.",
        "Follow the message; the branch's history contains every earlier state.",
    ),
    ErrorKind(
        errors.StateCorrupted,
        "the state is corrupted",
        "A file under `.orch-state/` cannot be read. The message names the last commit in which it was valid.",
        "Reset the branch to that commit, or restore the one file from it.",
    ),
    ErrorKind(
        errors.StateNewer,
        "the state is newer than this prd2pr",
        "A newer version of prd2pr wrote it. Reading it with this version could lose data.",
        "Upgrade prd2pr.",
    ),
    ErrorKind(
        errors.StateByHand,
        "the state was edited by hand",
        "A commit that is not a step of prd2pr changes `.orch-state/`. prd2pr trusts the commands, cursors "
        "and verdicts "
        "on the branch, so it stops until the change is reverted.",
        "`git revert` the commit that the message names, and push.",
    ),
    ErrorKind(
        errors.BranchProblem,
        "git rejected the step",
        "The branch could not be written.",
        "Follow the message; the proved phases before it are committed.",
    ),
    ErrorKind(
        errors.UnknownRevision,
        "no such commit",
        "The name does not resolve to a commit in this repository.",
        "`git log --oneline --all` lists all commits.",
    ),
    ErrorKind(
        errors.BranchMoved,
        "the branch was moved by someone else",
        "The head of the branch changed between reading and writing. Nothing was overwritten.",
        "Run the command again: it starts from the new head.",
    ),
    ErrorKind(
        errors.BranchInUse,
        "the branch is in use",
        "Another prd2pr process works on it, or it is checked out; prd2pr never changes a checkout.",
        "Wait for the other process, or `git switch` to another branch.",
    ),
    ErrorKind(
        errors.SecretFound,
        "the commit would publish a secret",
        "A file or the message of a commit contains a key, token or password of the job, in plain or encoded form "
        "(base64, hex, reversed). The commit was not pushed. The usual cause is a test, or the code under test, that "
        "reads its environment.",
        "Find the code that read the secret: start with the file that the message names and with the story's tests. "
        "Then rotate the secret, because code that could read it could also have sent it elsewhere. If the value is "
        "an ordinary word, rename its variable: any variable named token, key, secret, password, credential or PAT "
        "counts as a secret.",
    ),
    ErrorKind(
        errors.StepsLost,
        "the branch lost proved steps",
        "Somebody deleted the branch or moved it back while prd2pr worked on it. Nothing was overwritten.",
        "Restore the branch, or continue from its current head: the message says how.",
    ),
    ErrorKind(
        errors.StepsRewritten,
        "steps on a story's own branch were rewritten",
        "Somebody amended or rebased steps of a story that waits for integration, so their proofs are no "
        "longer valid. These steps were not merged, and nothing was built on them.",
        "Push the branch as it was before, or delete it to start the story again.",
    ),
    ErrorKind(
        errors.IllegalCommand,
        "not allowed now",
        "The state machine does not allow this command in the current state.",
        "The message lists what is allowed now; docs/reference/machines.md shows both machines.",
    ),
    ErrorKind(
        errors.CannotJudge,
        "no verdict",
        "The tests could not be run, so there is no verdict. That is not an acceptance.",
        "Fix the problem that the message describes, then run the command again.",
    ),
    ErrorKind(
        errors.ModelProblem,
        "a model call failed",
        "All retries are used up, or the call cannot be retried.",
        "The message quotes the service. Run the same command again to continue.",
    ),
    ErrorKind(
        errors.ModelRefused,
        "the model gave no usable answer",
        "It refused, or its answers stayed invalid after the errors were reported to it.",
        "Run again, or use another model or `--model human`.",
    ),
    ErrorKind(
        errors.SpendLimit,
        "a spending limit is reached",
        "The limit is set under `budget:` in `.prd2pr.yml`, or by the provider. All proved work is committed.",
        "Raise the limit that the message names, then run the same command again to continue.",
    ),
    ErrorKind(
        errors.TranscriptEnded,
        "the transcript has no answer",
        "A replayed transcript answers only the requests that were made when it was recorded.",
        "Record it again with `--record`, or use a live model.",
    ),
    ErrorKind(
        errors.HubProblem,
        "GitHub refused a call",
        "GitHub refused a call for a reason that has no separate code; the message quotes it.",
        "Fix the problem that the message describes, then run it again: it continues from the last push.",
    ),
    ErrorKind(
        errors.PullsNotAllowed,
        "GitHub Actions is not allowed to open pull requests",
        "The repository, or its organization, does not let workflows create pull requests.",
        "Settings → Actions → General → Workflow permissions: tick `Allow GitHub Actions to create and approve pull "
        "requests`. If it is grayed out, change it on the same page of the organization. Or use a GitHub App token.",
    ),
    ErrorKind(
        errors.ScopeMissing,
        "the token lacks a permission",
        "The token does not allow this call.",
        "Add the line that the message names under `permissions:` of the job, or give the App that permission "
        "and accept "
        "it at its installation.",
    ),
    ErrorKind(
        errors.BadCredentials,
        "the token is not valid",
        "GitHub does not accept the token, or it has expired. GITHUB_TOKEN expires with its job, an App token after an "
        "hour.",
        "Start the workflow again. If the error persists, set the secret again.",
    ),
    ErrorKind(
        errors.RepositoryArchived,
        "the repository is archived",
        "An archived repository is read-only.",
        "Settings → General → Danger Zone → Unarchive this repository.",
    ),
    ErrorKind(
        errors.NotFoundThere,
        "not found on GitHub",
        "It was deleted or renamed, or this token has no access to it: GitHub gives the same answer in both cases.",
        "Check the name. For a private repository, check that the token or App has access to it.",
    ),
    ErrorKind(
        errors.WorkflowMissing,
        "the workflow cannot be started",
        "Only a workflow file on the default branch that has `workflow_dispatch` under `on:` can be started "
        "by name. Only "
        "such a file receives comments, labels and schedules.",
        "Merge the workflow file that `prd2pr init` wrote into the default branch.",
    ),
    ErrorKind(
        errors.WorkflowFilesLocked,
        "workflow files cannot be written",
        "GITHUB_TOKEN cannot change files under `.github/workflows`; an App needs the permission Workflows.",
        "Make that change by hand, or use an App with Workflows: write.",
    ),
    ErrorKind(
        errors.BranchProtected,
        "a rule protects the branch",
        "Branch protection or a ruleset refused the push.",
        "Exclude `prd2pr/**` from the rules, or put the bot on their bypass list. If signed commits are required, set "
        "`commit: api`.",
    ),
    ErrorKind(
        errors.PullLimit,
        "too many open pull requests",
        "GitHub does not accept another pull request from this account at the moment.",
        "Close or merge some, or wait; the branch with all proved commits is pushed.",
    ),
    ErrorKind(
        errors.RateLimited,
        "GitHub's rate limit is reached",
        "There were too many calls in this hour, or too many in a short time. The message says when the limit "
        "is reset.",
        "Nothing is lost: run it again after that time, or let the schedule do it. A GitHub App has a higher limit.",
    ),
    ErrorKind(
        errors.HubUnreachable,
        "GitHub cannot be reached",
        "All attempts ended with a server error or without a response.",
        "Run it again later; it continues from the last push.",
    ),
    ErrorKind(
        errors.TextTooLong,
        "the text is too long for GitHub",
        "A comment, issue or pull request has at most 65,536 characters. prd2pr shortens longer texts, but "
        "not this one.",
        "Please report this as a bug; the commits are safe.",
    ),
    ErrorKind(
        errors.TreeDiffers,
        "the commit on GitHub differs from the proved one",
        "The commit that was created through GitHub's API contains different files than the commit that was judged. "
        "The branch was not moved to it.",
        "Run it again; if the error persists, set `commit: git`.",
    ),
    ErrorKind(
        errors.TrackerMissing,
        "stories cannot be tracked as issues",
        "Issues are disabled in the repository, or GitHub does not support sub-issues there. The work "
        "continues without "
        "them.",
        "Set `tracker: {sub_issues: false}` or `tracker: {kind: none}` in `.prd2pr.yml` on the base branch.",
    ),
    ErrorKind(
        errors.Stopped,
        "stopped",
        "The process received Ctrl-C or SIGTERM. All proved work is committed.",
        "Run the same command again to continue.",
    ),
)

ERRORS_BY_CODE = {kind.code: kind for kind in ERROR_KINDS}


def explain_error(kind: ErrorKind) -> str:
    return f"{kind.code}  {kind.title}\n\n{kind.explanation}\n\nFix: {kind.remedy}\n"


def render_errors_page() -> str:
    rows = "".join(
        f"| `{kind.code}` | {kind.title} | {kind.explanation} | {kind.remedy} | {kind.error.exit_status} |\n"
        for kind in ERROR_KINDS
    )
    return (
        "# Errors\n\nAn error has one line for what happened, one for where, and one for what to do.\n\n"
        "| code | what | meaning | fix | exit status |\n|---|---|---|---|---|\n" + rows
    )

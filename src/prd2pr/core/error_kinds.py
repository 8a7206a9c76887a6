"""What each error of `prd2pr.errors` means: one row per class, for `prd2pr explain ERR…` and the docs page."""

# ruff: noqa: E501 - a table is read by rows

from __future__ import annotations

from dataclasses import dataclass

from prd2pr import errors


@dataclass(frozen=True)
class ErrorKind:
    error: type[errors.Prd2prError]
    title: str
    explanation: str
    way_out: str

    @property
    def code(self) -> str:
        return self.error.code


KINDS: tuple[ErrorKind, ...] = (
    ErrorKind(
        errors.UsageProblem,
        "the call itself is wrong",
        "An option or argument does not fit.",
        "`prd2pr COMMAND --help` shows what fits.",
    ),
    ErrorKind(
        errors.SetupProblem,
        "repository or machine is not ready",
        "Something that prd2pr needs is missing or refuses to work.",
        "`prd2pr doctor` lists what is missing and how to mend each.",
    ),
    ErrorKind(
        errors.NotARepository,
        "not a git repository",
        "prd2pr keeps its state in git, so it needs a repository with at least one commit.",
        "`git init`, make the first commit, or name the repository with `--repo DIR`.",
    ),
    ErrorKind(
        errors.ConfigInvalid,
        "`.prd2pr.yml` cannot be used",
        "A key is unknown, or its value is not of the right kind. Nothing was guessed and nothing was run.",
        "Mend the line that the message names; `prd2pr schema` prints what is allowed.",
    ),
    ErrorKind(
        errors.RunnerMissing,
        "the test runner is missing",
        "The Python interpreter that was chosen for the tests cannot import pytest, or the tools of another language are "
        "not installed.",
        "Install what the message names, or set `test.python` or `stacks` in `.prd2pr.yml`.",
    ),
    ErrorKind(
        errors.ModelMissing,
        "no model is configured",
        "No key, or a model that is not known.",
        "Set ANTHROPIC_API_KEY, or pass `--model`; `--model human` lets a person do the work.",
    ),
    ErrorKind(
        errors.TokenMissing,
        "no token for GitHub",
        "Neither a token nor the id and key of a GitHub App was given.",
        "Set GITHUB_TOKEN; in a workflow the template of `prd2pr init` does it. For an App set PRD2PR_APP_ID and PRD2PR_APP_PRIVATE_KEY.",
    ),
    ErrorKind(
        errors.InputInvalid,
        "a file cannot be used",
        "A file that a person wrote is not what it should be.",
        "Mend the line that the message names.",
    ),
    ErrorKind(
        errors.PrdInvalid,
        "the PRD cannot be used",
        "Empty, too large, not UTF-8, two requirements with one id, or YAML with aliases, tags or duplicate keys.",
        "Mend the line that the message names; `prd2pr init` writes a template that works.",
    ),
    ErrorKind(
        errors.PlanInvalid,
        "no valid plan",
        "The planned stories break a rule that code checks: a dependency cycle, a requirement that no story covers, a story that is too large.",
        "Run `prd2pr plan` again, or make the PRD clearer where the message points.",
    ),
    ErrorKind(
        errors.PrdRejected,
        "the PRD should not be built as it is",
        "Before the plan, Why found that a decision that stands rules the PRD out, that the same way has failed before, or that it exists already. Nothing was planned.",
        "Change the PRD; or put `despite: why you want it` at its top, and it is planned all the same. Profiles other than `full` do not ask.",
    ),
    ErrorKind(
        errors.StateProblem,
        "the state on the branch cannot be used",
        "`.orch-state/` is written by prd2pr alone.",
        "Do as the message says; the branch's history holds every earlier state.",
    ),
    ErrorKind(
        errors.StateCorrupted,
        "the state is corrupted",
        "A file under `.orch-state/` cannot be read. The message names the last commit in which it could.",
        "Put the branch back to that commit, or restore the one file from it.",
    ),
    ErrorKind(
        errors.StateNewer,
        "the state is newer than this prd2pr",
        "A newer version wrote it. Reading it with less knowledge could lose something.",
        "Upgrade prd2pr.",
    ),
    ErrorKind(
        errors.StateByHand,
        "somebody has changed the state by hand",
        "A commit that is none of prd2pr's steps writes into `.orch-state/`. Orders, cursors and verdicts are obeyed as the branch holds them, so nothing is done until it is taken back.",
        "`git revert` the commit that the message names, and push.",
    ),
    ErrorKind(
        errors.BranchProblem,
        "git would not let the step land",
        "The branch could not be written.",
        "Do as the message says; the proved phases before it are committed.",
    ),
    ErrorKind(
        errors.UnknownRevision,
        "no such commit",
        "The name leads to no commit in this repository.",
        "`git log --oneline --all` lists what there is.",
    ),
    ErrorKind(
        errors.BranchMoved,
        "the branch was moved by someone else",
        "Between reading and writing, the branch got another head. Nothing was overwritten.",
        "Run the command again: it reads the branch anew.",
    ),
    ErrorKind(
        errors.BranchInUse,
        "the branch is in use",
        "Another prd2pr works on it, or a checkout has it checked out, which prd2pr never touches.",
        "Wait for the other one, or `git switch` to another branch.",
    ),
    ErrorKind(
        errors.SecretFound,
        "the commit would publish a secret",
        "A file or the message of a commit holds a key, token or password of the job, as it is or written otherwise (base64, hex, reversed). The commit was not pushed. Mostly a test or the code under test has read its surroundings.",
        "Look at the file that the message names and at what the story's tests do, then renew the secret: code that could read it could have sent it elsewhere. If the value is an ordinary word, rename its variable: whatever is named token, key, secret, password, credential or PAT is taken for a secret.",
    ),
    ErrorKind(
        errors.StepsLost,
        "the branch lost proved steps",
        "Somebody deleted the branch or moved it back while prd2pr worked on it. Nothing was written over it.",
        "Put it back, or go on from where it is now: the message says how.",
    ),
    ErrorKind(
        errors.StepsRewritten,
        "steps on a story's own branch were rewritten",
        "Somebody amended or rebased steps of a story that waits to be integrated: they are not what they were proved as. Nothing was joined with them or built on them.",
        "Push the branch as it was before, or delete it: the story then begins again.",
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
        "The tests could not be run, so nothing can be said. That is not an acceptance.",
        "Mend what the message names and call it again.",
    ),
    ErrorKind(
        errors.ModelProblem,
        "a model call failed for good",
        "All retries are used up, or the answer cannot be retried.",
        "The message says what the service said. The same command again goes on.",
    ),
    ErrorKind(
        errors.ModelRefused,
        "the model gave no usable answer",
        "It refused, or its answers could not be read after being told what was wrong.",
        "Run again, use another model, or `--model human`.",
    ),
    ErrorKind(
        errors.SpendLimit,
        "a spending limit",
        "Your budget in `.prd2pr.yml`, or the provider's. All that was proved is committed.",
        "Raise the limit that the message names; the same command again goes on.",
    ),
    ErrorKind(
        errors.TranscriptEnded,
        "the transcript has no answer",
        "A replayed transcript answers only what was asked when it was recorded.",
        "Record it anew with `--record`, or use a live model.",
    ),
    ErrorKind(
        errors.HubProblem,
        "GitHub would not do it",
        "GitHub refused a call in a way that prd2pr knows no better name for; the message says in what words.",
        "Mend what the message names, then start it again: it goes on from the last push.",
    ),
    ErrorKind(
        errors.PullsNotAllowed,
        "Actions may not open pull requests",
        "The repository, or its organisation, does not let workflows create pull requests.",
        "Settings → Actions → General → Workflow permissions: tick `Allow GitHub Actions to create and approve pull requests`. Where it is greyed out, the same page of the organisation decides. Or use a GitHub App token.",
    ),
    ErrorKind(
        errors.ScopeMissing,
        "the token lacks a permission",
        "The token may not do this here.",
        "Add the line that the message names under `permissions:` of the job, or give the App that permission and accept it at its installation.",
    ),
    ErrorKind(
        errors.BadCredentials,
        "the token is not valid",
        "GitHub does not know the token, or it has expired. GITHUB_TOKEN ends with its job, an App token after an hour.",
        "Start the workflow again. If it goes on, put in the secret anew.",
    ),
    ErrorKind(
        errors.RepositoryArchived,
        "the repository is archived",
        "An archived repository can only be read.",
        "Settings → General → Danger Zone → Unarchive this repository.",
    ),
    ErrorKind(
        errors.NotFoundThere,
        "not found on GitHub",
        "It was deleted or renamed, or this token may not see it: GitHub answers the same to both.",
        "Check the name; for a private repository check that token or App has access to it.",
    ),
    ErrorKind(
        errors.WorkflowMissing,
        "the workflow cannot be started",
        "Only a workflow file on the default branch that has `workflow_dispatch` under `on:` can be started by name, and only such a file hears comments, labels and schedules.",
        "Merge the workflow file that `prd2pr init` wrote into the default branch.",
    ),
    ErrorKind(
        errors.WorkflowFilesLocked,
        "workflow files cannot be written",
        "GITHUB_TOKEN may never change files under `.github/workflows`; an App needs the permission Workflows for it.",
        "Let a person make that change, or use an App with Workflows: write.",
    ),
    ErrorKind(
        errors.BranchProtected,
        "a rule protects the branch",
        "Branch protection or a ruleset refused the push.",
        "Let the rules leave out `prd2pr/**`, or put the bot on their bypass list. If signed commits are asked for, set `commit: api`.",
    ),
    ErrorKind(
        errors.PullLimit,
        "no more pull requests now",
        "GitHub does not take another pull request from this account at the moment.",
        "Close or merge some, or wait; the branch with all proved commits is pushed.",
    ),
    ErrorKind(
        errors.RateLimited,
        "a rate limit of GitHub",
        "Too many calls in this hour, or too many in a short time. The message says until when.",
        "Nothing is lost: start it again after that time, or let the schedule do it. A GitHub App has a higher limit.",
    ),
    ErrorKind(
        errors.HubUnreachable,
        "GitHub cannot be reached",
        "All tries ended in errors of the server or without an answer.",
        "Start it again later; it goes on from the last push.",
    ),
    ErrorKind(
        errors.TextTooLong,
        "the text is too long for GitHub",
        "A comment, issue or pull request takes at most 65,536 characters. Texts are shortened before; this one was not.",
        "Please report it; the commits are safe.",
    ),
    ErrorKind(
        errors.TreeDiffers,
        "the commit on GitHub is not the proved one",
        "A commit made through the API has other files than the one that was judged. It was not put on the branch.",
        "Start it again; if it goes on, set `commit: git`.",
    ),
    ErrorKind(
        errors.TrackerMissing,
        "stories cannot be tracked as issues there",
        "The repository has its issues switched off, or GitHub does not take issues below others there. The work itself needs neither.",
        "Set `tracker: {sub_issues: false}` or `tracker: {kind: none}` in `.prd2pr.yml` on the base branch.",
    ),
    ErrorKind(
        errors.Stopped,
        "stopped",
        "Ctrl-C or SIGTERM. All that was proved is committed.",
        "The same command again goes on from there.",
    ),
)

BY_CODE = {kind.code: kind for kind in KINDS}


def explain_error(kind: ErrorKind) -> str:
    return f"{kind.code}  {kind.title}\n\n{kind.explanation}\n\nWay out: {kind.way_out}\n"


def errors_page() -> str:
    rows = "".join(
        f"| `{kind.code}` | {kind.title} | {kind.explanation} | {kind.way_out} | {kind.error.exit_status} |\n"
        for kind in KINDS
    )
    return (
        "# Errors\n\nOne line what, one line where, one line what to do.\n\n"
        "| code | what | meaning | way out | exit status |\n|---|---|---|---|---|\n" + rows
    )

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
        "The Python interpreter that was chosen for the tests cannot import pytest.",
        "Install pytest there, or set `test.python` in `.prd2pr.yml`.",
    ),
    ErrorKind(
        errors.ModelMissing,
        "no model is configured",
        "No key, or a model that is not known.",
        "Set ANTHROPIC_API_KEY, or pass `--model`; `--model human` lets a person do the work.",
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

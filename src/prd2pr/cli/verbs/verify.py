"""`prd2pr verify`: prove every step of a branch again."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from prd2pr.cli.actions_job import read_job
from prd2pr.cli.active_prds import iter_active_prds
from prd2pr.cli.context import read_config
from prd2pr.cli.verify_cache import find_results_store
from prd2pr.cli.verify_job import VerifyJob, read_verify_job
from prd2pr.cli.wiring import make_gate_policy, make_verify_gatherings
from prd2pr.domain.scheduling import ONE_WORKER_NOTE
from prd2pr.domain.wording import count
from prd2pr.errors import CannotJudge, SetupProblem, StateProblem, UsageProblem
from prd2pr.github.messages.query_replies import ReportRow, VerifyReport
from prd2pr.github.messages.rendering import report_text
from prd2pr.memory.commit import make_retention_policy
from prd2pr.proof.attestation import UNCHECKED, StatementCheck
from prd2pr.proof.merged import (
    MergeCheck,
    MergedBranch,
    check_merge,
    find_merge_of,
    find_merges_between,
    find_newest_merge,
)
from prd2pr.proof.statement_files import STATEMENTS, check_statement_files, list_attested_steps, write_statements
from prd2pr.proof.verify import Verifier
from prd2pr.state.archive import ARCHIVES, find_proved_head
from prd2pr.state.branch_base import (
    USUAL_BASES,
    BranchStart,
    find_branch_start,
    is_base_branch,
    list_known_bases,
    list_prd_ids,
)
from prd2pr.state.git import Git
from prd2pr.verification.commit_check import (
    BASE_HOLDS,
    JOINED,
    OUT_OF_TIME,
    CommitCheck,
    all_proved,
    build_verify_report,
    count_warnings,
    format_verify_total,
    is_only_out_of_time,
)
from prd2pr.verification.run_cache import CachedRunner


@dataclass(frozen=True)
class BranchProof:
    """The result of verifying one branch."""

    start: BranchStart
    head: str
    checked: tuple[CommitCheck, ...]
    cached_runs: int = 0  # test runs taken from an earlier verify
    new_runs: int = 0
    statements_written: int = 0  # the attestation statements
    statements: StatementCheck | None = None
    merge: MergeCheck | None = None  # if the branch was merged

    @property
    def is_complete(self) -> bool:
        is_merge_proved = self.merge is None or self.merge.proved
        return all_proved(self.checked) and is_merge_proved and not (self.statements and self.statements.findings)


@dataclass(frozen=True)
class BranchToProve:
    start: BranchStart
    head: str
    merged: MergedBranch | None = None
    note: str = ""


def main(options: argparse.Namespace) -> int:
    """Verify the branches. A problem that prevents a judgment raises CannotJudge instead of counting as a refusal."""
    try:
        return verify_branches(options)
    except (SetupProblem, StateProblem) as problem:
        raise CannotJudge(problem.what, where=problem.where, remedy=problem.remedy) from problem


def verify_branches(options: argparse.Namespace) -> int:
    with Git.open(Path(options.repo)) as git:
        job = read_verify_job(read_job(), git) if options.job else None
        if job and job.skip_reason:
            return job.report_nothing()
        write = format_discard_text if options.json else print_text
        queued = (
            [select_merged_branch(each) for each in find_merges_between(git, *job.queued)] if job and job.queued else []
        )
        branches = queued or select_branches(git, job.range if job else options.range, options.pr)
        proved = [prove_branch(git, each, options, write) for each in branches]
    if not any(each.checked for each in proved):
        raise CannotJudge("no commit to verify", remedy="name a range: prd2pr verify main..prd2pr/my-feature")
    if options.json:
        sys.stdout.write(json.dumps(format_proof_json(proved), indent=2) + "\n")
    else:
        write(format_proof_summary(proved))
    write_reports(options, job, proved)
    return choose_exit_status(proved)


def choose_exit_status(proved: list[BranchProof]) -> int:
    """Return 0, 1 or 2 (could not judge). A timeout on a slow machine does not count as a refutation."""
    if all(each.is_complete for each in proved):
        return 0
    refuted = any(each.statements and each.statements.findings for each in proved)
    refuted |= any(find.code != OUT_OF_TIME for each in proved if each.merge for find in each.merge.findings)
    checked = [step for each in proved for step in each.checked]
    return 2 if is_only_out_of_time(checked) and not refuted else 1


def print_text(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def format_discard_text(_: str) -> None:
    """Print nothing, because the JSON output is printed as a whole at the end."""


def prove_branch(
    git: Git, branch: BranchToProve, options: argparse.Namespace, write: Callable[[str], None]
) -> BranchProof:
    """Verify one branch with the configuration of the commit from which it started, not with its own."""
    start, head = branch.start, branch.head
    write(branch.note)
    write(f"from {start.commit[:10]} ({start.name}) to {head[:10]}\n")
    config = read_config(git, start.commit)
    # A job ignores cached results, because another workflow could have poisoned them.
    store = None if options.fresh or options.job else find_results_store(os.environ)
    gathering, *others = make_verify_gatherings(git, config, start.commit, store, count_verify_workers(options))
    if options.workers and options.workers > 1 and not others:
        write(f"{ONE_WORKER_NOTE}\n")
    days = make_retention_policy(config.retention)
    verifier = Verifier(
        git,
        gathering,
        make_gate_policy(config),
        lambda each: write(format_checked_text(each)),
        tuple(others),
        keeping=days,
    )
    checked = tuple(verifier.verify(start.commit, head))
    merge = check_merge(git, gathering.runner, branch.merged) if branch.merged else None
    write(format_merge_text(merge) if merge else "")
    runners = [each.runner for each in (gathering, *others) if isinstance(each.runner, CachedRunner)]
    proved = BranchProof(start, head, checked, sum(each.found for each in runners), sum(each.made for each in runners))
    proved = replace(proved, merge=merge)
    return check_statements(git, proved, options)


def count_verify_workers(options: argparse.Namespace) -> int:
    if options.workers is not None and options.workers < 1:
        raise UsageProblem("--workers must be at least 1", where="--workers", remedy="omit it, or use for example 2")
    return options.workers or len(os.sched_getaffinity(0))


def check_statements(git: Git, proved: BranchProof, options: argparse.Namespace) -> BranchProof:
    path = find_statements(git, options)
    if path is None and not options.attest:
        return proved
    steps = list_attested_steps(git, proved.start.commit, proved.checked)
    merge = proved.merge if proved.merge and proved.is_complete else None
    statements_found = check_statement_files(path, steps, proved.checked, merge) if path else None
    job = read_job()
    written = write_statements(Path(options.attest), steps, proved.checked, job.run_url, merge) if options.attest else 0
    return replace(proved, statements=statements_found, statements_written=written)


def find_statements(git: Git, options: argparse.Namespace) -> Path | None:
    """Return the given statements, or the default directory if it exists and this command does not write to it."""
    if options.statements:
        path = Path(options.statements)
        if not path.exists():
            raise UsageProblem("the statements do not exist", where=str(path), remedy="name a file or a directory")
        return path
    default = (git.workdir or git.common_dir) / STATEMENTS
    is_output = options.attest and Path(options.attest).resolve() == default.resolve()
    return default if default.is_dir() and not is_output else None


def select_branches(git: Git, given: str | None, pull: int | None) -> list[BranchToProve]:
    """Return the pull request's branch, a merged branch, or the branches of a range."""
    if pull is not None:
        return [select_pull_request(git, str(pull))]
    if given and ".." not in given and is_part_of_base(git, commit := git.rev(given)):
        merged = find_newest_merge(git, commit)
        if merged:
            return [select_merged_branch(merged)]
    return [BranchToProve(start, head) for start, head in select_ranges(git, given)]


def select_merged_branch(merged: MergedBranch) -> BranchToProve:
    return BranchToProve(
        BranchStart(merged.start, "where the branch left its base"),
        merged.head,
        merged,
        f"the branch merged by {merged.commit[:10]}\n",
    )


def select_pull_request(git: Git, number: str) -> BranchToProve:
    head = find_proved_head(git, number)
    if head is None:
        raise CannotJudge(
            f"pull request {number} cannot be found: neither its head at `origin` nor an archive in this repository",
            where=f"refs/pull/{number}/head",
            remedy=f"check the number, or fetch the archives: git fetch origin '{ARCHIVES}/*:{ARCHIVES}/*'",
        )
    name = git.default_branch()
    bases = list(list_known_bases(git, head).values())
    newest = git.fetch_from_origin(f"refs/heads/{name}") if name else None
    for base in (newest, *bases) if newest else bases:
        merged = find_merge_of(git, base, head, number)
        if merged:
            return select_merged_branch(merged)
    note = f"pull request {number} is not merged here; only its branch is proved\n"
    return BranchToProve(find_branch_start(git, head), head, note=note)


def is_part_of_base(git: Git, commit: str) -> bool:
    """Return whether one of the base branches contains the commit."""
    names = {*USUAL_BASES, git.default_branch()} - {""}
    bases = (head for name in names for head in (git.branch_head(name), git.remote_head(name)) if head)
    return any(git.is_ancestor(commit, base) for base in bases)


def select_ranges(git: Git, given: str | None) -> list[tuple[BranchStart, str]]:
    """Return the given range, otherwise the current branch, otherwise every branch that has steps."""
    if given and ".." in given:
        name, _, end = given.partition("..")
        head = git.rev(end.lstrip(".") or "HEAD")
        base = git.rev(name or "HEAD")
        # The base may have new commits, so the range starts where the branch left it.
        return [(BranchStart(git.merge_base(base, head) or base, name or "HEAD"), head)]
    if given:
        return [(find_branch_start(git, git.rev(given)), git.rev(given))]
    head = git.rev("HEAD")
    if list_prd_ids(git, head) and not is_base_branch(git, git.head_branch() or ""):
        return [(find_branch_start(git, head), head)]
    found = [(find_branch_start(git, git.rev(each.branch)), git.rev(each.branch)) for each in iter_active_prds(git)]
    if not found:
        raise CannotJudge(
            "no branch in this repository has steps of prd2pr",
            where="HEAD and the prd2pr branches",
            remedy="name a branch or a range: prd2pr verify main..my-branch",
        )
    return found


# --- output -----------------------------------------------------------------------------------------------------------


def format_checked_text(checked: CommitCheck) -> str:
    lines = [f"{checked.mark:<10}  {checked.commit[:10]}  {checked.subject}"]
    if checked.proved_with:
        lines.append(f"            proved as part of {checked.proved_with}")
    elif checked.base_merge:
        lines.append(f"            merge of the base, exactly as git makes it: {BASE_HOLDS}")
    elif checked.join and checked.proved:
        lines.append(f"            {JOINED}, exactly as git merges it: {BASE_HOLDS}")
    elif checked.draft and checked.unproven:
        lines.append("            a draft: not judged by a gate yet")
    for finding in checked.errors:
        where = f" {finding.path}" if finding.path else ""
        lines.append(f"            {finding.code}{where}: {finding.message}")
    if checked.unproven and not checked.draft:
        name = checked.commit[:10]
        lines.append(
            f"            to do: review it, or let `prd2pr check --base {name}~1 --head {name}` judge it alone"
        )
    return "\n".join(lines) + "\n"


def format_merge_text(merge: MergeCheck) -> str:
    merged = merge.merged
    mark = "proved" if merge.proved else "REFUTED"
    lines = [f"{mark:<10}  {merged.commit[:10]}  {merged.method} of {merged.head[:10]} onto {merged.onto[:10]}"]
    lines += [f"            {sentence}" for sentence in merge.compared]
    lines += [f"            {each.code} {each.path}: {each.message}".replace(" : ", ": ") for each in merge.findings]
    return "\n".join(lines) + "\n"


def format_proof_summary(proved: list[BranchProof]) -> str:
    checked = [each for one in proved for each in one.checked]
    lines = [f"warning {code} on {count(number, 'commit')}: {text}" for code, text, number in count_warnings(checked)]
    for one in proved:
        lines += format_statement_lines(one)
    if known := sum(one.cached_runs for one in proved):
        lines.append(
            f"{format_runs_line(known, sum(one.new_runs for one in proved))} Use --fresh to run all of them again."
        )
    total = [format_verify_total(checked)]
    total += ["the merge is NOT proved" for one in proved if one.merge and not one.merge.proved]
    total += ["the merge is proved" for one in proved if one.merge and one.merge.proved]
    return "\n".join([*lines, "; ".join(total)]) + "\n"


def format_statement_lines(one: BranchProof) -> list[str]:
    lines = [f"{count(one.statements_written, 'statement')} written"] if one.statements_written else []
    statements = one.statements
    if statements is None:
        return lines
    match = "do NOT match the commits" if statements.findings else "match the commits"
    lines.append(f"{count(statements.files, 'attestation file')}: digests and results {match}")
    lines += [f"signed with the certificate of {signer}" for signer in statements.signers]
    if statements.signed:
        lines.append(f"not checked: {', '.join(UNCHECKED)}; `gh attestation verify` checks them")
    return [*lines, *(f"            {each.code} {each.path}: {each.message}" for each in statements.findings)]


def format_runs_line(cached: int, new: int) -> str:
    return f"{count(new, 'new test run')}, {cached} taken from an earlier verify on this machine."


def format_proof_json(proved: list[BranchProof]) -> dict[str, object]:
    found = build_verify_report([each for one in proved for each in one.checked])
    statements = [one.statements.as_json() for one in proved if one.statements]
    extra: dict[str, object] = (
        {"statements": statements[0] if len(statements) == 1 else statements} if statements else {}
    )
    merges = [one.merge.as_json() for one in proved if one.merge]
    extra |= {"merge": merges[0]} if merges else {}
    runs = {"made": sum(one.new_runs for one in proved), "known": sum(one.cached_runs for one in proved)}
    return {**found, "runs": runs, **extra, "all_proved": all(one.is_complete for one in proved)}


def write_reports(options: argparse.Namespace, job: VerifyJob | None, proved: list[BranchProof]) -> None:
    url = job.commit_url if job else ""
    text = "\n---\n\n".join(report_text(make_report(one), commit_url=url) for one in proved if one.checked)
    if options.markdown:
        Path(options.markdown).write_text(text, encoding="utf-8")
    if job:
        job.report_proof(
            text, [each for one in proved for each in one.checked], all_proved=all(one.is_complete for one in proved)
        )


def format_proof_text(checked: CommitCheck) -> str:
    if checked.proved_with:
        return f"proved as part of {checked.proved_with}"
    if checked.join and checked.proved:
        return f"{JOINED}: {BASE_HOLDS}"
    return f"merge of the base: {BASE_HOLDS}" if checked.base_merge else checked.mark


def make_report(one: BranchProof) -> VerifyReport:
    rows = (
        ReportRow(
            each.commit,
            each.subject,
            each.step,
            each.phase,
            format_proof_text(each),
            each.errors,
        )
        for each in one.checked
    )
    runs = format_runs_line(one.cached_runs, one.new_runs) if one.cached_runs else f"{count(one.new_runs, 'test run')}."
    return VerifyReport(
        format_verify_total(one.checked),
        one.start.commit,
        one.head,
        tuple(rows),
        runs,
        tuple(count_warnings(one.checked)),
        one.statements,
    )

"""`prd2pr verify`: prove a branch again."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from prd2pr.core.checked import (
    BASE_HOLDS,
    JOINED,
    Checked,
    all_proved,
    as_json,
    only_lacking_time,
    total_line,
    warnings_of,
)
from prd2pr.core.pool_size import ONE_WORKER
from prd2pr.core.said.readings import ReportRow, VerifyReport
from prd2pr.core.statement import Statements
from prd2pr.core.wording import count
from prd2pr.entry.actions import job_of
from prd2pr.entry.ground import read_config
from prd2pr.entry.proved_before import prune, results_store
from prd2pr.entry.under_way import branches_with_state
from prd2pr.entry.verify_job import VerifyJob, verify_job
from prd2pr.entry.wiring import gate_policy, proving
from prd2pr.errors import CannotJudge, SetupProblem, StateProblem, UsageProblem
from prd2pr.flows.memory import keeping
from prd2pr.flows.start import Start, is_base, prd_ids, start_of
from prd2pr.flows.statements import STATEMENTS, attestable, look_at_statements, write_statements
from prd2pr.flows.verify import Verifier
from prd2pr.forges.said import report_text
from prd2pr.repo.git import Git
from prd2pr.runners.cache import CachedRunner


@dataclass(frozen=True)
class Proved:
    """One branch, looked at."""

    start: Start
    head: str
    checked: tuple[Checked, ...]
    found: int = 0  # test runs that an earlier verify had made
    made: int = 0
    written: int = 0  # statements
    statements: Statements | None = None

    @property
    def all(self) -> bool:
        return all_proved(self.checked) and not (self.statements and self.statements.findings)


def main(options: argparse.Namespace) -> int:
    """Whatever keeps it from judging is not a refusal."""
    try:
        return judged(options)
    except (SetupProblem, StateProblem) as problem:
        raise CannotJudge(problem.what, where=problem.where, remedy=problem.remedy) from problem


def judged(options: argparse.Namespace) -> int:
    with Git.open(Path(options.repo)) as git:
        job = verify_job(job_of(), git) if options.job else None
        if job and job.nothing:
            return job.nothing_to_prove()
        asked = job.range if job else options.range
        say = no_words if options.json else aloud
        proved = [prove(git, start, head, options, say) for start, head in ranges(git, asked)]
    if not any(each.checked for each in proved):
        raise CannotJudge("there is no commit to verify", remedy="name a range: prd2pr verify main..prd2pr/my-feature")
    if options.json:
        sys.stdout.write(json.dumps(json_of(proved), indent=2) + "\n")
    else:
        say(last_words(proved))
    report(options, job, proved)
    return status_of(proved)


def status_of(proved: list[Proved]) -> int:
    """2: could not judge. A machine that was too slow refutes nothing."""
    if all(each.all for each in proved):
        return 0
    refuted = any(each.statements and each.statements.findings for each in proved)
    checked = [step for each in proved for step in each.checked]
    return 2 if only_lacking_time(checked) and not refuted else 1


def aloud(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def no_words(_: str) -> None:
    """JSON comes at the end, in one piece."""


def prove(git: Git, start: Start, head: str, options: argparse.Namespace, say: Callable[[str], None]) -> Proved:
    """Rules come from where the branch started, never from the branch itself."""
    say(f"from {start.commit[:10]} ({start.name}) to {head[:10]}\n")
    config = read_config(git, start.commit)
    # In a job nothing that was kept is believed: there, what another workflow can write, it can poison.
    store = None if options.fresh or options.job else results_store(os.environ)
    first, *others = proving(git, config, start.commit, store, workers(options))
    if options.workers and options.workers > 1 and not others:
        say(f"{ONE_WORKER}\n")
    days = keeping(config.retention)
    verifier = Verifier(git, first, gate_policy(config), lambda each: say(shown(each)), tuple(others), keeping=days)
    checked = tuple(verifier.verify(start.commit, head))
    runners = [each.runner for each in (first, *others) if isinstance(each.runner, CachedRunner)]
    if store:
        prune(store)
    proved = Proved(start, head, checked, sum(each.found for each in runners), sum(each.made for each in runners))
    return with_statements(git, proved, options)


def workers(options: argparse.Namespace) -> int:
    if options.workers is not None and options.workers < 1:
        raise UsageProblem("there must be at least one worker", where="--workers", remedy="leave it out, or write 2")
    return options.workers or len(os.sched_getaffinity(0))


def with_statements(git: Git, proved: Proved, options: argparse.Namespace) -> Proved:
    place = statements_place(git, options)
    if place is None and not options.attest:
        return proved
    steps = attestable(git, proved.start.commit, proved.checked)
    seen = look_at_statements(place, steps, proved.checked) if place else None
    job = job_of()
    written = write_statements(Path(options.attest), steps, proved.checked, job.run_url) if options.attest else 0
    return replace(proved, statements=seen, written=written)


def statements_place(git: Git, options: argparse.Namespace) -> Path | None:
    """What is named; else, where it is there, the directory beside .orch-state. What is to be written is not read."""
    if options.statements:
        place = Path(options.statements)
        if not place.exists():
            raise UsageProblem("there is no such file or directory", where=str(place), remedy="name the statements")
        return place
    usual = (git.workdir or git.common_dir) / STATEMENTS
    written = options.attest and Path(options.attest).resolve() == usual.resolve()
    return usual if usual.is_dir() and not written else None


def ranges(git: Git, given: str | None) -> list[tuple[Start, str]]:
    """What to judge: the range that is named, else this branch, else every branch that holds steps."""
    if given and ".." in given:
        name, _, end = given.partition("..")
        head = git.rev(end.lstrip(".") or "HEAD")
        base = git.rev(name or "HEAD")
        # The base may have gone on meanwhile; the branch starts where it left it.
        return [(Start(git.merge_base(base, head) or base, name or "HEAD"), head)]
    if given:
        return [(start_of(git, git.rev(given)), git.rev(given))]
    head = git.rev("HEAD")
    if prd_ids(git, head) and not is_base(git, git.head_branch() or ""):
        return [(start_of(git, head), head)]
    found = [(start_of(git, git.rev(each.branch)), git.rev(each.branch)) for each in branches_with_state(git)]
    if not found:
        raise CannotJudge(
            "no branch here holds steps of prd2pr",
            where="HEAD and the prd2pr branches",
            remedy="name a branch or a range: prd2pr verify main..my-branch",
        )
    return found


# --- what is said -----------------------------------------------------------------------------------------------------


def shown(checked: Checked) -> str:
    lines = [f"{checked.mark:<10}  {checked.commit[:10]}  {checked.subject}"]
    if checked.proved_with:
        lines.append(f"            proved as part of {checked.proved_with}")
    elif checked.base_merge:
        lines.append(f"            the base merged in, as git itself does it: {BASE_HOLDS}")
    elif checked.join and checked.proved:
        lines.append(f"            {JOINED}, as git itself merges it: {BASE_HOLDS}")
    elif checked.draft and checked.unproven:
        lines.append("            a draft: no gate has judged it yet")
    for finding in checked.errors:
        where = f" {finding.path}" if finding.path else ""
        lines.append(f"            {finding.code}{where}: {finding.message}")
    return "\n".join(lines) + "\n"


def last_words(proved: list[Proved]) -> str:
    checked = [each for one in proved for each in one.checked]
    lines = [f"warning {code} on {count(number, 'commit')}: {text}" for code, text, number in warnings_of(checked)]
    for one in proved:
        lines += statement_lines(one)
    if known := sum(one.found for one in proved):
        lines.append(f"{runs_line(known, sum(one.made for one in proved))} --fresh makes all of them again.")
    return "\n".join([*lines, total_line(checked)]) + "\n"


def statement_lines(one: Proved) -> list[str]:
    lines = [f"{count(one.written, 'statement')} written"] if one.written else []
    seen = one.statements
    if seen is None:
        return lines
    same = "NOT those of the commits" if seen.findings else "those of the commits"
    signed = f"; {count(seen.signed, 'signature')} not checked" if seen.signed else ""
    lines.append(f"{count(seen.files, 'attestation file')}: digests and results are {same}{signed}")
    return [*lines, *(f"            {each.code} {each.path}: {each.message}" for each in seen.findings)]


def runs_line(known: int, made: int) -> str:
    return f"{count(made, 'test run')} made now, {known} known from an earlier verify on this machine."


def json_of(proved: list[Proved]) -> dict[str, object]:
    found = as_json([each for one in proved for each in one.checked])
    looked_at = [one.statements.as_json() for one in proved if one.statements]
    more: dict[str, object] = {"statements": looked_at[0] if len(looked_at) == 1 else looked_at} if looked_at else {}
    runs = {"made": sum(one.made for one in proved), "known": sum(one.found for one in proved)}
    return {**found, "runs": runs, **more, "all_proved": all(one.all for one in proved)}


def report(options: argparse.Namespace, job: VerifyJob | None, proved: list[Proved]) -> None:
    url = job.commit_url if job else ""
    text = "\n---\n\n".join(report_text(report_of(one), commit_url=url) for one in proved if one.checked)
    if options.markdown:
        Path(options.markdown).write_text(text, encoding="utf-8")
    if job:
        job.tell(text, [each for one in proved for each in one.checked], all_proved=all(one.all for one in proved))


def proof_of(checked: Checked) -> str:
    if checked.proved_with:
        return f"proved as part of {checked.proved_with}"
    if checked.join and checked.proved:
        return f"{JOINED}: {BASE_HOLDS}"
    return f"the base merged in: {BASE_HOLDS}" if checked.base_merge else checked.mark


def report_of(one: Proved) -> VerifyReport:
    rows = (
        ReportRow(
            each.commit,
            each.subject,
            each.step,
            each.phase,
            proof_of(each),
            each.errors,
        )
        for each in one.checked
    )
    runs = runs_line(one.found, one.made) if one.found else f"{count(one.made, 'test run')} made for it."
    return VerifyReport(
        total_line(one.checked),
        one.start.commit,
        one.head,
        tuple(rows),
        runs,
        tuple(warnings_of(one.checked)),
        one.statements,
    )

"""`prd2pr verify`: prove a branch again."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from prd2pr.core.wording import count
from prd2pr.entry.under_way import branches_with_state
from prd2pr.entry.wiring import gate_policy, gathering_of, read_config
from prd2pr.errors import CannotJudge, SetupProblem, StateProblem
from prd2pr.flows.start import Start, is_base, prd_ids, start_of
from prd2pr.flows.verify import Checked, Verifier
from prd2pr.repo.git import Git


def main(options: argparse.Namespace) -> int:
    """Whatever keeps it from judging is not a refusal."""
    try:
        return judged(options)
    except (SetupProblem, StateProblem) as problem:
        raise CannotJudge(problem.what, where=problem.where, remedy=problem.remedy) from problem


def judged(options: argparse.Namespace) -> int:
    with Git.open(Path(options.repo)) as git:
        checked: list[Checked] = []
        for start, head in ranges(git, options.range):
            if not options.json:
                sys.stdout.write(f"from {start.commit[:10]} ({start.name}) to {head[:10]}\n")
            checked += verifier_of(git, start, quiet=options.json).verify(start.commit, head)
    if not checked:
        raise CannotJudge("there is no commit to verify", remedy="name a range: prd2pr verify main..prd2pr/my-feature")
    if options.json:
        sys.stdout.write(json.dumps(as_json(checked), indent=2) + "\n")
    else:
        sys.stdout.write(f"{warning_lines(checked)}{total_line(checked)}\n")
    return 0 if all(each.proved for each in checked) else 1


def verifier_of(git: Git, start: Start, *, quiet: bool) -> Verifier:
    """Rules come from where the branch started, never from the branch itself."""
    config = read_config(git, start.commit)
    on_checked = keep_quiet if quiet else show
    return Verifier(git, gathering_of(git, config, cached=False, many=True), gate_policy(config), on_checked)


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


def keep_quiet(_: Checked) -> None:
    """JSON comes at the end, in one piece."""


def show(checked: Checked) -> None:
    mark = "proved  " if checked.proved else "UNPROVEN" if checked.unproven else "NOT SO  "
    sys.stdout.write(f"{mark}  {checked.commit[:10]}  {checked.subject}\n")
    if checked.proved_with:
        sys.stdout.write(f"          proved as part of {checked.proved_with}\n")
    elif checked.draft and checked.unproven:
        sys.stdout.write("          a draft: no gate has judged it yet\n")
    for finding in checked.findings:
        if finding.severity == "error":
            where = f" {finding.path}" if finding.path else ""
            sys.stdout.write(f"          {finding.code}{where}: {finding.message}\n")
    sys.stdout.flush()


def warning_lines(checked: list[Checked]) -> str:
    """Each warning once, with the number of commits that it is about: repeated under every commit, nobody reads it."""
    found: dict[tuple[str, str], int] = {}
    for each in checked:
        for warning in {(f.code, f.message) for f in each.findings if f.severity == "warning"}:
            found[warning] = found.get(warning, 0) + 1
    return "".join(
        f"warning {code} on {count(number, 'commit')}: {text}\n" for (code, text), number in sorted(found.items())
    )


def total_line(checked: list[Checked]) -> str:
    steps = [each for each in checked if each.step and not each.draft]
    proved = sum(each.proved for each in steps)
    parts = [f"{proved} of {count(len(steps), 'step')}"]
    if with_steps := sum(bool(each.proved_with) for each in checked):
        parts.append(f"{count(with_steps, 'commit')} proved as part of a step")
    strangers = sum(each.unproven and not each.draft for each in checked)
    if strangers:
        parts.append(f"{count(strangers, 'commit')} {'claims' if strangers == 1 else 'claim'} no step: unproven")
    if drafts := sum(each.unproven and each.draft for each in checked):
        parts.append(f"{count(drafts, 'draft')} that no gate has judged: unproven")
    verdict = "all proved" if all(each.proved for each in checked) else "NOT all proved"
    return f"{verdict}: {'; '.join(parts)}"


def as_json(checked: list[Checked]) -> dict[str, object]:
    steps = [each for each in checked if each.step and not each.draft]
    return {
        "steps": [each.as_json() for each in checked],
        "total": {
            "commits": len(checked),
            "steps": len(steps),
            "proved": sum(each.proved for each in checked),
            "unproven": sum(each.unproven for each in checked),
        },
        "all_proved": all(each.proved for each in checked),
    }

"""`/tdd verify` and `/tdd run_tests`: looked at anew, without any result that was kept."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.checked import Checked
from prd2pr.core.said.answers import Answer
from prd2pr.core.said.readings import TestsRun, Verified, VerifiedRow
from prd2pr.flows.memory import keeping
from prd2pr.flows.obey.asked import Asked
from prd2pr.flows.start import start_of
from prd2pr.flows.verify import Verifier
from prd2pr.ports import RunRequest, TestRunner
from prd2pr.runners.cache import CachedRunner

MOST_SHOWN = 50


def verified(asked: Asked) -> Answer:
    """The same proof as `prd2pr verify`; of one story, only its steps are told."""
    gathering = replace(asked.session.gathering, runner=forgetful(asked.session.runner))
    seen: list[Checked] = []
    days = keeping(asked.session.config.retention)
    verifier = Verifier(asked.session.git, gathering, asked.session.policy, seen.append, keeping=days)
    verifier.verify(start_of(asked.session.git, asked.state.commit).commit, asked.state.commit)
    only = asked.command.story
    told = [each for each in seen if not only or f"/{only.lower()}/" in each.step.lower()]
    steps = [each for each in told if each.step and not each.draft]
    bad = [each for each in told if not each.proved]
    return Verified(
        steps=len(steps),
        proved=sum(each.proved for each in steps),
        # What a step has proved besides itself, a merge of the base or a join is not unproven; it is no step either.
        commits=sum(not (each.proved_with or each.base_merge or (each.join and each.proved)) for each in told),
        not_proved=tuple(VerifiedRow(each.commit, each.subject, each.step, each.findings) for each in bad[:MOST_SHOWN]),
        head=asked.state.commit,
        warnings=sum(finding.severity == "warning" for each in told for finding in each.findings),
    )


def tests_run(asked: Asked) -> Answer:
    """The whole suite, or one story's tests where they still have a place of their own."""
    cycle = asked.state.cycle(asked.command.story) if asked.command.story in asked.state.cycle_ids else None
    paths = tuple(file.promoted_to or file.path for file in cycle.test_files) if cycle else ()
    report = forgetful(asked.session.runner).run(
        RunRequest(code_tree=asked.session.git.code_tree(asked.state.commit), paths=paths)
    )
    return TestsRun.of(asked.state.commit, report, MOST_SHOWN)


def forgetful(runner: TestRunner) -> TestRunner:
    """Whoever asks wants to know what is so now."""
    return runner.forgetful() if isinstance(runner, CachedRunner) else runner

"""Attempts at a phase: work from a clean tree, evidence, verdict; findings fed back; a bounded number of times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from prd2pr.agents.answers import WorkReport
from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import EarlierAttempt
from prd2pr.agents.workspace import RefusedWrite
from prd2pr.core.advance import advice_for
from prd2pr.core.effects.money import refused_before
from prd2pr.core.evidence import Evidence, FailureKind, Finding, PathKind, Verdict
from prd2pr.core.held_out import NAMES as HELD_OUT_NAMES
from prd2pr.core.paths import classify_path
from prd2pr.core.policy import WritePolicy, policy_for
from prd2pr.core.records import Cycle, Phase, RefusedAttempt, RefusedWriteRecord, Spend, Story
from prd2pr.core.run_words import failure_lines, joined
from prd2pr.flows.ledger import Entry, owner, refused_entries, spent
from prd2pr.flows.session import Session
from prd2pr.flows.workbench import Assignment, Work, do_work
from prd2pr.repo.store import BranchState

MOST_OF_A_RUN = 6_000  # characters of what a refused attempt's tests said
MOST_OF_RED = 600  # of what they said before there was any code: the tests themselves tell the rest
MOST_TESTS = 20  # of one refused attempt that are kept by name


@dataclass(frozen=True)
class Position:
    """Where the branch stands, for one story."""

    head: str
    code_tree: str
    state: BranchState
    story: Story
    cycle: Cycle
    spent_prd: Spend = field(default_factory=Spend)
    seconds_prd: float = 0
    judged_from: str = ""  # the code tree of the last step, where commits since then are judged together with this one
    people: tuple[str, ...] = ()  # whose commits these are
    so_far: str = ""  # what the gate says of them
    run_so_far: str = ""  # what failed in its run of them
    told: str = ""  # what a person said with the order

    @property
    def base_tree(self) -> str:
        return self.judged_from or self.code_tree

    @property
    def advice(self) -> str:
        return "\n\n".join(filter(None, (advice_for(self.state.status, self.story.id), self.told, self.so_far)))

    @property
    def spent_story(self) -> Spend:
        return sum((step.spend for step in self.cycle.steps), Spend())

    @property
    def seconds_story(self) -> float:
        return sum(step.seconds for step in self.cycle.steps)


@dataclass(frozen=True)
class Judged:
    """An attempt, with what was seen of it and what was made of that."""

    code_tree: str
    evidence: Evidence
    verdict: Verdict
    attempt: int
    explanation: str = ""
    refused_writes: tuple[RefusedWrite, ...] = ()
    work_tree: str = ""  # as the role left it, where held-out examples were taken out of it or put in

    @property
    def written(self) -> str:
        """What the role knows of: it may be shown this."""
        return self.work_tree or self.code_tree


@dataclass(frozen=True)
class Stuck:
    """No further attempt will be made: a person has to look."""

    reason: str
    by_integration: bool = False  # the gate of INTEGRATED refused it


def about_story(position: Position, role: Role[Output], policy: WritePolicy) -> Assignment[Output]:
    """What every role that is asked about a story is given, and what the story has taken until now."""
    return Assignment(
        role=role,
        code_tree=position.code_tree,
        head=position.head,
        policy=policy,
        story=position.story,
        design=position.cycle.design,
        spent_story=position.spent_story,
        spent_prd=position.spent_prd,
        seconds_story=position.seconds_story,
        seconds_prd=position.seconds_prd,
    )


def assignment_for(
    session: Session, position: Position, role: Role[WorkReport], earlier: tuple[EarlierAttempt, ...], attempts: int
) -> Assignment[WorkReport]:
    attempt = len(earlier) + 1
    return replace(
        about_story(position, role, write_policy(session, position, role)),
        attempt=attempt,
        attempts=attempts,
        earlier=earlier,
        test_output=position.run_so_far or red_output(position) if role.phase is Phase.GREEN else "",
        held_out=is_held_out_from(session, position, role),
        advice=position.advice,
        # The last attempt goes to the stronger model: cheaper than asking a person.
        strong=attempt == attempts > 1,
    )


def is_held_out_from(session: Session, position: Position, role: Role[WorkReport]) -> bool:
    """The test author is asked for such examples; the programmer is told that there are some."""
    if role.phase is Phase.RED:
        return session.config.gates.held_out and not role.fused
    return role.phase is Phase.GREEN and bool(position.cycle.held_out and position.cycle.held_out.files)


def write_policy(session: Session, position: Position, role: Role[WorkReport]) -> WritePolicy:
    locked = (
        entry.path
        for entry in session.git.entries(position.code_tree)
        if classify_path(entry.path, session.rules) in (PathKind.TEST, PathKind.TEST_CONFIG)
    )
    return policy_for(
        role.phase,
        position.story.id,
        fused=role.fused,
        locked=() if role.phase is Phase.RED else locked,
        kind=position.story.kind,
    )


def work_once(session: Session, assignment: Assignment[WorkReport]) -> Work[WorkReport]:
    return do_work(session, assignment)


def earlier_attempts(session: Session, position: Position, phase: Phase) -> tuple[EarlierAttempt, ...]:
    """Refused attempts since the last commit, also those of a run that was killed; and what the account of a run that
    ended on another machine says, where that is the last step."""
    told = tuple(map(retold, refused_before(position.cycle, phase)))
    entries = refused_entries(session.journal.since(position.head), position.story.id, phase)
    here = (recall(session, position, number, entry) for number, entry in enumerate(entries, start=len(told) + 1))
    return *told, *here


def retold(record: RefusedAttempt) -> EarlierAttempt:
    """Its files and what the tests said went with that machine."""
    code = record.codes[0] if record.codes else ""
    finding = Finding(code=code, severity="error", message=record.summary)
    others = (Finding(code=each, severity="error", message="") for each in record.codes[1:])
    return EarlierAttempt(attempt=record.attempt, findings=(finding, *others))


def recall(session: Session, position: Position, number: int, entry: Entry) -> EarlierAttempt:
    return EarlierAttempt(
        attempt=number,
        findings=tuple(Finding.model_validate(finding) for finding in entry.facts["findings"]),
        refused_writes=tuple(RefusedWrite(**refused) for refused in entry.facts["refused_writes"]),
        patch=session.git.patch(entry.facts.get("base", position.code_tree), entry.facts["tree"], limit=12_000),
        output=entry.facts["output"],
    )


def note_refusal(session: Session, position: Position, judged: Judged, attempts: int) -> None:
    """Kept at once, so that a killed run neither forgets an attempt nor pays for its lesson twice."""
    phase = judged.verdict.phase
    codes = sorted({finding.code for finding in judged.verdict.errors})
    session.journal.append(
        "refused",
        head=position.head,
        story=position.story.id,
        phase=phase.value,
        attempt=judged.attempt,
        base=position.code_tree,
        tree=judged.written,
        findings=[finding.model_dump() for finding in judged.verdict.findings],
        refused_writes=[vars(refused) for refused in judged.refused_writes],
        output=failures_text(judged.evidence),
    )
    summary = summary_of(judged.verdict.errors)
    session.log.add(session.clock.now(), "refused", story=position.story.id, phase=phase.value, codes=codes)
    session.progress.say(
        "refused",
        story=position.story.id,
        phase=phase.value,
        codes=codes,
        attempt=judged.attempt,
        of=attempts,
        summary=summary,
    )


def summary_of(errors: Sequence[Finding]) -> str:
    """The first finding, with the test that it is about, and how many more there are; for everybody to read."""
    if not errors:
        return ""
    first, more = errors[0], len(errors) - 1
    if fnmatchcase(first.path, f"*/{HELD_OUT_NAMES}"):  # of a refused one the next may be a twin
        first = first.model_copy(update={"message": f"{first.code} of a held-out example", "test": ""})
    about = f"{first.test.partition('::')[2]}: " if first.test and first.test not in first.message else ""
    return f"{about}{first.message}" + (f" (and {more} more)" if more else "")


def tests_in(errors: Sequence[Finding]) -> tuple[str, ...]:
    """The tests that findings name, but for held-out examples: whoever writes the next one may read this."""
    named = (each.test for each in errors if each.test)
    shown = (test for test in named if not fnmatchcase(test.partition("::")[0], f"*/{HELD_OUT_NAMES}"))
    return tuple(dict.fromkeys(shown))[:MOST_TESTS]


def refused_records(session: Session, position: Position) -> tuple[RefusedAttempt, ...]:
    """For the cycle's record: what was refused since the last commit."""
    made = []
    for entry in session.journal.since(position.head):
        if entry.kind == "refused" and entry.facts["story"] == position.story.id:
            findings = [Finding.model_validate(finding) for finding in entry.facts["findings"]]
            errors = [finding for finding in findings if finding.severity == "error"]
            made.append(
                RefusedAttempt(
                    phase=Phase(entry.facts["phase"]),
                    attempt=entry.facts["attempt"],
                    codes=tuple(sorted({finding.code for finding in errors})),
                    summary=summary_of(errors),
                    tests=tests_in(errors),
                )
            )
    return tuple(made)


def refused_writes(session: Session, position: Position, last: Judged | None = None) -> tuple[RefusedWriteRecord, ...]:
    """What roles tried to write where they may not, in refused attempts and in the one that crossed."""
    tried = [
        (Phase(entry.facts["phase"]), entry.facts["attempt"], refused)
        for entry in session.journal.since(position.head)
        if entry.kind == "refused" and entry.facts["story"] == position.story.id
        for refused in entry.facts["refused_writes"]
    ]
    if last:
        tried += [(last.verdict.phase, last.attempt, vars(refused)) for refused in last.refused_writes]
    return tuple(RefusedWriteRecord(phase=phase, attempt=attempt, **refused) for phase, attempt, refused in tried)


def oscillates(tree: str, session: Session, position: Position, phase: Phase) -> bool:
    """A → B → A: the same files as in an attempt before the last one."""
    entries = refused_entries(session.journal.since(position.head), position.story.id, phase)
    return tree in [entry.facts["tree"] for entry in entries[:-1]]


def step_spend(session: Session, position: Position) -> Spend:
    return spent(session.journal.since(position.head), position.story.id)


def step_seconds(session: Session, position: Position) -> float:
    """Of work on the story that led to no crossing: since this run's last commit. A decision alone takes no time."""
    worked = any(owner(entry) == position.story.id for entry in session.journal.since(position.head))
    log = session.log
    return round(session.clock.monotonic() - (log.committed or log.started), 3) if worked else 0.0


def red_output(position: Position) -> str:
    """What RED saw, while nothing was written since: of other code it would say what is no longer so. That the names
    of the design are missing is no news."""
    reds = [step for step in position.cycle.steps if step.phase is Phase.RED]
    if not reds or reds[-1].code_tree != position.code_tree:
        return ""
    proof = position.state.proof(position.story.id, reds[-1].n, Phase.RED)
    if proof is None or only_names_are_missing(proof.evidence):
        return ""
    return failures_text(proof.evidence, MOST_OF_RED)


def only_names_are_missing(evidence: Evidence) -> bool:
    run = evidence.head_run
    failures = [result.failure for result in (*run.story, *run.others_not_passed) if result.failure] if run else []
    missing = all(failure.kind is FailureKind.MISSING_SYMBOL for failure in failures)
    return missing and run is not None and not run.problems


def failures_text(evidence: Evidence, most: int = MOST_OF_A_RUN) -> str:
    """What failed, for whoever is to mend it: of held-out examples nothing."""
    run = evidence.head_run
    if run is None:
        return ""
    hidden = evidence.held_out.paths if evidence.held_out else frozenset()
    known = (result for result in (*run.story, *run.others_not_passed) if result.id.partition("::")[0] not in hidden)
    problems = (problem for problem in run.problems if not any(path in problem for path in hidden))
    return "\n".join(joined([*problems, *failure_lines(result for result in known if result.failure)], most))

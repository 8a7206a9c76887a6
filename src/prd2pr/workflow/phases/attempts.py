"""Attempts at a phase: each starts from a clean tree, is judged by the gate, and gets feedback on the earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from prd2pr.agents.findings_text import format_failures
from prd2pr.agents.outputs.story_roles import WorkReport
from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import AttemptContext, EarlierAttempt
from prd2pr.agents.workspace import RefusedWrite
from prd2pr.domain.evidence import Evidence, FailureKind, Finding, PathKind, TestResult, Verdict
from prd2pr.domain.machines.phase_transitions import get_advice
from prd2pr.domain.paths import classify_path
from prd2pr.domain.records import Cycle, DeclaredTestChange, Phase, RefusedAttempt, RefusedWriteRecord, Spend, Story
from prd2pr.domain.stack import PYTHON
from prd2pr.domain.wording import limit_lines
from prd2pr.domain.write_policy import WritePolicy, build_write_policy, is_own_test, list_declared_files
from prd2pr.languages.hidden_examples import has_hidden_example_name
from prd2pr.planning.decisions.spending import list_unfinished_attempts
from prd2pr.prd.requirement_ids import get_requirement_key
from prd2pr.state.store import BranchState
from prd2pr.verification.codebase import list_existing_tests
from prd2pr.verification.story_context import list_story_requirements
from prd2pr.workflow.roles.role_runner import Assignment
from prd2pr.workflow.session import Session
from prd2pr.workflow.spending import BranchSpend, JournalEntry, get_entry_subject, list_refused_entries, sum_spend

MAX_RUN_CHARS = 6_000  # length of a refused attempt's test output
MAX_RED_CHARS = 600  # length of RED's test output; the tests themselves show the rest
MAX_TESTS = 20  # test names recorded per refused attempt


@dataclass(frozen=True)
class WorkRefusal:
    """Why the gate refused people's commits, for the role that continues from them."""

    findings: str = ""
    failed_run: str = ""  # failures in the gate's run


@dataclass(frozen=True)
class Position:
    """The state of the branch for the work on one story."""

    head: str
    code_tree: str
    state: BranchState
    story: Story
    cycle: Cycle
    spent_prd: Spend = field(default_factory=Spend)
    seconds_prd: float = 0
    judged_from: str = ""  # code tree of the last step, if commits since then are judged together with this step
    people: tuple[str, ...] = ()  # authors of these commits
    refusal: WorkRefusal = field(default_factory=WorkRefusal)  # of these commits
    request_text: str = ""  # text that a person gave with the command
    declared: tuple[DeclaredTestChange, ...] = ()  # existing tests that the author of the judged tests says to change

    @property
    def base_tree(self) -> str:
        return self.judged_from or self.code_tree

    @property
    def advice(self) -> str:
        return "\n\n".join(
            filter(None, (get_advice(self.state.status, self.story.id), self.request_text, self.refusal.findings))
        )

    @property
    def branch_spend(self) -> BranchSpend:
        return BranchSpend(
            story=sum((step.spend for step in self.cycle.steps), Spend()),
            prd=self.spent_prd,
            story_seconds=sum(step.seconds for step in self.cycle.steps),
            prd_seconds=self.seconds_prd,
        )


@dataclass(frozen=True)
class JudgedAttempt:
    code_tree: str
    evidence: Evidence
    verdict: Verdict
    attempt: int
    explanation: str = ""
    refused_writes: tuple[RefusedWrite, ...] = ()
    work_tree: str = ""  # as the role left it, before hidden examples were removed or added

    @property
    def written(self) -> str:
        """The tree with the files as the role wrote them."""
        return self.work_tree or self.code_tree


@dataclass(frozen=True)
class Stuck:
    """The reason why no further attempt is made and a person must look at the story."""

    reason: str
    by_integration: bool = False  # the gate of INTEGRATED refused it
    is_own: bool = False  # it concerns only this story; the others continue
    unmet: tuple[str, ...] = ()  # criteria that the existing code was said to meet, but does not


def make_story_assignment(position: Position, role: Role[Output], policy: WritePolicy) -> Assignment[Output]:
    """Return an assignment with the context that every role of a story gets, including the spending so far."""
    return Assignment(
        role=role,
        code_tree=position.code_tree,
        head=position.head,
        policy=policy,
        story=position.story,
        design=position.cycle.design,
        branch_spend=position.branch_spend,
    )


def make_work_assignment(
    session: Session, position: Position, role: Role[WorkReport], earlier: tuple[EarlierAttempt, ...], attempts: int
) -> Assignment[WorkReport]:
    number = len(earlier) + 1
    return replace(
        make_story_assignment(position, role, make_write_policy(session, position, role)),
        hidden_examples=has_hidden_examples(session, position, role),
        attempt=AttemptContext(
            number=number,
            limit=attempts,
            # The last attempt uses the stronger model, which is cheaper than asking a person.
            strong=number == attempts > 1,
            earlier=earlier,
            test_output=position.refusal.failed_run or format_red_failures_text(position)
            if role.phase is Phase.GREEN
            else "",
            advice=position.advice,
        ),
    )


def has_hidden_examples(session: Session, position: Position, role: Role[WorkReport]) -> bool:
    """Return whether the role must write hidden examples (in RED) or is told that there are some (in GREEN)."""
    if role.phase is Phase.RED:
        return session.config.gates.held_out and not role.fused
    return role.phase is Phase.GREEN and bool(position.cycle.held_out and position.cycle.held_out.files)


def make_write_policy(session: Session, position: Position, role: Role[WorkReport]) -> WritePolicy:
    locked = (
        entry.path
        for entry in session.git.entries(position.code_tree)
        if classify_path(entry.path, session.constraints.paths) in (PathKind.TEST, PathKind.TEST_CONFIG)
    )
    return build_write_policy(
        role.phase,
        position.story.id,
        fused=role.fused,
        locked=() if role.phase is Phase.RED else locked,
        kind=position.story.kind,
        existing=list_existing_tests(session.git, position.code_tree, session.constraints.paths)
        if role.phase is Phase.RED
        else (),
    )


def find_undeclared_tests(
    session: Session, position: Position, tree: str, declared: tuple[DeclaredTestChange, ...]
) -> tuple[str, ...]:
    """Return the changed test files that neither belong to the story nor contain a declared test."""
    stacks = session.services.gathering.stacks or (PYTHON,)
    policy = build_write_policy(Phase.RED, position.story.id, existing=list_declared_files(declared))
    policy = replace(policy, shared_helper=stacks[0].shared_helper)
    changes = session.git.diff(position.base_tree, tree)
    tests = (each.path for each in changes if classify_path(each.path, session.constraints.paths) is PathKind.TEST)
    return tuple(path for path in tests if not is_own_test(path, policy))


def find_declaration_problem(session: Session, position: Position, declared: tuple[DeclaredTestChange, ...]) -> str:
    """Return what is wrong with the declared tests, or an empty string."""
    wanted = list_story_requirements(position.story)
    keys = {get_requirement_key(each) for each in wanted}
    for each in declared:
        path, _, name = each.test.partition("::")
        if not name or session.git.read(position.base_tree, path) is None:
            return f"`changed_tests`: {each.test} is no existing test; name it as path::name."
        if get_requirement_key(each.requirement) not in keys:
            return (
                f"`changed_tests`: {each.requirement} is no requirement of this story, which has {', '.join(wanted)}."
            )
    return ""


def load_earlier_attempts(session: Session, position: Position, phase: Phase) -> tuple[EarlierAttempt, ...]:
    """Return the refused attempts since the last commit, including those of killed runs and of other machines."""
    recorded = tuple(map(build_attempt_from_record, list_unfinished_attempts(position.cycle, phase)))
    entries = list_refused_entries(session.services.journal.entries_since(position.head), position.story.id, phase)
    journaled = (
        build_attempt_from_journal(session, position, number, entry)
        for number, entry in enumerate(entries, start=len(recorded) + 1)
    )
    return *recorded, *journaled


def build_attempt_from_record(record: RefusedAttempt) -> EarlierAttempt:
    """Build an attempt made on another machine from its record, which contains neither files nor test output."""
    code = record.codes[0] if record.codes else ""
    finding = Finding(code=code, severity="error", message=record.summary)
    others = (Finding(code=each, severity="error", message="") for each in record.codes[1:])
    return EarlierAttempt(attempt=record.attempt, findings=(finding, *others))


def build_attempt_from_journal(
    session: Session, position: Position, number: int, entry: JournalEntry
) -> EarlierAttempt:
    return EarlierAttempt(
        attempt=number,
        findings=tuple(Finding.model_validate(finding) for finding in entry.facts["findings"]),
        refused_writes=tuple(RefusedWrite(**refused) for refused in entry.facts["refused_writes"]),
        patch=session.git.patch(entry.facts.get("base", position.code_tree), entry.facts["tree"], limit=12_000),
        output=entry.facts["output"],
    )


def record_refusal(session: Session, position: Position, judged: JudgedAttempt, attempts: int) -> None:
    """Record a refused attempt immediately, so that it still counts if the run is killed."""
    phase = judged.verdict.phase
    codes = sorted({finding.code for finding in judged.verdict.errors})
    session.services.journal.append(
        "refused",
        head=position.head,
        story=position.story.id,
        phase=phase.value,
        attempt=judged.attempt,
        base=position.code_tree,
        tree=judged.written,
        findings=[finding.model_dump() for finding in judged.verdict.findings],
        refused_writes=[vars(refused) for refused in judged.refused_writes],
        output=format_failures_text(judged.evidence),
    )
    summary = summarize_errors(judged.verdict.errors)
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


def summarize_errors(errors: Sequence[Finding]) -> str:
    """Return the first finding with its test, and the number of further findings."""
    if not errors:
        return ""
    first, more = errors[0], len(errors) - 1
    if has_hidden_example_name(first.path):  # the message would reveal it, and later hidden examples may be similar
        first = first.model_copy(update={"message": f"{first.code} in a hidden example", "test": ""})
    about = f"{first.test.partition('::')[2]}: " if first.test and first.test not in first.message else ""
    return f"{about}{first.message}" + (f" (and {more} more)" if more else "")


def list_named_tests(errors: Sequence[Finding]) -> tuple[str, ...]:
    """Return the tests named in findings, without hidden examples, since roles may read the record."""
    tests = (each.test for each in errors if each.test)
    visible = (test for test in tests if not has_hidden_example_name(test.partition("::")[0]))
    return tuple(dict.fromkeys(visible))[:MAX_TESTS]


def list_refused_attempts(session: Session, position: Position) -> tuple[RefusedAttempt, ...]:
    """Return the attempts refused since the last commit, for the cycle's record."""
    attempts = []
    for entry in session.services.journal.entries_since(position.head):
        if entry.kind == "refused" and entry.facts["story"] == position.story.id:
            findings = [Finding.model_validate(finding) for finding in entry.facts["findings"]]
            errors = [finding for finding in findings if finding.severity == "error"]
            attempts.append(
                RefusedAttempt(
                    phase=Phase(entry.facts["phase"]),
                    attempt=entry.facts["attempt"],
                    codes=tuple(sorted({finding.code for finding in errors})),
                    summary=summarize_errors(errors),
                    tests=list_named_tests(errors),
                )
            )
    return tuple(attempts)


def collect_refused_writes(
    session: Session, position: Position, last: JudgedAttempt | None = None
) -> tuple[RefusedWriteRecord, ...]:
    """Return the writes that the policy refused, both in refused attempts and in the accepted one."""
    writes = [
        (Phase(entry.facts["phase"]), entry.facts["attempt"], refused)
        for entry in session.services.journal.entries_since(position.head)
        if entry.kind == "refused" and entry.facts["story"] == position.story.id
        for refused in entry.facts["refused_writes"]
    ]
    if last:
        writes += [(last.verdict.phase, last.attempt, vars(refused)) for refused in last.refused_writes]
    return tuple(RefusedWriteRecord(phase=phase, attempt=attempt, **refused) for phase, attempt, refused in writes)


def is_repeated_attempt(tree: str, session: Session, position: Position, phase: Phase) -> bool:
    """Return whether the tree equals that of an attempt before the last one (A → B → A)."""
    entries = list_refused_entries(session.services.journal.entries_since(position.head), position.story.id, phase)
    return tree in [entry.facts["tree"] for entry in entries[:-1]]


def sum_step_spend(session: Session, position: Position) -> Spend:
    return sum_spend(session.services.journal.entries_since(position.head), position.story.id)


def measure_step_seconds(session: Session, position: Position) -> float:
    """Return the time since this run's last commit, or 0 if no work on the story was done since."""
    has_worked = any(
        get_entry_subject(entry) == position.story.id for entry in session.services.journal.entries_since(position.head)
    )
    log = session.log
    return round(session.clock.monotonic() - (log.branch_writes.last_at or log.started), 3) if has_worked else 0.0


def format_red_failures_text(position: Position) -> str:
    """Return RED's failures as text. Empty if the code has changed since or only designed names are missing."""
    red_steps = [step for step in position.cycle.steps if step.phase is Phase.RED]
    if not red_steps or red_steps[-1].code_tree != position.code_tree:
        return ""
    proof = position.state.proof(position.story.id, red_steps[-1].n, Phase.RED)
    if proof is None or has_only_missing_names(proof.evidence):
        return ""
    return format_failures_text(proof.evidence, MAX_RED_CHARS)


def has_only_missing_names(evidence: Evidence) -> bool:
    run = evidence.head_run
    failures = [result.failure for result in (*run.story, *run.others_not_passed) if result.failure] if run else []
    missing = all(failure.kind is FailureKind.MISSING_SYMBOL for failure in failures)
    return missing and run is not None and not run.problems


def format_failures_text(
    evidence: Evidence, limit: int = MAX_RUN_CHARS, is_shown: Callable[[TestResult], bool] = lambda _: True
) -> str:
    """Return the failures and problems of the test run as text, without hidden examples."""
    run = evidence.head_run
    if run is None:
        return ""
    hidden_paths = evidence.held_out.paths if evidence.held_out else frozenset()
    visible = (
        result for result in (*run.story, *run.others_not_passed) if result.id.partition("::")[0] not in hidden_paths
    )
    problems = (problem for problem in run.problems if not any(path in problem for path in hidden_paths))
    return "\n".join(
        limit_lines(
            [*problems, *format_failures(result for result in visible if result.failure and is_shown(result))], limit
        )
    )

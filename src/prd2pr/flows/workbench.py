"""A role at work: a fresh directory with the code, the phase's policy around it, and the tree that comes out."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic

from prd2pr.agents.loop import RoleResult, first_request, run_role
from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import EarlierAttempt, Foundation, Task
from prd2pr.agents.tools import Desk, TestsTried
from prd2pr.agents.workspace import Workspace
from prd2pr.core.budget import Budget, BudgetStop, check
from prd2pr.core.crew import worker_name
from prd2pr.core.layout import ARCHITECTURE, BEST_PRACTICES
from prd2pr.core.packs import pack_for
from prd2pr.core.passes.part import PlanPart
from prd2pr.core.policy import WritePolicy
from prd2pr.core.records import Design, Phase, Spend, Story
from prd2pr.core.replan import PlanChange
from prd2pr.core.stacks.words import CODE_ENDINGS
from prd2pr.core.token_parts import by_part
from prd2pr.errors import ModelProblem, SpendLimit
from prd2pr.flows.impact import try_reached
from prd2pr.flows.kept_answers import KeptAnswers, question_key
from prd2pr.flows.ledger import spent, unrecorded
from prd2pr.flows.session import Hired, Session
from prd2pr.flows.shared_ledger import SharedLedger
from prd2pr.flows.stacks import planned_stack
from prd2pr.flows.watched import ANSWERED, Watched
from prd2pr.models import estimate_of
from prd2pr.models.usage import prompt_pieces
from prd2pr.ports import Model, Purpose, Reply, Request, RunRequest
from prd2pr.repo.store import BranchState

CODING = (Phase.GREEN, Phase.REFACTOR)  # whoever writes tests runs them by name
PRECIOUS = "by-hand-"
KEPT_DAYS = 30
MAX_FILES = 3000
MAX_FILE_BYTES = 60_000
MAX_FOUNDATIONS = 12
TEXT_ENDINGS = (*CODE_ENDINGS, ".md", ".toml", ".cfg", ".ini", ".txt", ".yml", ".yaml", ".json", ".rst", ".flake8")


@dataclass(frozen=True)
class Surroundings:
    """What calls that are made side by side share, read once."""

    files: Mapping[str, str]
    map: str


@dataclass(frozen=True)
class Assignment(Generic[Output]):
    """Who is to do what, from which tree."""

    role: Role[Output]
    code_tree: str
    head: str  # the branch's commit, for the journal and the conventions kept beside the state
    policy: WritePolicy
    story: Story | None = None
    design: Design | None = None
    attempt: int = 1
    attempts: int = 1
    earlier: tuple[EarlierAttempt, ...] = ()
    test_output: str = ""
    held_out: bool = False  # examples are to be held out, or are held out from this role
    advice: str = ""
    spent_story: Spend = field(default_factory=Spend)
    spent_prd: Spend = field(default_factory=Spend)
    seconds_story: float = 0  # that recorded steps took
    seconds_prd: float = 0
    strong: bool = False
    change: PlanChange | None = None  # the planner: no more than this is to be planned
    plan: int = 1
    part: PlanPart | None = None  # of a plan that is made in passes
    shared: Surroundings | None = None
    kept: KeptAnswers | None = None  # answers that were paid for before
    count_call: Callable[[], None] | None = None  # told before each call; may refuse it by raising
    memory: str = ""
    brief: str = ""
    material: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        return self.story.id if self.story else ""


@dataclass(frozen=True)
class Work(Generic[Output]):
    result: RoleResult[Output]
    code_tree: str


def do_work(session: Session, assignment: Assignment[Output]) -> Work[Output]:
    """Always from a clean tree; nothing of an earlier attempt is left. May be called by several threads at once."""
    strong = assignment.strong or assignment.role.tier == "strong"
    hired = session.hire(assignment.role.name, strong)
    session.log.model = hired.model.name
    session.log.worker = worker_name(session.crew.model(assignment.role.name, strong=strong))
    task = task_of(session, assignment, hired.model)
    known = known_answer(session, assignment, hired, task)
    if known is not None:
        return Work(known, assignment.code_tree)
    tell(session, assignment, hired)
    if not assignment.role.tools and not hired.edits_itself:
        return Work(asked(session, assignment, hired, task), assignment.code_tree)
    with fresh_directory(session, precious=hired.edits_itself and assignment.role.writes) as directory:
        session.git.export(assignment.code_tree, directory)
        workspace = Workspace(directory, assignment.policy, session.rules, source=task.conventions_of_language.source)
        desk = Desk(
            workspace,
            lambda paths, whole: try_tests(session, assignment, directory, paths, whole=whole),
            assignment.role.test_runs,
        )
        result = asked(session, assignment, hired, task, desk)
        for refused in result.refused_writes:
            session.progress.say("refused_write", path=refused.path, code=refused.code)
        tree = session.git.snapshot(directory, assignment.code_tree) if assignment.role.writes else assignment.code_tree
    return Work(result, tree)


def tell(session: Session, assignment: Assignment[Output], hired: Hired) -> None:
    role, part = assignment.role, assignment.part
    if hired.edits_itself:
        text = f"{role.phase.value}: {hired.model.name} works on {session.prd.id}"
        session.progress.say("note", text=text)
        return
    what = f"{role.title}: {part.about}" if part else role.title
    session.progress.say("working", phase=role.phase.value, attempt=assignment.attempt, what=what)


def asked(
    session: Session, assignment: Assignment[Output], hired: Hired, task: Task, desk: Desk | None = None
) -> RoleResult[Output]:
    role, model = assignment.role, hired.model
    watched = Watched(model.name, model, session.clock, lambda *failed: note_failed_call(session, *failed))
    made: set[str] = set()
    stop: BudgetStop | None = None

    def before_call(request: Request) -> str | None:
        nonlocal stop
        made.add(request.purpose.key())
        if assignment.count_call is not None:
            assignment.count_call()
        stop = budget_stop(session, assignment, model, request)
        return stop.what if stop else None

    try:
        result = run_role(
            role,
            task,
            watched,
            desk=desk,
            before_call=before_call,
            after_call=lambda request, reply: note_call(session, assignment, request, reply, watched.milliseconds),
            edits_itself=hired.edits_itself,
            secrets=session.secrets,
        )
    finally:
        release(session, made)
    if stop is not None:
        raise SpendLimit(stop.what, remedy=stop.remedy)
    if assignment.kept is not None and hired.remembers and result.output is not None:
        assignment.kept.keep(question_key(role, task, hired), result.output)
    return result


def known_answer(
    session: Session, assignment: Assignment[Output], hired: Hired, task: Task
) -> RoleResult[Output] | None:
    """Given before to exactly this question, by a run that did not come to its end: it is not paid for again."""
    if assignment.kept is None or not hired.remembers:
        return None
    found = assignment.kept.find(question_key(assignment.role, task, hired), assignment.role.output)
    if found is None:
        return None
    request = first_request(assignment.role, task, None)
    with session.log.lock:
        session.log.add(session.clock.now(), "kept", purpose=request.purpose.key(), model=hired.model.name)
    return RoleResult("done", found, "", (), (), Spend(), 0, 0, 0)


@contextmanager
def fresh_directory(session: Session, *, precious: bool = False) -> Iterator[Path]:
    """Under `.git/prd2pr/work`, where leftovers of a killed run are swept away by the next one.

    `precious`: somebody works there by hand. If the work is broken off, it is kept, and its place is told.
    """
    root = session.workplace
    root.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=root, prefix=PRECIOUS if precious else ""))
    try:
        yield directory / "repository"
    except BaseException:
        if precious:
            keep(session, directory)
        raise
    finally:
        # In the background: nobody waits for a disk to forget.
        threading.Thread(target=shutil.rmtree, args=(directory,), kwargs={"ignore_errors": True}).start()


def sweep(session: Session) -> None:
    """What a killed run left behind. The caller holds the branch's lock."""
    root = session.workplace
    for directory in root.glob(f"{PRECIOUS}*"):
        keep(session, directory)
    shutil.rmtree(root, ignore_errors=True)
    forget_kept(session.git.private / "kept", time.time())


def forget_kept(root: Path, now: float) -> None:
    """Work that was broken off and that nobody came back for."""
    for place in root.iterdir() if root.is_dir() else ():
        if place.stat().st_mtime < now - KEPT_DAYS * 86_400:
            shutil.rmtree(place, ignore_errors=True)


def keep(session: Session, directory: Path) -> None:
    place = session.git.private / "kept" / f"{session.prd.id}-{directory.name.removeprefix(PRECIOUS)}"
    place.parent.mkdir(exist_ok=True)
    directory.rename(place)
    os.utime(place)  # its days are counted from now
    text = f"broken off; what was written is kept in {place / 'repository'}, for {KEPT_DAYS} days"
    session.progress.say("note", text=text)


def try_tests(
    session: Session, assignment: Assignment[Output], directory: Path, paths: tuple[str, ...], *, whole: bool
) -> TestsTried:
    """What the role asks for with `run_tests`: as clean a run as the gate's."""
    tree = session.git.snapshot(directory, assignment.code_tree)
    if session.surveyor and assignment.role.phase in CODING and not paths and not whole:
        return try_reached(session, session.surveyor, tree, assignment.subject)
    stacks = session.gathering.stacks
    own = planned_stack(stacks, assignment.story, assignment.design) if len(stacks) > 1 and not paths else None
    return TestsTried(session.runner.run(RunRequest(code_tree=tree, paths=() if whole else paths, stack=own)))


def task_of(session: Session, assignment: Assignment[Output], model: Model) -> Task:
    state = session.store.load(assignment.head)
    story = assignment.story if state.planned else None
    return Task(
        prd=session.prd,
        model=model.name,
        story=assignment.story,
        design=assignment.design,
        assumptions=state.backlog.assumptions if story else (),
        foundations=foundations(state, story) if story else (),
        files=assignment.shared.files if assignment.shared else text_files(session, assignment.code_tree),
        begun_with=begun_with(session, state) if story else None,
        pack=pack_for(assignment.role.name, session.config.context.shared, session.config.context.roles),
        conventions=conventions(session, assignment.head),
        attempt=assignment.attempt,
        attempts=assignment.attempts,
        earlier=assignment.earlier,
        test_output=assignment.test_output,
        holds_out=session.config.gates.held_out and not session.config.fused,
        held_out=assignment.held_out,
        advice=assignment.advice,
        change=assignment.change,
        plan=assignment.plan,
        part=assignment.part,
        map=assignment.shared.map if assignment.shared else None,
        memory=assignment.memory,
        brief=assignment.brief,
        material=assignment.material,
        stack=planned_stack(session.gathering.stacks, assignment.story, assignment.design),
        stacks=session.gathering.stacks,
    )


def foundations(state: BranchState, story: Story) -> tuple[Foundation, ...]:
    """The stories that this one builds on and that have a design, the nearest first."""
    stories = {other.id: other for other in state.backlog.stories}
    waiting, met = list(story.depends_on), set[str]()
    found: list[Foundation] = []
    while waiting and len(found) < MAX_FOUNDATIONS:
        name = waiting.pop(0)
        if name in met or name not in stories:
            continue
        met.add(name)
        waiting += stories[name].depends_on
        cycle = state.cycle(name)
        if cycle and cycle.design:
            found.append(Foundation(stories[name], cycle.design))
    return tuple(found)


def text_files(session: Session, tree: str) -> dict[str, str]:
    entries = [entry for entry in session.git.entries(tree) if entry.kind == "blob" and entry.mode != "120000"]
    # Living docs are made from what else is there; a role that reads the code need not pay for them again.
    made = frozenset(session.gathering.living_docs)
    chosen = [entry for entry in entries if entry.path.endswith(TEXT_ENDINGS) and entry.path not in made][:MAX_FILES]
    contents = session.git.read_blobs(entry.blob for entry in chosen)
    return {
        entry.path: contents[entry.blob].decode("utf-8", "replace")
        for entry in chosen
        if len(contents[entry.blob]) <= MAX_FILE_BYTES
    }


def begun_with(session: Session, state: BranchState) -> dict[str, str] | None:
    """The files that the PRD's work began with; None where that commit is not here, as in a shallow clone."""
    commit = state.project.base_commit
    return text_files(session, session.git.code_tree(commit)) if commit and session.git.has_commit(commit) else None


def conventions(session: Session, head: str) -> dict[str, str]:
    found = {path: session.git.read(head, path) for path in (ARCHITECTURE, BEST_PRACTICES)}
    return {path: content.decode("utf-8", "replace") for path, content in found.items() if content}


def budget_stop(session: Session, assignment: Assignment[Output], model: Model, request: Request) -> BudgetStop | None:
    """Calls that are under way count with what they will probably take, so that many at once keep a limit too."""
    expected = estimate_of(model, request)
    key, spend, shared = request.purpose.key(), Spend(input_tokens=expected.tokens, usd=expected.usd), session.shared
    with session.log.lock, shared.alone() if shared else nullcontext():
        stop = check(budget_of(session, assignment), session.clock.monotonic(), expected)
        if stop is None and shared:
            shared.reserve(key, spend)
        elif stop is None:
            session.log.reserved[key] = spend
    return stop


def release(session: Session, purposes: Iterable[str]) -> None:
    with session.log.lock:
        if session.shared:
            session.shared.release(purposes)
        for purpose in purposes:
            session.log.reserved.pop(purpose, None)


def budget_of(session: Session, assignment: Assignment[Output]) -> Budget:
    """What the branch says was spent, what was spent since without a commit, and what is being spent."""
    if session.shared:
        return shared_budget(session, assignment, session.shared)
    unsettled = session.journal.since(assignment.head)
    reserved = sum(session.log.reserved.values(), Spend())
    on_story = (each for key, each in session.log.reserved.items() if key.startswith(f"{assignment.subject}/"))
    under_way = session.clock.monotonic() - (session.log.committed or session.log.started)
    return Budget(
        limits=session.limits,
        spent_run=session.log.spend + reserved,
        spent_story=assignment.spent_story
        + (sum(on_story, spent(unsettled, assignment.subject)) if assignment.subject else Spend()),
        spent_prd=assignment.spent_prd + spent(unrecorded(unsettled)) + reserved,
        started=session.log.started,
        seconds_story=assignment.seconds_story + under_way,
        seconds_prd=assignment.seconds_prd + under_way,
    )


def shared_budget(session: Session, assignment: Assignment[Output], shared: SharedLedger) -> Budget:
    """With all workers of the run, whichever story they are at."""
    subject, unsettled = assignment.subject, session.journal.since(assignment.head)
    on_story = spent(unsettled, subject) + shared.reserved_for(subject) if subject else Spend()
    under_way = session.clock.monotonic() - (session.log.committed or session.log.started)
    return Budget(
        limits=session.limits,
        spent_run=shared.spent + shared.reserved,
        spent_story=assignment.spent_story + on_story,
        spent_prd=shared.begun.spent_prd + shared.spent + shared.reserved,
        started=shared.begun.started,
        seconds_story=assignment.seconds_story + under_way,
        seconds_prd=shared.begun.seconds_prd + shared.seconds + under_way,
    )


def note_call(
    session: Session, assignment: Assignment[Output], request: Request, reply: Reply, milliseconds: int
) -> None:
    key, spend = request.purpose.key(), reply.spend
    parts = by_part(prompt_pieces(request), spend.input_tokens, spend.cached_tokens)
    with session.log.lock:
        session.log.reserved.pop(key, None)
        if session.shared:
            session.shared.called(key, spend)
        session.log.spend += spend
        session.journal.append("call", head=assignment.head, key=key, spend=spend.model_dump(), run=session.log.id)
        session.log.add(
            session.clock.now(),
            "call",
            purpose=key,
            model=reply.model,
            stop=reply.stop,
            duration_ms=milliseconds,
            success=reply.stop in ANSWERED,
            **spend.model_dump(),
            parts={part: each._asdict() for part, each in parts.items()},
        )


def note_failed_call(session: Session, purpose: Purpose, problem: ModelProblem, milliseconds: int) -> None:
    """The error's code alone: what a provider says may quote anything, and the log is for everybody."""
    with session.log.lock:
        session.log.add(
            session.clock.now(),
            "call",
            purpose=purpose.key(),
            stop="error",
            duration_ms=milliseconds,
            success=False,
            error=problem.code,
        )

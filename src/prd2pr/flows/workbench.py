"""A role at work: a fresh directory with the code, the phase's policy around it, and the tree that comes out."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic

from prd2pr.agents.loop import RoleResult, run_role
from prd2pr.agents.roles import Output, Role
from prd2pr.agents.task import EarlierAttempt, Foundation, Task
from prd2pr.agents.tools import Desk
from prd2pr.agents.workspace import Workspace
from prd2pr.core.budget import Budget, check
from prd2pr.core.evidence import RunReport
from prd2pr.core.layout import ARCHITECTURE, BEST_PRACTICES
from prd2pr.core.policy import WritePolicy
from prd2pr.core.records import Design, Spend, Story
from prd2pr.core.replan import PlanChange
from prd2pr.errors import ModelProblem, SpendLimit
from prd2pr.flows.ledger import spent, unrecorded
from prd2pr.flows.session import Session
from prd2pr.flows.watched import ANSWERED, Watched
from prd2pr.models import estimate_of
from prd2pr.ports import Model, Purpose, Reply, Request, RunRequest
from prd2pr.repo.store import BranchState

PRECIOUS = "by-hand-"
MAX_FILES = 3000
MAX_FILE_BYTES = 60_000
MAX_FOUNDATIONS = 12
TEXT_ENDINGS = (".py", ".md", ".toml", ".cfg", ".ini", ".txt", ".yml", ".yaml", ".json", ".rst", ".flake8")


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

    @property
    def subject(self) -> str:
        return self.story.id if self.story else ""


@dataclass(frozen=True)
class Work(Generic[Output]):
    result: RoleResult[Output]
    code_tree: str


def do_work(session: Session, assignment: Assignment[Output]) -> Work[Output]:
    """Always from a clean tree; nothing of an earlier attempt is left."""
    hired = session.hire(assignment.role.name, assignment.strong)
    model = hired.model
    session.log.model = model.name
    if hired.edits_itself:
        session.progress.say("note", text=f"{assignment.role.phase.value}: {model.name} works on {session.prd.id}")
    else:
        words = {"phase": assignment.role.phase.value, "attempt": assignment.attempt, "what": assignment.role.title}
        session.progress.say("working", **words)
    watched = Watched(model.name, model, session.clock, lambda *failed: note_failed_call(session, *failed))
    with fresh_directory(session, precious=hired.edits_itself) as directory:
        session.git.export(assignment.code_tree, directory)
        workspace = Workspace(directory, assignment.policy, session.rules)
        desk = Desk(
            workspace, lambda paths: try_tests(session, assignment, directory, paths), assignment.role.test_runs
        )
        result = run_role(
            assignment.role,
            task_of(session, assignment, model),
            watched,
            desk=desk,
            before_call=lambda request: budget_stop(session, assignment, model, request),
            after_call=lambda purpose, reply: note_call(session, assignment, purpose, reply, watched.milliseconds),
            edits_itself=hired.edits_itself,
            secrets=session.secrets,
        )
        if result.stop == "budget":
            raise SpendLimit(result.explanation, remedy=budget_remedy(session, assignment, model))
        for refused in result.refused_writes:
            session.progress.say("refused_write", path=refused.path, code=refused.code)
        tree = session.git.snapshot(directory, assignment.code_tree) if assignment.role.writes else assignment.code_tree
    return Work(result, tree)


@contextmanager
def fresh_directory(session: Session, *, precious: bool = False) -> Iterator[Path]:
    """Under `.git/prd2pr/work`, where leftovers of a killed run are swept away by the next one.

    `precious`: somebody works there by hand. If the work is broken off, it is kept, and its place is told.
    """
    root = session.git.private / "work" / session.prd.id
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
    root = session.git.private / "work" / session.prd.id
    for directory in root.glob(f"{PRECIOUS}*"):
        keep(session, directory)
    shutil.rmtree(root, ignore_errors=True)


def keep(session: Session, directory: Path) -> None:
    place = session.git.private / "kept" / f"{session.prd.id}-{directory.name.removeprefix(PRECIOUS)}"
    place.parent.mkdir(exist_ok=True)
    directory.rename(place)
    session.progress.say("note", text=f"broken off; what was written is kept in {place / 'repository'}")


def try_tests(session: Session, assignment: Assignment[Output], directory: Path, paths: tuple[str, ...]) -> RunReport:
    """What the role asks for with `run_tests`: the same clean run as the gate's."""
    tree = session.git.snapshot(directory, assignment.code_tree)
    return session.runner.run(RunRequest(code_tree=tree, paths=paths))


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
        files=text_files(session, assignment.code_tree),
        conventions=conventions(session, assignment.head),
        attempt=assignment.attempt,
        attempts=assignment.attempts,
        earlier=assignment.earlier,
        test_output=assignment.test_output,
        held_out=assignment.held_out,
        advice=assignment.advice,
        change=assignment.change,
        plan=assignment.plan,
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
    chosen = [entry for entry in entries if entry.path.endswith(TEXT_ENDINGS)][:MAX_FILES]
    contents = session.git.read_blobs(entry.blob for entry in chosen)
    return {
        entry.path: contents[entry.blob].decode("utf-8", "replace")
        for entry in chosen
        if len(contents[entry.blob]) <= MAX_FILE_BYTES
    }


def conventions(session: Session, head: str) -> dict[str, str]:
    found = {path: session.git.read(head, path) for path in (ARCHITECTURE, BEST_PRACTICES)}
    return {path: content.decode("utf-8", "replace") for path, content in found.items() if content}


def budget_stop(session: Session, assignment: Assignment[Output], model: Model, request: Request) -> str | None:
    stop = check(budget_of(session, assignment), session.clock.monotonic(), estimate_of(model, request))
    return stop.what if stop else None


def budget_remedy(session: Session, assignment: Assignment[Output], model: Model) -> str:
    stop = check(budget_of(session, assignment), session.clock.monotonic(), estimate_of(model))
    return stop.remedy if stop else "raise the budget in .prd2pr.yml; the same command again goes on"


def budget_of(session: Session, assignment: Assignment[Output]) -> Budget:
    """What the branch says was spent, and what was spent since without a commit."""
    unsettled = session.journal.since(assignment.head)
    under_way = session.clock.monotonic() - (session.log.committed or session.log.started)
    return Budget(
        limits=session.limits,
        spent_run=session.log.spend,
        spent_story=assignment.spent_story + (spent(unsettled, assignment.subject) if assignment.subject else Spend()),
        spent_prd=assignment.spent_prd + spent(unrecorded(unsettled)),
        started=session.log.started,
        seconds_story=assignment.seconds_story + under_way,
        seconds_prd=assignment.seconds_prd + under_way,
    )


def note_call(
    session: Session, assignment: Assignment[Output], purpose: Purpose, reply: Reply, milliseconds: int
) -> None:
    session.log.spend += reply.spend
    session.journal.append(
        "call", head=assignment.head, key=purpose.key(), spend=reply.spend.model_dump(), run=session.log.id
    )
    session.log.add(
        session.clock.now(),
        "call",
        purpose=purpose.key(),
        model=reply.model,
        stop=reply.stop,
        duration_ms=milliseconds,
        success=reply.stop in ANSWERED,
        **reply.spend.model_dump(),
    )


def note_failed_call(session: Session, purpose: Purpose, problem: ModelProblem, milliseconds: int) -> None:
    """The error's code alone: what a provider says may quote anything, and the log is for everybody."""
    session.log.add(
        session.clock.now(),
        "call",
        purpose=purpose.key(),
        stop="error",
        duration_ms=milliseconds,
        success=False,
        error=problem.code,
    )

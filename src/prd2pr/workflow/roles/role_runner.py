"""Run a role in a fresh directory with the code, under the phase's write policy, and return the resulting tree."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic

from prd2pr.agents.models import SELF_EDITING_PREFIXES, estimate_next_call
from prd2pr.agents.models.base import Model, Purpose, Reply, Request
from prd2pr.agents.models.usage import list_prompt_pieces
from prd2pr.agents.roles import PROGRAMMER, Output, Role
from prd2pr.agents.task import (
    AttemptContext,
    CodebaseContext,
    FoundationStory,
    HiddenExampleScope,
    PlanScope,
    RoleMaterial,
    RoleTask,
    StoryBackground,
)
from prd2pr.agents.token_usage import split_by_part
from prd2pr.agents.tool_loop import RoleResult, build_first_request, run_role
from prd2pr.agents.tools import TestToolRun, Toolbox
from prd2pr.agents.workspace import Workspace
from prd2pr.domain.costs.budget import Budget, BudgetStop, check_budget
from prd2pr.domain.costs.context_budget import get_context_budget
from prd2pr.domain.costs.model_selection import get_public_model_name
from prd2pr.domain.documents import AT_ROOT
from prd2pr.domain.records import Design, Phase, Spend, Story
from prd2pr.domain.stack_policy import CODE_ENDINGS
from prd2pr.domain.write_policy import WritePolicy
from prd2pr.errors import ModelProblem, SpendLimit
from prd2pr.languages.test_runner import RunRequest
from prd2pr.state.layout import ARCHITECTURE, BEST_PRACTICES, build_log_path
from prd2pr.state.log_lines import parse_log
from prd2pr.state.store import BranchState
from prd2pr.verification.stack_scope import choose_planned_stack
from prd2pr.workflow.answer_cache import AnswerCache, make_question_key
from prd2pr.workflow.interfaces import Clock
from prd2pr.workflow.ledger import SharedLedger
from prd2pr.workflow.roles.impact import run_reached_tests
from prd2pr.workflow.session import RoleModel, Session
from prd2pr.workflow.spending import BranchSpend, list_unrecorded, sum_spend

CODING_PHASES = (Phase.GREEN, Phase.REFACTOR)  # in the other phases, roles name the tests to run
HAND_WORK_PREFIX = "by-hand-"
KEPT_DAYS = 30
MAX_FILES = 3000
MAX_FILE_BYTES = 60_000
MAX_FOUNDATIONS = 12
TEXT_ENDINGS = (*CODE_ENDINGS, ".md", ".toml", ".cfg", ".ini", ".txt", ".yml", ".yaml", ".json", ".rst", ".flake8")


TOKEN_COUNTS = ("input_tokens", "cached_tokens", "output_tokens")
ANSWERED_STOPS = ("end", "tool_use")  # a truncated or declined reply is not a success


@dataclass
class TimedModel:
    """A model that measures and logs its calls.

    Each conversation has its own instance, since several run in parallel.
    """

    name: str
    model: Model
    clock: Clock
    failed: Callable[[Purpose, ModelProblem, int], None]
    milliseconds: int = 0  # duration of the last call

    def reply(self, request: Request) -> Reply:
        started = self.clock.monotonic()
        try:
            return self.model.reply(request)
        except ModelProblem as error:
            self.failed(request.purpose, error, self._since(started))
            raise
        finally:
            self.milliseconds = self._since(started)

    def _since(self, started: float) -> int:
        return round((self.clock.monotonic() - started) * 1000)


@dataclass(frozen=True)
class SharedResources:
    """The data shared by all calls for one plan."""

    files: Mapping[str, str]  # the repository's files, read once
    answer_cache: AnswerCache  # answers that earlier runs paid for


@dataclass(frozen=True)
class Assignment(Generic[Output]):
    """The task of a role and the tree on which its work is based.

    `make_task` adds the repository, the model and the configuration.
    """

    role: Role[Output]
    code_tree: str
    head: str  # the branch's commit, for the journal and conventions
    policy: WritePolicy
    story: Story | None = None
    design: Design | None = None
    hidden_examples: bool = False  # the role writes hidden examples, or does not see them
    attempt: AttemptContext = field(default_factory=AttemptContext)
    plan: PlanScope = field(default_factory=PlanScope)
    material: RoleMaterial = field(default_factory=RoleMaterial)
    branch_spend: BranchSpend = field(default_factory=BranchSpend)
    shared: SharedResources | None = None  # shared with other calls of the same plan

    @property
    def subject(self) -> str:
        return self.story.id if self.story else ""


@dataclass(frozen=True)
class RoleWork(Generic[Output]):
    """A role's result, and the code tree that it left."""

    result: RoleResult[Output]
    code_tree: str


def run_assignment(session: Session, assignment: Assignment[Output]) -> RoleWork[Output]:
    """Run the role from a clean tree. Several threads may call this at once."""
    strong = assignment.attempt.strong or assignment.role.tier == "strong"
    role_model = session.services.select_model(assignment.role.name, strong)
    session.log.model = role_model.model.name
    session.log.worker = get_public_model_name(
        session.services.models.select_model(assignment.role.name, strong=strong)
    )
    task = make_task(session, assignment, role_model.model)
    cached = find_known_answer(session, assignment, role_model, task)
    if cached is not None:
        return RoleWork(cached, assignment.code_tree)
    report_start(session, assignment, role_model)
    if not assignment.role.tools and not role_model.edits_itself:
        return RoleWork(ask_model(session, assignment, role_model, task), assignment.code_tree)
    with make_work_directory(session, precious=role_model.edits_itself and assignment.role.can_write) as directory:
        session.git.export(assignment.code_tree, directory)
        workspace = Workspace(
            directory, assignment.policy, session.constraints.paths, source=task.codebase.language_conventions.source
        )
        toolbox = Toolbox(
            workspace,
            lambda paths, whole: run_requested_tests(session, assignment, directory, paths, whole=whole),
            assignment.role.test_runs,
        )
        result = ask_model(session, assignment, role_model, task, toolbox)
        for refused in result.refused_writes:
            session.progress.say("refused_write", path=refused.path, code=refused.code)
        tree = (
            session.git.snapshot(directory, assignment.code_tree) if assignment.role.can_write else assignment.code_tree
        )
    return RoleWork(result, tree)


def report_start(session: Session, assignment: Assignment[Output], role_model: RoleModel) -> None:
    role, part = assignment.role, assignment.plan.part
    if role_model.edits_itself:
        text = f"{role.phase.value}: {role_model.model.name} works on {session.prd.id}"
        session.progress.say("note", text=text)
        return
    what = f"{role.title}: {part.about}" if part else role.title
    is_plan = role.phase is Phase.PLAN
    log = f"planning {session.prd.path} with {role_model.model.name}" if is_plan else ""
    session.progress.say("working", phase=role.phase.value, attempt=assignment.attempt.number, what=what, log=log)


def ask_model(
    session: Session,
    assignment: Assignment[Output],
    role_model: RoleModel,
    task: RoleTask,
    toolbox: Toolbox | None = None,
) -> RoleResult[Output]:
    role, model = assignment.role, role_model.model
    timed_model = TimedModel(model.name, model, session.clock, lambda *failed: record_failed_call(session, *failed))
    purposes: set[str] = set()
    budget_stop: BudgetStop | None = None

    def before_call(request: Request) -> str | None:
        nonlocal budget_stop
        purposes.add(request.purpose.key())
        budget_stop = check_call_budget(session, assignment, model, request)
        return budget_stop.what if budget_stop else None

    try:
        result = run_role(
            role,
            task,
            timed_model,
            toolbox=toolbox,
            before_call=before_call,
            after_call=lambda request, reply: record_call(
                session, assignment, request, reply, timed_model.milliseconds
            ),
            edits_itself=role_model.edits_itself,
            secrets=session.constraints.secrets,
        )
    finally:
        release_reservations(session, purposes)
    if budget_stop is not None:
        raise SpendLimit(budget_stop.what, remedy=budget_stop.remedy)
    if assignment.shared is not None and role_model.remembers and result.output is not None:
        assignment.shared.answer_cache.keep(make_question_key(role, task, role_model), result.output)
    return result


def find_known_answer(
    session: Session, assignment: Assignment[Output], role_model: RoleModel, task: RoleTask
) -> RoleResult[Output] | None:
    """Return the answer that an interrupted run received to exactly this question, if any."""
    if assignment.shared is None or not role_model.remembers:
        return None
    key = make_question_key(assignment.role, task, role_model)
    found = assignment.shared.answer_cache.find(key, assignment.role.output)
    if found is None:
        return None
    request = build_first_request(assignment.role, task, None)
    with session.log.calls.lock:
        session.log.add(session.clock.now(), "kept", purpose=request.purpose.key(), model=role_model.model.name)
    return RoleResult("done", found, "", (), (), Spend(), 0, 0, 0)


@contextmanager
def make_work_directory(session: Session, *, precious: bool = False) -> Iterator[Path]:
    """Create a directory under `.git/prd2pr/work`, where the next run deletes leftovers of a killed one.

    `precious` means that a person works there: interrupted work is kept, and its location is reported.
    """
    root = session.work_directory
    root.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=root, prefix=HAND_WORK_PREFIX if precious else ""))
    try:
        yield directory / "repository"
    except BaseException:
        if precious:
            keep_interrupted_work(session, directory)
        raise
    finally:
        # Deleted in the background, since it takes time.
        threading.Thread(target=shutil.rmtree, args=(directory,), kwargs={"ignore_errors": True}).start()


def clean_up_leftovers(session: Session) -> None:
    """Delete the directories that a killed run left. The caller must hold the branch's lock."""
    root = session.work_directory
    for directory in root.glob(f"{HAND_WORK_PREFIX}*"):
        keep_interrupted_work(session, directory)
    shutil.rmtree(root, ignore_errors=True)
    delete_old_kept_work(session.git.private / "kept", time.time())


def delete_old_kept_work(root: Path, now: float) -> None:
    """Delete interrupted work after its retention time."""
    for directory in root.iterdir() if root.is_dir() else ():
        if directory.stat().st_mtime < now - KEPT_DAYS * 86_400:
            shutil.rmtree(directory, ignore_errors=True)


def keep_interrupted_work(session: Session, directory: Path) -> None:
    target = session.git.private / "kept" / f"{session.prd.id}-{directory.name.removeprefix(HAND_WORK_PREFIX)}"
    target.parent.mkdir(exist_ok=True)
    directory.rename(target)
    os.utime(target)  # the retention time starts now
    text = f"interrupted; the work is kept in {target / 'repository'} for {KEPT_DAYS} days"
    session.progress.say("note", text=text)


def run_requested_tests(
    session: Session, assignment: Assignment[Output], directory: Path, paths: tuple[str, ...], *, whole: bool
) -> TestToolRun:
    """Run the tests that the role requests with `run_tests`, in the same clean environment as for a gate."""
    tree = session.git.snapshot(directory, assignment.code_tree)
    if session.services.surveyor and assignment.role.phase in CODING_PHASES and not paths and not whole:
        return run_reached_tests(session, session.services.surveyor, tree, assignment.subject)
    stacks = session.services.gathering.stacks
    own = choose_planned_stack(stacks, assignment.story, assignment.design) if len(stacks) > 1 and not paths else None
    return TestToolRun(session.services.runner.run(RunRequest(code_tree=tree, paths=() if whole else paths, stack=own)))


def make_task(session: Session, assignment: Assignment[Output], model: Model) -> RoleTask:
    state = session.store.load(assignment.head)
    story = assignment.story if state.planned else None
    shared, stacks = assignment.shared, session.services.gathering.stacks
    return RoleTask(
        prd=session.prd,
        model=model.name,
        story=assignment.story,
        design=assignment.design,
        background=StoryBackground(state.backlog.assumptions, list_foundations(state, story) if story else ()),
        codebase=CodebaseContext(
            files=shared.files if shared else read_text_files(session, assignment.code_tree),
            files_at_start=read_base_files(session, state) if story else None,
            conventions=read_conventions(session, assignment.head),
            stack=choose_planned_stack(stacks, assignment.story, assignment.design),
            stacks=stacks,
        ),
        context_budget=get_context_budget(
            PROGRAMMER.name if assignment.role.shared_start and session.config.converses else assignment.role.name,
            session.config.context.shared,
            session.config.context.roles,
        ),
        hidden_examples=HiddenExampleScope(
            in_run=session.config.gates.held_out and not session.config.fused, in_task=assignment.hidden_examples
        ),
        attempt=assignment.attempt,
        plan=assignment.plan,
        material=assignment.material,
    )


def list_foundations(state: BranchState, story: Story) -> tuple[FoundationStory, ...]:
    """Return the stories with a design on which this story depends, nearest first."""
    stories = {other.id: other for other in state.backlog.stories}
    queue, visited = list(story.depends_on), set[str]()
    found: list[FoundationStory] = []
    while queue and len(found) < MAX_FOUNDATIONS:
        name = queue.pop(0)
        if name in visited or name not in stories:
            continue
        visited.add(name)
        queue += stories[name].depends_on
        cycle = state.cycle(name)
        if cycle and cycle.design:
            found.append(FoundationStory(stories[name], cycle.design))
    return tuple(found)


def read_text_files(session: Session, tree: str) -> dict[str, str]:
    entries = [entry for entry in session.git.entries(tree) if entry.kind == "blob" and entry.mode != "120000"]
    # Roles do not need the living docs, which are generated from the other files. People write README and changelog.
    living_docs = frozenset(session.services.gathering.living_docs).difference(each.file for each in AT_ROOT)
    chosen = [entry for entry in entries if entry.path.endswith(TEXT_ENDINGS) and entry.path not in living_docs][
        :MAX_FILES
    ]
    contents = session.git.read_blobs(entry.blob for entry in chosen)
    return {
        entry.path: contents[entry.blob].decode("utf-8", "replace")
        for entry in chosen
        if len(contents[entry.blob]) <= MAX_FILE_BYTES
    }


def read_base_files(session: Session, state: BranchState) -> dict[str, str] | None:
    """Return the files at the start of the PRD, or None if that commit is missing, as in a shallow clone."""
    commit = state.project.base_commit
    return (
        read_text_files(session, session.git.code_tree(commit)) if commit and session.git.has_commit(commit) else None
    )


def read_conventions(session: Session, head: str) -> dict[str, str]:
    found = {path: session.git.read(head, path) for path in (ARCHITECTURE, BEST_PRACTICES)}
    texts = {path: strip_hints(content.decode("utf-8", "replace")) for path, content in found.items() if content}
    return {path: text for path, text in texts.items() if text}


HINT = re.compile(r"<!--.*?-->\n*", re.DOTALL)


def strip_hints(text: str) -> str:
    """Remove the template's comments, and the sections that nobody has filled in yet."""
    if not HINT.search(text):
        return text
    lines = HINT.sub("", text).rstrip().splitlines()
    kept: list[str] = []
    for line in reversed(lines):
        level = len(line) - len(line.lstrip("#")) if line.startswith("#") else 0
        following = next((each for each in reversed(kept) if each.strip()), "")
        below = len(following) - len(following.lstrip("#")) if following.startswith("#") else 0
        if level and (not following or 0 < below <= level):
            continue
        kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(reversed(kept)).strip())


def check_call_budget(
    session: Session, assignment: Assignment[Output], model: Model, request: Request
) -> BudgetStop | None:
    """Return a stop if the call would exceed a limit. Otherwise reserve its estimated cost and return None."""
    expected = estimate_next_call(model, request)
    if model.name.startswith(SELF_EDITING_PREFIXES) and session.constraints.limits.counts_tokens:
        # Its prompt says little about what it will use.
        seen = find_largest_call(session, assignment.head, request.purpose.role)
        expected = replace(expected, tokens=max(expected.tokens, seen))
    key, spend, shared = request.purpose.key(), Spend(input_tokens=expected.tokens, usd=expected.usd), session.shared
    with session.log.calls.lock, shared.locked() if shared else nullcontext():
        stop = check_budget(make_budget(session, assignment), session.clock.monotonic(), expected)
        if stop is None and shared:
            shared.reserve(key, spend)
        elif stop is None:
            session.log.calls.reserved[key] = spend
    return stop


def find_largest_call(session: Session, head: str, role: str) -> int:
    """Return the tokens of the role's largest call in the logs of a branch's earlier runs."""
    state = session.store.load(head)
    lines = (
        line for path in map(build_log_path, state.run_ids()) for line in parse_log(state.read_bytes(path) or b"", path)
    )
    calls = (line for line in lines if line["kind"] == "call" and f"/{role}/" in str(line.get("purpose", "")))
    return max((sum(int(line.get(name) or 0) for name in TOKEN_COUNTS) for line in calls), default=0)


def release_reservations(session: Session, purposes: Iterable[str]) -> None:
    with session.log.calls.lock:
        if session.shared:
            session.shared.release(purposes)
        for purpose in purposes:
            session.log.calls.reserved.pop(purpose, None)


def make_budget(session: Session, assignment: Assignment[Output]) -> Budget:
    """Return the budget. It includes spending on the branch, spending since the last commit and calls in progress."""
    if session.shared:
        return make_shared_budget(session, assignment, session.shared)
    unsettled = session.services.journal.entries_since(assignment.head)
    reserved = sum(session.log.calls.reserved.values(), Spend())
    on_story = (each for key, each in session.log.calls.reserved.items() if key.startswith(f"{assignment.subject}/"))
    under_way = session.clock.monotonic() - (session.log.branch_writes.last_at or session.log.started)
    return Budget(
        limits=session.constraints.limits,
        spent_run=session.log.spend + reserved,
        spent_story=assignment.branch_spend.story
        + (sum(on_story, sum_spend(unsettled, assignment.subject)) if assignment.subject else Spend()),
        spent_prd=assignment.branch_spend.prd + sum_spend(list_unrecorded(unsettled)) + reserved,
        started=session.log.started,
        seconds_story=assignment.branch_spend.story_seconds + under_way,
        seconds_prd=assignment.branch_spend.prd_seconds + under_way,
    )


def make_shared_budget(session: Session, assignment: Assignment[Output], shared: SharedLedger) -> Budget:
    """Return the budget over all workers of the run."""
    subject, unsettled = assignment.subject, session.services.journal.entries_since(assignment.head)
    on_story = sum_spend(unsettled, subject) + shared.reserved_for(subject) if subject else Spend()
    under_way = session.clock.monotonic() - (session.log.branch_writes.last_at or session.log.started)
    return Budget(
        limits=session.constraints.limits,
        spent_run=shared.spent + shared.reserved,
        spent_story=assignment.branch_spend.story + on_story,
        spent_prd=shared.start.spent_prd + shared.spent + shared.reserved,
        started=shared.start.started,
        seconds_story=assignment.branch_spend.story_seconds + under_way,
        seconds_prd=shared.start.seconds_prd + shared.seconds + under_way,
    )


def record_call(
    session: Session,
    assignment: Assignment[Output],
    request: Request,
    reply: Reply,
    milliseconds: int,
    *,
    shares: Mapping[str, Spend] | None = None,
) -> None:
    """Record a call. `shares` divides its cost among the stories that it worked on."""
    key, spend = request.purpose.key(), reply.spend
    parts = split_by_part(list_prompt_pieces(request), spend.input_tokens, spend.cached_tokens)
    with session.log.calls.lock:
        session.log.calls.reserved.pop(key, None)
        if session.shared:
            session.shared.record_call(key, spend)
        session.log.spend += spend
        journal_call(session, assignment.head, request.purpose, shares or {request.purpose.subject: spend})
        session.log.add(
            session.clock.now(),
            "call",
            purpose=key,
            model=reply.model,
            stop=reply.stop,
            duration_ms=milliseconds,
            success=reply.stop in ANSWERED_STOPS,
            **spend.model_dump(),
            parts={part: {k: v for k, v in each._asdict().items() if v} for part, each in parts.items()},
        )


def journal_call(session: Session, head: str, purpose: Purpose, shares: Mapping[str, Spend]) -> None:
    entries = (
        {"key": replace(purpose, subject=story).key(), "spend": share.model_dump(), "run": session.log.id}
        for story, share in shares.items()
    )
    session.services.journal.append_all("call", head=head, listed=entries)


def record_failed_call(session: Session, purpose: Purpose, problem: ModelProblem, milliseconds: int) -> None:
    """Log a failed call only by its error code: a provider's message may quote anything, and the log is public."""
    with session.log.calls.lock:
        session.log.add(
            session.clock.now(),
            "call",
            purpose=purpose.key(),
            stop="error",
            duration_ms=milliseconds,
            success=False,
            error=problem.code,
        )

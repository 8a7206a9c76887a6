"""The roles, as data. A new role is a row here and a template; no code is written for one role alone.

In which profile a role runs, and whether a model is asked for it there, is said by `core.profiles.STAFF`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from prd2pr.agents.answers import DesignAnswer, SpikeAnswer, WorkReport
from prd2pr.agents.task import Task
from prd2pr.core.judgement.debugger import DebuggerAnswer
from prd2pr.core.judgement.deployment import DeploymentAnswer
from prd2pr.core.judgement.designer import DesignerAnswer
from prd2pr.core.judgement.documentation import DocumentationAnswer
from prd2pr.core.judgement.estimating import EstimateAnswer
from prd2pr.core.judgement.patterns import PatternAnswer
from prd2pr.core.judgement.research import ResearchAnswer
from prd2pr.core.judgement.retrospect import RetrospectiveAnswer
from prd2pr.core.judgement.review import ReviewAnswer
from prd2pr.core.judgement.security import SecurityAnswer
from prd2pr.core.judgement.smell import SmellReport, StoryCode
from prd2pr.core.judgement.why import WhyAnswer
from prd2pr.core.passes.drafts import CriteriaDraft, CyclesDraft, HintsDraft, TasksDraft
from prd2pr.core.plan import PlanDraft
from prd2pr.core.profiles import STAFF, STRONG, Moment
from prd2pr.core.records import Phase, Record

Output = TypeVar("Output", bound=BaseModel)

LOOK = ("read_file", "list_files", "search")
WORK = (*LOOK, "write_file", "edit_file", "run_tests")
READINGS = 3  # of a structured answer, until it is one


@dataclass(frozen=True)
class Role(Generic[Output]):
    name: str
    title: str
    phase: Phase
    output: type[Output]
    tools: tuple[str, ...] = ()  # none: one structured answer
    may_block: bool = False  # its answer can stop the work and ask a person; else it is advice, and can be missing
    may_pass: bool = True  # "nothing_to_do" is an answer
    fused: bool = False  # writes tests and source in one answer
    tool_turns: int = 24
    test_runs: int = 6
    max_tokens: int = 16_000
    moment: Moment = Moment.PLAN
    input: type = Task
    recalls: bool = False  # is told what memory has to say
    spared: tuple[str, ...] = ()  # parts of the prompt that its step does not need
    does: str = ""
    stops: str = ""  # what it stops, and when

    @property
    def turns(self) -> int:
        """One structured answer is asked for again where it cannot be read."""
        return self.tool_turns if self.tools else READINGS

    @property
    def prompt(self) -> str:
        return f"prompts/{self.name}.j2"

    @property
    def tier(self) -> Literal["default", "strong"]:
        return "strong" if self.name in STRONG else "default"

    @property
    def asked(self) -> bool:
        """Whether a model is asked in any profile; else all of it is done by code."""
        return "model" in STAFF[self.name]

    @property
    def writes(self) -> bool:
        return "write_file" in self.tools

    @property
    def in_cycle(self) -> bool:
        """Whether it does a phase of a story with tools: such roles share what a provider has cached."""
        return bool(self.tools) and self.phase is not Phase.PLAN


WHY = Role(
    "why", "Why", Phase.PLAN, WhyAnswer, may_block=True, max_tokens=8_000,
    moment=Moment.BEFORE_PLAN, recalls=True,
    does="Names what speaks for and against a PRD: what exists already, what failed before, decisions that stand, "
    "requirements beyond the purpose. Code decides: proceed, simplify, reject or merge_with_existing.",
    stops="`reject` and `merge_with_existing` stop before anything is planned.",
)  # fmt: skip
RESEARCH = Role(
    "research", "Research", Phase.PLAN, ResearchAnswer, max_tokens=8_000,
    moment=Moment.BEFORE_PLAN, recalls=True,
    does="Finds what the repository has to build on, two ways to do it, and what nobody knows yet.",
)  # fmt: skip
DOCUMENTATION = Role(
    "documentation", "Documentation", Phase.PLAN, DocumentationAnswer, max_tokens=8_000,
    moment=Moment.BEFORE_PLAN,
    does="Notes how the libraries that the work uses are called in their versions; asked again after seven days.",
)  # fmt: skip
SPIKE = Role(
    "spike", "Spike", Phase.PLAN, SpikeAnswer, WORK, tool_turns=16,
    moment=Moment.BEFORE_PLAN,
    does="Answers one question of Research by an experiment, at most two for a PRD. What it wrote is kept on a branch "
    "of its own and never merged.",
)  # fmt: skip
PLANNER = Role(
    "planner", "planner", Phase.PLAN, PlanDraft, max_tokens=32_000, may_block=True,
    does="Cuts the PRD into stories with criteria, in one call. What a changed PRD or a wish adds, it plans as well.",
    stops="A plan that breaks a rule for plans three times is not made.",
)  # fmt: skip
# The four passes that plan what is too much for one call; each but the first is asked about one cycle at a time.
DECOMPOSER_CYCLES = Role(
    "decomposer_cycles", "planner of cycles", Phase.PLAN, CyclesDraft, may_block=True,
    does="First of four passes: groups the requirements in working order. Not asked where the PRD lists its cycles, "
    "or has six requirements at most.",
    stops="Requirements that nobody can group are not planned.",
)  # fmt: skip
DECOMPOSER_TASKS = Role(
    "decomposer_tasks", "planner of stories", Phase.PLAN, TasksDraft, may_block=True,
    does="Second pass: cuts each cycle into stories with an honest size.",
    stops="Answers that make no valid plan together refuse it; a cycle without any becomes a question.",
)  # fmt: skip
DECOMPOSER_CRITERIA = Role(
    "decomposer_criteria", "writer of criteria", Phase.PLAN, CriteriaDraft,
    does="Third pass: two to five criteria for each story; what the PRD says as GIVEN/WHEN/THEN stands.",
)  # fmt: skip
DECOMPOSER_HINTS = Role(
    "decomposer_hints", "writer of hints", Phase.PLAN, HintsDraft,
    does="Fourth pass, for harder stories: interface, files, and cases that are easily forgotten.",
)  # fmt: skip
SECURITY = Role(
    "security", "Security", Phase.PLAN, SecurityAnswer, may_block=True, max_tokens=8_000,
    moment=Moment.AFTER_PLAN,
    does="Names the risks of a plan. A test that it requires becomes a criterion of its story, so RED has to test it.",
    stops="A critical risk asks a person before anything is built.",
)  # fmt: skip
ESTIMATOR = Role(
    "estimator", "Estimator", Phase.PLAN, EstimateAnswer, max_tokens=8_000,
    moment=Moment.AFTER_PLAN,
    does="Three estimates for each story, times the factor that the last 90 days have taught. Without a model, the "
    "factor alone.",
)  # fmt: skip
DESIGNER = Role(
    "designer", "Designer", Phase.PLAN, DesignerAnswer, max_tokens=8_000,
    moment=Moment.AFTER_PLAN,
    does="Where a PRD has a front end: what the user sees of each story, as hints and criteria.",
)  # fmt: skip
DEPLOYMENT = Role(
    "deployment", "Deployment", Phase.PLAN, DeploymentAnswer, max_tokens=8_000,
    moment=Moment.AFTER_PLAN,
    does="Where a repository or PRD is about deployment: infrastructure, routing, pipeline and the way back.",
)  # fmt: skip
ARCHITECT = Role(
    "architect", "architect", Phase.DESIGN, DesignAnswer, LOOK, may_block=True, may_pass=False, tool_turns=12,
    moment=Moment.DESIGN,
    does="Decides names, signatures and files of a story before its tests are written.",
    stops="Criteria that contradict each other.",
)  # fmt: skip
TESTER = Role(
    "tester", "test author", Phase.RED, WorkReport, WORK, may_block=True, moment=Moment.RED,
    does="Writes the story's tests, and examples that the programmer is not shown.",
    stops="Criteria that contradict each other or code that must stay.",
)  # fmt: skip
BUILDER = Role(
    "builder", "programmer", Phase.GREEN, WorkReport, WORK, may_block=True, moment=Moment.GREEN, recalls=True,
    does="Writes the code that passes them.",
    stops="Tests that no honest code can pass.",
)  # fmt: skip
FUSED = Role(
    "fused", "programmer", Phase.RED, WorkReport, WORK, may_block=True, fused=True, moment=Moment.RED, recalls=True,
    does="With `strategy: fused`, and always in `quick`: tests and code in one answer.",
    stops="Criteria that contradict each other or tests that must stay.",
)  # fmt: skip
DEBUGGER = Role(
    "debugger", "Debugger", Phase.GREEN, DebuggerAnswer, max_tokens=8_000,
    moment=Moment.BEFORE_LAST_ATTEMPT,
    does="Reads all refused attempts at a phase, what they wrote and what their tests said, and tells the last "
    "attempt the root cause.",
)  # fmt: skip
REFACTORER = Role(
    "refactorer", "refactorer", Phase.REFACTOR, WorkReport, WORK, tool_turns=16, test_runs=4, moment=Moment.REFACTOR,
    spared=("near", "design", "tests"),
    does="Makes the code better by measure, or says that nothing is worth changing. In `standard` not asked where no "
    "function has three branches or 15 lines and nothing is copied (`refactoring: measured`).",
)  # fmt: skip
SMELL = Role(
    "smell", "Smell", Phase.INTEGRATED, SmellReport, moment=Moment.BEFORE_INTEGRATION, input=StoryCode,
    does="Warns of files over 300 lines, functions over 50, many imports, copied lines, growing complexity and files "
    "that nobody planned to change.",
)  # fmt: skip
PATTERN_VALIDATOR = Role(
    "pattern_validator", "Pattern Validator", Phase.INTEGRATED, PatternAnswer, max_tokens=6_000,
    moment=Moment.BEFORE_INTEGRATION,
    does="Says of each known pattern and convention how far the story follows it; code makes a number of it.",
)  # fmt: skip
REVIEW = Role(
    "review", "Review", Phase.INTEGRATED, ReviewAnswer, may_block=True, max_tokens=8_000,
    moment=Moment.BEFORE_INTEGRATION,
    does="Says of each criterion whether it is met, with evidence; what should or could be better is kept and shown.",
    stops="A criterion that must be met and is not blocks the story.",
)  # fmt: skip
RETROSPECTIVE = Role(
    "retrospective", "Retrospective", Phase.INTEGRATED, RetrospectiveAnswer, max_tokens=6_000,
    moment=Moment.AFTER_LAST_STORY,
    does="What came otherwise than planned and what to change: counted by code, and with a model also what it means, "
    "with patterns for later work.",
)  # fmt: skip
MODERATOR = Role(
    "moderator", "Moderator", Phase.NOTE, Record, may_block=True, moment=Moment.EVERY_STEP,
    does="Watches for work that goes in circles or beyond the plan, and for too many warnings.",
    stops="A critical alarm, or five warnings, ask a person.",
)  # fmt: skip

DECOMPOSERS: tuple[Role[Any], ...] = (DECOMPOSER_CYCLES, DECOMPOSER_TASKS, DECOMPOSER_CRITERIA, DECOMPOSER_HINTS)
ALL: tuple[Role[Any], ...] = (
    WHY, RESEARCH, DOCUMENTATION, SPIKE, PLANNER, *DECOMPOSERS, SECURITY, ESTIMATOR, DESIGNER, DEPLOYMENT, ARCHITECT,
    TESTER, BUILDER, FUSED, DEBUGGER, REFACTORER, SMELL, PATTERN_VALIDATOR, REVIEW, RETROSPECTIVE, MODERATOR,
)  # fmt: skip
ROLES: dict[str, Role[Any]] = {role.name: role for role in ALL}
ASKED: dict[str, Role[Any]] = {name: role for name, role in ROLES.items() if role.asked}

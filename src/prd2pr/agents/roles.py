"""The table of roles. To add a role, add a row here and a prompt template.

`domain.costs.profiles.ROLE_EXECUTORS` defines for each profile whether it runs a role, and whether a model is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from prd2pr.agents.outputs.debugger import DebuggerAnswer
from prd2pr.agents.outputs.deployment import DeploymentAnswer
from prd2pr.agents.outputs.designer import DesignerAnswer
from prd2pr.agents.outputs.documentation import DocumentationAnswer
from prd2pr.agents.outputs.estimator import EstimateAnswer
from prd2pr.agents.outputs.hidden_examples import ExamplesAnswer, JudgeAnswer
from prd2pr.agents.outputs.pattern_validator import PatternAnswer
from prd2pr.agents.outputs.research import ResearchAnswer
from prd2pr.agents.outputs.retrospective import RetrospectiveAnswer
from prd2pr.agents.outputs.review import ReviewAnswer
from prd2pr.agents.outputs.security import SecurityAnswer
from prd2pr.agents.outputs.smell import SmellReport, StoryCode
from prd2pr.agents.outputs.story_roles import DesignAnswer, SpikeAnswer, StoryReport, WorkReport
from prd2pr.agents.outputs.why import WhyAnswer
from prd2pr.agents.task import RoleTask
from prd2pr.domain.costs.profiles import ROLE_EXECUTORS, STRONG_ROLES, RoleTiming
from prd2pr.domain.records import Phase, Record
from prd2pr.planning.plan import PlanDraft

Output = TypeVar("Output", bound=BaseModel)

READ_TOOLS = ("read_file", "list_files", "search")
WRITE_TOOLS = ("write_file", "edit_file")
WORK_TOOLS = (*READ_TOOLS, *WRITE_TOOLS, "run_tests")
MAX_ANSWER_TRIES = 3  # for a structured answer that cannot be parsed


@dataclass(frozen=True)
class Role(Generic[Output]):
    name: str
    title: str
    phase: Phase
    output: type[Output]
    tools: tuple[str, ...] = ()  # empty if the role gives one structured answer
    may_block: bool = False  # its answer can stop the work and ask a person; otherwise it is optional advice
    may_pass: bool = True  # whether "nothing_to_do" is accepted
    fused: bool = False  # writes tests and source in one answer
    converses: bool = False  # submits several stories in one conversation about the PRD
    shared_start: bool = False  # its request begins like the programmer's, which providers then read from their cache
    tool_turns: int = 24
    test_runs: int = 6
    max_tokens: int = 16_000
    moment: RoleTiming = RoleTiming.PLAN
    input: type = RoleTask
    uses_memory: bool = False  # the prompt includes lessons of earlier work
    omitted_parts: tuple[str, ...] = ()  # parts of the prompt that it does not need
    summary: str = ""
    blocks_when: str = ""  # what it stops, and when

    @property
    def turns(self) -> int:
        """The maximum number of model calls in one attempt."""
        return self.tool_turns if self.tools else MAX_ANSWER_TRIES

    @property
    def answers_in_text(self) -> bool:
        """Whether the role's answer is a JSON object in the text. Other roles call `submit`."""
        return not issubclass(self.output, WorkReport)

    @property
    def prompt(self) -> str:
        return f"prompts/{self.name}.j2"

    @property
    def tier(self) -> Literal["default", "strong"]:
        return "strong" if self.name in STRONG_ROLES else "default"

    @property
    def uses_model(self) -> bool:
        """Whether a model performs this role in any profile. Otherwise it is implemented entirely in code."""
        return "model" in ROLE_EXECUTORS[self.name]

    @property
    def can_write(self) -> bool:
        return "write_file" in self.tools

    @property
    def builds_stories(self) -> bool:
        """Whether the role works on stories with tools, and a gate judges the result."""
        return bool(self.tools) and self.phase is not Phase.PLAN

    @property
    def is_phase_role(self) -> bool:
        """Whether the role performs a phase of one story. Such roles share the cached part of the prompt."""
        return self.builds_stories and not self.converses


WHY = Role(
    "why", "Why", Phase.PLAN, WhyAnswer, may_block=True, max_tokens=8_000,
    moment=RoleTiming.BEFORE_PLAN, uses_memory=True,
    summary="Lists facts for and against a PRD: existing code, earlier failures, active decisions, requirements beyond "
    "its purpose. Code decides: proceed, simplify, reject or merge_with_existing.",
    blocks_when="`reject` and `merge_with_existing` stop before planning.",
)  # fmt: skip
RESEARCH = Role(
    "research", "Research", Phase.PLAN, ResearchAnswer, max_tokens=8_000,
    moment=RoleTiming.BEFORE_PLAN, uses_memory=True,
    summary="Finds existing code to build on, two approaches, and open technical questions.",
)  # fmt: skip
DOCUMENTATION = Role(
    "documentation", "Documentation", Phase.PLAN, DocumentationAnswer, max_tokens=8_000,
    moment=RoleTiming.BEFORE_PLAN,
    summary="Notes how to call the libraries of the project in their installed versions; refreshed after seven days.",
)  # fmt: skip
SPIKE = Role(
    "spike", "Spike", Phase.PLAN, SpikeAnswer, WORK_TOOLS, tool_turns=16,
    moment=RoleTiming.BEFORE_PLAN,
    summary="Answers one question of Research by an experiment, at most two per PRD. Its code is kept on a separate "
    "branch and never merged.",
)  # fmt: skip
PLANNER = Role(
    "planner", "Planner", Phase.PLAN, PlanDraft, READ_TOOLS, may_block=True, tool_turns=8, max_tokens=32_000,
    shared_start=True,
    summary="Classifies every requirement and splits what is to be built into stories, in one call that sees the "
    "code; more than 40 requirements in several. Also plans what a changed PRD or a request adds.",
    blocks_when="Two plans in a row that break a planning rule.",
)  # fmt: skip
SECURITY = Role(
    "security", "Security", Phase.PLAN, SecurityAnswer, may_block=True, max_tokens=8_000,
    moment=RoleTiming.AFTER_PLAN,
    summary="Lists the risks of a plan. A test that it requires becomes a criterion of its story, so RED must test it.",
    blocks_when="A critical risk: a person decides before anything is built.",
)  # fmt: skip
ESTIMATOR = Role(
    "estimator", "Estimator", Phase.PLAN, EstimateAnswer, max_tokens=8_000,
    moment=RoleTiming.AFTER_PLAN,
    summary="Three estimates for each story, multiplied by the correction factor of the last 90 days. Without a model, "
    "the factor alone.",
)  # fmt: skip
DESIGNER = Role(
    "designer", "Designer", Phase.PLAN, DesignerAnswer, max_tokens=8_000,
    moment=RoleTiming.AFTER_PLAN,
    summary="For a PRD with a front end: what the user sees after each story, as hints and criteria.",
)  # fmt: skip
DEPLOYMENT = Role(
    "deployment", "Deployment", Phase.PLAN, DeploymentAnswer, max_tokens=8_000,
    moment=RoleTiming.AFTER_PLAN,
    summary="For a repository or PRD with deployment: infrastructure, routing, pipeline and rollback.",
)  # fmt: skip
ARCHITECT = Role(
    "architect", "Architect", Phase.DESIGN, DesignAnswer, READ_TOOLS, may_block=True, may_pass=False, tool_turns=12,
    moment=RoleTiming.DESIGN,
    summary="Decides names, signatures and files of a story before its tests are written.",
    blocks_when="Criteria that contradict each other.",
)  # fmt: skip
TESTER = Role(
    "tester", "Tester", Phase.RED, WorkReport, WORK_TOOLS, may_block=True, moment=RoleTiming.RED,
    summary="Writes the story's tests, and hidden examples that the builder is not shown.",
    blocks_when="Criteria that contradict each other or code that must stay.",
)  # fmt: skip
BUILDER = Role(
    "builder", "Builder", Phase.GREEN, WorkReport, WORK_TOOLS, may_block=True, uses_memory=True,
    moment=RoleTiming.GREEN,
    summary="Writes the code that makes the tests pass.",
    blocks_when="Tests that no honest code can pass.",
)  # fmt: skip
FUSED = Role(
    "fused", "Fused", Phase.RED, WorkReport, WORK_TOOLS, may_block=True, fused=True, uses_memory=True,
    moment=RoleTiming.RED,
    summary="Tests and code of one story in one answer: for workers that edit files themselves, and instead of "
    "`strict` in `quick`.",
    blocks_when="Criteria that contradict each other or tests that must stay.",
)  # fmt: skip
PROGRAMMER = Role(
    "programmer", "Programmer", Phase.RED, StoryReport, WORK_TOOLS, may_block=True, fused=True, converses=True,
    shared_start=True, tool_turns=32, max_tokens=32_000, uses_memory=True, moment=RoleTiming.RED,
    summary="With `strategy: conversation`: designs, tests and code of all stories in one conversation, several "
    "stories in one answer. RED of each is proved without its code.",
    blocks_when="Criteria that contradict each other or tests that must stay; other stories continue.",
)  # fmt: skip
EXAMPLES = Role(
    "examples", "Author of hidden examples", Phase.RED, ExamplesAnswer,
    moment=RoleTiming.RED, shared_start=True,
    summary="With `strategy: conversation`: one call for all stories of a PRD, which sees requirements, criteria, "
    "interfaces and the code before the PRD, but nothing written for it. Its examples judge code whose author never "
    "sees them.",
)  # fmt: skip
JUDGE = Role(
    "judge", "Judge of hidden examples", Phase.GREEN, JudgeAnswer, max_tokens=4_000,
    moment=RoleTiming.GREEN, omitted_parts=("conventions", "map"),
    summary="Rules on hidden examples that fail: the code is wrong, the example is wrong (dropped, with the words that "
    "decide it), or the requirement is unclear (a question).",
)  # fmt: skip
DEBUGGER = Role(
    "debugger", "Debugger", Phase.GREEN, DebuggerAnswer, max_tokens=8_000,
    moment=RoleTiming.BEFORE_LAST_ATTEMPT,
    summary="Finds the root cause from all refused attempts at a phase, their patches and test output, and passes it "
    "to the last attempt.",
)  # fmt: skip
REFACTORER = Role(
    "refactorer", "Refactorer", Phase.REFACTOR, WorkReport, WORK_TOOLS, tool_turns=16, test_runs=4,
    moment=RoleTiming.REFACTOR, omitted_parts=("near", "design", "tests"),
    summary="Improves the code measurably, or reports that nothing is worth changing. In `standard` skipped if no "
    "function has three branches or 15 lines and nothing is copied (`refactoring: measured`).",
)  # fmt: skip
SMELL = Role(
    "smell", "Smell", Phase.INTEGRATED, SmellReport, moment=RoleTiming.BEFORE_INTEGRATION, input=StoryCode,
    summary="Warns of files over 300 lines, functions over 50, many imports, copied lines, growing complexity and "
    "changed files that neither plan nor design names.",
)  # fmt: skip
PATTERN_VALIDATOR = Role(
    "pattern_validator", "Pattern Validator", Phase.INTEGRATED, PatternAnswer, max_tokens=6_000,
    moment=RoleTiming.BEFORE_INTEGRATION,
    summary="Rates how far the story follows each known pattern and convention; code computes a score.",
)  # fmt: skip
REVIEW = Role(
    "review", "Review", Phase.INTEGRATED, ReviewAnswer, may_block=True, max_tokens=8_000,
    moment=RoleTiming.BEFORE_INTEGRATION,
    summary="Checks for each criterion whether it is met, with evidence; suggestions are kept and shown.",
    blocks_when="A required criterion that is not met.",
)  # fmt: skip
RETROSPECTIVE = Role(
    "retrospective", "Retrospective", Phase.INTEGRATED, RetrospectiveAnswer, max_tokens=6_000,
    moment=RoleTiming.AFTER_LAST_STORY,
    summary="What deviated from the plan and what to change: counted by code; a model adds an interpretation and "
    "patterns for later work.",
)  # fmt: skip
MODERATOR = Role(
    "moderator", "Moderator", Phase.NOTE, Record, may_block=True, moment=RoleTiming.EVERY_STEP,
    summary="Detects work that repeats itself or exceeds the plan, and too many warnings.",
    blocks_when="A critical alarm or five warnings: a person decides.",
)  # fmt: skip

ALL_ROLES: tuple[Role[Any], ...] = (
    WHY, RESEARCH, DOCUMENTATION, SPIKE, PLANNER, SECURITY, ESTIMATOR, DESIGNER, DEPLOYMENT, ARCHITECT,
    TESTER, BUILDER, FUSED, PROGRAMMER, EXAMPLES, JUDGE, DEBUGGER, REFACTORER, SMELL, PATTERN_VALIDATOR, REVIEW,
    RETROSPECTIVE, MODERATOR,
)  # fmt: skip
ROLES: dict[str, Role[Any]] = {role.name: role for role in ALL_ROLES}
MODEL_ROLES: dict[str, Role[Any]] = {name: role for name, role in ROLES.items() if role.uses_model}

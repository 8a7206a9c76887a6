"""The configuration of `.prd2pr.yml` as one frozen object.

The JSON Schema and the reference page are generated from the descriptions here, in `config_schema`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)

from prd2pr.domain.costs.budget import UsageLimits
from prd2pr.domain.costs.context_budget import DEFAULT_ROLE_TOKENS, ROLE_TOKENS, SHARED_TOKENS
from prd2pr.domain.costs.estimate import Price
from prd2pr.domain.documents import DOCUMENT_NAMES, LivingDocument, select_documents
from prd2pr.domain.evidence import Severity
from prd2pr.domain.paths import PathRules
from prd2pr.domain.scheduling import MAX_JOBS, MAX_WORKERS
from prd2pr.domain.stack import PYTHON, Stack
from prd2pr.domain.stack_policy import STORY_TESTS
from prd2pr.prd.validation_messages import find_close_match

CONFIG_PATH = ".prd2pr.yml"

CODE_PATTERN = r"^[A-Z]{3}\d{3}$"
ROLE_PATTERN = r"^[a-z][a-z_]*$"
BRANCH_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*/?$"
BASE_PATTERN = rf"^$|{BRANCH_PATTERN.removesuffix('/?$')}$"
LOOPBACK_PATTERN = r"^http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?/?$"
DIRECTORY_PATTERN = r"^(?:\.|(?:\./)?[A-Za-z0-9_][\w-]*(?:\.[\w-]+)*(?:/[A-Za-z0-9_][\w-]*(?:\.[\w-]+)*)*/?)$"
WORKFLOW_PATTERN = r"^[A-Za-z0-9_.-]{1,100}\.ya?ml$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"
MAX_PAGES = 8
PATTERN_WORDS = {
    WORKFLOW_PATTERN: "Write the name of a file in .github/workflows, as in ci.yml.",
    VARIABLE_PATTERN: "Write the name of an environment variable, as in NPM_TOKEN.",
    LOOPBACK_PATTERN: "Write a loopback address, as in http://127.0.0.1:8000.",
    DIRECTORY_PATTERN: "Write a directory of the repository, with `/` between its parts, as in docs or docs/living.",
    CODE_PATTERN: "Write the code of a finding: three capital letters and three digits, as in RED104.",
    ROLE_PATTERN: "Write the name of a role in lower case, as in tester.",
    BASE_PATTERN: "Write the name of a branch, as in develop.",
    BRANCH_PATTERN: "Use letters, digits, `.`, `_` and `-`, with `/` between parts, as in prd2pr/.",
}

PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveCount = Annotated[int, Field(gt=0)]
FindingCode = Annotated[str, Field(pattern=CODE_PATTERN)]
RoleName = Annotated[str, Field(pattern=ROLE_PATTERN)]
NonEmpty = Annotated[str, Field(min_length=1)]


def _normalize_globs(value: Any) -> Any:
    """Accept one or several globs, and expand `{a,b}`, which git and Python do not support."""
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list | tuple):
        return value
    return tuple(
        plain for pattern in patterns for plain in (_expand_braces(pattern) if isinstance(pattern, str) else [pattern])
    )


def _expand_braces(pattern: str) -> list[str]:
    group = re.search(r"\{([^{}]*)\}", pattern)
    if group is None or pattern.count("{") > 4:
        return [pattern]
    before, after = pattern[: group.start()], pattern[group.end() :]
    return [plain for choice in group[1].split(",") for plain in _expand_braces(before + choice + after)]


Globs = Annotated[tuple[NonEmpty, ...], BeforeValidator(_normalize_globs, json_schema_input_type=str | list[str])]


class ConfigSection(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, strict=True)


class Labels(ConfigSection):
    trigger: NonEmpty = Field(default="prd2pr", description="An issue with this label is implemented.")
    active: NonEmpty = Field(default="prd2pr:active", description="Label of a pull request in progress.")
    waiting: NonEmpty = Field(default="prd2pr:waiting", description="Label of a pull request that waits for a person.")
    blocked: NonEmpty = Field(default="prd2pr:blocked", description="Label of a pull request or story out of attempts.")
    done: NonEmpty = Field(default="prd2pr:done", description="Label of a finished pull request or story's issue.")
    todo: NonEmpty = Field(default="prd2pr:todo", description="Label of the issue of a story that has not started.")
    in_progress: NonEmpty = Field(default="prd2pr:in-progress", description="Label of the issue of a started story.")


class TestRun(ConfigSection):
    __test__ = False
    command: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Reserved: this version always runs pytest and rejects this key.",
    )
    python: str = Field(
        default="", description="Interpreter for the tests. By default, the one in the project's virtual environment."
    )
    args: tuple[str, ...] = Field(default=(), description="Additional arguments for the test runner.")
    timeout_seconds: PositiveCount = Field(default=1800, description="Time limit for a whole test run.")
    stall_seconds: PositiveCount = Field(
        default=60, description="A test run without progress for this time is stopped."
    )
    coverage: bool = Field(
        default=True,
        description="Measure line coverage when a story is integrated, with one more run of the suite, if coverage.py "
        "is installed next to pytest.",
    )


RunnerName = Literal["pytest", "node:test", "vitest", "jest", "go test", "cargo test", "surefire", "junit", "tap"]
LanguageName = Literal["python", "javascript", "typescript", "go", "rust", "java", "any"]
_LANGUAGES: dict[str, str] = {
    "pytest": "python",
    "node:test": "javascript",
    "vitest": "javascript",
    "jest": "javascript",
    "go test": "go",
    "cargo test": "rust",
    "surefire": "java",
}


class StackSettings(ConfigSection):
    """One language of the project, with its test runner."""

    runner: RunnerName = Field(default="pytest", description="The test runner.")
    language: LanguageName | Literal["auto"] = Field(
        default="auto", description="The language; `auto` derives it from the runner."
    )
    root: str = Field(
        default=".", pattern=DIRECTORY_PATTERN, description="Directory of the tests, in which the commands run."
    )
    command: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Program and arguments, for the runners surefire, junit and tap. junit writes JUnit XML to the "
        "file that replaces `{results}`, tap writes TAP to its output. If it contains `{file}`, the command is run for "
        "each test file; tap needs this, since TAP does not name the file of a test.",
    )
    results: str = Field(
        default="",
        description="For the runners surefire and junit: the files that the command writes, as a glob below the "
        "root, such as target/surefire-reports/*.xml. Leave it empty if `{results}` is in the command.",
    )
    setup: tuple[tuple[NonEmpty, ...], ...] = Field(
        default=(),
        description="Commands that install the dependencies of the tests, each as program and arguments. They run "
        "once for each version of `manifests`, in a sandbox with network.",
    )
    manifests: tuple[NonEmpty, ...] = Field(default=(), description="Files that `setup` reads: manifest and lock file.")


class Paths(ConfigSection):
    source: Globs = Field(default=(), description="Source files, as directories or globs; detected if empty.")
    tests: Globs = Field(default=(), description="Test files, as directories or globs; detected if empty.")
    protected: Globs = Field(
        default=(), description="Files that the bot must never change, in addition to those that are always protected."
    )


class Models(ConfigSection):
    default: NonEmpty = Field(default="anthropic:claude-sonnet-5-5", description="The model for all roles.")
    strong: NonEmpty = Field(default="anthropic:claude-opus-5-5", description="The model for the last attempt.")
    roles: dict[RoleName, NonEmpty] = Field(default_factory=dict, description="A different model for a role, by name.")


class BudgetLimits(ConfigSection):
    usd_per_run: PositiveNumber | None = Field(
        default=None, description="Dollars that one run may spend. Unlimited if empty."
    )
    usd_per_story: PositiveNumber | None = Field(
        default=None, description="Dollars that one story may spend. Unlimited if empty."
    )
    usd_per_prd: PositiveNumber | None = Field(
        default=None, description="Dollars that a whole PRD may spend. Unlimited if empty."
    )
    tokens_per_run: PositiveCount | None = Field(
        default=None, description="Tokens that one run may use. Unlimited if empty."
    )
    tokens_per_story: PositiveCount | None = Field(
        default=None, description="Tokens that one story may use. Unlimited if empty."
    )
    tokens_per_prd: PositiveCount | None = Field(
        default=None, description="Tokens that a PRD may use. Unlimited if empty."
    )
    minutes_per_run: PositiveNumber | None = Field(
        default=None, description="Minutes that one run may take. Unlimited if empty."
    )
    minutes_per_story: PositiveNumber | None = Field(
        default=None, description="Minutes that the steps of one story may take, in all runs. Unlimited if empty."
    )
    minutes_per_prd: PositiveNumber | None = Field(
        default=None, description="Minutes that the steps of a PRD may take, in all runs. Unlimited if empty."
    )


class Context(ConfigSection):
    shared: PositiveCount = Field(
        default=SHARED_TOKENS,
        description="Maximum number of tokens of the context that all steps of a story share: conventions, repository "
        "map, PRD and story.",
    )
    roles: dict[RoleName, PositiveCount] = Field(
        default_factory=dict,
        description="Maximum number of tokens of a role's own context: the story's tests and files, and feedback. "
        f"Defaults: {', '.join(f'{role} {tokens}' for role, tokens in ROLE_TOKENS.items())}, all others "
        f"{DEFAULT_ROLE_TOKENS}.",
    )


class Gates(ConfigSection):
    severity: dict[FindingCode, Severity] = Field(
        default_factory=dict,
        description="Severity of a finding, by code. Findings about honesty, locks and scope cannot be turned off.",
    )
    mutation_ratio: float | None = Field(
        default=0.4,
        ge=0,
        le=1,
        description="Share of mutants of the new code that the story's tests must kill. `null` disables the check.",
    )
    mutants: int = Field(
        default=40,
        ge=1,
        le=1000,
        description="Maximum number of mutants in a step, and of expected values that are replaced.",
    )
    compare: bool = Field(
        default=True,
        description="REFACTOR: make the same calls to the old and the new code, and refuse different results.",
    )
    held_out: bool = Field(
        default=True,
        description="Ask the tester for hidden examples that the builder does not see, and use them for GREEN.",
    )
    allow_manifest: bool = Field(default=False, description="Let GREEN change dependency manifests.")


def _check_document_name(name: str) -> str:
    if name not in DOCUMENT_NAMES:
        meant = find_close_match(name, DOCUMENT_NAMES)
        raise ValueError(
            f"{f'Did you mean `{meant}`? ' if meant else ''}The documents are: {', '.join(DOCUMENT_NAMES)}."
        )
    return name


DocumentName = Annotated[
    str, AfterValidator(_check_document_name), WithJsonSchema({"type": "string", "enum": [*DOCUMENT_NAMES]})
]


class Docs(ConfigSection):
    enabled: bool = Field(
        default=True,
        description="Write the living docs with each finished story, in the commit that integrates it. "
        "Text outside the generated sections is kept. `docs: off` is short for `enabled: false`.",
    )
    directory: str = Field(
        default="docs",
        pattern=DIRECTORY_PATTERN,
        description="Directory of the living docs; `.` is the root of the repository.",
    )
    documents: tuple[DocumentName, ...] = Field(
        default=(),
        strict=False,  # `_switch_off` gets Python lists
        description=f"The documents to write, each only if it has content. Empty for all: {', '.join(DOCUMENT_NAMES)}.",
    )

    @property
    def selected(self) -> frozenset[LivingDocument]:
        return select_documents(self.documents)


def _switch_off(value: Any) -> Any:
    """Accept `docs: off`, which YAML 1.2 reads as a string."""
    return {"enabled": False} if value in ("off", False) else value


def _read_off(value: Any) -> Any:
    """Accept `auto_merge: false`, because YAML 1.1 reads `off` as false."""
    return "off" if value is False else value


class PageSettings(ConfigSection):
    command: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Program and arguments that serve the project's page, started in a fresh checkout inside the "
        "sandbox. If empty, no screenshots are taken.",
    )
    url: str = Field(
        default="http://127.0.0.1:8000", pattern=LOOPBACK_PATTERN, description="Loopback address of the page."
    )
    paths: Annotated[tuple[NonEmpty, ...], Field(min_length=1, max_length=MAX_PAGES)] = Field(
        default=("/",), description="Paths of the pages; one screenshot for each."
    )
    when: Globs = Field(
        default=(),
        description="Globs of source files; only stories that plan to change one get screenshots. Empty: all.",
    )
    ready_seconds: PositiveCount = Field(default=20, description="How long to wait for the first response.")


class SmokeSettings(ConfigSection):
    command: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Program and arguments that are run once when a story is integrated, in a fresh checkout inside "
        "the sandbox, with the tests' interpreter first in PATH. Exit status and output become part of the evidence; "
        "no gate judges them.",
    )
    timeout_seconds: PositiveCount = Field(default=30, description="Time limit for this run.")


class Permissions(ConfigSection):
    mode: Literal["acceptAll", "acceptEdits", "ask", "reject"] = Field(
        default="acceptAll",
        description="acceptAll: edits of workers go to the gates, and `command:` programs run with your rights. "
        "acceptEdits: `command:` programs run in the sandbox, with network. ask: also, a person accepts each change at "
        "the terminal before it is committed. reject: workers change nothing; plans and commits by people still work.",
    )
    programs: tuple[NonEmpty, ...] | None = Field(
        default=None,
        description="The only programs that `command:` workers and `setup` may start, as names or absolute paths.",
    )


class Tracker(ConfigSection):
    kind: Literal["github", "none"] = Field(default="github", description="Where stories are tracked as issues.")
    sub_issues: bool = Field(default=True, description="Create a sub-issue of the tracking issue for each story.")


class Notify(ConfigSection):
    # Not `on`, because a YAML 1.1 editor would parse that key as `true`.
    events: tuple[Literal["waiting", "blocked", "done", "budget"], ...] = Field(
        default=(), description="Events that send a message."
    )
    urls_from: str = Field(
        default="PRD2PR_NOTIFY_URLS",
        description="Environment variable with the addresses, separated by spaces or line breaks. "
        "Needs `pip install 'prd2pr[notify]'`.",
    )


class Retention(ConfigSection):
    agent_logs_days: PositiveCount = Field(default=90, description="Days to keep the logs of roles.")
    docs_cache_days: PositiveCount = Field(default=7, description="Days to keep library documentation.")
    pipelines_days: PositiveCount = Field(default=365, description="Days to keep records of finished pipelines.")
    archive_after_days: PositiveCount | None = Field(default=None, description="Deprecated; it has no effect.")


DEFAULT_PRDS = ("prds/**/*.md", "prds/**/*.yml", "prds/**/*.yaml", "prds/**/*.json")


class Config(ConfigSection):
    """All settings of a repository. Read from the base branch only."""

    prds: Annotated[Globs, Field(min_length=1)] = Field(
        default=DEFAULT_PRDS,
        description="Globs of the PRD files. Names that begin with `_` are skipped, and so is a README without `id:` "
        "in its front matter.",
    )
    labels: Labels = Field(default_factory=Labels, description="Names of the labels.")
    base_branch: str = Field(
        default="",
        pattern=BASE_PATTERN,
        description="The branch with the PRDs, into which pull requests are opened. By default, GitHub's default "
        "branch, and locally the current one. This file is always read from the default branch.",
    )
    auto_merge: Annotated[
        Literal["off", "merge", "squash", "rebase"],
        BeforeValidator(_read_off, json_schema_input_type=Literal["off", "merge", "squash", "rebase", False]),
    ] = Field(
        default="off",
        description="How GitHub merges a finished pull request automatically, once all requirements of the base branch "
        "are met. Requires a branch protection or ruleset, and the setting Allow auto-merge.",
    )
    branch_prefix: str = Field(
        default="prd2pr/",
        pattern=BRANCH_PATTERN,
        description="Prefix of the PRD's branch; the PRD's id follows.",
    )
    language: Literal["auto", "python"] = Field(
        default="auto", description="Language of the project; `python` disables the detection of stacks."
    )
    test: TestRun = Field(default_factory=TestRun, description="How the tests are run.")
    stacks: tuple[StackSettings, ...] = Field(
        default=(),
        description="Languages and test runners of the project, each with its root. By default, they are detected "
        "from the repository's files, as `prd2pr doctor` shows.",
    )
    paths: Paths = Field(default_factory=Paths, description="Which files are source and which are tests.")
    setup: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Commands that install the dependencies of the tests, for the stack at the repository's root; "
        "for other stacks, see `stacks`. They run once for each version of the manifests, in a directory that "
        "contains nothing else, in a sandbox with network. For Python they must create `.venv` with pytest in it.",
    )
    setup_variables: tuple[Annotated[str, Field(pattern=VARIABLE_PATTERN)], ...] = Field(
        default=(),
        description="Environment variables, such as NPM_TOKEN, for the commands that install dependencies; those for "
        "paths, proxies, certificates and public registries are always passed. If a value is the path of a file, the "
        "commands can read that file. Installed packages may see the values, so do not list a token with write access.",
    )
    workers: int = Field(
        default=1,
        ge=0,
        le=MAX_WORKERS,
        description="How many stories `prd2pr run` works on at once, each in its own process and on its own branch; "
        "0 means one per core, at most 4. Stories run in parallel only if they do not depend on each other, plan to "
        "change different files, and the sandbox isolates test runs completely; otherwise there is one worker. "
        "`--workers` takes precedence.",
    )
    strategy: Literal["strict", "fused", "conversation"] = Field(
        default="conversation",
        description="conversation: one conversation for the PRD, in which one answer may deliver several stories; RED "
        "of each is proved without its code; workers that edit files deliver one story per answer. strict: one call "
        "each for tests and code, as always with `full`. fused: deprecated, the same as conversation.",
    )
    profile: Literal["quick", "standard", "full"] = Field(
        default="standard",
        description="Which roles run; this determines the cost. quick: the plan, tests and code, nothing else. "
        "standard: also hidden examples, refactoring where needed, and the Debugger before a last attempt. full: every "
        "role. See docs/roles.md.",
    )
    refactoring: Literal["measured", "always"] = Field(
        default="measured",
        description="When a model refactors in `standard`. measured: where a function has three branches or 15 lines, "
        "or lines are copied. always: after every GREEN, as in `full`. A human worker always refactors.",
    )
    approval: Literal["plan", "story", "none"] = Field(
        default="plan",
        description="What a person approves on GitHub before work continues: the plan, each story, or nothing. "
        "On the command line, `run` and `next` show the plan and ask, unless `--yes` is given; without a terminal they "
        "stop if this is set.",
    )
    semantic: bool = Field(
        default=False,
        description="Whether the Action installs the extra `semantic`, so that memory is searched by meaning on "
        "GitHub. It takes some seconds and 200 MB per job. Elsewhere, having it installed is enough.",
    )
    assume: bool = Field(
        default=False, description="Whether stories with contradictory requirements are built before an answer."
    )
    commit: Literal["git", "api"] = Field(
        default="git",
        description="How commits reach GitHub. git: pushed unchanged. "
        "api: created through GitHub's API, which signs them as the bot; each gets a new SHA with the same tree.",
    )
    push: Literal["story", "phase"] = Field(
        default="story",
        description="When the pull request's branch gets new commits on GitHub. story: when a story is integrated or "
        "the run ends, and never with failing tests, so that CI stays green; until then they are on a ref outside the "
        "branches. phase: with each commit, also RED. `/tdd next` always pushes its phase.",
    )
    attest: bool = Field(
        default=False,
        description="Whether proved statements are signed: `prd2pr init` then also writes the workflow that proves "
        "pull requests, with a job that signs the statements, and pull requests link to the attestations.",
    )
    ci_workflows: tuple[Annotated[str, Field(pattern=WORKFLOW_PATTERN)], ...] = Field(
        default=(),
        description="Workflows, such as ci.yml, that are started on the branch after each push with changed code. "
        "GitHub starts none for pushes with `GITHUB_TOKEN`. Each needs `workflow_dispatch:` in its `on:`.",
    )
    sign_off: bool = Field(
        default=False,
        description="Whether each commit gets a `Signed-off-by` trailer with its author: locally you, on GitHub the "
        "bot's account.",
    )
    generic_commands: bool = Field(
        default=True, description="Whether `/approve` is read like `/tdd approve`. `false` leaves it to other bots."
    )
    story_jobs: int = Field(
        default=1,
        ge=1,
        le=MAX_JOBS,
        description="Maximum number of stories that are built at the same time on GitHub, each in its own job.",
    )
    models: Models = Field(default_factory=Models, description="The models to use.")
    prices: dict[NonEmpty, Price] = Field(
        default_factory=dict, description="Prices by model id. A limit in dollars requires the prices of its models."
    )
    budget: BudgetLimits = Field(default_factory=BudgetLimits, description="Limits at which a run stops.")
    context: Context = Field(
        default_factory=Context,
        description="Size of a role's context, in tokens of about four characters. Longer texts are cut in the "
        "middle, or only their path is given.",
    )
    attempts: int = Field(
        default=4,
        ge=1,
        le=10,
        description="Attempts at a phase. Later attempts see the findings; the last one uses `models.strong`.",
    )
    gates: Gates = Field(default_factory=Gates, description="What the gates require.")
    sandbox: Literal["auto", "required", "preferred", "off"] = Field(
        default="auto",
        description="Whether tests run in a sandbox. required: do not run without a complete sandbox; "
        "preferred: use what is available, and verdicts name what is missing; off: no sandbox, and verdicts say so; "
        "auto: required in GitHub Actions, preferred elsewhere.",
    )
    permissions: Permissions = Field(default_factory=Permissions, description="What workers may do.")
    docs: Annotated[Docs, BeforeValidator(_switch_off, json_schema_input_type=Docs | Literal["off", False])] = Field(
        default_factory=Docs, description="The living docs."
    )
    page: PageSettings = Field(
        default_factory=PageSettings, description="Screenshots of the project's pages for each finished story."
    )
    smoke: SmokeSettings = Field(
        default_factory=SmokeSettings, description="A run of the built program for each finished story."
    )
    tracker: Tracker = Field(default_factory=Tracker, description="Issues for the PRD and its stories.")
    notify: Notify = Field(default_factory=Notify, description="Messages outside GitHub.")
    retention: Retention = Field(
        default_factory=Retention,
        description="How long records are kept. The commit of a plan drops expired logs and notes about libraries; "
        "`prd2pr query` omits older pipelines.",
    )

    @property
    def path_rules(self) -> PathRules:
        return PathRules(**self.paths.model_dump())

    @property
    def usage_limits(self) -> UsageLimits:
        return UsageLimits(**self.budget.model_dump())

    @property
    def fused(self) -> bool:
        """Whether one model call writes both tests and code."""
        return self.profile == "quick" or self.converses

    @property
    def converses(self) -> bool:
        """Whether one conversation builds all stories of the PRD."""
        return self.strategy != "strict" and self.profile != "full"


def list_configured_stacks(config: Config) -> tuple[Stack, ...]:
    """Return the configured stacks, or none if they are to be detected from the repository's files."""
    if config.language == "python" and not config.stacks:
        return (PYTHON,)
    return tuple(
        Stack(
            language=(language := _LANGUAGES.get(each.runner, "any") if each.language == "auto" else each.language),
            runner=each.runner,
            root=each.root.removeprefix("./").rstrip("/") or ".",
            story_tests=STORY_TESTS.get(language, PYTHON.story_tests),
            command=each.command,
            results=each.results,
            setup=each.setup,
            manifests=each.manifests,
        )
        for each in config.stacks
    )

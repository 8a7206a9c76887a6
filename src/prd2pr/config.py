"""`.prd2pr.yml`: one frozen object, validated once, passed as an argument.

Each key is described once, here; the JSON Schema and the reference page are made from these descriptions.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticUndefined

from prd2pr.core import strict_yaml
from prd2pr.core.estimate import Price
from prd2pr.core.evidence import Severity
from prd2pr.core.findings import FINDINGS, UNSWITCHABLE
from prd2pr.core.packs import OWN, OWN_DEFAULT, SHARED_TOKENS
from prd2pr.core.plain_errors import close_match, complaint, plain_type
from prd2pr.core.pool_size import MOST_WORKERS
from prd2pr.core.stacks.stack import PYTHON, Stack
from prd2pr.core.stacks.words import STORY_TESTS
from prd2pr.core.waves import MOST_JOBS
from prd2pr.errors import ConfigInvalid, InputInvalid

CONFIG_PATH = ".prd2pr.yml"
SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

CODE_PATTERN = r"^[A-Z]{3}\d{3}$"
ROLE_PATTERN = r"^[a-z][a-z_]*$"
BRANCH_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*/?$"
LOOPBACK_PATTERN = r"^http://(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?/?$"
DIRECTORY_PATTERN = r"^(?:\.|(?:\./)?[A-Za-z0-9_][\w-]*(?:\.[\w-]+)*(?:/[A-Za-z0-9_][\w-]*(?:\.[\w-]+)*)*/?)$"
MOST_PAGES = 8
PATTERN_WORDS = {
    LOOPBACK_PATTERN: "Write an address on the loopback, as in http://127.0.0.1:8000.",
    DIRECTORY_PATTERN: "Write a directory of the repository, with `/` between its parts, as in docs or docs/living.",
    CODE_PATTERN: "Write the code of a finding: three capital letters and three digits, as in RED104.",
    ROLE_PATTERN: "Write the name of a role in small letters, as in tester.",
    BRANCH_PATTERN: "Write letters, digits, `.`, `_` and `-`, with `/` between parts, as in prd2pr/.",
}

PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveCount = Annotated[int, Field(gt=0)]
FindingCode = Annotated[str, Field(pattern=CODE_PATTERN)]
RoleName = Annotated[str, Field(pattern=ROLE_PATTERN)]
NonEmpty = Annotated[str, Field(min_length=1)]


def _globs(value: Any) -> Any:
    """One glob or several; `{a,b}` is written out, since git and Python know no braces."""
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list | tuple):
        return value
    return tuple(
        plain for pattern in patterns for plain in (_braces(pattern) if isinstance(pattern, str) else [pattern])
    )


def _braces(pattern: str) -> list[str]:
    group = re.search(r"\{([^{}]*)\}", pattern)
    if group is None or pattern.count("{") > 4:
        return [pattern]
    before, after = pattern[: group.start()], pattern[group.end() :]
    return [plain for choice in group[1].split(",") for plain in _braces(before + choice + after)]


Globs = Annotated[tuple[NonEmpty, ...], BeforeValidator(_globs, json_schema_input_type=str | list[str])]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, strict=True)


class Labels(Section):
    trigger: NonEmpty = Field(default="prd2pr", description="An issue with this label is implemented.")
    active: NonEmpty = Field(default="prd2pr:active", description="Put on a pull request while work goes on.")
    waiting: NonEmpty = Field(default="prd2pr:waiting", description="Put on a pull request when a person must act.")
    blocked: NonEmpty = Field(
        default="prd2pr:blocked", description="Put on a pull request when a story is out of attempts."
    )
    done: NonEmpty = Field(default="prd2pr:done", description="Put on a pull request when every story is proven.")


class TestRun(Section):
    __test__ = False
    command: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Program and arguments that run the tests; this version runs pytest and refuses this key.",
    )
    python: str = Field(
        default="", description="Interpreter that runs the tests; empty: the project's virtual environment."
    )
    args: tuple[str, ...] = Field(default=(), description="More arguments for the test runner.")
    timeout_seconds: PositiveCount = Field(default=1800, description="A whole test run is stopped after this time.")
    stall_seconds: PositiveCount = Field(default=60, description="A test run without news for this time is stopped.")


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


class StackSettings(Section):
    """One language of the project, with the runner of its tests."""

    runner: RunnerName = Field(default="pytest", description="What runs the tests.")
    language: LanguageName | Literal["auto"] = Field(default="auto", description="Language; auto: by the runner.")
    root: str = Field(
        default=".", pattern=DIRECTORY_PATTERN, description="Directory in which its commands run and its tests lie."
    )
    command: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Program and arguments, for the runners surefire, junit and tap: junit writes JUnit XML to the "
        "file that `{results}` stands for, tap writes TAP to its output. With `{file}` in it, the command is run for "
        "each test file; tap needs it, since TAP does not say where a test stands.",
    )
    results: str = Field(
        default="",
        description="Of the runners surefire and junit: files that the command writes by itself, as a glob below the "
        "root, such as target/surefire-reports/*.xml; empty: `{results}` is in the command.",
    )
    setup: tuple[tuple[NonEmpty, ...], ...] = Field(
        default=(),
        description="Commands that install what the tests need, each as program and arguments; run once for each "
        "state of `manifests`, outside of the sandbox.",
    )
    manifests: tuple[NonEmpty, ...] = Field(default=(), description="Files that `setup` reads: manifest and lock file.")


class Paths(Section):
    source: Globs = Field(default=(), description="Where the source is: directories or globs; empty: detected.")
    tests: Globs = Field(default=(), description="Where the tests are: directories or globs; empty: detected.")
    protected: Globs = Field(
        default=(), description="What the bot must never change, besides what it never changes anyway."
    )


class Models(Section):
    default: NonEmpty = Field(default="anthropic:claude-sonnet-5-5", description="The model that does the work.")
    strong: NonEmpty = Field(default="anthropic:claude-opus-5-5", description="The model that takes the last attempt.")
    roles: dict[RoleName, NonEmpty] = Field(default_factory=dict, description="Another model for a role, by its name.")


class BudgetLimits(Section):
    usd_per_run: PositiveNumber | None = Field(
        default=None, description="Dollars that one run may spend; empty: no limit."
    )
    usd_per_story: PositiveNumber | None = Field(
        default=None, description="Dollars that one story may spend; empty: no limit."
    )
    usd_per_prd: PositiveNumber | None = Field(
        default=None, description="Dollars that a whole PRD may spend; empty: no limit."
    )
    tokens_per_run: PositiveCount | None = Field(
        default=None, description="Tokens that one run may use; empty: no limit."
    )
    tokens_per_story: PositiveCount | None = Field(
        default=None, description="Tokens that one story may use; empty: no limit."
    )
    tokens_per_prd: PositiveCount | None = Field(
        default=None, description="Tokens that a PRD may use; empty: no limit."
    )
    minutes_per_run: PositiveNumber | None = Field(
        default=None, description="Minutes that one run may take; empty: no limit."
    )
    minutes_per_story: PositiveNumber | None = Field(
        default=None, description="Minutes that the steps of one story may take, in all runs; empty: no limit."
    )
    minutes_per_prd: PositiveNumber | None = Field(
        default=None, description="Minutes that the steps of a PRD may take, in all runs; empty: no limit."
    )


class Context(Section):
    shared: PositiveCount = Field(
        default=SHARED_TOKENS,
        description="Most tokens of what all steps of a story are shown: conventions, map of the repository, PRD and "
        "story.",
    )
    roles: dict[RoleName, PositiveCount] = Field(
        default_factory=dict,
        description="Most tokens of what a role alone is shown: the story's tests and files, and what is fed back. By "
        f"itself {', '.join(f'{role} {tokens}' for role, tokens in OWN.items())}, all others {OWN_DEFAULT}.",
    )


class Gates(Section):
    severity: dict[FindingCode, Severity] = Field(
        default_factory=dict,
        description="Severity of a finding, by its code. Findings about honesty, locks and scope cannot be put off.",
    )
    mutation_ratio: float | None = Field(
        default=0.4,
        ge=0,
        le=1,
        description="Share of deliberate faults in the new code that the story's tests must notice; null: not asked.",
    )
    mutants: int = Field(
        default=40,
        ge=1,
        le=1000,
        description="Deliberate faults that are tried in a step, at most, and expected values that are replaced.",
    )
    compare: bool = Field(
        default=True,
        description="REFACTOR: give the same calls to old code and new, and refuse what ends in another way.",
    )
    held_out: bool = Field(
        default=True,
        description="Ask the test author for examples that the programmer is not shown, and judge GREEN by them too.",
    )
    allow_manifest: bool = Field(default=False, description="Let GREEN change dependency manifests.")


class Docs(Section):
    enabled: bool = Field(
        default=True,
        description="Write the living docs with each finished story, in the commit that integrates it. "
        "Text that people write outside of their marks is kept.",
    )
    directory: str = Field(
        default="docs",
        pattern=DIRECTORY_PATTERN,
        description="Where the living docs are written; `.` is the root of the repository.",
    )


class Page(Section):
    command: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Program and arguments that serve the project's page, started in a fresh checkout inside the "
        "sandbox; empty: no pictures are taken.",
    )
    url: str = Field(
        default="http://127.0.0.1:8000", pattern=LOOPBACK_PATTERN, description="Where it answers, on the loopback."
    )
    paths: Annotated[tuple[NonEmpty, ...], Field(min_length=1, max_length=MOST_PAGES)] = Field(
        default=("/",), description="What is looked at there; one picture for each."
    )
    when: Globs = Field(
        default=(), description="Only for stories that are planned to change such source files; empty: for every story."
    )
    ready_seconds: PositiveCount = Field(default=20, description="How long it may take until it answers.")


class Tracker(Section):
    kind: Literal["github", "none"] = Field(default="github", description="Where stories are tracked as issues.")
    sub_issues: bool = Field(default=True, description="Make an issue for each story below the tracking issue.")


class Notify(Section):
    # Not `on`: a YAML 1.1 editor would take that key for `true`.
    events: tuple[Literal["waiting", "blocked", "done", "budget"], ...] = Field(
        default=(), description="What a message is sent about."
    )
    urls_from: str = Field(
        default="PRD2PR_NOTIFY_URLS",
        description="Environment variable that holds the addresses, with spaces or line ends between them. "
        "Needs `pip install 'prd2pr[notify]'`.",
    )


class Retention(Section):
    agent_logs_days: PositiveCount = Field(default=90, description="Logs of roles are kept this long.")
    docs_cache_days: PositiveCount = Field(default=7, description="Looked-up library documentation is kept this long.")
    pipelines_days: PositiveCount = Field(default=365, description="Records of finished pipelines are kept this long.")
    archive_after_days: PositiveCount = Field(
        default=90, description="Finished pipelines are archived after this time."
    )


DEFAULT_PRDS = ("prds/**/*.md", "prds/**/*.yml", "prds/**/*.yaml", "prds/**/*.json")


class Config(Section):
    """What prd2pr may do in a repository. Read from the base branch only."""

    prds: Annotated[Globs, Field(min_length=1)] = Field(
        default=DEFAULT_PRDS,
        description="Globs of the files that are PRDs. Left out are names that begin with `_`, "
        "and each README without `id:` in its front matter.",
    )
    labels: Labels = Field(default_factory=Labels, description="Names of the labels.")
    branch_prefix: str = Field(
        default="prd2pr/",
        pattern=BRANCH_PATTERN,
        description="A PRD's branch is this followed by the PRD's id.",
    )
    language: Literal["auto", "python"] = Field(
        default="auto", description="Language of the project; this version drives Python."
    )
    test: TestRun = Field(default_factory=TestRun, description="How the tests are run.")
    stacks: tuple[StackSettings, ...] = Field(
        default=(),
        description="Languages and runners of the project, each with its root; empty: found from the repository's own "
        "files, as `prd2pr doctor` shows them.",
    )
    paths: Paths = Field(default_factory=Paths, description="What is source and what is test.")
    setup: tuple[NonEmpty, ...] = Field(
        default=(),
        description="Commands that install what the tests need, for the stack at the repository's root; `stacks` has "
        "them for others. They run once for each state of the manifests, in a directory that holds nothing else, "
        "outside of the sandbox. Of Python they make `.venv`, with pytest in it.",
    )
    workers: int = Field(
        default=1,
        ge=0,
        le=MOST_WORKERS,
        description="How many stories `prd2pr run` works on at once, each in a process and on a branch of its own; "
        "0: one for each core, at most 4. Only stories that do not wait for each other and plan to touch other files "
        "are worked on side by side, and only where the sandbox keeps test runs apart: without all of it there is one "
        "worker. `--workers` has precedence.",
    )
    strategy: Literal["strict", "fused"] = Field(
        default="strict",
        description="strict: one model call for the tests, another for the code. "
        "fused: one call for both, and RED is proved by withholding the code.",
    )
    profile: Literal["quick", "standard", "full"] = Field(
        default="standard",
        description="Which roles run, and so the cost. quick: one call for the plan and one for each story. standard: "
        "the plan in one call up to 12 requirements, beyond that in four passes; design, tests and code by a call "
        "each, and a refactoring where the code gives a reason. full: every role, and always four passes. See "
        "docs/roles.md.",
    )
    refactoring: Literal["measured", "always"] = Field(
        default="measured",
        description="When a model is asked for a refactoring in `standard`. measured: where a function has three "
        "branches or 15 lines, or lines are copied. always: after every GREEN, as in `full`. A person is always asked.",
    )
    approval: Literal["plan", "story", "none"] = Field(
        default="plan",
        description="What a person approves on GitHub before work goes on: the plan, each story, or nothing. "
        "On the command line, calling `run` or `next` is the approval.",
    )
    commit: Literal["git", "api"] = Field(
        default="git",
        description="How commits reach GitHub. git: pushed as they were made. "
        "api: made through GitHub's API, which signs them as the bot; each gets a new SHA with the same tree.",
    )
    story_jobs: int = Field(
        default=1,
        ge=1,
        le=MOST_JOBS,
        description="Stories that are worked on side by side on GitHub, at most, each by a job of its own; 1: one "
        "after the other in one job. More than one needs the jobs that `prd2pr init` then writes into the workflow.",
    )
    models: Models = Field(default_factory=Models, description="Which model works.")
    prices: dict[NonEmpty, Price] = Field(
        default_factory=dict, description="Prices by model id. A limit in dollars needs the prices of its models."
    )
    budget: BudgetLimits = Field(default_factory=BudgetLimits, description="Where a run stops and asks.")
    context: Context = Field(
        default_factory=Context,
        description="How much a role is shown, in tokens of about four characters. What is longer is cut in the "
        "middle, or named by its path.",
    )
    attempts: int = Field(
        default=4,
        ge=1,
        le=10,
        description="Attempts at a phase: the first, those with findings, the last on `models.strong`.",
    )
    gates: Gates = Field(default_factory=Gates, description="What the gates ask for.")
    sandbox: Literal["required", "preferred", "off"] = Field(
        default="preferred",
        description="Whether tests run in a sandbox. required: nothing is run where not all of it can be had; "
        "preferred: what can be had, and verdicts say what is missing; off: none, and verdicts say so.",
    )
    docs: Docs = Field(default_factory=Docs, description="The living docs.")
    page: Page = Field(default_factory=Page, description="Pictures of the project's pages with each finished story.")
    tracker: Tracker = Field(default_factory=Tracker, description="Issues for PRD and stories.")
    notify: Notify = Field(default_factory=Notify, description="Messages outside GitHub.")
    retention: Retention = Field(
        default_factory=Retention,
        description="How long records are kept. The commit of a plan drops logs and notes about libraries whose time "
        "is over; `prd2pr query` leaves older pipelines out.",
    )

    @property
    def fused(self) -> bool:
        """Tests and code in one call."""
        return self.strategy == "fused" or self.profile == "quick"


def configured_stacks(config: Config) -> tuple[Stack, ...]:
    """None: they are found from the repository's own files."""
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


def load_config(text: str | None, where: str = CONFIG_PATH, *, unswitchable: frozenset[str] = UNSWITCHABLE) -> Config:
    """The config in force; None or an empty file is all defaults. `unswitchable`: codes that stay errors."""
    if text is None or not text.strip():
        return Config()
    try:
        loaded = strict_yaml.load(text.removeprefix("\ufeff"), where)
    except InputInvalid as error:
        raise ConfigInvalid(error.what, where=error.where, remedy=error.remedy) from None
    if loaded.data is None:
        return Config()
    if not isinstance(loaded.data, dict):
        raise ConfigInvalid("the file is not a list of `key: value` lines", where=where, remedy=_SEE_REFERENCE)
    config = _validated(loaded, where)
    _check_severities(config, loaded, where, unswitchable)
    return config


_SEE_REFERENCE = "`prd2pr schema` prints every key with its description."


def _validated(loaded: strict_yaml.Loaded, where: str) -> Config:
    try:
        # By way of JSON, in which a list is a tuple even to a strict model.
        return Config.model_validate_json(json.dumps(loaded.data))
    except ValidationError as error:
        problems = [complaint(details, Config, PATTERN_WORDS) for details in error.errors(include_url=False)]
    problems.sort(key=lambda problem: loaded.line_of(problem.path))
    first, more = problems[0], len(problems) - 1
    rest = "" if not more else f" (and {more} more {'problem' if more == 1 else 'problems'} in this file)"
    raise ConfigInvalid(first.what + rest, where=f"{where}:{loaded.line_of(first.path)}", remedy=first.remedy)


def _check_severities(config: Config, loaded: strict_yaml.Loaded, where: str, unswitchable: frozenset[str]) -> None:
    for code, severity in config.gates.severity.items():
        line = loaded.line_of(("gates", "severity", code))
        if code not in FINDINGS and code not in unswitchable:
            meant = close_match(code, FINDINGS)
            raise ConfigInvalid(
                f"there is no finding {code}" + (f"; did you mean {meant}?" if meant else ""),
                where=f"{where}:{line}",
                remedy="Remove the line, or correct the code.",
            )
        if severity != "error" and code in unswitchable:
            raise ConfigInvalid(
                f"{code} cannot be put to `{severity}`: the proof would be worth nothing without it",
                where=f"{where}:{line}",
                remedy=f"Remove the line. `prd2pr explain {code}` says what it is about.",
            )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `.prd2pr.yml`, for editors; `prd2pr schema` prints it."""
    schema = Config.model_json_schema(schema_generator=_UntitledFields)
    definitions = schema.pop("$defs")
    schema.pop("title")
    return {"$schema": SCHEMA_DIALECT, "title": "prd2pr configuration (.prd2pr.yml)", **schema, "$defs": definitions}


class _UntitledFields(GenerateJsonSchema):
    """A title made from the key, as pydantic would add, says nothing that the key does not."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def reference_rows() -> list[tuple[str, str, str, str]]:
    """Key (dotted), type, default and description of every setting, in order."""
    return list(_rows(Config, ""))


def _rows(model: type[BaseModel], prefix: str) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str, str, str]] = []
    for name, field in model.model_fields.items():
        kind, key = plain_type(field.annotation), prefix + name
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            rows += _rows(kind, f"{key}.")
            continue
        rows.append((key, _type_words(kind), _default_words(field), field.description or ""))
        if (
            get_origin(kind) is dict
            and isinstance(get_args(kind)[1], type)
            and issubclass(get_args(kind)[1], BaseModel)
        ):
            rows += _rows(get_args(kind)[1], f"{key}.<name>.")
    return rows


_TYPE_WORDS: dict[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def _type_words(kind: Any) -> str:
    kind = plain_type(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type_words(arguments[0])
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in arguments)
    if origin is tuple:
        return f"list of {_type_words(arguments[0])}"
    if origin is dict:
        return f"{_type_words(arguments[0])} → {_type_words(arguments[1])}"
    return _TYPE_WORDS.get(kind, "keys")


def _default_words(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "must be given"
    return "none" if value is None else json.dumps(value)

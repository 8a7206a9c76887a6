"""Classify paths. The scope rules of the gates depend on it.

Only names count, not content. Files that configure a test run are recognized first, because a `conftest.py` or a
`pytest.py` takes effect in any directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from pathlib import PurePosixPath

from prd2pr.domain.evidence import PathKind

STATE_ROOT = ".orch-state"
TDD_ROOT = "tests/tdd"

_TEST_DIRECTORIES = frozenset({"tests", "test", "__tests__", "__snapshots__", "__mocks__"})
_TEST_NAMES = (
    "test_*.py",
    "*_test.py",
    "*.snap",
    "*.ambr",
    "*_test.go",
    "tests.rs",
    "*_test.rs",
    "*_tests.rs",
    "*.test.[jt]s",
    "*.test.[jt]sx",
    "*.test.[cm][jt]s",
    "*.spec.[jt]s",
    "*.spec.[jt]sx",
    "*.spec.[cm][jt]s",
)
# Under a test root these contain sample files, so a `pyproject.toml` in them is test data.
_DATA_DIRECTORIES = frozenset({"data", "fixtures", "golden", "goldens", "resources", "samples", "snapshots"})

# Directories with expected test results. Those of the second set count only at the root, because frameworks load
# data from directories of these names inside a package.
_SAMPLE_DIRECTORIES = frozenset({"golden", "goldens", "testdata"})
_OUTER_SAMPLE_DIRECTORIES = frozenset({"fixtures", "snapshots"})
_CODE_ENDINGS = (
    *(".py", ".pyi", ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts"),
    *(".go", ".rs", ".java", ".c", ".h"),
)

_RUN_SETTINGS = frozenset(
    {
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        ".pytest.toml",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "tox.toml",
        "noxfile.py",
        ".coveragerc",
        ".python-version",
        ".node-version",
        ".nvmrc",
        ".babelrc",
        ".swcrc",
        "jest-preset.js",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
        "gradle.properties",
        "junit-platform.properties",
    }
)
# A JavaScript runner's configuration is a program; a compiler's configuration decides which tests are built.
_RUN_PROGRAMS = (
    "vitest.config.*",
    "vitest.workspace.*",
    "vitest.setup.*",
    "vite.config.*",
    "jest.config.*",
    "jest.setup.*",
    "babel.config.*",
    "tsconfig.json",
    "tsconfig.*.json",
    "jsconfig.json",
    ".mocharc*",
    ".babelrc.*",
    "go.work",
    "go.work.sum",
    "rust-toolchain",
    "rust-toolchain.toml",
)
_RUN_HOOKS = ("sitecustomize.py", "usercustomize.py", "*.pth")
_HOOK_PACKAGES = frozenset({"sitecustomize", "usercustomize"})
# A module of this name would be imported instead of the real one.
_SHADOWED_MODULES = frozenset({"pytest", "_pytest", "pluggy", "unittest"})

_MANIFEST_NAMES = (
    "requirements*.txt",
    "requirements*.in",
    "constraints*.txt",
    "setup.py",
    "*.lock",
    "pipfile",
    "pdm.toml",
    "environment.yml",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "bun.lockb",
    "go.mod",
    "go.sum",
    "cargo.toml",
)
_CI_DIRECTORIES = frozenset(
    {".github", ".circleci", ".gitlab", ".gitea", ".forgejo", ".buildkite", ".woodpecker", ".ci"}
)
_CI_NAMES = (
    "makefile",
    "gnumakefile",
    "*.mk",
    "justfile",
    "taskfile.yml",
    "taskfile.yaml",
    ".gitlab-ci.yml",
    *("bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.y*ml", ".cirrus.yml", "buildspec.yml", "cloudbuild.y*ml"),
    "jenkinsfile",
    "azure-pipelines*.yml",
    ".travis.yml",
    "appveyor.yml",
    ".pre-commit-config.yaml",
    "dockerfile",
    "codecov.yml",
    ".codecov.yml",
    "mypy.ini",
    ".mypy.ini",
    "ruff.toml",
    ".ruff.toml",
    ".flake8",
    "pylintrc",
    ".pylintrc",
    ".golangci.*",
    "clippy.toml",
    ".clippy.toml",
    "pyrightconfig.json",
)
SCRIPT_DIRECTORIES = frozenset({"scripts", "script", "bin", "tools", "ci", "hack"})
_SCRIPT_ENDINGS = frozenset({"", ".sh", ".bash", ".zsh", ".ps1", ".bat", ".cmd"})
_CHECK_WORDS = frozenset({"test", "tests", "runtests", "ci", "check", "checks", "lint", "verify", "coverage"})
# For Python scripts, which may check or verify something other than the project: only words for running tests.
_TEST_RUN_WORDS = frozenset({"test", "tests", "runtests", "ci"})
_DOCS_NAMES = ("*.md", "*.rst", "license", "license.*", "copying", "authors", "changelog", "changelog.*", "notice")

# They decide where dependencies come from and what is sent there, and some are programs.
_INSTALLER_SETTINGS = (
    *(".npmrc", ".yarnrc", ".yarnrc.y*ml", ".pnpmfile.*", "pnpm-workspace.yaml", "bunfig.toml", ".bunfig.toml"),
    *("pip.conf", "pip.ini", ".pypirc", ".pydistutils.cfg", "uv.toml", "poetry.toml", ".condarc"),
    *("nuget.config", ".gemrc", ".netrc", "_netrc"),
)
# Editors, shells, hook managers or workflows execute them; CODEOWNERS decides who must approve changes.
_EXECUTED_SETTINGS = (
    *("codeowners", "action.yml", "action.yaml", ".envrc", "*.code-workspace", ".gitpod.yml", "devfile.y*ml"),
    *(".mise.toml", "mise.toml", ".tool-versions", "lefthook.y*ml", ".lefthook.y*ml", ".huskyrc*", ".lfsconfig"),
)
_PROTECTED_NAMES = (
    ".prd2pr.yml",
    ".prd2pr.yaml",
    ".gitattributes",
    ".gitmodules",
    ".gitconfig",
    "claude.md",
    "agents.md",
    "gemini.md",
    ".cursorrules",
    ".windsurfrules",
    ".mcp.json",
    "*.egg-link",
)
# Not reviewable, and Python runs it instead of the source.
_COMPILED_NAMES = ("*.pyc", "*.pyo", "*.pyd", "*.so")
_PROTECTED_COMPONENTS = (
    ".git",
    ".githooks",
    ".husky",
    *(".vscode", ".devcontainer", ".idea", ".fleet", ".zed", ".vs", ".mvn", ".yarn"),
    *(".claude", ".cursor*", ".codex", ".gemini", ".windsurf", ".continue", ".aider*", ".kiro", ".roo", ".junie"),
    "*.dist-info",
    "*.egg-info",
    "__pycache__",
    "node_modules",
)
_PROTECTED_FILES = (".github/copilot-instructions.md",)


@dataclass(frozen=True)
class PathRules:
    """Roots (`src`, `lib/shop/`) or globs (`**/specs/*.py`) from the configuration.

    Empty fields use the conventions.
    """

    source: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()


CONVENTIONS = PathRules()


@lru_cache(maxsize=1 << 15)  # cached, since every phase classifies every file
def classify_path(path: str, rules: PathRules = CONVENTIONS) -> PathKind:
    parts = PurePosixPath(path.lower()).parts
    if not parts:
        return PathKind.OTHER
    for kind, holds in (
        (PathKind.STATE, parts[0] == STATE_ROOT),
        (PathKind.PROTECTED, matches_any(path, rules.protected) or _is_protected(parts)),
        (PathKind.TEST_CONFIG, _is_run_config(path, parts, rules)),
        (PathKind.TEST, _is_test(path, parts, rules)),
        (PathKind.CI, parts[0] in _CI_DIRECTORIES or _matches_name(parts, _CI_NAMES) or _is_check_script(parts)),
        (PathKind.MANIFEST, _is_manifest(parts)),
    ):
        if holds:
            return kind
    return _classify_source_or_docs(path, parts, rules)


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """Return whether a path matches one of the patterns.

    A pattern without wildcards matches the path itself and everything below it.
    """
    return any(_matches(path, pattern) for pattern in patterns)


def _matches(path: str, pattern: str) -> bool:
    pattern = pattern.removeprefix("./")
    if not any(sign in pattern for sign in "*?["):
        root = pattern.rstrip("/")
        return root in {"", "."} or path == root or path.startswith(f"{root}/")
    # In fnmatch `*` also matches slashes; `**/` must match an empty string too. `packages/*/src` names directories.
    forms = (pattern, pattern.replace("**/", ""), f"{pattern.rstrip('/')}/*")
    return _compile(forms).match(path) is not None


@lru_cache(maxsize=512)
def _compile(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return an expression that matches every path that one of the patterns matches."""
    return re.compile("|".join(map(translate, patterns)) or "(?!)")


def _matches_name(parts: tuple[str, ...], patterns: Iterable[str]) -> bool:
    return _compile(tuple(patterns)).match(parts[-1]) is not None


def _is_protected(parts: tuple[str, ...]) -> bool:
    if parts[0] in _CI_DIRECTORIES:  # no role can write there either
        return "/".join(parts) in _PROTECTED_FILES
    inside = any(_compile(_PROTECTED_COMPONENTS).match(part) for part in parts)
    sample = bool(_DATA_DIRECTORIES & set(parts[:-1]) and _TEST_DIRECTORIES & set(parts[:-1]))
    return (
        inside
        or _matches_name(parts, _PROTECTED_NAMES)
        or (_matches_name(parts, (*_INSTALLER_SETTINGS, *_EXECUTED_SETTINGS, *_COMPILED_NAMES)) and not sample)
    )


def _is_run_config(path: str, parts: tuple[str, ...], rules: PathRules) -> bool:
    in_tests = _under_test_root(path, parts, rules)
    if _matches_name(parts, _RUN_HOOKS) or _shadows_the_runner(parts):
        return True
    if parts[-1] in _RUN_SETTINGS or _matches_name(parts, _RUN_PROGRAMS):
        return not (in_tests and any(part in _DATA_DIRECTORIES for part in parts[:-1]))
    if _is_cargo_setting(parts):
        return True
    if parts[-1] == "build.rs":  # Cargo runs it before the build, unless it is an ordinary module
        return "src" not in parts[:-1]
    return parts[-1] == "conftest.py" and not in_tests


def _is_cargo_setting(parts: tuple[str, ...]) -> bool:
    return ".cargo" in parts[:-1] and parts[-1].split(".")[0] in {"config", "credentials"}


def _shadows_the_runner(parts: tuple[str, ...]) -> bool:
    """Return whether Python may import this file instead of the test runner, such as `pytest.py` in any directory."""
    if parts[-1].endswith((".py", ".pyc", ".so")) and parts[-1].split(".")[0] in _SHADOWED_MODULES:
        return True
    importable = parts[1:] if parts[0] in {"src", "lib"} else parts
    return len(importable) > 1 and importable[0] in _SHADOWED_MODULES | _HOOK_PACKAGES


def _under_test_root(path: str, parts: tuple[str, ...], rules: PathRules) -> bool:
    if matches_any(path, rules.tests):
        return True
    if matches_any(path, rules.source):  # a package that is configured as source may be called `test`
        return False
    return any(part in _TEST_DIRECTORIES for part in parts[:-1])


def _is_test(path: str, parts: tuple[str, ...], rules: PathRules) -> bool:
    return _under_test_root(path, parts, rules) or _matches_name(parts, _TEST_NAMES) or _is_sample(path, parts, rules)


def _is_sample(path: str, parts: tuple[str, ...], rules: PathRules) -> bool:
    """Return whether a file contains expected results of tests.

    Code is never such a file, since other code may import it.
    """
    if parts[-1].endswith(_CODE_ENDINGS) or matches_any(path, rules.source):
        return False
    outer = len(parts) > 1 and parts[0] in _OUTER_SAMPLE_DIRECTORIES
    return outer or any(part in _SAMPLE_DIRECTORIES for part in parts[:-1])


def is_installer_setting(path: str) -> bool:
    """Return whether installers of dependencies read this file in addition to the manifests."""
    parts = PurePosixPath(path.lower()).parts
    return _matches_name(parts, _INSTALLER_SETTINGS) or _is_cargo_setting(parts)


def is_run_hook(path: str) -> bool:
    """Return whether Python runs this file automatically before the tests, or instead of the reviewed source."""
    parts = PurePosixPath(path.lower()).parts
    compiled = _matches_name(parts, _COMPILED_NAMES) and not _TEST_DIRECTORIES & set(parts[:-1])
    return _matches_name(parts, _RUN_HOOKS) or _shadows_the_runner(parts) or compiled or parts[-1].endswith(".egg-link")


def _is_check_script(parts: tuple[str, ...]) -> bool:
    """Return whether a file is a script that runs the tests, such as `scripts/run-tests.sh` or `bin/ci`."""
    name = PurePosixPath(parts[-1])
    words = set(name.stem.replace("-", "_").split("_"))
    if name.suffix == ".py":
        return len(parts) == 2 and parts[0] in SCRIPT_DIRECTORIES and bool(_TEST_RUN_WORDS & words)
    if name.suffix not in _SCRIPT_ENDINGS or not (len(parts) == 1 or parts[0] in SCRIPT_DIRECTORIES):
        return False
    return bool(_CHECK_WORDS & words)


def _is_manifest(parts: tuple[str, ...]) -> bool:
    return _matches_name(parts, _MANIFEST_NAMES) or (len(parts) > 1 and parts[0] in {"requirements", "vendor"})


def _classify_source_or_docs(path: str, parts: tuple[str, ...], rules: PathRules) -> PathKind:
    if matches_any(path, rules.source):
        return PathKind.SOURCE
    if parts[0] in {"docs", "doc"} or _matches_name(parts, _DOCS_NAMES):
        return PathKind.DOCS
    if rules.source:
        return PathKind.OTHER
    code = parts[-1].endswith(_CODE_ENDINGS)
    package_data = len(parts) > 1
    hidden = any(part.startswith(".") for part in parts)
    return PathKind.SOURCE if (code or package_data) and not hidden else PathKind.OTHER


def get_story_test_root(path: str, story: str) -> str:
    """Return the story's test directory that contains the path, below any root, or an empty string.

    For a language without such directories, return the path up to the end of the file name's prefix.
    """
    home = f"{TDD_ROOT}/{story}/"
    at = f"/{path}".find(f"/{home}")
    return path[: at + len(home)] if at >= 0 else _get_named_test_root(path, story)


def _get_named_test_root(path: str, story: str) -> str:
    """Return the path up to the end of the story's prefix, as in `points/tdd_loyalty_2_spend_test.go`.

    In Go, Java and Rust a test's directory is fixed, so the file's name says to which story it belongs.
    """
    name = path.rpartition("/")[2]
    start = f"tdd_{story.replace('-', '_')}_"
    in_tests = f"/{path}".removesuffix(name).endswith("/tests/")
    of_java = name.endswith(".java") and "/src/test/" in f"/{path}"
    own = name.endswith("_test.go") or (name.endswith(".rs") and in_tests) or of_java
    return path[: len(path) - len(name) + len(start)] if own and name.startswith(start) else ""


def promote(path: str, story: str) -> str:
    """Return the path of a story's test after integration. A path outside the story's directory is unchanged."""
    home = get_story_test_root(path, story)
    if not home:
        return path
    if not home.endswith("/"):
        return path[: home.rindex("tdd_")] + path[home.rindex("tdd_") + len("tdd_") :]
    root, rest = home.removesuffix(f"{TDD_ROOT}/{story}/"), path.removeprefix(home)
    if rest.startswith("integration/") and path.endswith(".py"):
        return f"{root}tests/integration/{story}/{rest.removeprefix('integration/')}"
    # In other languages a test imports its subject by a relative path, so the depth must not change.
    return f"{root}tests/unit/{story}/{rest}"

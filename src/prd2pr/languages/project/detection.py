"""Detect the stacks of a repository from file names and a few manifest keys. Nothing is executed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import classify_path
from prd2pr.domain.stack import PYTHON, ROOT, Stack
from prd2pr.domain.stack_policy import STORY_TESTS
from prd2pr.languages.project.workspaces import PNPM, is_workspace_member, list_workspace_patterns, parse_package_json

DETECTION_FILES = ("package.json", PNPM)  # files that detection reads
_PYTHON_SIGNS = frozenset({"pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt"})
_CONFIGS = {"vitest": re.compile(r"vitest\.(config|workspace)\.[cm]?[jt]s$"), "jest": re.compile(r"jest\.config\.\w+$")}
_IGNORED_DIRECTORIES = frozenset({"node_modules", "vendor", "third_party", "dist", "build", "target"})
# Manifests below these directories belong to samples, not to the project.
_SAMPLE_DIRECTORIES = frozenset(
    {
        "templates",
        "template",
        "examples",
        "example",
        "samples",
        "fixtures",
        "testdata",
        "tests",
        "test",
        "docs",
        "demo",
        "demos",
    }
)
_LOCKS = {
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lockb": "bun",
}
_SETUPS: dict[str, tuple[str, ...]] = {
    "npm": ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
    "pnpm": ("pnpm", "install", "--frozen-lockfile", "--ignore-scripts"),
    "yarn": ("yarn", "install", "--frozen-lockfile", "--ignore-scripts"),
    "yarn 2": ("yarn", "install", "--immutable", "--mode=skip-build"),  # and later versions
}
_YARN_2 = re.compile(r"yarn@([2-9]|\d\d)")
_UNLOCKED = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
_TYPESCRIPT = (".ts", ".tsx", ".mts", ".cts")
_JAVASCRIPT = (".js", ".jsx", ".mjs", ".cjs")
_LOADERS = frozenset({"--import", "--loader", "--experimental-loader", "--require", "-r", "--conditions", "-C"})


def is_detection_file(path: str) -> bool:
    """Return whether detection needs the text of this file."""
    sample = not _SAMPLE_DIRECTORIES.isdisjoint(path.split("/")[:-1])
    return path.rpartition("/")[2] in DETECTION_FILES and not sample and not _is_ignored(path)


def detect_project_stacks(paths: Iterable[str], texts: Mapping[str, str]) -> tuple[Stack, ...]:
    """Detect the stacks of a project, the root's stack first. If nothing is found, assume Python.

    `texts` are the texts of the files that `is_detection_file` selects.
    """
    known = sorted(path for path in paths if not _is_ignored(path) and path.isprintable())
    others = [*_find_node_stacks(known, texts), *_find_compiled_stacks(known)]
    found = [*others, *_find_python_stacks(known, others=bool(others))]
    found.sort(key=lambda stack: (stack.root != ROOT, stack.root, stack.language != PYTHON.language))
    return tuple(found) or (PYTHON,)


def _is_ignored(path: str) -> bool:
    return not _IGNORED_DIRECTORIES.isdisjoint(path.split("/")[:-1])


# --- Python -----------------------------------------------------------------------------------------------------------


def _find_python_stacks(paths: list[str], *, others: bool) -> Iterator[Stack]:
    """Yield one stack for the whole repository, or one for each Python project below the root.

    Projects below the root are separate stacks if all Python tests are inside them, because their imports start there.
    If there are several and no other language (`others`), they are packages of one project and are tested together.
    """
    signs = [path for path in paths if path.rpartition("/")[2] in _PYTHON_SIGNS]
    tests = [path for path in paths if path.endswith(".py") and classify_path(path) is PathKind.TEST]
    apart = [home for home in _find_python_projects(signs, paths) if _has_python(home, paths)]
    all_apart = all(any(path.startswith(f"{home}/") for home in apart) for path in tests)
    if apart and all_apart and (others or len(apart) == 1):
        yield from (replace(PYTHON, root=home) for home in apart)
    elif signs or tests:  # a few scripts beside another language are not a project
        yield PYTHON


def _has_python(home: str, paths: list[str]) -> bool:
    return any(path.startswith(f"{home}/") and path.endswith(".py") for path in paths)


def _find_python_projects(signs: list[str], paths: list[str]) -> list[str]:
    """Return the outermost directories that contain a project, or nothing if the repository's root is one."""
    known = set(paths)
    homes = {path.rpartition("/")[0] for path in signs}
    if "" in homes or "conftest.py" in known:
        return []
    plain = [
        home for home in homes if f"{home}/__init__.py" not in known and _SAMPLE_DIRECTORIES.isdisjoint(home.split("/"))
    ]
    return sorted(home for home in plain if not any(home.startswith(f"{other}/") for other in plain))


# --- Go and Rust ------------------------------------------------------------------------------------------------------


def _find_compiled_stacks(paths: list[str]) -> Iterator[Stack]:
    """Yield one stack for each Go module and each outermost Cargo manifest, because a workspace is built as a whole."""
    for home in _find_directories(paths, "go.mod"):
        yield Stack("go", "go test", home, story_tests=STORY_TESTS["go"], package_manager="go")
    crates = _find_directories(paths, "Cargo.toml")
    for home in crates:
        if not any(other != home and (other == ROOT or home.startswith(f"{other}/")) for other in crates):
            yield Stack("rust", "cargo test", home, story_tests=STORY_TESTS["rust"], package_manager="cargo")


# --- Java -------------------------------------------------------------------------------------------------------------

# Downloaded dependencies must be below the root, because a run does not see the user's home directory.
_GRADLE = ("gradle", "--offline", "--no-daemon", "-g", ".gradle-home", "test")
_BUILDS: dict[str, tuple[str, tuple[str, ...], str]] = {  # manifest → tool, command and results
    "pom.xml": ("maven", ("mvn", "-B", "-o", "-q", "-Dmaven.repo.local=.m2", "test"), "target/surefire-reports/*.xml"),
    "build.gradle": ("gradle", _GRADLE, "build/test-results/test/*.xml"),
    "build.gradle.kts": ("gradle", _GRADLE, "build/test-results/test/*.xml"),
}


def detect_java_builds(paths: Iterable[str]) -> tuple[Stack, ...]:
    """Return the outermost Maven and Gradle projects.

    They are used only if `stacks:` names them, because only the project knows which command works offline.
    """
    known = sorted(path for path in paths if not _is_ignored(path) and path.isprintable())
    found: dict[str, Stack] = {}
    for name, (tool, command, results) in _BUILDS.items():
        for home in _find_directories(known, name):
            plain = home == ROOT or _SAMPLE_DIRECTORIES.isdisjoint(home.split("/"))
            if plain and home not in found:
                found[home] = Stack("java", "surefire", home, package_manager=tool, command=command, results=results)
    return tuple(
        stack
        for home, stack in sorted(found.items())
        if not any(home != other and (other == ROOT or home.startswith(f"{other}/")) for other in found)
    )


def format_stack_setting(stack: Stack) -> str:
    """Format the stack as a setting for `.prd2pr.yml`."""
    root = "" if stack.root == ROOT else f"root: {stack.root}, "
    words = ", ".join(stack.command)
    return f'stacks: [{{runner: {stack.runner}, {root}command: [{words}], results: "{stack.results}"}}]'


def _find_directories(paths: list[str], name: str) -> list[str]:
    return [path.rpartition("/")[0] or ROOT for path in paths if path.rpartition("/")[2] == name]


# --- JavaScript and TypeScript ----------------------------------------------------------------------------------------


def _find_node_stacks(paths: list[str], texts: Mapping[str, str]) -> Iterator[Stack]:
    homes = {
        path.rpartition("/")[0] or ROOT: texts[path] for path in paths if path in texts and is_package_manifest(path)
    }
    lists = {path: texts[path] for path in paths if path in texts and path.rpartition("/")[2] == PNPM}
    for home, text in sorted(homes.items()):
        stack = Stack(root=home)
        inner = [other for other in homes if other != home and stack.contains_path(f"{other}/")]
        own = [
            path
            for path in paths
            if stack.contains_path(path) and not any(path.startswith(f"{each}/") for each in inner)
        ]
        manifest = parse_package_json(text)
        around = find_workspace(home, homes, paths, lists)
        shared = parse_package_json(homes[around]) if around else {}
        runner = _choose_node_runner(manifest, [stack.to_stack_path(path) for path in own], _list_dependencies(shared))
        if around == home and not any(path.endswith((*_TYPESCRIPT, *_JAVASCRIPT)) for path in own):
            continue  # this is a workspace root without code
        if runner:
            members = _list_members(around, homes, paths, lists) if around else (home,)
            manager = str((shared or manifest).get("packageManager", ""))
            yield _make_node_stack(stack, runner, manifest, own, paths, members, around or home, manager)


def _make_node_stack(  # noqa: PLR0917 everything that the stack depends on
    stack: Stack, runner: str, manifest: Mapping[str, Any], own: list[str], paths: list[str],
    members: tuple[str, ...], installed_in: str, package_manager: str = "",
) -> Stack:  # fmt: skip
    """Complete a JavaScript stack.

    `members` are the packages that are installed together from the manifest and lock file in `installed_in`.
    """
    home = replace(stack, root=installed_in)
    lock, manager = _find_lock_file(home, set(paths), package_manager)
    together = len(members) > 1
    depends = together or any(manifest.get(key) for key in ("dependencies", "devDependencies", "optionalDependencies"))
    setup = (_SETUPS.get(manager, _UNLOCKED) if lock else _UNLOCKED,) if depends else ()
    # The last manifest determines the directory of the installation.
    others = [
        replace(stack, root=each).to_repository_path("package.json") for each in sorted(members) if each != installed_in
    ]
    read = (*others, home.to_repository_path("package.json"), *([lock] if lock else []))
    return replace(
        stack,
        language="typescript" if _is_typescript(stack, own) else "javascript",
        runner=runner,
        package_manager=manager.partition(" ")[0],
        setup=setup,
        manifests=read if depends else (),
        options=_read_loader_options(str(_read_scripts(manifest).get("test", ""))),
    )


def is_package_manifest(path: str) -> bool:
    return is_detection_file(path) and path.rpartition("/")[2] == "package.json"


def find_workspace(home: str, homes: Mapping[str, str], paths: list[str], lists: Mapping[str, str]) -> str:
    """Return the npm, pnpm or yarn workspace to which a package belongs, or an empty string if there is none."""
    for root in homes:
        outer = Stack(root=root)
        if root == home:
            inside = [outer.to_stack_path(each) for each in homes if each != home and outer.contains_path(f"{each}/")]
        else:
            inside = [outer.to_stack_path(home)] if outer.contains_path(f"{home}/") else []
        patterns = list_workspace_patterns(root, homes, lists)
        if any(is_workspace_member(each, patterns, of_pnpm=outer.to_repository_path(PNPM) in paths) for each in inside):
            return root
    return ""


def _list_members(root: str, homes: Mapping[str, str], paths: list[str], lists: Mapping[str, str]) -> tuple[str, ...]:
    """Return all members that the package manager installs, including samples."""
    outer, patterns = Stack(root=root), list_workspace_patterns(root, homes, lists)
    of_pnpm = outer.to_repository_path(PNPM) in paths
    below = [
        home for home in _find_directories(paths, "package.json") if home != root and outer.contains_path(f"{home}/")
    ]
    return (
        root,
        *(home for home in below if is_workspace_member(outer.to_stack_path(home), patterns, of_pnpm=of_pnpm)),
    )


def _read_scripts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    scripts = manifest.get("scripts")
    return scripts if isinstance(scripts, dict) else {}


def _choose_node_runner(manifest: Mapping[str, Any], own: list[str], shared: set[str]) -> str:
    """Choose the test runner: by the test script, or else by a configuration file or dependency, or else node's own.

    `shared` are the dependencies that the workspace provides for all its members.
    """
    script = str(_read_scripts(manifest).get("test", ""))
    for name, sign in (("vitest", r"\bvitest\b"), ("jest", r"\bjest\b"), ("node:test", r"\bnode\b.*--test\b")):
        if re.search(sign, script):
            return name
    for name, pattern in _CONFIGS.items():
        if any(pattern.fullmatch(path) for path in own) or name in _list_dependencies(manifest) | shared:
            return name
    code = [path for path in own if path.endswith(_JAVASCRIPT)]
    return "node:test" if code and not script else ""


def _list_dependencies(manifest: Mapping[str, Any]) -> set[str]:
    groups = (manifest.get(key) for key in ("dependencies", "devDependencies"))
    return {str(name) for group in groups if isinstance(group, dict) for name in group}


def _find_lock_file(stack: Stack, paths: set[str], named: str) -> tuple[str, str]:
    """Return the lock file next to the manifest, and its package manager.

    `named` is the manifest's `packageManager`.
    """
    for name, manager in _LOCKS.items():
        if stack.to_repository_path(name) in paths:
            later = manager == "yarn" and (
                stack.to_repository_path(".yarnrc.yml") in paths or bool(_YARN_2.match(named))
            )
            return stack.to_repository_path(name), "yarn 2" if later else manager
    return "", "npm"


def _is_typescript(stack: Stack, own: list[str]) -> bool:
    count = {
        endings: sum(path.endswith(endings) and not path.endswith(".d.ts") for path in own)
        for endings in (_TYPESCRIPT, _JAVASCRIPT)
    }
    return count[_TYPESCRIPT] > count[_JAVASCRIPT] or (
        stack.to_repository_path("tsconfig.json") in own and count[_TYPESCRIPT] >= count[_JAVASCRIPT]
    )


def _read_loader_options(script: str) -> tuple[str, ...]:
    """Return options such as `--import tsx`, without which node cannot load the project's files."""
    if not script.isprintable():
        return ()
    try:
        words = shlex.split(script)
    except ValueError:
        return ()
    found: list[str] = []
    for at, word in enumerate(words):
        if word.startswith("NODE_OPTIONS="):
            found += _read_loader_options(word.removeprefix("NODE_OPTIONS="))
            continue
        name, _, value = word.partition("=")
        if name in _LOADERS and value:
            found.append(word)
        elif word in _LOADERS and at + 1 < len(words):
            found += [word, words[at + 1]]
        elif word.startswith("--experimental-"):
            found.append(word)
    return tuple(found)

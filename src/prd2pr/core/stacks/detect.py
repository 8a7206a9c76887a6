"""Which stacks a repository has, read from its own files. Names and a few keys decide; nothing is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from prd2pr.core.evidence import PathKind
from prd2pr.core.paths import PathRules, classify_path
from prd2pr.core.stacks.stack import PYTHON, ROOT, Stack
from prd2pr.core.stacks.words import STORY_TESTS
from prd2pr.core.stacks.workspaces import PNPM, is_member, manifest_of, patterns_of

READ = ("package.json", PNPM)  # files whose text is looked at
_PYTHON_SIGNS = frozenset({"pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt"})
_CONFIGS = {"vitest": re.compile(r"vitest\.(config|workspace)\.[cm]?[jt]s$"), "jest": re.compile(r"jest\.config\.\w+$")}
_LEFT_OUT = frozenset({"node_modules", "vendor", "third_party", "dist", "build", "target"})
# Manifests below these belong to samples, not to a part of the project.
_SAMPLES = frozenset(
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
    "yarn 2": ("yarn", "install", "--immutable", "--mode=skip-build"),  # and later
}
_LATER_YARN = re.compile(r"yarn@([2-9]|\d\d)")
_UNLOCKED = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
_TYPESCRIPT = (".ts", ".tsx", ".mts", ".cts")
_JAVASCRIPT = (".js", ".jsx", ".mjs", ".cjs")
_LOADERS = frozenset({"--import", "--loader", "--experimental-loader", "--require", "-r", "--conditions", "-C"})


def wanted(path: str) -> bool:
    """Whether detection has to read this file."""
    sample = not _SAMPLES.isdisjoint(path.split("/")[:-1])
    return path.rpartition("/")[2] in READ and not sample and not _is_left_out(path)


def detect(paths: Iterable[str], texts: Mapping[str, str]) -> tuple[Stack, ...]:
    """`texts`: those that `wanted` asks for. The first stack is the one at the root; without any sign, Python."""
    known = sorted(path for path in paths if not _is_left_out(path) and path.isprintable())
    others = [*_node_stacks(known, texts), *_compiled_stacks(known)]
    found = [*others, *_python_stacks(known, others=bool(others))]
    found.sort(key=lambda stack: (stack.root != ROOT, stack.root, stack.language != PYTHON.language))
    return tuple(found) or (PYTHON,)


def _is_left_out(path: str) -> bool:
    return not _LEFT_OUT.isdisjoint(path.split("/")[:-1])


# --- Python -----------------------------------------------------------------------------------------------------------


def _python_stacks(paths: list[str], *, others: bool) -> Iterator[Stack]:
    """One for the whole repository, where pytest itself finds its tests wherever they lie; or one for each project.

    Projects below the root count by themselves where no test of Python lies outside of them: their imports begin there.
    Several of them without another language (`others`) are packages of one project, and are tested together.
    """
    signs = [path for path in paths if path.rpartition("/")[2] in _PYTHON_SIGNS]
    tests = [path for path in paths if path.endswith(".py") and classify_path(path) is PathKind.TEST]
    apart = [home for home in _python_homes(signs, paths) if _has_python(home, paths)]
    all_apart = all(any(path.startswith(f"{home}/") for home in apart) for path in tests)
    if apart and all_apart and (others or len(apart) == 1):
        yield from (replace(PYTHON, root=home) for home in apart)
    elif signs or tests:  # a script or two beside another language are no project of their own
        yield PYTHON


def _has_python(home: str, paths: list[str]) -> bool:
    return any(path.startswith(f"{home}/") and path.endswith(".py") for path in paths)


def _python_homes(signs: list[str], paths: list[str]) -> list[str]:
    """Directories with a project of their own, the outermost; none where the root of the repository is one."""
    known = set(paths)
    homes = {path.rpartition("/")[0] for path in signs}
    if "" in homes or "conftest.py" in known:
        return []
    plain = [home for home in homes if f"{home}/__init__.py" not in known and _SAMPLES.isdisjoint(home.split("/"))]
    return sorted(home for home in plain if not any(home.startswith(f"{other}/") for other in plain))


# --- Go and Rust ------------------------------------------------------------------------------------------------------


def _compiled_stacks(paths: list[str]) -> Iterator[Stack]:
    """One for each module of Go, and for each outermost manifest of Rust: a workspace is built as a whole."""
    for home in _homes(paths, "go.mod"):
        yield Stack("go", "go test", home, story_tests=STORY_TESTS["go"], package_manager="go")
    crates = _homes(paths, "Cargo.toml")
    for home in crates:
        if not any(other != home and (other == ROOT or home.startswith(f"{other}/")) for other in crates):
            yield Stack("rust", "cargo test", home, story_tests=STORY_TESTS["rust"], package_manager="cargo")


# --- Java -------------------------------------------------------------------------------------------------------------

# What was fetched has to lie below the root: a run does not see the user's home.
_GRADLE = ("gradle", "--offline", "--no-daemon", "-g", ".gradle-home", "test")
_BUILDS: dict[str, tuple[str, tuple[str, ...], str]] = {  # manifest → tool, command, results
    "pom.xml": ("maven", ("mvn", "-B", "-o", "-q", "-Dmaven.repo.local=.m2", "test"), "target/surefire-reports/*.xml"),
    "build.gradle": ("gradle", _GRADLE, "build/test-results/test/*.xml"),
    "build.gradle.kts": ("gradle", _GRADLE, "build/test-results/test/*.xml"),
}


def not_by_itself(paths: Iterable[str]) -> tuple[Stack, ...]:
    """Projects of Maven and Gradle, the outermost. They are used where `stacks:` sets them: which command finds what it
    has fetched without a network, only the project knows."""
    known = sorted(path for path in paths if not _is_left_out(path) and path.isprintable())
    found: dict[str, Stack] = {}
    for name, (tool, command, results) in _BUILDS.items():
        for home in _homes(known, name):
            plain = home == ROOT or _SAMPLES.isdisjoint(home.split("/"))
            if plain and home not in found:
                found[home] = Stack("java", "surefire", home, package_manager=tool, command=command, results=results)
    return tuple(
        stack
        for home, stack in sorted(found.items())
        if not any(home != other and (other == ROOT or home.startswith(f"{other}/")) for other in found)
    )


def as_setting(stack: Stack) -> str:
    """As it is written into `.prd2pr.yml`."""
    root = "" if stack.root == ROOT else f"root: {stack.root}, "
    words = ", ".join(stack.command)
    return f'stacks: [{{runner: {stack.runner}, {root}command: [{words}], results: "{stack.results}"}}]'


def _homes(paths: list[str], name: str) -> list[str]:
    return [path.rpartition("/")[0] or ROOT for path in paths if path.rpartition("/")[2] == name]


# --- JavaScript and TypeScript ----------------------------------------------------------------------------------------


def _node_stacks(paths: list[str], texts: Mapping[str, str]) -> Iterator[Stack]:
    homes = {path.rpartition("/")[0] or ROOT: texts[path] for path in paths if path in texts and is_manifest(path)}
    lists = {path: texts[path] for path in paths if path in texts and path.rpartition("/")[2] == PNPM}
    for home, text in sorted(homes.items()):
        stack = Stack(root=home)
        inner = [other for other in homes if other != home and stack.holds(f"{other}/")]
        own = [path for path in paths if stack.holds(path) and not any(path.startswith(f"{each}/") for each in inner)]
        manifest = manifest_of(text)
        around = workspace_of(home, homes, paths, lists)
        shared = manifest_of(homes[around]) if around else {}
        runner = _node_runner(manifest, [stack.local(path) for path in own], _depended_on(shared))
        if around == home and not any(path.endswith((*_TYPESCRIPT, *_JAVASCRIPT)) for path in own):
            continue  # holds its members together, and has no code of its own
        if runner:
            members = _members(around, homes, paths, lists) if around else (home,)
            manager = str((shared or manifest).get("packageManager", ""))
            yield _node_stack(stack, runner, manifest, own, paths, members, around or home, manager)


def _node_stack(  # noqa: PLR0917 a stack and what lies around it
    stack: Stack, runner: str, manifest: Mapping[str, Any], own: list[str], paths: list[str],
    members: tuple[str, ...], installed_in: str, package_manager: str = "",
) -> Stack:  # fmt: skip
    """`members`: packages that are installed together, by the manifest and the lock file in `installed_in`."""
    home = replace(stack, root=installed_in)
    lock, manager = _lock(home, set(paths), package_manager)
    together = len(members) > 1
    depends = together or any(manifest.get(key) for key in ("dependencies", "devDependencies", "optionalDependencies"))
    setup = (_SETUPS.get(manager, _UNLOCKED) if lock else _UNLOCKED,) if depends else ()
    # The last one says where it is installed.
    others = [replace(stack, root=each).placed("package.json") for each in sorted(members) if each != installed_in]
    read = (*others, home.placed("package.json"), *([lock] if lock else []))
    return replace(
        stack,
        language="typescript" if _is_typescript(stack, own) else "javascript",
        runner=runner,
        package_manager=manager.partition(" ")[0],
        setup=setup,
        manifests=read if depends else (),
        options=_loaders(str(_scripts(manifest).get("test", ""))),
    )


def is_manifest(path: str) -> bool:
    return wanted(path) and path.rpartition("/")[2] == "package.json"


def workspace_of(home: str, homes: Mapping[str, str], paths: list[str], lists: Mapping[str, str]) -> str:
    """The directory with which a package is installed together, as npm, pnpm and yarn have it; empty: by itself."""
    for root in homes:
        outer = Stack(root=root)
        if root == home:
            inside = [outer.local(each) for each in homes if each != home and outer.holds(f"{each}/")]
        else:
            inside = [outer.local(home)] if outer.holds(f"{home}/") else []
        patterns = patterns_of(root, homes, lists)
        if any(is_member(each, patterns, of_pnpm=outer.placed(PNPM) in paths) for each in inside):
            return root
    return ""


def _members(root: str, homes: Mapping[str, str], paths: list[str], lists: Mapping[str, str]) -> tuple[str, ...]:
    """Whatever the package manager asks for, samples among them too."""
    outer, patterns = Stack(root=root), patterns_of(root, homes, lists)
    of_pnpm = outer.placed(PNPM) in paths
    below = [home for home in _homes(paths, "package.json") if home != root and outer.holds(f"{home}/")]
    return (root, *(home for home in below if is_member(outer.local(home), patterns, of_pnpm=of_pnpm)))


def _scripts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    scripts = manifest.get("scripts")
    return scripts if isinstance(scripts, dict) else {}


def _node_runner(manifest: Mapping[str, Any], own: list[str], shared: set[str]) -> str:
    """By what the test script calls, then by a configuration, then by what is depended on; else by node's own.

    `shared`: what a workspace has for all of its members."""
    script = str(_scripts(manifest).get("test", ""))
    for name, sign in (("vitest", r"\bvitest\b"), ("jest", r"\bjest\b"), ("node:test", r"\bnode\b.*--test\b")):
        if re.search(sign, script):
            return name
    for name, pattern in _CONFIGS.items():
        if any(pattern.fullmatch(path) for path in own) or name in _depended_on(manifest) | shared:
            return name
    code = [path for path in own if path.endswith(_JAVASCRIPT)]
    return "node:test" if code and not script else ""


def _depended_on(manifest: Mapping[str, Any]) -> set[str]:
    groups = (manifest.get(key) for key in ("dependencies", "devDependencies"))
    return {str(name) for group in groups if isinstance(group, dict) for name in group}


def _lock(stack: Stack, paths: set[str], named: str) -> tuple[str, str]:
    """The lock file beside the manifest that is installed by. `named`: `packageManager` of the manifest."""
    for name, manager in _LOCKS.items():
        if stack.placed(name) in paths:
            later = manager == "yarn" and (stack.placed(".yarnrc.yml") in paths or bool(_LATER_YARN.match(named)))
            return stack.placed(name), "yarn 2" if later else manager
    return "", "npm"


def _is_typescript(stack: Stack, own: list[str]) -> bool:
    count = {
        endings: sum(path.endswith(endings) and not path.endswith(".d.ts") for path in own)
        for endings in (_TYPESCRIPT, _JAVASCRIPT)
    }
    return count[_TYPESCRIPT] > count[_JAVASCRIPT] or (
        stack.placed("tsconfig.json") in own and count[_TYPESCRIPT] >= count[_JAVASCRIPT]
    )


def _loaders(script: str) -> tuple[str, ...]:
    """`--import tsx` and the like, without which node cannot read the project's files."""
    if not script.isprintable():
        return ()
    try:
        words = shlex.split(script)
    except ValueError:
        return ()
    found: list[str] = []
    for at, word in enumerate(words):
        if word.startswith("NODE_OPTIONS="):
            found += _loaders(word.removeprefix("NODE_OPTIONS="))
            continue
        name, _, value = word.partition("=")
        if name in _LOADERS and value:
            found.append(word)
        elif word in _LOADERS and at + 1 < len(words):
            found += [word, words[at + 1]]
        elif word.startswith("--experimental-"):
            found.append(word)
    return tuple(found)


def with_rules(stacks: tuple[Stack, ...], rules: PathRules) -> tuple[Stack, ...]:
    """What `paths` of the configuration says of source and tests, for whoever tells of the stacks."""
    return tuple(replace(each, source=each.source or rules.source, tests=each.tests or rules.tests) for each in stacks)

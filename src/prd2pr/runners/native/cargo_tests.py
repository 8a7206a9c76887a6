"""Builds the test programs of a Cargo project and runs each twice: with everything, and with what is said to pass.

As with Go, a program that rewrites its own output cannot lie in both runs: the first has tests that must fail and so
must end with status 101, the second has none and must end with 0.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prd2pr.runners.native.box import Binaries, Ran, Told, run
else:
    sys.path.insert(0, str(Path(__file__).parent))
    from box import Binaries, Ran, Told, run

QUIET = 45.0
BUILDING = 900.0
BUILD_OUTPUT = 30_000_000
MOST_PARTS = 200
MOST_NAMES = 1500  # of tests that are named on one command line
EVENT = re.compile(r'\{ "type": "test", .*\}$', re.MULTILINE)
UNIT = frozenset({"lib", "rlib", "bin", "proc-macro", "cdylib", "staticlib", "dylib"})


def main() -> None:
    tell = Told()
    built = _build(tell)
    binaries = Binaries()
    for each in built:
        binaries.keep(each.path)
    for each in built:
        each.run(binaries)
    for path in binaries.changed():
        tell(event="problem", what=f"the test program {Path(path).name} was changed while tests ran")
    tell(event="end")


def _build(tell: Told) -> list[Program]:
    order, here = tell.order, str(Path.cwd())
    argv = ["cargo", "build", "--offline", "--keep-going", "--message-format=json", *order["arguments"]]
    argv += ["--tests"] if order["whole"] else [word for name in order["targets"] for word in ("--test", name)]
    if order["workspace"]:
        argv.append("--workspace")
    ran = run(argv, here, dict(os.environ), quiet=BUILDING, head=BUILD_OUTPUT, still=tell.building)
    facts = [json.loads(line) for line in ran.output.splitlines() if line.startswith('{"reason":')]
    programs, errors = [], dict[str, list[dict[str, Any]]]()
    for fact in facts:
        if fact["reason"] == "compiler-artifact" and fact.get("executable") and fact["profile"]["test"]:
            programs.append(Program(tell, fact, here))
        elif fact["reason"] == "compiler-message" and fact["message"]["level"] == "error":
            errors.setdefault(_local(fact["target"]["src_path"], here), []).append(_error(fact["message"]))
    tell(event="crates", names=sorted({*_own_crates(facts), *_named_crate()}))
    _tell_of_errors(tell, {each.source for each in programs}, errors, ran)
    return programs


def _tell_of_errors(tell: Told, built: set[str], errors: dict[str, list[dict[str, Any]]], ran: Ran) -> None:
    """A test program that was not built fails by its own errors, else by those of what it is built upon."""
    files = [path for path in tell.order["files"] if path not in built]
    other = [error for path, found in errors.items() if path not in tell.order["files"] for error in found]
    if ran.status == 0 and not files:
        return
    for path in files:
        found = errors.get(path) or other
        tell(event="broken", files=[path], errors=found[:50], output="" if found else ran.output[-4000:])
    if not files:
        tell(event="broken", files=[], errors=other[:50], output="" if other else ran.output[-4000:])


def _own_crates(facts: list[dict[str, Any]]) -> list[str]:
    """Libraries that are built from the project's own files."""
    targets = [
        fact["target"] for fact in facts if "target" in fact and str(fact.get("package_id", "")).startswith("path+")
    ]
    return [each["name"].replace("-", "_") for each in targets if "lib" in each["kind"]]


def _named_crate() -> list[str]:
    """As the manifest calls it, also where there is no library yet."""
    try:
        manifest = tomllib.loads(Path("Cargo.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    names = [manifest.get(table, {}).get("name", "") for table in ("package", "lib")]
    return [name.replace("-", "_") for name in names if name]


def _error(message: dict[str, Any]) -> dict[str, Any]:
    primary: dict[str, Any] = _written(next((span for span in message["spans"] if span["is_primary"]), {}))
    return {
        "code": (message.get("code") or {}).get("code", ""),
        "message": message["message"],
        "label": primary.get("label") or "",
        "path": os.path.normpath(primary.get("file_name", "")),
        "line": primary.get("line_start", 0),
        "word": _highlighted(primary),
        "text": next((line["text"] for line in primary.get("text", ())), ""),
        "rendered": message.get("rendered", "")[:1500],
    }


def _written(span: dict[str, Any]) -> dict[str, Any]:
    """The place in a file of the project: what is wrong inside of `assert_eq!` stands where that is called."""
    while Path(span.get("file_name", "")).is_absolute() and span.get("expansion"):
        span = span["expansion"]["span"]
    return span


def _highlighted(span: dict[str, Any]) -> str:
    """The words of the source that the compiler points at."""
    line = next(iter(span.get("text", ())), None)
    return line["text"][line["highlight_start"] - 1 : line["highlight_end"] - 1] if line else ""


def _local(path: str, here: str) -> str:
    return os.path.relpath(path, here)


class Program:
    def __init__(self, tell: Told, artifact: dict[str, Any], here: str) -> None:
        self._tell = tell
        self.path: str = artifact["executable"]
        self.source = _local(artifact["target"]["src_path"], here)
        self._is_unit = bool(UNIT & set(artifact["target"]["kind"]))
        self._home = str(Path(artifact["manifest_path"]).parent)
        self._package = artifact["package_id"].rpartition("#")[2].partition("@")[0]
        self._backwards: bool = tell.order["backwards"]

    def run(self, binaries: Binaries) -> None:
        names = self._listed()
        waiting, passed = list(names), list[str]()
        for _ in range(MOST_PARTS):
            asked = waiting[:MOST_NAMES]
            ran = self._run(asked if len(asked) < len(names) else [], binaries)
            self._tell(event="ran", source=self.source, part="first", names=asked, **ran.facts())
            told = _events(ran.output)
            passed += [each["name"] for each in told if each.get("event") == "ok" and each["name"] in waiting]
            heard = {each["name"] for each in told}
            waiting = [name for name in waiting if name not in heard]
            if not waiting or not heard:
                break
        for at in range(0, len(passed), MOST_NAMES):
            asked = passed[at : at + MOST_NAMES]
            ran = self._run(asked, binaries)
            self._tell(event="ran", source=self.source, part="again", names=asked, **ran.facts())
        places = {name: self._place(name) for name in names}
        self._tell(event="finished", source=self.source, unit=self._is_unit, places=places)

    def _listed(self) -> list[str]:
        ran = run([self.path, "--list", "--format", "terse"], self._home, self._environment(), quiet=QUIET)
        return [line.removesuffix(": test") for line in ran.output.splitlines() if line.endswith(": test")]

    def _run(self, names: list[str], binaries: Binaries) -> Ran:
        if binaries.changed(self.path):
            self._tell(event="problem", what=f"the test program of {self.source} was changed while tests ran")
        argv = [self.path, "-Z", "unstable-options", "--format", "json", "--report-time", "--test-threads=1"]
        argv += ["--shuffle-seed", "1"] if self._backwards else []
        argv += ["--exact", *names] if names else []
        return run(argv, self._home, self._environment(), quiet=QUIET)

    def _environment(self) -> dict[str, str]:
        """As Cargo gives it to tests, as far as tests use it. By the last one stable Rust tells results as JSON."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO", "RUST"))}
        return {
            **kept,
            "CARGO_MANIFEST_DIR": self._home,
            "CARGO_PKG_NAME": self._package,
            "RUST_BACKTRACE": "0",
            "RUSTC_BOOTSTRAP": "1",
        }

    def _place(self, name: str) -> list[str]:
        """The file that a unit test stands in, and its name from there."""
        if not self._is_unit:
            return [self.source, name]
        parts, root = name.split("::"), Path(self.source).parent
        for end in range(len(parts) - 1, 0, -1):
            home = root.joinpath(*parts[:end])
            for file in (home.with_suffix(".rs"), home / "mod.rs"):
                if file.is_file():
                    return [file.as_posix(), "::".join(parts[end:])]
        return [self.source, name]


def _events(output: str) -> list[dict[str, Any]]:
    found = []
    for text in EVENT.findall(output):
        try:
            fact = json.loads(text)
        except ValueError:
            continue
        if isinstance(fact.get("name"), str):
            found.append(fact)
    return found


if __name__ == "__main__":
    main()

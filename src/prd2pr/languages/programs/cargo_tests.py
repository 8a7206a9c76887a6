"""Build the test programs of a Cargo project and run each twice: first all tests, then those that passed.

As with Go, a program that falsifies its output is caught in one of the two runs. The first run has canaries that must
fail, so it must exit with status 101. The second has none and must exit with 0.
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
    from prd2pr.languages.programs.processes import BinaryDigests, ProcessResult, ResultPipe, run_process
else:
    sys.path.insert(0, str(Path(__file__).parent))
    from processes import BinaryDigests, ProcessResult, ResultPipe, run_process

QUIET_SECONDS = 45.0
BUILD_SECONDS = 900.0
MAX_BUILD_OUTPUT = 30_000_000
MAX_PROCESSES = 200
MAX_NAMES = 1500  # maximum number of tests on one command line
EVENT_PATTERN = re.compile(r'\{ "type": "test", .*\}$', re.MULTILINE)
UNIT_KINDS = frozenset({"lib", "rlib", "bin", "proc-macro", "cdylib", "staticlib", "dylib"})


def main() -> None:
    pipe = ResultPipe()
    built = _build(pipe)
    binaries = BinaryDigests()
    for each in built:
        binaries.keep(each.path)
    for each in built:
        each.run(binaries)
    for path in binaries.changed():
        pipe(event="problem", what=f"the test program {Path(path).name} changed while tests ran")
    pipe(event="end")


def _build(pipe: ResultPipe) -> list[CargoTestProgram]:
    order, here = pipe.order, str(Path.cwd())
    argv = ["cargo", "build", "--offline", "--keep-going", "--message-format=json", *order["arguments"]]
    argv += ["--tests"] if order["whole"] else [word for name in order["targets"] for word in ("--test", name)]
    if order["workspace"]:
        argv.append("--workspace")
    ran = run_process(
        argv, here, dict(os.environ), quiet=BUILD_SECONDS, head=MAX_BUILD_OUTPUT, still=pipe.report_building
    )
    facts = [json.loads(line) for line in ran.output.splitlines() if line.startswith('{"reason":')]
    programs, errors = [], dict[str, list[dict[str, Any]]]()
    for fact in facts:
        if fact["reason"] == "compiler-artifact" and fact.get("executable") and fact["profile"]["test"]:
            programs.append(CargoTestProgram(pipe, fact, here))
        elif fact["reason"] == "compiler-message" and fact["message"]["level"] == "error":
            errors.setdefault(_relativize(fact["target"]["src_path"], here), []).append(_make_error(fact["message"]))
    pipe(event="crates", names=sorted({*_list_own_crates(facts), *_read_crate_names()}))
    _report_errors(pipe, {each.source for each in programs}, errors, ran)
    return programs


def _report_errors(
    pipe: ResultPipe, built: set[str], errors: dict[str, list[dict[str, Any]]], ran: ProcessResult
) -> None:
    """Report the programs that were not built, each with its own errors or else with those of its dependencies."""
    files = [path for path in pipe.order["files"] if path not in built]
    other = [error for path, found in errors.items() if path not in pipe.order["files"] for error in found]
    if ran.status == 0 and not files:
        return
    for path in files:
        found = errors.get(path) or other
        pipe(event="broken", files=[path], errors=found[:50], output="" if found else ran.output[-4000:])
    if not files:
        pipe(event="broken", files=[], errors=other[:50], output="" if other else ran.output[-4000:])


def _list_own_crates(facts: list[dict[str, Any]]) -> list[str]:
    """Return the libraries that are built from the project's files."""
    targets = [
        fact["target"] for fact in facts if "target" in fact and str(fact.get("package_id", "")).startswith("path+")
    ]
    return [each["name"].replace("-", "_") for each in targets if "lib" in each["kind"]]


def _read_crate_names() -> list[str]:
    """Return the crate names in the manifest, including crates without a library."""
    try:
        manifest = tomllib.loads(Path("Cargo.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    names = [manifest.get(table, {}).get("name", "") for table in ("package", "lib")]
    return [name.replace("-", "_") for name in names if name]


def _make_error(message: dict[str, Any]) -> dict[str, Any]:
    primary: dict[str, Any] = _find_project_span(next((span for span in message["spans"] if span["is_primary"]), {}))
    return {
        "code": (message.get("code") or {}).get("code", ""),
        "message": message["message"],
        "label": primary.get("label") or "",
        "path": os.path.normpath(primary.get("file_name", "")),
        "line": primary.get("line_start", 0),
        "word": _read_highlight(primary),
        "text": next((line["text"] for line in primary.get("text", ())), ""),
        "rendered": message.get("rendered", "")[:1500],
    }


def _find_project_span(span: dict[str, Any]) -> dict[str, Any]:
    """Return the span in the project's file. An error inside `assert_eq!` belongs to the call of the macro."""
    while Path(span.get("file_name", "")).is_absolute() and span.get("expansion"):
        span = span["expansion"]["span"]
    return span


def _read_highlight(span: dict[str, Any]) -> str:
    """Return the source text that the compiler underlines."""
    line = next(iter(span.get("text", ())), None)
    return line["text"][line["highlight_start"] - 1 : line["highlight_end"] - 1] if line else ""


def _relativize(path: str, here: str) -> str:
    return os.path.relpath(path, here)


class CargoTestProgram:
    def __init__(self, pipe: ResultPipe, artifact: dict[str, Any], here: str) -> None:
        self._pipe = pipe
        self.path: str = artifact["executable"]
        self.source = _relativize(artifact["target"]["src_path"], here)
        self._is_unit = bool(UNIT_KINDS & set(artifact["target"]["kind"]))
        self._home = str(Path(artifact["manifest_path"]).parent)
        self._package = artifact["package_id"].rpartition("#")[2].partition("@")[0]
        self._backwards: bool = pipe.order["backwards"]

    def run(self, binaries: BinaryDigests) -> None:
        names = self._list_tests()
        pending, passed = list(names), list[str]()
        for _ in range(MAX_PROCESSES):
            requested = pending[:MAX_NAMES]
            ran = self._run(requested if len(requested) < len(names) else [], binaries)
            self._pipe(event="ran", source=self.source, part="first", names=requested, **ran.facts())
            events = _parse_events(ran.output)
            passed += [each["name"] for each in events if each.get("event") == "ok" and each["name"] in pending]
            reported_names = {each["name"] for each in events}
            pending = [name for name in pending if name not in reported_names]
            if not pending or not reported_names:
                break
        for at in range(0, len(passed), MAX_NAMES):
            requested = passed[at : at + MAX_NAMES]
            ran = self._run(requested, binaries)
            self._pipe(event="ran", source=self.source, part="again", names=requested, **ran.facts())
        places = {name: self._locate_test(name) for name in names}
        self._pipe(event="finished", source=self.source, unit=self._is_unit, places=places)

    def _list_tests(self) -> list[str]:
        ran = run_process(
            [self.path, "--list", "--format", "terse"], self._home, self._environment(), quiet=QUIET_SECONDS
        )
        return [line.removesuffix(": test") for line in ran.output.splitlines() if line.endswith(": test")]

    def _run(self, names: list[str], binaries: BinaryDigests) -> ProcessResult:
        if binaries.changed(self.path):
            self._pipe(event="problem", what=f"the test program of {self.source} changed while tests ran")
        argv = [self.path, "-Z", "unstable-options", "--format", "json", "--report-time", "--test-threads=1"]
        argv += ["--shuffle-seed", "1"] if self._backwards else []
        argv += ["--exact", *names] if names else []
        return run_process(argv, self._home, self._environment(), quiet=QUIET_SECONDS)

    def _environment(self) -> dict[str, str]:
        """Return the Cargo variables that tests use. RUSTC_BOOTSTRAP enables JSON results on stable Rust."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO", "RUST"))}
        return {
            **kept,
            "CARGO_MANIFEST_DIR": self._home,
            "CARGO_PKG_NAME": self._package,
            "RUST_BACKTRACE": "0",
            "RUSTC_BOOTSTRAP": "1",
        }

    def _locate_test(self, name: str) -> list[str]:
        """Return the file of a unit test, and the test's name in that file."""
        if not self._is_unit:
            return [self.source, name]
        parts, root = name.split("::"), Path(self.source).parent
        for end in range(len(parts) - 1, 0, -1):
            home = root.joinpath(*parts[:end])
            for file in (home.with_suffix(".rs"), home / "mod.rs"):
                if file.is_file():
                    return [file.as_posix(), "::".join(parts[end:])]
        return [self.source, name]


def _parse_events(output: str) -> list[dict[str, Any]]:
    found = []
    for text in EVENT_PATTERN.findall(output):
        try:
            fact = json.loads(text)
        except ValueError:
            continue
        if isinstance(fact.get("name"), str):
            found.append(fact)
    return found


if __name__ == "__main__":
    main()

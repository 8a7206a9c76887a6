"""The clean run of a language that is not Python: as clean as pytest's, by a description of the runner."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prd2pr import __version__
from prd2pr.config import TestRun
from prd2pr.core.bite.record import Bite
from prd2pr.core.bite.text import Edit
from prd2pr.core.evidence import RunReport
from prd2pr.core.isolation import missing
from prd2pr.core.other.language import Language, language_of
from prd2pr.core.other.results import Run, judged
from prd2pr.core.other.runner import Canary, Ground, Program, RunnerKind, Said, runner_kind
from prd2pr.core.out_of_time import stopped
from prd2pr.core.parity.record import Parity
from prd2pr.core.stacks.stack import Stack
from prd2pr.ports import BiteRequest, ParityRequest, RunRequest
from prd2pr.runners.canary_words import ASPECTS, SUBJECTS
from prd2pr.runners.child import Child, Ends
from prd2pr.runners.dependencies import Dependencies
from prd2pr.runners.disk import DiskUse
from prd2pr.runners.go_standard import standard_in
from prd2pr.runners.links import cut_links
from prd2pr.runners.other_biting import Trying
from prd2pr.runners.sandbox import NO_SANDBOX, Places, Sandbox, choose_user, find_sandbox, give_to, start
from prd2pr.runners.spares import Rooms, make_rooms
from prd2pr.runners.toolchain import Toolchain, toolchain_of
from prd2pr.runners.watch import Started, Watched

Export = Callable[[str, Path, Mapping[str, str]], None]
Edits = Mapping[str, tuple[Edit, ...]]  # path → from, to, text: deliberate faults

LAUNCHER = Path(__file__).with_name("other_launch.py")
LEFT_OUT = frozenset({"node_modules", "vendor", "target", ".git"})
_NAMES_DRAWN = 6
_OUTPUT_TOLD = 300


@dataclass(frozen=True)
class Ordered:
    """What one run was asked for, laid out in its rooms."""

    request: RunRequest
    ground: Ground
    programs: tuple[tuple[Program, str], ...]  # with the secret of each
    canaries: tuple[Canary, ...]
    written: Mapping[str, bytes]  # digest of every file of the language, as it was when the run began


class OtherRunner:
    """Implements `ports.TestRunner` for one stack."""

    def __init__(
        self,
        git_export: Export,
        stack: Stack,
        dependencies: Dependencies,
        settings: TestRun | None = None,
        *,
        sandboxed: bool = True,
    ) -> None:
        self.stack = stack
        self._export = git_export
        self._dependencies = dependencies
        self._settings = settings or TestRun()
        self._sandboxed = sandboxed
        self._kind: RunnerKind = runner_kind(stack.runner)
        self._language: Language = language_of(stack.language)
        self._tools: Toolchain | None = None

    @property
    def _ours(self) -> Path:
        """What prd2pr brings along for this runner."""
        return Path(__file__).with_name(self._kind.home)

    @property
    def tools(self) -> Toolchain:
        if self._tools is None:
            self._tools = toolchain_of(self._kind, self.stack)
        return self._tools

    def identity(self) -> str:
        """Everything but the request that a result depends on: for whoever keeps results."""
        ours = [
            path.read_text(encoding="utf-8") for path in (LAUNCHER, *sorted(self._ours.iterdir())) if path.is_file()
        ]
        parts = [__version__, repr(self.stack), self.tools.version, *self._settings.args, self.sandbox().had, *ours]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def sandbox(self) -> Sandbox:
        return find_sandbox(Path(sys.executable)) if self._sandboxed else NO_SANDBOX

    def expect(self, hash_seed: int = 0) -> None:
        """Nothing is started in advance: a process of these languages cannot wait for its parameters."""

    def keeps_apart(self) -> bool:
        return not missing(self.sandbox().had)

    def run_ahead(self, request: RunRequest, *, beside: bool) -> None:
        """Their tools take all cores by themselves, and keep caches that two at once would fight for."""

    def run(self, request: RunRequest) -> RunReport:
        return self.tried(request, {})

    def tried(self, request: RunRequest, edits: Edits, most_seconds: float | None = None) -> RunReport:
        """`edits`: deliberate faults, put into the checkout after everything else; with them a run may not end."""
        sandbox = self.sandbox()
        rooms = make_rooms(choose_user(sandbox.door))
        try:
            ordered = self._laid_out(request, rooms, edits)
            give_to(rooms.user, (rooms.checkout.parent, rooms.secret), sandbox.door)
            watched = self._watched(ordered, rooms, sandbox, most_seconds or self._settings.timeout_seconds)
            return self._report(ordered, rooms, watched)
        finally:
            rooms.clear()

    def start_bite(self, request: BiteRequest) -> Callable[[], Bite]:
        """The faults are tried while other runs go on; the answer waits for the end."""
        trying = Trying(self.tried, request)
        thread = threading.Thread(target=trying.do)
        thread.start()

        def result() -> Bite:
            thread.join()
            return trying.bite

        return result

    def start_parity(self, _: ParityRequest) -> Callable[[], Parity]:
        """Nobody asks for it: the layer does not exist here, and verdicts say so."""
        return lambda: Parity(problems=(f"old code and new are not compared in {self.stack.language}",))

    # --- before -------------------------------------------------------------------------------------------------------

    def _laid_out(self, request: RunRequest, rooms: Rooms, edits: Edits) -> Ordered:
        self._export(request.code_tree, rooms.checkout, dict(request.restore))
        cut_links(rooms.checkout)
        for path, made in edits.items():
            _edit(rooms.checkout / path, made)
        texts = self._test_files(rooms.checkout)
        asked = tuple(path for path in texts if not request.paths or _is_among(path, request.paths))
        canaries = tuple(self._canaries(rooms.checkout, {path: texts[path] for path in asked}))
        self._dependencies.link(self.stack, rooms.checkout)
        ground = Ground(
            stack=self.stack,
            checkout=str(rooms.checkout),
            secret=str(rooms.secret),
            ours=str(self._ours),
            scratch=str(rooms.scratch),
            python=sys.executable,
            texts=texts,
            whole=not request.paths,
            backwards=request.order == "reversed",
            arguments=self._settings.args,
            built=str(self._built(rooms.checkout) or ""),
        )
        programs = self._kind.programs(ground, asked) if asked or not texts else ()
        secret = tuple((each, secrets.token_hex(16)) for each in programs)
        return Ordered(request, ground, secret, canaries, self._digests(rooms.checkout))

    def _built(self, checkout: Path) -> Path | None:
        """Of the language itself, where it is not installed as it is used."""
        if self._kind.executable != "go":
            return None
        return standard_in(checkout, self._dependencies.directory, self.tools, self.stack)

    def _test_files(self, checkout: Path) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in sorted(_files(checkout / self.stack.root)):
            name = path.relative_to(checkout).as_posix()
            if self._language.owns(name) and self._language.is_test_file(name):
                found[name] = path.read_text(encoding="utf-8", errors="replace")
        return found

    def _digests(self, checkout: Path) -> dict[str, bytes]:
        return {
            path.relative_to(checkout).as_posix(): hashlib.sha256(path.read_bytes()).digest()
            for path in _files(checkout)
            if self._language.owns(path.name)
        }

    def _canaries(self, checkout: Path, texts: Mapping[str, str]) -> list[Canary]:
        draw = secrets.SystemRandom()
        found = []
        for path, text in texts.items():
            canary = self._kind.canary(path, text, _drawn(draw))
            if canary is not None:
                place = checkout / canary.path
                written = canary.text if canary.is_new else text + canary.text
                place.write_text(written, encoding="utf-8")
                found.append(canary)
        return found

    # --- the run ------------------------------------------------------------------------------------------------------

    def _watched(self, ordered: Ordered, rooms: Rooms, sandbox: Sandbox, most_seconds: float) -> Watched:
        python = Path(sys.executable)
        built = (Path(ordered.ground.built),) if ordered.ground.built else ()
        readable = (*self.tools.places, *self._dependencies.places(self.stack, rooms.checkout), *built)
        places = Places(rooms.checkout.parent, rooms.writable, rooms.home, rooms.checkout, readable)
        command = [str(python), "-I", "-S", "-B", str(LAUNCHER)]
        environment = self._environment(rooms)

        def begin(ends: Ends) -> Child:
            seconds = self._settings.timeout_seconds
            return start(sandbox, python, command, environment, places, user=rooms.user, seconds=seconds, ends=ends)

        started = Started(begin)
        started.send({"nonce": rooms.nonce, "programs": [*self._programs(ordered, environment)]})
        return started.follow(
            timeout_seconds=min(most_seconds, self._settings.timeout_seconds),
            stall_seconds=self._settings.stall_seconds,
            full=DiskUse(rooms.writable).is_too_much,
        )

    def _environment(self, rooms: Rooms) -> dict[str, str]:
        """Built from nothing. `CI`: runners then write no snapshot that nobody has seen."""
        return {
            "PATH": self.tools.path,
            "LANG": "C.UTF-8",
            "HOME": str(rooms.home),
            "TMPDIR": str(rooms.scratch),
            "CI": "true",
            "NO_COLOR": "1",
            **self.tools.environment,
        }

    @staticmethod
    def _programs(ordered: Ordered, environment: Mapping[str, str]) -> list[dict[str, Any]]:
        return [
            {
                "argv": list(program.argv),
                "directory": ordered.ground.directory,
                "environment": {**environment, **program.environment},
                "parameters": dict(program.parameters),
                "results": program.results,
                "secret": secret,
            }
            for program, secret in ordered.programs
        ]

    def _rewritten(self, ordered: Ordered, checkout: Path) -> list[str]:
        """Files are run one after the other: what the first of them changes, the next would not notice."""
        now = self._digests(checkout)
        changed = [path for path, digest in ordered.written.items() if now.get(path) != digest]
        return [f"{path} was changed while the tests ran" for path in sorted(changed)[:3]]

    # --- after --------------------------------------------------------------------------------------------------------

    def _report(self, ordered: Ordered, rooms: Rooms, watched: Watched) -> RunReport:
        said, ended, foreign = _heard(watched, rooms.nonce, ordered.programs)
        killed = stopped("the run", watched.killed, watched.seconds) if watched.killed else ""
        run = Run(self._kind, self._language, ordered.ground, said, ordered.canaries, killed)
        found = judged(run)
        problems = [*found.problems, *foreign, *self._rewritten(ordered, rooms.checkout)]
        if not ended and not killed:
            problems.append(
                watched.complaint or f"the run ended (status {watched.exit_status}) before its programs did"
            )
        return RunReport(
            code_tree=ordered.request.code_tree,
            command=(self.stack.runner, *self._settings.args, *ordered.request.paths),
            tools={**self.tools.told, **found.tools},
            order=ordered.request.order,
            hash_seed=ordered.request.hash_seed,
            results=found.tests,
            collect_errors=found.collect_errors,
            exit_status=None if watched.killed else max((abs(each.status or 0) for each in said), default=0),
            seconds=round(watched.seconds, 3),
            sandbox=watched.sandbox,
            problems=tuple(dict.fromkeys(problems)),
            canary_dirs=tuple(
                sorted(
                    {each.path.rpartition("/")[0] or "." for each in ordered.canaries}
                    | set(ordered.request.canary_dirs)
                )
            ),
        )


def _files(checkout: Path) -> Iterator[Path]:
    """Regular files, without what others have written."""
    for directory, folders, names in os.walk(checkout):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in names:
            path = Path(directory, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _edit(path: Path, edits: tuple[Edit, ...]) -> None:
    """From the end to the beginning, so that each stands where it was meant to."""
    data = path.read_bytes()
    for begin, end, text in sorted(edits, reverse=True):
        data = data[:begin] + text.encode() + data[end:]
    path.write_bytes(data)


def _is_among(path: str, wanted: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in wanted)


def _drawn(draw: secrets.SystemRandom) -> tuple[str, ...]:
    """Titles that could be anybody's, no two alike, and two numbers to reckon with."""
    titles: set[str] = set()
    while len(titles) < _NAMES_DRAWN:
        titles.add(f"{draw.choice(SUBJECTS.split())} {draw.choice(ASPECTS.split())}")
    ordered = draw.sample(sorted(titles), len(titles))
    return (*ordered[:5], str(draw.randint(2, 900)), str(draw.randint(2, 900)))


def _heard(
    watched: Watched, nonce: str, programs: tuple[tuple[Program, str], ...]
) -> tuple[tuple[Said, ...], bool, list[str]]:
    """What the launcher passed on of each program; whether it came to its end; what else was written there."""
    told: list[list[str]] = [[] for _ in programs]
    last: list[dict[str, Any]] = [{} for _ in programs]
    ended, foreign = False, []
    for line in watched.events.decode("utf-8", "replace").splitlines():
        secret, _, data = line.partition(" ")
        if secret != nonce:
            foreign.append("something else than the test run wrote into its events")
            continue
        try:
            fact = json.loads(data)
        except ValueError:
            break  # cut off: it was stopped from outside, and whoever stopped it says so
        if "told" in fact:
            told[fact["program"]].append(fact["told"])
        elif "status" in fact:
            last[fact["program"]] = fact
        ended = ended or "end" in fact
    said = tuple(
        Said(
            program=program,
            told="".join(told[at]) or str(last[at].get("file", "")),
            secret=secret,
            printed=str(last[at].get("printed", "")),
            status=last[at].get("status"),
            flooded=bool(last[at].get("flooded")),
        )
        for at, (program, secret) in enumerate(programs)
    )
    return said, ended, foreign

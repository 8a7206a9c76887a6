"""The clean run: a fresh checkout, a clean environment, secret results, canaries, and a report that can be believed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prd2pr import __version__
from prd2pr.config import TestRun
from prd2pr.core.bite import knowing
from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import RunReport
from prd2pr.core.isolation import missing
from prd2pr.core.parity.record import Parity
from prd2pr.core.test_naming import TestNaming
from prd2pr.ports import BiteRequest, ParityRequest, RunRequest, Surveyed
from prd2pr.runners.ahead import RunAhead
from prd2pr.runners.bite_events import read_bite
from prd2pr.runners.bite_order import QUICK, order_of
from prd2pr.runners.canary import Canary, choose_directories, place_canaries
from prd2pr.runners.disk import DiskUse
from prd2pr.runners.events import Seen, read_events
from prd2pr.runners.honesty import Testimony, problems_of
from prd2pr.runners.interpreter import tools_digest
from prd2pr.runners.junit import JUnitUnreadable, Key, Verdict, read_junit
from prd2pr.runners.links import cut_links
from prd2pr.runners.parity_events import read_parity
from prd2pr.runners.parity_order import parity_order, plant
from prd2pr.runners.project import PytestProject, read_project
from prd2pr.runners.results import Place, results_of
from prd2pr.runners.spares import Rooms, Spare, Spares
from prd2pr.runners.untouched import Exported, changes_since, exported
from prd2pr.runners.watch import Watched

Export = Callable[[str, Path, Mapping[str, str]], None]  # tree, directory, path -> blob put over it

FILES = ("launch", "guard", "biting", "forks", "patching", "seeing", "collecting", "clocks", "ways", "answering")
OUTSIDE = ("hearing", "replaying", "outside", "nearby", "fence")
COMPARING = ("recipes", "recording", "varying", "calling", "comparing")
LAUNCHED = tuple(Path(__file__).with_name(f"{name}.py") for name in (*FILES, *OUTSIDE, *COMPARING))
JUDGING = Path(knowing.__file__)  # what is kept of a run is its word on it


@dataclass(frozen=True)
class Ground:
    """What stood in the checkout before the run."""

    modules: dict[str, str]  # test modules, path -> text
    before: Exported
    naming: TestNaming


class PytestRunner:
    """Implements `ports.TestRunner` for one interpreter."""

    def __init__(
        self,
        git_export: Export,
        python: Path,
        settings: TestRun | None = None,
        *,
        many: bool = False,
        sandboxed: bool = True,
    ) -> None:
        """`sandboxed`: where the machine can.

        `many`: run follows run, so that while one is under way the process for the next is started."""
        self._export = git_export
        self._python = python
        self._settings = settings or TestRun()
        self._identity = ""
        self._spares = Spares(python, sandboxed=sandboxed, seconds=self._settings.timeout_seconds)
        self._many = many
        self._trial: _Aside | None = None
        if many:
            self.expect()

    def identity(self) -> str:
        """Everything but the request that a result depends on: for whoever keeps results."""
        if not self._identity:
            launched = [path.read_text(encoding="utf-8") for path in (*LAUNCHED, JUDGING)]
            command = [__version__, str(self._python), *self._settings.args, self.sandbox(), *launched]
            self._identity = tools_digest(self._python, command)
        return self._identity

    def sandbox(self) -> str:
        """What a run will have, in the words of `core.isolation`."""
        return self._spares.sandbox.had

    def expect(self, hash_seed: int = 0) -> None:
        """Runs are about to be asked for: pytest is loaded meanwhile, by processes that know nothing of it yet."""
        self._spares.start(hash_seed)

    def keeps_apart(self) -> bool:
        """Only where each run has a network, processes and files of its own."""
        return not missing(self.sandbox())

    def run_ahead(self, request: RunRequest, *, beside: bool) -> RunAhead | None:
        if beside and not self.keeps_apart():
            return None
        return RunAhead(lambda given_up: self.run(request, given_up))

    def run(self, request: RunRequest, given_up: threading.Event | None = None) -> RunReport:
        return self._seen(request, given_up)[0]

    def survey(self, request: RunRequest) -> Surveyed:
        report, reached = self._seen(request, survey=True)
        return Surveyed(report, reached if report.honest else None)

    def _seen(
        self, request: RunRequest, given_up: threading.Event | None = None, *, survey: bool = False
    ) -> tuple[RunReport, Mapping[str, frozenset[str]] | None]:
        with self._spares.take(request.hash_seed) as spare:
            rooms = spare.rooms
            self._export(request.code_tree, rooms.checkout, dict(request.restore))
            cut_links(rooms.checkout)
            project = read_project(rooms.checkout)
            modules = _test_modules(rooms.checkout, project)
            wanted = (*request.canary_dirs, *(_parent(path, rooms.checkout) for path in request.paths))
            directories = choose_directories(project, modules, wanted)
            canaries = place_canaries(rooms.checkout, project, directories)
            spare.hand_over()
            before = exported(rooms.checkout, project)
            parameters = self._parameters(request, rooms, project, canaries, before)
            self._begin(request, spare, {**parameters, "survey": True} if survey else parameters)
            watched = self._follow(spare, given_up)
            if not watched.killed:
                self._spares.start(*self._next(request), *request.later)  # there is a core for it now
            seen = read_events(watched.events, rooms.nonce)
            ground = Ground(modules, before, project.naming)
            return self._report(request, rooms, watched, seen, canaries, ground), seen.reached

    def start_bite(self, request: BiteRequest) -> Callable[[], Bite]:
        """The faults are tried while other runs go on; the answer waits for the end."""

        def order(rooms: Rooms, canaries: list[Canary]) -> dict[str, Any]:
            texts = {each.path: (rooms.checkout / each.path).read_text(encoding="utf-8") for each in canaries}
            return {"bite": order_of(request, canaries, texts)}

        aside, rooms, _ = self._start_aside(request, order)

        def result() -> Bite:
            watched = aside.watched()
            if watched is None:
                return Bite(problems=("trying the faults could not be followed to its end",))
            return read_bite(watched, rooms.nonce, request, rooms.all)

        return result

    def start_parity(self, request: ParityRequest) -> Callable[[], Parity]:
        planted = plant()

        def order(rooms: Rooms, canaries: list[Canary]) -> dict[str, Any]:
            (rooms.checkout / planted.path).write_text(planted.new, encoding="utf-8")
            return {"parity": parity_order(request, canaries, planted)}

        aside, rooms, canaries = self._start_aside(request, order)

        def result() -> Parity:
            watched = aside.watched()
            if watched is None:
                return Parity(problems=("the comparison could not be followed to its end",))
            return read_parity(watched, rooms.nonce, request, canaries[0], rooms.all)

        return result

    def _start_aside(
        self, request: BiteRequest | ParityRequest, order: Callable[[Rooms, list[Canary]], dict[str, Any]]
    ) -> tuple[_Aside, Rooms, list[Canary]]:
        """Some tests in a clean room, for another purpose than their results, while other runs go on."""
        with ExitStack() as stack:
            spare = stack.enter_context(self._spares.take(request.hash_seed))
            rooms = spare.rooms
            self._spares.start(0)  # for the run beside this one
            self._export(request.code_tree, rooms.checkout, dict(request.restore))
            cut_links(rooms.checkout)
            project = read_project(rooms.checkout)
            place = request.tests[0].partition("::")[0].rpartition("/")[0] or "."
            canaries = place_canaries(rooms.checkout, project, [(place, True)])
            ordered = order(rooms, canaries)
            spare.hand_over()
            asked = RunRequest(request.code_tree, hash_seed=request.hash_seed)
            parameters = self._parameters(asked, rooms, project, canaries, exported(rooms.checkout, project))
            unread = (f"--junitxml={rooms.junit}", "--override-ini=junit_family=xunit1")
            arguments = [argument for argument in parameters["args"] if argument not in unread]
            spare.started.send({**parameters, "args": [*arguments, *QUICK], **ordered})
            self._trial = _Aside(stack.pop_all(), spare, self._settings)
            return self._trial, rooms, canaries

    # --- running ------------------------------------------------------------------------------------------------------

    def _begin(self, request: RunRequest, spare: Spare, parameters: dict[str, Any]) -> None:
        spare.started.send(parameters)
        if self._trial is None or self._trial.is_over():  # a third would be in the way of two that are waited for
            self._spares.start(*self._next(request))

    def _next(self, request: RunRequest) -> tuple[int, ...]:
        """Hash seeds of the runs that will be asked for next, as far as anybody knows."""
        likely = (0,) if self._many else ()
        return likely if request.followed_by is None else request.followed_by

    def _follow(self, spare: Spare, given_up: threading.Event | None) -> Watched:
        return spare.started.follow(
            timeout_seconds=self._settings.timeout_seconds,
            stall_seconds=self._settings.stall_seconds,
            full=DiskUse(spare.rooms.writable).is_too_much,
            given_up=given_up,
        )

    def _parameters(
        self, request: RunRequest, rooms: Rooms, project: PytestProject, canaries: list[Canary], before: Exported
    ) -> dict[str, Any]:
        return {
            "nonce": rooms.nonce,
            "checkout": str(rooms.checkout),
            "locked": before.locked_modules,
            "imported_as": before.imported_as(),
            "named": project.named,
            "plugin_args": {
                "xdist": ["--numprocesses=0"],  # one process, so that every report is seen
                "pytest_cov": ["--no-cov"],  # canaries would spoil the numbers
                "randomly": [f"--randomly-seed={request.hash_seed}"],
            },
            "only": [*request.paths, *(canary.path for canary in canaries)] if request.paths else [],
            "reverse": request.order == "reversed",
            "args": [
                *self._arguments(project, [*(canary.path for canary in canaries), *request.paths]),
                *self._placed_arguments(rooms, project),
                *_roots(project, canaries),
            ],
        }

    def _arguments(self, project: PytestProject, asked: list[str]) -> list[str]:
        """The project's own addopts come before these and stay in force, but for what would cut the run short."""
        stray = [path for path in asked if path.endswith(".py") and not project.naming.is_module(path)]
        return [
            *self._settings.args,
            "--maxfail=0",
            "--continue-on-collection-errors",
            "--color=no",
            "--tb=short",
            "--verbosity=2",  # a failed assert tells its values in full
            *([f"--override-ini=python_files={' '.join([*project.naming.files, *stray])}"] if stray else []),
        ]

    def _placed_arguments(self, rooms: Rooms, project: PytestProject) -> list[str]:
        """Those that name directories of this run."""
        cached = not any(option.endswith("no:cacheprovider") for option in project.addopts)
        return [
            f"--rootdir={rooms.checkout}",
            f"--confcutdir={rooms.checkout}",
            f"--junitxml={rooms.junit}",
            "--override-ini=junit_family=xunit1",
            *([f"--override-ini=cache_dir={rooms.scratch / 'cache'}"] if cached else []),
        ]

    # --- reporting ----------------------------------------------------------------------------------------------------

    def _report(  # noqa: PLR0917 all that tells of a run
        self, request: RunRequest, rooms: Rooms, watched: Watched, seen: Seen, canaries: list[Canary], ground: Ground
    ) -> RunReport:
        seen.problems += changes_since(ground.before, seen.collected or ())
        results = results_of(seen, Place(ground.modules, rooms.all, ground.naming), killed=bool(watched.killed))
        by_id = {result.id: result for result in results.tests}
        testimony = Testimony(
            seen=seen,
            exit_status=watched.exit_status,
            killed=watched.killed,
            seconds=watched.seconds,
            junit=_read_junit(rooms.junit),
            output=watched.output,
            canaries=canaries,
            results=by_id,
            hidden=rooms.all,
            complaint=watched.complaint,
        )
        own = {test for canary in canaries for test in canary.ids}
        return RunReport(
            code_tree=request.code_tree,
            command=("pytest", *self._settings.args, *request.paths),
            tools=seen.tools,
            order=request.order,
            hash_seed=request.hash_seed,
            results=tuple(result for result in results.tests if result.id not in own),
            collect_errors=results.collect_errors,
            exit_status=watched.exit_status,
            seconds=round(watched.seconds, 3),
            sandbox=watched.sandbox,
            problems=problems_of(testimony),
            canary_dirs=tuple(canary.directory for canary in canaries),
        )


class _Aside:
    """Follows what runs beside the suite, in a thread of its own."""

    def __init__(self, held: ExitStack, spare: Spare, settings: TestRun) -> None:
        self._held, self._spare, self._settings = held, spare, settings
        self._watched: Watched | None = None
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self) -> None:
        with self._held:
            self._watched = self._spare.started.follow(
                timeout_seconds=self._settings.timeout_seconds,
                stall_seconds=max(self._settings.stall_seconds, 60),
                full=DiskUse(self._spare.rooms.writable).is_too_much,
            )

    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def watched(self) -> Watched | None:
        self._thread.join()
        return self._watched


def _read_junit(path: Path) -> dict[Key, Verdict] | str:
    try:
        return read_junit(path)
    except JUnitUnreadable as problem:
        return str(problem)


def _test_modules(checkout: Path, project: PytestProject) -> dict[str, str]:
    found = {}
    for path in sorted(checkout.rglob("*.py")):
        name = path.relative_to(checkout).as_posix()
        if project.naming.is_module(name) and path.is_file() and not path.is_symlink():
            found[name] = path.read_text(encoding="utf-8", errors="replace")
    return found


def _parent(path: str, checkout: Path) -> str:
    return path if (checkout / path).is_dir() else path.rpartition("/")[0]


def _roots(project: PytestProject, canaries: list[Canary]) -> list[str]:
    """Where pytest starts: nothing said means its own testpaths. Directories outside of these have to be named."""
    if not project.testpaths:
        return []
    asked = [canary.directory for canary in canaries if canary.requested]
    outside = [place for place in asked if not any(_within(place, root) for root in project.testpaths)]
    return [*project.testpaths, *outside] if outside else []


def _within(place: str, root: str) -> bool:
    return root in {".", place} or place.startswith(f"{root}/")

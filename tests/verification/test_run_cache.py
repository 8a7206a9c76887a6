from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from prd2pr.domain.evidence import Failure, FailureKind, RunReport, TestResult
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.languages.differential_plan import DifferentialPlan
from prd2pr.languages.early_runs import EarlyRun
from prd2pr.languages.mutation_plan import MutationPlan
from prd2pr.languages.test_runner import DifferentialRequest, MutationRequest, RunRequest
from prd2pr.verification.run_cache import CachedRunner


class CountingRunner:
    """Returns at once and counts its calls."""

    def __init__(self, **fields: object) -> None:
        self.asked = 0
        self.tools = "pytest 9"
        self.fields = fields

    def identity(self) -> str:
        return self.tools

    def start_mutation_run(self, request: MutationRequest) -> Callable[[], MutationResult]:
        self.asked += 1
        return lambda: MutationResult(
            problems=("restless",) if request.code_tree == "restless" else (), seconds=self.asked
        )

    def start_differential_run(self, request: DifferentialRequest) -> Callable[[], DifferentialResult]:
        self.asked += 1
        return lambda: DifferentialResult(
            problems=("restless",) if request.code_tree == "restless" else (), seconds=self.asked
        )

    def expect(self, hash_seed: int = 0) -> None:
        """Nothing to prepare."""

    def isolates_runs(self) -> bool:
        return False

    def start_early_run(self, request: RunRequest, *, in_parallel: bool) -> EarlyRun | None:
        return None if in_parallel else EarlyRun(lambda given_up: self.wait_and_run(request, given_up))

    def wait_and_run(self, request: RunRequest, given_up: threading.Event) -> RunReport:
        if request.code_tree == "endless":
            given_up.wait()
        return self.run(request)

    def run(self, request: RunRequest) -> RunReport:
        self.asked += 1
        made = {
            "command": ("pytest",),
            "tools": {},
            "exit_status": 1,
            "canary_dirs": request.canary_dirs,
            **self.fields,
        }
        return RunReport.model_validate({"code_tree": request.code_tree, **made})


def test_same_run_is_made_once_and_cached_across_processes(tmp_path: Path) -> None:
    inner = CountingRunner()
    first = CachedRunner(inner, tmp_path / "runs").run(RunRequest("a"))
    second = CachedRunner(inner, tmp_path / "runs").run(RunRequest("a"))
    assert first == second
    assert inner.asked == 1
    assert [path.suffix for path in (tmp_path / "runs").iterdir()] == [".json"]


@pytest.mark.parametrize(
    "other",
    [
        RunRequest("b"),
        RunRequest("a", paths=("tests",)),
        RunRequest("a", order="reversed"),
        RunRequest("a", hash_seed=1),
        RunRequest("a", restore={"tests/test_a.py": "0" * 40}),
        RunRequest("a", canary_dirs=("tests/tdd/s-1",)),
    ],
)
def test_different_request_is_a_new_run(other: RunRequest) -> None:
    inner = CountingRunner()
    runner = CachedRunner(inner)
    runner.run(RunRequest("a"))
    runner.run(other)
    assert inner.asked == 2


def test_run_with_more_canaries_serves_requests_for_fewer() -> None:
    inner = CountingRunner()
    runner = CachedRunner(inner)
    runner.run(RunRequest("a", canary_dirs=("tests", "tests/tdd/s-1")))
    runner.run(RunRequest("a", canary_dirs=("tests/tdd/s-1",)))
    runner.run(RunRequest("a"))
    assert inner.asked == 1


def test_other_tool_versions_are_a_new_run(tmp_path: Path) -> None:
    inner = CountingRunner()
    CachedRunner(inner, tmp_path).run(RunRequest("a"))
    inner.tools = "pytest 10"
    CachedRunner(inner, tmp_path).run(RunRequest("a"))
    assert inner.asked == 2


TIMED_OUT = TestResult(id="t", outcome="failed", failure=Failure(kind=FailureKind.TIMEOUT, stage="call"))


@pytest.mark.parametrize("fields", [{"problems": ("x",)}, {"exit_status": None}, {"results": (TIMED_OUT,)}])
def test_unreliable_results_are_not_cached(tmp_path: Path, fields: dict[str, object]) -> None:
    inner = CountingRunner(**fields)
    runner = CachedRunner(inner, tmp_path)
    runner.run(RunRequest("a"))
    runner.run(RunRequest("a"))
    assert inner.asked == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"{", b'{"code_tree": 1}', b"\xff\xfe"])
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: bytes) -> None:
    inner = CountingRunner()
    CachedRunner(inner, tmp_path).run(RunRequest("a"))
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage)
    CachedRunner(inner, tmp_path).run(RunRequest("a"))
    assert inner.asked == 2
    assert kept.read_bytes() == whole


def test_entries_written_after_a_given_time_are_not_trusted(tmp_path: Path) -> None:
    """A running test can write to this user's cache; entries older than the run cannot be its work."""
    inner = CountingRunner()
    CachedRunner(inner, tmp_path).run(RunRequest("a"))
    (kept,) = tmp_path.iterdir()
    until = kept.stat().st_ctime_ns
    assert CachedRunner(inner, tmp_path, trusted_until=until).run(RunRequest("a")).exit_status == 1
    assert inner.asked == 1
    kept.write_text(kept.read_text().replace('"exit_status":1', '"exit_status":0'))
    os.utime(kept, ns=(0, 0))  # a forger can set back mtime, but not ctime
    later = CachedRunner(inner, tmp_path, trusted_until=until)
    assert later.run(RunRequest("a")).exit_status == 1
    assert (inner.asked, later.found, later.made) == (2, 0, 1)


def test_fresh_run_is_made_and_cached() -> None:
    inner = CountingRunner()
    runner = CachedRunner(inner)
    runner.run(RunRequest("a"))
    runner.run(RunRequest("a", afresh=True))
    assert inner.asked == 2
    runner.run(RunRequest("a"))
    assert inner.asked == 2


def test_mutation_runs_once_and_only_reliable_results_are_cached(tmp_path: Path) -> None:
    inner = CountingRunner()
    for tree, times in (("a", 1), ("restless", 2)):
        inner.asked = 0
        request = MutationRequest(tree, ("t",), MutationPlan(), 40)
        first, second = (CachedRunner(inner, tmp_path).start_mutation_run(request)() for _ in range(2))
        assert inner.asked == times
        assert (first == second) is (times == 1)


def test_differential_runs_once_and_only_reliable_results_are_cached(tmp_path: Path) -> None:
    inner = CountingRunner()
    for tree, times in (("a", 1), ("restless", 2)):
        inner.asked = 0
        request = DifferentialRequest(tree, ("t",), DifferentialPlan())
        first, second = (CachedRunner(inner, tmp_path).start_differential_run(request)() for _ in range(2))
        assert inner.asked == times
        assert (first == second) is (times == 1)


def test_early_run_is_not_repeated(tmp_path: Path) -> None:
    inner = CountingRunner()
    runner = CachedRunner(inner, tmp_path)
    runner.begin(RunRequest("a"))
    runner.begin(RunRequest("a"))
    assert runner.run(RunRequest("a")) == runner.run(RunRequest("a"))
    runner.begin(RunRequest("a"))
    runner.discard_early_runs()
    assert inner.asked == 1
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_fresh_request_ignores_the_early_run() -> None:
    inner = CountingRunner()
    runner = CachedRunner(inner)
    runner.begin(RunRequest("a"))
    runner.run(RunRequest("a", afresh=True))
    runner.discard_early_runs()
    assert inner.asked == 2


def test_early_run_without_a_required_canary_is_ignored() -> None:
    inner = CountingRunner()
    runner = CachedRunner(inner)
    runner.begin(RunRequest("a"))
    assert runner.run(RunRequest("a", canary_dirs=("tests/tdd",))).canary_dirs == ("tests/tdd",)
    assert inner.asked == 2


def test_unused_early_run_is_cancelled_without_traces(tmp_path: Path) -> None:
    runner = CachedRunner(CountingRunner(), tmp_path)
    runner.begin(RunRequest("endless"))
    runner.discard_early_runs()
    assert list(tmp_path.iterdir()) == []
    assert runner.made == 0


def test_exclusive_run_starts_only_when_requested() -> None:
    inner = CountingRunner()
    runner = CachedRunner(inner)
    runner.begin(RunRequest("a"), in_parallel=True)
    assert inner.asked == 0
    assert runner.run(RunRequest("a")).code_tree == "a"


def test_error_of_an_early_run_is_raised_for_its_caller() -> None:
    def trouble(_: threading.Event) -> RunReport:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        EarlyRun(trouble).report()


def test_follow_up_is_not_part_of_the_cache_key() -> None:
    inner = CountingRunner()
    runner = CachedRunner(inner)
    runner.run(RunRequest("a"))
    runner.run(RunRequest("a", followed_by=(0,), later=(1, 1)))
    assert inner.asked == 1

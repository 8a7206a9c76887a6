"""The escape battery, and proof that its probes work: without a sandbox many of them escape."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import battery
import pytest
from small_projects import run_files

from prd2pr.config import TestRun
from prd2pr.domain.results.isolation import list_missing_protections
from prd2pr.sandbox import child_process, detection
from prd2pr.sandbox.detection import find_sandbox


@pytest.fixture
def jailed() -> str:
    """Reports which sandbox the tests below run in."""
    found = find_sandbox(Path(sys.executable))
    if found.privilege is None:
        pytest.skip(f"NO SANDBOX ON THIS MACHINE: {[(refusal.privilege, refusal.why) for refusal in found.refusals]}")
    warnings.warn(f"sandbox by {found.privilege}: {found.protections}", stacklevel=1)
    return found.protections


def test_no_probe_escapes(jailed: str) -> None:
    found = battery.run_battery()
    assert (found.succeeded, found.problems) == ([], [])
    assert found.probes >= 60
    assert found.sandbox == jailed
    assert list_missing_protections(found.sandbox) == ()


@pytest.mark.slow
def test_probes_escape_without_a_sandbox() -> None:
    found = battery.run_battery(sandboxed=False)
    assert found.sandbox == "none"
    assert len(found.succeeded) >= 40, found.told
    assert not [problem for problem in found.problems if "broken" in problem]


SMALL = {
    "MAX_MEMORY": 200 << 20,
    "MAX_PROCESSES": 40,
    "MAX_OPEN_FILES": 100,
    "MAX_FILE_SIZE": 4 << 20,
    "MAX_SCRATCH": 4 << 20,
}

LIMITED = {
    "test_limits.py": """
        import os, time, pytest

        def test_fork_bomb():
            children = []
            with pytest.raises(BlockingIOError):
                for _ in range(200):
                    child = os.fork()
                    if child == 0:
                        time.sleep(60)
                        os._exit(0)
                    children.append(child)
            assert 10 < len(children) < 60
            for child in children:
                os.kill(child, 9)
                os.waitpid(child, 0)

        def test_memory_of_one_process():
            with pytest.raises(MemoryError):
                bytearray(300 << 20)

        def test_one_large_file():
            with pytest.raises(OSError, match="too large"), open("large", "wb") as file:
                for _ in range(100):
                    file.write(bytes(1 << 20))

        def test_open_files():
            with pytest.raises(OSError, match="Too many"):
                kept = [open("/dev/null") for _ in range(200)]

        @pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
        def test_shared_directories_in_memory(place):
            with pytest.raises(OSError, match="No space"):
                for number in range(10):
                    with open(f"{place}/{number}", "wb") as file:
                        file.write(bytes(1 << 20))
        """
}


@pytest.fixture
def small(jailed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(detection, name, value)
    monkeypatch.setattr(child_process, "MAX_BYTES_WRITTEN", 16 << 20)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_limits_on_processes_and_files() -> None:
    report = run_files(LIMITED)
    assert report.honest, report.problems
    assert {
        result.id.partition("::")[2]: result.outcome for result in report.results if result.outcome != "passed"
    } == {}
    assert len(report.results) == 6


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_total_memory_of_all_processes_is_limited() -> None:
    hog = """
        import os, time
        def test_many():
            for _ in range(4):
                if os.fork() == 0:
                    kept = b"x" * (90 << 20)
                    time.sleep(60)
                    os._exit(0)
            time.sleep(60)
        """
    report = run_files({"test_hog.py": hog}, settings=TestRun(stall_seconds=30))
    assert [
        problem for problem in report.problems if "more than 200 MB of memory" in problem and "test_many" in problem
    ]


@pytest.mark.usefixtures("small")
def test_disk_writes_are_limited() -> None:
    flood = """
        import time
        def test_many():
            for number in range(60):
                with open(f"file{number}", "wb") as file:
                    file.write(b"x" * (1 << 20))
            time.sleep(60)
        """
    report = run_files({"test_flood.py": flood}, settings=TestRun(stall_seconds=30))
    assert [problem for problem in report.problems if "wrote too much in test_flood.py::test_many" in problem]


@pytest.mark.parametrize("what", ["os.symlink({bait!r}, path)", "os.mkfifo(path)", "os.mkdir(path)"])
def test_result_file_that_is_a_link_is_not_trusted(jailed: str, tmp_path: Path, what: str) -> None:
    bait = tmp_path / "bait.xml"
    bait.write_text("<testsuites/>")
    swap = f"""
        import atexit, os, sys

        def swap(config):
            path = config.option.xmlpath
            os.unlink(path)
            {what.format(bait=str(bait))}

        def pytest_configure(config):
            atexit.register(swap, config)
        """
    report = run_files({"conftest.py": swap, "test_a.py": "def test_a():\n    pass\n"})
    assert not report.honest
    assert bait.read_text() == "<testsuites/>"


def test_signal_exit_status_is_reported(jailed: str) -> None:
    fatal = "import os, signal\n\ndef test_a():\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    report = run_files({"test_a.py": fatal})
    assert report.exit_status == -11


@pytest.mark.slow
def test_many_sequential_and_parallel_runs(jailed: str) -> None:
    """Each run has its own user, processes and directories, and none is left."""
    reports = [run_files({"test_a.py": "import os\n\ndef test_a():\n    assert os.getpid() == 2\n"}) for _ in range(3)]
    assert {report.sandbox for report in reports} == {jailed}
    assert all(result.outcome == "passed" for report in reports for result in report.results)

"""The targets of the probes on the real machine: files, sockets, processes, segments. And a check for leftovers."""

from __future__ import annotations

import ctypes
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
RUNNER_SOURCE = Path(__file__).resolve().parents[2] / "src" / "prd2pr"


@dataclass
class World:
    bait: dict[str, Any]
    nest: Path  # where the runner creates its directories
    removable: list[Path] = field(default_factory=list)

    def left_behind(self) -> dict[str, bool]:
        """Probe of `probes/writing.py` -> whether its effect is visible from outside."""
        bait, mark = self.bait, self.bait["mark"]
        return {
            **{f"test_{name}": Path(place, mark).exists() for name, place in self.marked().items()},
            "test_by_a_hard_link": mark in Path(bait["writable_file"]).read_text(),
            "test_by_a_mapped_file": mark in Path(bait["writable_file"]).read_text(),
            "test_removing": not Path(bait["removable_file"]).exists(),
            "test_removing_a_directory": not Path(bait["removable_directory"]).exists(),
            "test_changing_a_mode": Path(bait["mode_file"]).stat().st_mode & 0o777 != 0o644,
            "test_changing_a_time": Path(bait["mode_file"]).stat().st_mtime == 1,
            "test_segment_left_over": LIBC.shmget(bait["segment_key"], 0, 0) >= 0,
            "test_queue_left_over": LIBC.msgget(bait["left_queue_key"], 0) >= 0,
            "test_daemon": Path(bait["daemon_note"]).exists() or alive(bait["daemon_name"]),
            "test_orphan": alive(bait["orphan_name"]),
            "test_locked_directory_is_left": self.has_leftovers(),
            "test_deep_directories_are_left": self.has_leftovers(),
            "test_beside_the_checkout": self.has_leftovers(),
            "test_link_that_removal_would_follow": not Path(bait["victim_directory"], "kept").exists(),
        }

    def has_leftovers(self) -> bool:
        """Whether any of the runner's directories is left; it removes them in the background."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and any(self.nest.iterdir()):
            time.sleep(0.05)
        return any(self.nest.iterdir())

    def marked(self) -> dict[str, str | Path]:
        bait = self.bait
        packages = next(place for place in sys.path if place.endswith("site-packages"))
        return {
            "in_the_root": "/", "in_etc": "/etc", "in_usr": "/usr/local/lib", "in_the_host_s_tmp": "/tmp",
            "in_var_tmp": "/var/tmp", "in_shared_memory": "/dev/shm", "in_run": "/run",
            "in_the_home_directory": bait["home"], "in_the_repository": bait["repository"], "in_hooks": bait["hooks"],
            "in_the_environment": sys.prefix, "in_site_packages": packages,
            "in_the_standard_library": Path(os.__file__).parent, "in_the_runner_s_source": bait["runner_source"],
            "through_a_link": bait["victim_directory"], "by_renaming": bait["victim_directory"],
            "by_the_runner_s_directory": Path.cwd(),
        }  # fmt: skip

    def clean(self) -> None:
        for place in {*map(Path, self.marked().values())}:
            Path(place, self.bait["mark"]).unlink(missing_ok=True)
        Path(sys.prefix, "lib", self.bait["mark"] + ".pth").unlink(missing_ok=True)
        for key in (self.bait["segment_key"],):
            if (segment := LIBC.shmget(key, 0, 0)) >= 0:
                LIBC.shmctl(segment, 0, None)
        for key in (self.bait["left_queue_key"], self.bait["queue_key"]):
            if (queue := LIBC.msgget(key, 0)) >= 0:
                LIBC.msgctl(queue, 0, None)
        for path in self.removable:
            path.unlink(missing_ok=True)


def alive(name: str) -> bool:
    return bool(processes(name))


def processes(name: str) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if name.encode() in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
        except OSError:
            continue
    return found


@contextmanager
def world(*, harmless_only: bool) -> Iterator[World]:
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prd2pr-bait-")))
        secret, mark = secrets.token_hex(12), f"prd2pr-mark-{secrets.token_hex(4)}"
        files = _files(place, secret, mark)
        bait: dict[str, Any] = {
            "secret": secret,
            "mark": mark,
            "harmless_only": harmless_only,
            "uid": os.getuid(),
            "home": str(Path.home()),
            "hostname": socket.gethostname(),
            "hostname_outside": "pypi.org",
            "runner": os.getpid(),
            "runner_descriptor": 2,
            "runner_source": str(RUNNER_SOURCE),
            "interfaces": [name for _, name in socket.if_nameindex()],
            "terminal": _terminal(stack),
            "route": _route(),
            "daemon_name": f"{mark}-daemon",
            "orphan_name": f"{mark}-orphan",
            "daemon_note": f"/tmp/{mark}-daemon",
            **{name: str(path) for name, path in files.items()},
            **_sockets(stack, place, secret),
            **_segments(secret),
        }
        victim = subprocess.Popen(["sleep", "300"], env={"TOKEN": secret, "PATH": os.defpath}, cwd=place)
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        bait["victim"] = victim.pid
        bait["address_in_victim"] = _an_address(victim.pid)
        made = [files[name] for name in ("home_file", "ssh_file", "var_file", "shm_file", "host_file")]
        nest = place / "nest"
        nest.mkdir()
        stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = str(nest)
        laid = World(bait, nest, [*made, Path(bait["daemon_note"])])
        stack.callback(lambda: LIBC.shmctl(bait["segment"], 0, None))
        stack.callback(laid.clean)
        stack.callback(
            lambda: [os.kill(pid, 9) for name in ("daemon_name", "orphan_name") for pid in processes(bait[name])]
        )
        os.environ["PRD2PR_PROBE"] = secret
        stack.callback(os.environ.pop, "PRD2PR_PROBE")
        yield laid


def _terminal(stack: ExitStack) -> str:
    """A terminal that is in use while the probes run, so that there is one to find."""
    ends = os.openpty()
    for end in ends:
        stack.callback(os.close, end)
    return os.ttyname(ends[1])


def _files(place: Path, secret: str, mark: str) -> dict[str, Path]:
    home = Path.home()
    files = {
        "host_file": Path("/tmp", f"{mark}-bait"),
        "var_file": Path("/var/tmp", f"{mark}-bait"),
        "shm_file": Path("/dev/shm", f"{mark}-bait"),
        "home_file": home / f".{mark}-bait" if os.access(home, os.W_OK) else place / "home-bait",
        "ssh_file": home / ".ssh" / f"{mark}-bait" if os.access(home / ".ssh", os.W_OK) else place / "ssh-bait",
        "git_config": place / "repository" / ".git" / "config",
        "private_state": place / "repository" / ".git" / "prd2pr" / "journal",
        "writable_file": place / "writable",
        "removable_file": place / "removable",
        "mode_file": place / "mode",
    }
    directories = {
        "repository": place / "repository",
        "hooks": place / "repository" / ".git" / "hooks",
        "victim_directory": place / "victim",
        "removable_directory": place / "removable-directory",
    }
    for directory in directories.values():
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o777)
    for path in files.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secret)
        path.chmod(0o644)
    files["writable_file"].chmod(0o666)
    Path(directories["victim_directory"], "kept").write_text(secret)
    place.chmod(0o755)
    return {**files, **directories}


def _sockets(stack: ExitStack, place: Path, secret: str) -> dict[str, Any]:
    """Servers that send the secret to any client."""
    abstract = f"prd2pr-bait-{secrets.token_hex(4)}"
    address = _address()
    listening = {
        "tcp4": _server(stack, secret, socket.AF_INET, ("127.0.0.1", 0)),
        "tcp6": _server(stack, secret, socket.AF_INET6, ("::1", 0)),
        "tcp_all": _server(stack, secret, socket.AF_INET, ("0.0.0.0", 0)),
        "unix_path": _server(stack, secret, socket.AF_UNIX, str(place / "socket")),
        "abstract": _server(stack, secret, socket.AF_UNIX, "\0" + abstract),
    }
    (place / "socket").chmod(0o777)
    ports = {name: line.getsockname()[1] for name, line in listening.items() if line and name.startswith("tcp")}
    hearing = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    hearing.bind((address, 0))
    return {
        "tcp6": 9, **ports, "udp": hearing.getsockname()[1], "address": address,
        "unix_path": str(place / "socket"), "abstract": abstract,
    }  # fmt: skip


def _server(stack: ExitStack, secret: str, family: int, address: Any) -> socket.socket | None:
    line = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
    try:
        line.bind(address)
    except OSError:
        return None  # no IPv6 on this machine
    line.listen()

    def serve() -> None:
        while True:
            try:
                with line.accept()[0] as other:
                    other.sendall(secret.encode())
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    stack.callback(_quiet(lambda: line.shutdown(socket.SHUT_RDWR)))
    return line


def _quiet(work: Callable[[], Any]) -> Callable[[], None]:
    def done() -> None:
        try:
            work()
        except OSError:
            return

    return done


def _address() -> str:
    """The machine's own address; loopback if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        try:
            line.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(line.getsockname()[0])


def _route() -> str:
    """The gateway, if there is one."""
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == "00000000":
            return ".".join(str(byte) for byte in bytes.fromhex(fields[2])[::-1])
    return ""


def _segments(secret: str) -> dict[str, int]:
    key, queue = secrets.randbelow(1 << 30) + 1, secrets.randbelow(1 << 30) + 1
    segment = LIBC.shmget(secrets.randbelow(1 << 30) + 1, 4096, 0o1666)
    LIBC.shmat.restype = ctypes.c_void_p
    place = LIBC.shmat(segment, None, 0)
    ctypes.memmove(place, secret.encode(), len(secret))
    LIBC.shmdt(ctypes.c_void_p(place))
    LIBC.msgget(queue, 0o1666)
    return {
        "segment": segment, "queue_key": queue, "segment_key": key,
        "left_queue_key": secrets.randbelow(1 << 30) + 1,
    }  # fmt: skip


def _an_address(pid: int) -> int:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if " r" in line:
            return int(line.partition("-")[0], 16)
    return 0

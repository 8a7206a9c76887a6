"""A private PostgreSQL from the machine's binaries, in a directory that is deleted afterwards; not as root."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PLACES = ("/usr/lib/postgresql/*/bin/initdb", "/usr/local/pgsql/bin/initdb")


def binaries() -> Path | None:
    on_path = shutil.which("initdb")
    found = [Path(on_path)] if on_path else [each for place in PLACES for each in Path("/").glob(place[1:])]
    return found[-1].parent if found else None


def unprivileged_user() -> dict[str, int]:
    """PostgreSQL refuses to run as root: then as the user `postgres`, or `nobody`."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid}
    raise RuntimeError("there is no user to run PostgreSQL as")


@contextlib.contextmanager
def postgres(*, durable: bool = True) -> Iterator[str]:
    """The URL of an empty database. `durable`: commits wait for the disk, as in production."""
    tools = binaries()
    if tools is None:
        raise FileNotFoundError("PostgreSQL's initdb is not on this machine")
    who = unprivileged_user()
    with tempfile.TemporaryDirectory(prefix="pg-") as name, socket.socket() as free:
        place = Path(name)
        if who:
            os.chown(place, who["user"], who["group"])
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()

        def run(*command: str) -> None:
            done = subprocess.run(
                command, cwd=place, capture_output=True, text=True, check=False, extra_groups=[] if who else None, **who
            )
            if done.returncode:
                raise RuntimeError(f"{command[0]}: {done.stdout}{done.stderr}")

        data = str(place / "data")
        run(str(tools / "initdb"), "-D", data, "-U", "prd2pr", "--auth=trust", "--no-sync", "-E", "UTF8")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={place}"
        options += "" if durable else " -c fsync=off"
        run(str(tools / "pg_ctl"), "-D", data, "-w", "-s", "-l", str(place / "log"), "-o", options, "start")
        try:
            yield f"postgresql://prd2pr@127.0.0.1:{port}/postgres"
        finally:
            run(str(tools / "pg_ctl"), "-D", data, "-m", "immediate", "-s", "stop")

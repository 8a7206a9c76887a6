"""What a sandbox gives, in words: the same in a report, in a finding and on the terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterable

NONE = "none"  # a run without any sandbox

# What the tests of a run must be kept from or given, each with what it is good for.
PROTECTIONS: dict[str, str] = {
    "no network": "no address outside, no name service, no socket of another process",
    "own user": "another user than the one who runs prd2pr, without any privilege",
    "own processes": "no other process is seen or can be signalled, and none outlives the run",
    "read-only": "only the run's own directories can be written to, and other people's files are not there",
    "limits": "memory, processes, open files, file size and processor time have an end",
    "call filter": "system calls that no test needs are refused",
}


def described(how: str, had: Iterable[str]) -> str:
    """As a report keeps it: `namespaces: no network, own user, …`."""
    given = list(had)
    return f"{how}: {', '.join(given)}" if given else NONE


def missing(sandbox: str) -> tuple[str, ...]:
    """Of a run with this sandbox."""
    given = {part.partition(" (")[0] for part in sandbox.partition(": ")[2].split(", ")}
    return tuple(name for name in PROTECTIONS if name not in given)


def is_none(sandbox: str) -> bool:
    return sandbox in {"", NONE}


def complaint(sandbox: str) -> str:
    """What a verdict has to say about it; empty where nothing is missing."""
    if is_none(sandbox):
        return "the tests ran without a sandbox"
    lacking = missing(sandbox)
    return f"the sandbox of the tests lacks: {', '.join(lacking)}" if lacking else ""


def remedy(refused: Iterable[str], *, linux: bool = True) -> str:
    """What to switch on, by what the kernel said no to."""
    if not linux:
        return "run prd2pr on Linux: a container or a hosted runner will do"
    said = " ".join(refused)
    if "cannot be read" in said or "cannot be written" in said:
        return "let other users read the interpreter that runs the tests: chmod -R o+rX on its directory"
    if "user map" in said or "user namespace" in said:
        return (
            "allow user namespaces: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu; or "
            "let `sudo -n` work for this user; in a container: as root with --cap-add=SYS_ADMIN and without its "
            "seccomp and AppArmor profiles"
        )
    return "in a container, give root the capability SYS_ADMIN; elsewhere, a kernel of 5.12 or later is needed"

"""Descriptions of a sandbox's protections, shared by reports, findings and the terminal."""

from __future__ import annotations

from collections.abc import Iterable

NONE = "none"  # a run without any sandbox

# The protections of a sandbox and their effects. The names are stored in reports.
PROTECTIONS: dict[str, str] = {
    "no network": "no external address, no name service, no socket of another process",
    "own user": "a different user than the one who runs prd2pr, without privileges",
    "own processes": "other processes are invisible and cannot be signaled, and none outlives the run",
    "read-only": "only the run's own directories are writable, and other users' files are not visible",
    "limits": "memory, processes, open files, file size and CPU time are limited",
    "call filter": "system calls that no test needs are refused",
}

# What a test could do without each protection.
_RISKS: dict[str, str] = {
    "no network": "use the network and this machine's services",
    "own user": "use your permissions, and `sudo` if it needs no password",
    "own processes": "read the memory of your other programs, with the keys in it, and stop them",
    "read-only": "read and change your files, with the keys in them",
    "limits": "use up memory and disk",
    "call filter": "make system calls in which kernel vulnerabilities are found",
}

# Ways to get a complete sandbox in GitHub Actions. The last option does without.
_ACTIONS_OPTIONS = """
a job in a container: remove `container:` from the job, or run it as root with `options: --cap-add=SYS_ADMIN \
--security-opt seccomp=unconfined --security-opt apparmor=unconfined`
a pod of Actions Runner Controller: give the runner's container the capability SYS_ADMIN, user 0 and the profile \
Unconfined for seccomp and AppArmor, or use runners on virtual machines
a runner of your own without `sudo`: let its administrator run `sysctl -w \
kernel.apparmor_restrict_unprivileged_userns=0` once, or allow the runner's user `sudo` without a password
no sandbox at all: `sandbox: preferred` in .prd2pr.yml on the default branch; a test could then {risks}
"""


def format_sandbox(how: str, had: Iterable[str]) -> str:
    """Format a sandbox's protections as reports store them, such as `namespaces: no network, own user, …`."""
    given = list(had)
    return f"{how}: {', '.join(given)}" if given else NONE


def list_missing_protections(sandbox: str) -> tuple[str, ...]:
    """Return the protections that a run in this sandbox did not have."""
    given = {part.partition(" (")[0] for part in sandbox.partition(": ")[2].split(", ")}
    return tuple(name for name in PROTECTIONS if name not in given)


def is_unsandboxed(sandbox: str) -> bool:
    return sandbox in {"", NONE}


def describe_missing_protections(sandbox: str) -> str:
    """Return a message about missing protections and what a test could do, or an empty string if none is missing."""
    lacking = list_missing_protections(sandbox)
    if not lacking:
        return ""
    missing = (
        "the tests ran without a sandbox"
        if is_unsandboxed(sandbox)
        else f"the sandbox of the tests lacks: {', '.join(lacking)}"
    )
    return f"{missing}; a test could {describe_risks(lacking)}"


def describe_risks(lacking: Iterable[str]) -> str:
    return ", ".join(_RISKS[name] for name in lacking)


def list_actions_options(lacking: Iterable[str]) -> str:
    """Return what can be done about a missing sandbox in GitHub Actions."""
    options = _ACTIONS_OPTIONS.format(risks=describe_risks(lacking)).strip().splitlines()
    return "; ".join(f"({number}) {option}" for number, option in enumerate(options, start=1))


def suggest_sandbox_remedy(refused: Iterable[str], *, linux: bool = True) -> str:
    """Return how to enable the protections that the kernel refused."""
    if not linux:
        return "run prd2pr on Linux: a container or a hosted runner is enough"
    reasons = " ".join(refused)
    if "cannot be read" in reasons or "cannot be written" in reasons:
        return "let other users read the interpreter that runs the tests: chmod -R o+rX on its directory"
    if "user map" in reasons or "user namespace" in reasons:
        return (
            "allow user namespaces: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu; or "
            "let `sudo -n` work for this user; in a container: as root with --cap-add=SYS_ADMIN and without its "
            "seccomp and AppArmor profiles"
        )
    return "in a container, give root the capability SYS_ADMIN; elsewhere, a kernel of 5.12 or later is needed"

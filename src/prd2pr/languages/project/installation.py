"""Run the commands that install test dependencies, one at a time, isolated, with a time limit and useful errors."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prd2pr.domain.stack import Stack
from prd2pr.domain.wording import extract_error_line
from prd2pr.errors import SetupProblem
from prd2pr.sandbox import detection
from prd2pr.sandbox.child_process import PipeEnds
from prd2pr.sandbox.cleanup import remove_tree
from prd2pr.sandbox.interpreter import find_interpreter_paths
from prd2pr.sandbox.jail.plan import ProgramRules
from prd2pr.sandbox.programs import find_program_rules, is_listed
from prd2pr.sandbox.visible_files import is_too_broad, list_tool_paths, list_visible_paths

INSTALL_SECONDS = 900
_MAX_REASON = 500
_POLL_SECONDS = 0.2
_MAX_OUTPUT = 1_000_000
_CREDENTIALS_IN_URL = re.compile(r"//[^/\s]*@")
_KEPT_VARIABLES = re.compile(
    r"PATH|LANG|LC_ALL|TZ|CI|JAVA_HOME|GOROOT|GO(PROXY|SUMDB|NOSUMDB|PRIVATE|NOPROXY|TOOLCHAIN)|RUSTUP_(HOME|TOOLCHAIN)"
    r"|(HTTPS?|NO|ALL)_PROXY|https?_proxy|no_proxy|all_proxy"
    r"|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO|CARGO_HTTP_CAINFO"
    r"|PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|CERT|FIND_LINKS|NO_INDEX|CONSTRAINT|ONLY_BINARY|NO_BINARY|PREFER_BINARY"
    r"|DEFAULT_TIMEOUT|RETRIES|REQUIRE_HASHES|DISABLE_PIP_VERSION_CHECK)"
    r"|UV_(INDEX|INDEX_URL|EXTRA_INDEX_URL|DEFAULT_INDEX|FIND_LINKS|NATIVE_TLS|SYSTEM_CERTS)"
    r"|(NPM_CONFIG|npm_config)_(REGISTRY|registry|CAFILE|cafile)|YARN_(NPM_REGISTRY_SERVER|REGISTRY)|COREPACK_NPM_REGISTRY"
)


@contextlib.contextmanager
def hold_install_lock(path: Path, stack: Stack) -> Iterator[int]:
    """Hold a kernel lock, which is released if the process dies.

    Child processes inherit it, so that the next run does not disturb the installer of a killed run.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(lock, path, stack)
        try:
            yield lock
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # also releases it for forked children that still hold it
    finally:
        os.close(lock)


def _acquire(lock: int, path: Path, stack: Stack) -> None:
    until = time.monotonic() + INSTALL_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise SetupProblem(
                    f"another run is still installing the test dependencies of {stack.name} after {INSTALL_SECONDS} s",
                    where=str(path),
                    remedy="stop that run and try again",
                ) from None
            time.sleep(_POLL_SECONDS)
        else:
            return


@dataclass(frozen=True)
class Installer:
    """Runs the commands that install dependencies, in a sandbox with network and without the secrets of this process.

    `variables` names additional environment variables for the commands, such as a registry's token. If the value of a
    variable is the path of a file, the commands can read that file. `programs` are those that may be started, besides
    those that the commands install; None means all.
    """

    sandboxed: bool = True
    variables: tuple[str, ...] = ()
    programs: tuple[str, ...] | None = None

    def install(self, stack: Stack, given: Mapping[str, bytes], place: Path) -> None:
        """Install directly into the final directory, because virtual environments, for example, cannot be moved."""
        remove_tree(place)
        try:
            for name, data in given.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(data)
            place.mkdir(exist_ok=True)
            place.chmod(0o755)  # readable by the user that runs tests
            for command in stack.setup:
                self._run_command(command, place, stack)
        except BaseException:
            remove_tree(place)
            raise

    def _run_command(self, command: tuple[str, ...], place: Path, stack: Stack) -> None:
        shown = " ".join(command)
        search = os.environ.get("PATH", os.defpath)
        program = command[0] if "/" in command[0] else shutil.which(command[0], path=search)
        if program is None or not os.access(place / program, os.X_OK):
            raise SetupProblem(
                f"`{command[0]}` cannot be started; it installs the test dependencies of {stack.name}",
                where=f"`{shown}`",
                remedy=f"install {command[0]}, or set `setup` of the stack in .prd2pr.yml to the project's command",
            )
        rules = self._find_rules(search, place)
        if rules is not None and not is_listed(str(place / program), rules):
            raise SetupProblem(
                f"`{command[0]}` is not one of the programs that may be started; it installs the test dependencies of "
                f"{stack.name}",
                where=f"`{shown}`",
                remedy="add it to `permissions: programs:` in .prd2pr.yml of the base branch",
            )
        status, output = self.run((str(place / program), *command[1:]), place, installs=True)
        if status is None:
            raise _make_problem(stack, shown, f"no result within {INSTALL_SECONDS} seconds")
        if status != 0:
            raise _make_problem(stack, shown, f"exit status {status}: {_extract_reason(output)}")

    def run(self, command: Sequence[str], place: Path, *, installs: bool) -> tuple[int | None, str]:
        """Run a program in `place`. Return its exit status, or None after a timeout, and its output.

        The program may use the network and write to `place` only if `installs` is true.
        """
        sandbox = detection.find_sandbox(Path(sys.executable)) if self.sandboxed else detection.NO_SANDBOX
        user = detection.choose_user(sandbox.privilege)
        scratch = Path(tempfile.mkdtemp(prefix="prd2pr-setup-")).resolve()
        home, temporary = scratch / "home", scratch / "tmp"
        writable = (home, temporary, *([place] if installs else []))
        variables = build_installer_environment(os.environ, self.variables)
        try:
            scratch.chmod(0o755)
            home.mkdir()
            temporary.mkdir()
            readable = (*list_machine_tools(), *list_named_files(variables), place)
            places = detection.SandboxPaths(scratch, writable, home, place, readable)
            detection.change_owner(user, writable, sandbox.privilege)
            environment = {**variables, "HOME": str(home), "TMPDIR": str(temporary)}
            rules = self._find_rules(variables.get("PATH", os.defpath), place, scratch)
            if rules is not None and not sandbox.is_complete:
                raise SetupProblem(
                    "`permissions: programs:` needs a complete sandbox, which this machine does not offer",
                    where=f"`{' '.join(command)}`",
                    remedy="`prd2pr doctor` says why; without the list, programs are not restricted",
                )
            return _run_to_end(sandbox, command, environment, places, user=user, network=installs, programs=rules)
        finally:
            if installs:
                detection.change_owner(os.getuid(), (place,), sandbox.privilege)
            remove_tree(scratch)

    def _find_rules(self, search: str, *created: Path) -> ProgramRules | None:
        return None if self.programs is None else find_program_rules(self.programs, search, created)


def list_machine_tools() -> tuple[Path, ...]:
    """Return the paths of the programs on the PATH, and of the settings that name lookups need."""
    home, own = Path.home(), find_interpreter_paths(Path(sys.executable))
    tools = [*list_visible_paths(own, home), *list_tool_paths(os.environ.get("PATH", os.defpath), home)]
    resolver = Path("/etc/resolv.conf").resolve()  # often below /run
    return (*map(Path, tools), *(path for path in (resolver, home / ".rustup") if path.exists()))


def _run_to_end(
    sandbox: detection.Sandbox,
    command: Sequence[str],
    environment: Mapping[str, str],
    places: detection.SandboxPaths,
    *,
    user: int,
    network: bool,
    programs: ProgramRules | None,
) -> tuple[int | None, str]:
    """Run the program and return its status and output.

    The output goes to a file, because a process left behind would keep a pipe open.
    """
    with tempfile.TemporaryFile() as output, Path(os.devnull).open("r+b") as nothing:
        child = detection.start_test_process(
            sandbox,
            Path(sys.executable),
            command,
            environment,
            places,
            user=user,
            seconds=INSTALL_SECONDS * (os.cpu_count() or 1),
            ends=PipeEnds(nothing.fileno(), output.fileno(), nothing.fileno()),
            network=network,
            programs=programs,
        )
        child.wait(INSTALL_SECONDS)
        status = child.poll()
        child.end()
        output.seek(0, os.SEEK_END)
        output.seek(max(0, output.tell() - _MAX_OUTPUT))
        return status, f"{output.read().decode('utf-8', 'replace')}\n{child.complaint}".strip()


def build_installer_environment(given: Mapping[str, str], variables: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that locate tools and registries, and those in `variables`, but no other secrets.

    yarn must create `node_modules`, where runners look for packages, and must not start a program of the repository.
    """
    plain = {
        name: value
        for name, value in given.items()
        if _KEPT_VARIABLES.fullmatch(name) and not _CREDENTIALS_IN_URL.search(value)
    }
    named = {name: given[name] for name in variables if name in given}
    rust = {"RUSTUP_HOME": str(Path.home() / ".rustup")} if (Path.home() / ".rustup").is_dir() else {}
    return {"LANG": "C.UTF-8", **rust, **plain, **named, "YARN_NODE_LINKER": "node-modules", "YARN_IGNORE_PATH": "1"}


def list_named_files(environment: Mapping[str, str]) -> list[Path]:
    """Return the files and directories that variables name, such as a certificate or a directory of packages."""
    single = (Path(value) for name, value in environment.items() if name != "PATH" and value.startswith("/"))
    return [path for path in single if not is_too_broad(path, Path.home()) and path.exists()]


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its children, so that nothing writes into a discarded directory."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _make_problem(stack: Stack, command: str, why: str) -> SetupProblem:
    place = "the root of the repository" if stack.root == "." else f"{stack.root}/"
    files = f" ({', '.join(stack.manifests)})" if stack.manifests else ""
    return SetupProblem(
        f"the test dependencies of {stack.name} could not be installed: {why}",
        where=f"`{command}`{files}",
        remedy=f"run the command in {place} of a fresh checkout and fix the failure; the incomplete "
        "installation was deleted. `setup` of the stack in .prd2pr.yml can name other commands",
    )


def _extract_reason(text: str) -> str:
    """Return the error on one line, without credentials in URLs."""
    return extract_error_line(re.sub(r"//[^/\s@]+@", "//", text), _MAX_REASON)

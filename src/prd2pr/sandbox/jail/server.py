"""The sandbox server. It receives requests through a socket and forks for each, instead of starting an interpreter.

Each run then has three processes. The *supervisor* is outside the sandbox. It is connected to prd2pr through a control
socket and ends everything when that socket closes. *init* is the first process in the new namespace, and all others die
with it. The third process is the program.

Without a sandbox there is no init: the supervisor adopts the orphans of the program and kills them one by one. If the
program kills its supervisor, the server adopts and kills them.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

from prd2pr.sandbox.jail import inside, syscalls, view
from prd2pr.sandbox.jail.plan import EVENTS_DESCRIPTOR, SandboxPlan

MAX_REQUEST = 1 << 18  # maximum number of bytes
_MEMORY_CHECK_MS = 250  # time between two checks of the memory use
_EXIT_CHECK_MS = 10
_END_SECONDS = 15.0  # time to end all processes of a run
_PAGE = os.sysconf("SC_PAGE_SIZE")
_NEW_NAMESPACES = syscalls.NEWNS | syscalls.NEWIPC | syscalls.NEWUTS | syscalls.NEWCGROUP


def main() -> None:
    """Serve requests from the socket on standard input until it is closed."""
    syscalls.prctl(syscalls.SUBREAPER, 1, "subreaper")
    supervisors: set[int] = set()
    signal.signal(signal.SIGCHLD, lambda *_: _handle_exits(supervisors))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    requests = socket.socket(fileno=0)
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
        if not data:
            return
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # until the supervisor is known
        supervisor = os.fork()
        if supervisor == 0:
            os.dup2(1, requests.detach())  # closing it would free its number for the next descriptor
            _serve_request(marshal.loads(data), descriptors)
        supervisors.add(supervisor)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for descriptor in descriptors:
            os.close(descriptor)


def _handle_exits(supervisors: set[int]) -> None:
    """Reap the processes that have exited, and kill the orphans of a run whose supervisor was killed."""
    try:
        while exited := os.waitpid(-1, os.WNOHANG)[0]:
            supervisors.discard(exited)
    except ChildProcessError:
        return  # no child is left
    me = os.getpid()
    for process, parent in _list_parents():
        if parent == me and process not in supervisors:
            _kill(process)  # its exit calls this function again


def _serve_request(plan: SandboxPlan, descriptors: list[int]) -> NoReturn:
    *ends, control_number = descriptors
    control = socket.socket(fileno=control_number)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    try:
        supervise = _supervise if plan["privilege"] else _supervise_without_sandbox
        supervise(plan, ends, control)
    except Exception as error:  # only the client can report an error
        _send(control, "failed", str(error) or type(error).__name__)
    finally:
        os._exit(0)
    raise AssertionError("unreachable")


def _send(control: socket.socket, *words: str | int | list[str]) -> None:
    try:
        control.send(marshal.dumps(words))
    except OSError:
        return  # the client has closed the socket


# --- the supervisor ---------------------------------------------------------------------------------------------------


def _supervise(plan: SandboxPlan, ends: list[int], control: socket.socket) -> None:
    outer_namespaces = inside.list_namespaces()
    if plan["privilege"] != "root":
        _enter_user_namespace(plan)
    syscalls.unshare(syscalls.NEWPID, "a separate process namespace")
    _write("/proc/self/oom_score_adj", "1000")  # makes the kernel kill the tests first if memory runs out
    syscalls.prctl(syscalls.DUMPABLE, 0, "dumpable 0")
    report, report_end = os.pipe()
    init = os.fork()
    if init == 0:
        os.close(report)
        _run_init(plan, ends, control, outer_namespaces, report_end)
    for descriptor in (*ends, report_end):
        os.close(descriptor)
    if not _wait_for_exit(init, control):
        os.kill(init, signal.SIGKILL)
    os.waitpid(init, 0)  # returns when no process of the sandbox is left
    _send(control, "ended", *_read_report(report))


def _enter_user_namespace(plan: SandboxPlan) -> None:
    user, group = plan["owner"]
    if plan["privilege"] == "sudo":
        syscalls.prctl(syscalls.KEEPCAPS, 1, "keeping capabilities")
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
        syscalls.raise_capabilities()
        syscalls.prctl(syscalls.DUMPABLE, 1, "dumpable 1")
    syscalls.unshare(syscalls.NEWUSER, "a user namespace")
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{plan['user']} {user} 1")
        _write("/proc/self/gid_map", f"{plan['user']} {group} 1")
    except OSError as error:
        raise syscalls.KernelRefusal(f"the user map: {error.strerror}") from None


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _wait_for_exit(init: int, control: socket.socket) -> bool:
    """Wait until init exits. Return False if the control socket is closed first."""
    waiting = select.poll()
    ended = os.pidfd_open(init)
    waiting.register(ended, select.POLLIN)
    waiting.register(control, select.POLLIN | select.POLLHUP)
    return all(descriptor == ended for descriptor, _ in waiting.poll())


def _read_report(report: int) -> tuple[int, str]:
    data = os.read(report, 1 << 12)
    if not data:
        return int(signal.SIGKILL), ""
    status, why = marshal.loads(data)
    return int(status), str(why)


# --- the supervisor without a sandbox ---------------------------------------------------------------------------------


def _supervise_without_sandbox(plan: SandboxPlan, ends: list[int], control: socket.socket) -> None:
    syscalls.prctl(syscalls.SUBREAPER, 1, "subreaper")
    syscalls.prctl(syscalls.DUMPABLE, 0, "dumpable 0")
    program = os.fork()
    if program == 0:
        _start_program(plan, ends, control, {})
    for descriptor in ends:
        os.close(descriptor)
    has_exited = _wait_for_program_or_client(program, control)
    status = os.waitpid(program, 0)[1] if has_exited else int(signal.SIGKILL)
    outlived = "" if _end_descendants() else "processes that it started could not be ended"
    _send(control, "ended", int(signal.SIGKILL) if outlived else status, outlived)


def _wait_for_program_or_client(program: int, control: socket.socket) -> bool:
    """Wait until the program exits. Return False if the control socket is closed first."""
    waiting = select.poll()
    waiting.register(control, select.POLLIN | select.POLLHUP)
    while os.waitid(os.P_PID, program, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if waiting.poll(_EXIT_CHECK_MS):
            return False
    return True


def _end_descendants() -> bool:
    """Kill all descendants of this process, including adopted orphans.

    Return False if some could not be killed in time.
    """
    deadline = time.monotonic() + _END_SECONDS
    while time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return True
        for process in _list_descendants():
            _kill(process)
        time.sleep(0.001)
    return False


def _list_descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for process, parent in _list_parents():
        children.setdefault(parent, []).append(process)
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        below = children.pop(pending.pop(), [])
        found += below
        pending += below
    return found


def _list_parents() -> Iterator[tuple[int, int]]:
    """Yield the process id and the parent's process id of every process of the machine."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    yield int(name), int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue  # the process exited in the meantime


def _kill(process: int) -> None:
    """Kill the process and its group, so that a process that keeps forking cannot escape."""
    try:
        group = os.getpgid(process)
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)
        os.kill(process, signal.SIGKILL)
    except OSError:
        return  # it has exited, or belongs to another user


# --- init, the first process inside -----------------------------------------------------------------------------------


def _run_init(
    plan: SandboxPlan, ends: list[int], control: socket.socket, outer_namespaces: dict[str, str], report: int
) -> NoReturn:
    try:
        syscalls.prctl(syscalls.PDEATHSIG, signal.SIGKILL, "parent death signal")
        network = syscalls.NEWNET if not plan["network"] else 0
        syscalls.unshare(_NEW_NAMESPACES | network, "separate network, mount and host name namespaces")
        socket.sethostname("sandbox")
        if network:
            inside.enable_loopback()
        view.build_root(plan)
        program = os.fork()
        if program == 0:
            os.close(report)
            _start_program(plan, ends, control, outer_namespaces)
        control.close()
        for descriptor in ends:
            os.close(descriptor)
        status, why = _wait_for_program(program, plan["limits"]["memory"])
        os.write(report, marshal.dumps((status, why)))
    except Exception as error:  # only the client can report an error
        _send(control, "failed", str(error) or type(error).__name__)
    finally:
        os._exit(0)
    raise AssertionError("unreachable")


def _wait_for_program(program: int, memory: int) -> tuple[int, str]:
    """Return the program's wait status and, if it was killed, the reason. Orphans are reaped in the meantime."""
    waiting = select.poll()
    waiting.register(os.pidfd_open(program), select.POLLIN)
    while not waiting.poll(_MEMORY_CHECK_MS):
        if _exceeds_memory(memory):
            return int(signal.SIGKILL), f"it used more than {memory >> 20} MB of memory"
        _reap_orphans(program)
    return os.waitpid(program, 0)[1], ""


def _reap_orphans(program: int) -> None:
    """Reap all exited processes except the program, whose exit the poll must see."""
    while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and found.si_pid != program:
        os.waitpid(found.si_pid, 0)


def _exceeds_memory(memory: int) -> bool:
    """Return whether all processes together use more than `memory`.

    A slow exact count is made only if an estimate exceeds it.
    """
    return (
        _sum_over_processes(_read_resident_memory) > memory and _sum_over_processes(_read_proportional_memory) > memory
    )


def _sum_over_processes(measure: Callable[[str], int]) -> int:
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                total += measure(f"/proc/{name}")
            except OSError:
                continue  # the process exited in the meantime
    return total


def _read_resident_memory(process: str) -> int:
    with open(f"{process}/statm", "rb") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * _PAGE


def _read_proportional_memory(process: str) -> int:
    with open(f"{process}/smaps_rollup", "rb") as file:
        return sum(int(line.split()[1]) << 10 for line in file if line.startswith(b"Pss_Anon:"))


# --- the program ------------------------------------------------------------------------------------------------------


def _start_program(
    plan: SandboxPlan, ends: list[int], control: socket.socket, outer_namespaces: dict[str, str]
) -> NoReturn:
    try:
        os.setsid()
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and the program would inherit that
            signal.signal(ignored, signal.SIG_DFL)
        parameters, output, events = ends
        if plan["privilege"]:
            inside.drop_privileges(plan)
            _send(control, "had", list(inside.observe_protections(plan, outer_namespaces)))
        else:
            os.chdir(plan["directory"])
            _send(control, "had", [])
        if plan["dry_run"]:
            inside.check_program_access(plan)
            os._exit(0)
        errors = events if plan["separate_errors"] else output
        _place_descriptors((parameters, output, errors, events), control=control.fileno())
        os.execve(plan["argv"][0], plan["argv"], plan["environment"])
    except Exception as error:  # only the client can report an error
        _send(control, "failed", str(error) or type(error).__name__)
    finally:
        os._exit(127)
    raise AssertionError("unreachable")


def _place_descriptors(descriptors: tuple[int, int, int, int], control: int) -> None:
    """Pass on four descriptors and close all others. The control socket closes when the program starts."""
    high = [os.dup(descriptor) for descriptor in descriptors]
    if min(high) <= EVENTS_DESCRIPTOR or control <= EVENTS_DESCRIPTOR:
        raise syscalls.KernelRefusal("a descriptor number is already in use")
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number)
    last = os.sysconf("SC_OPEN_MAX")
    os.closerange(EVENTS_DESCRIPTOR + 1, control)
    os.closerange(control + 1, min(last, 1 << 16))
    os.set_inheritable(control, False)
    for number in range(EVENTS_DESCRIPTOR + 1):
        os.set_inheritable(number, True)

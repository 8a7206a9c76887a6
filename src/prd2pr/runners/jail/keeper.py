"""One process that makes sandboxes. It is asked through a socket and forks for each: far quicker than starting anew.

Three processes then belong to one run: the *warden* outside, which hears from prd2pr by a leash and ends everything
when the leash is let go; *init* inside, the first of the new process space, with which all others die; and the program.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import NoReturn

from prd2pr.runners.jail import calls, inside, view
from prd2pr.runners.jail.plan import EVENTS, Plan

LARGEST = 1 << 18  # bytes of a request
_LOOK = 250  # milliseconds between two looks at the memory
_PAGE = os.sysconf("SC_PAGE_SIZE")
_APART = calls.NEWNS | calls.NEWIPC | calls.NEWUTS | calls.NEWNET | calls.NEWCGROUP


def main() -> None:
    """Standard input is the socket. Its end is the end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asked = socket.socket(fileno=0)
    while True:
        data, descriptors, _, _ = socket.recv_fds(asked, LARGEST, 4)
        if not data:
            return
        if os.fork() == 0:
            os.dup2(1, asked.detach())  # not closed: the next descriptor would take its number
            _watch_over(marshal.loads(data), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _watch_over(plan: Plan, descriptors: list[int]) -> NoReturn:
    *ends, leash_number = descriptors
    leash = socket.socket(fileno=leash_number)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        _warden(plan, ends, leash)
    except Exception as error:  # whatever it is, nobody is there to see it but the other end of the leash
        _tell(leash, "failed", str(error) or type(error).__name__)
    finally:
        os._exit(0)
    raise AssertionError("unreachable")


def _tell(leash: socket.socket, *words: str | int | list[str]) -> None:
    try:
        leash.send(marshal.dumps(words))
    except OSError:
        return  # nobody listens any more


# --- the warden -------------------------------------------------------------------------------------------------------


def _warden(plan: Plan, ends: list[int], leash: socket.socket) -> None:
    before = inside.spaces()
    if plan["door"] != "root":
        _enter_user_space(plan)
    calls.unshare(calls.NEWPID, "a process space of its own")
    _write("/proc/self/oom_score_adj", "1000")  # when the machine runs out of memory it is the tests that go
    calls.prctl(calls.DUMPABLE, 0, "closing to others")
    report, report_end = os.pipe()
    init = os.fork()
    if init == 0:
        os.close(report)
        _as_init(plan, ends, leash, before, report_end)
    for descriptor in (*ends, report_end):
        os.close(descriptor)
    if not _ends_by_itself(init, leash):
        os.kill(init, signal.SIGKILL)
    os.waitpid(init, 0)  # comes back when nothing that was inside is left
    _tell(leash, "ended", *_last_report(report))


def _enter_user_space(plan: Plan) -> None:
    user, group = plan["owner"]
    if plan["door"] == "sudo":
        calls.prctl(calls.KEEPCAPS, 1, "keeping capabilities")
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
        calls.raise_capabilities()
        calls.prctl(calls.DUMPABLE, 1, "opening its own files")
    calls.unshare(calls.NEWUSER, "a user namespace")
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{plan['user']} {user} 1")
        _write("/proc/self/gid_map", f"{plan['user']} {group} 1")
    except OSError as error:
        raise calls.Refused(f"the user map: {error.strerror}") from None


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _ends_by_itself(init: int, leash: socket.socket) -> bool:
    """False when the leash was let go first."""
    waiting = select.poll()
    ended = os.pidfd_open(init)
    waiting.register(ended, select.POLLIN)
    waiting.register(leash, select.POLLIN | select.POLLHUP)
    return all(descriptor == ended for descriptor, _ in waiting.poll())


def _last_report(report: int) -> tuple[int, str]:
    data = os.read(report, 1 << 12)
    if not data:
        return int(signal.SIGKILL), ""
    status, why = marshal.loads(data)
    return int(status), str(why)


# --- the first process inside -----------------------------------------------------------------------------------------


def _as_init(plan: Plan, ends: list[int], leash: socket.socket, before: dict[str, str], report: int) -> NoReturn:
    try:
        calls.prctl(calls.PDEATHSIG, signal.SIGKILL, "dying with the warden")
        calls.unshare(_APART, "network, mounts and names of its own")
        socket.sethostname("sandbox")
        inside.raise_loopback()
        view.build(plan)
        program = os.fork()
        if program == 0:
            os.close(report)
            _become(plan, ends, leash, before)
        leash.close()
        for descriptor in ends:
            os.close(descriptor)
        status, why = _wait_for(program, plan["limits"]["memory"])
        os.write(report, marshal.dumps((status, why)))
    except Exception as error:  # whatever it is, nobody is there to see it but the other end of the leash
        _tell(leash, "failed", str(error) or type(error).__name__)
    finally:
        os._exit(0)
    raise AssertionError("unreachable")


def _wait_for(program: int, memory: int) -> tuple[int, str]:
    """Its wait status, and why it was ended, if it was. Orphans are buried on the way."""
    waiting = select.poll()
    waiting.register(os.pidfd_open(program), select.POLLIN)
    while not waiting.poll(_LOOK):
        if _uses_more(memory):
            return int(signal.SIGKILL), f"it used more than {memory >> 20} MB of memory"
        _bury(program)
    return os.waitpid(program, 0)[1], ""


def _bury(program: int) -> None:
    """Processes that nobody else waits for. The program's own end is left to be seen by the poll."""
    while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and found.si_pid != program:
        os.waitpid(found.si_pid, 0)


def _uses_more(memory: int) -> bool:
    """Of all processes in here. What forks share is counted once, which takes time: only when the quick look alarms."""
    return _sum(_resident) > memory and _sum(_share) > memory


def _sum(measure: Callable[[str], int]) -> int:
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                total += measure(f"/proc/{name}")
            except OSError:
                continue  # gone meanwhile
    return total


def _resident(process: str) -> int:
    with open(f"{process}/statm", "rb") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * _PAGE


def _share(process: str) -> int:
    with open(f"{process}/smaps_rollup", "rb") as file:
        return sum(int(line.split()[1]) << 10 for line in file if line.startswith(b"Pss_Anon:"))


# --- the program ------------------------------------------------------------------------------------------------------


def _become(plan: Plan, ends: list[int], leash: socket.socket, before: dict[str, str]) -> NoReturn:
    try:
        os.setsid()
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # as Python does for itself, and a program would inherit
            signal.signal(ignored, signal.SIG_DFL)
        parameters, output, events = ends
        inside.give_up(plan)
        _tell(leash, "had", list(inside.observed(plan, before)))
        if plan["rehearsal"]:
            inside.check_program(plan)
            os._exit(0)
        _place(parameters, output, events, spared=leash.fileno())
        os.execve(plan["argv"][0], plan["argv"], plan["environment"])
    except Exception as error:  # whatever it is, nobody is there to see it but the other end of the leash
        _tell(leash, "failed", str(error) or type(error).__name__)
    finally:
        os._exit(127)
    raise AssertionError("unreachable")


def _place(parameters: int, output: int, events: int, spared: int) -> None:
    """Four descriptors go along, and no other; the leash closes as the program begins."""
    high = [os.dup(descriptor) for descriptor in (parameters, output, output, events)]
    if min(high) <= EVENTS or spared <= EVENTS:
        raise calls.Refused("descriptors are where the program's own belong")
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number)
    last = os.sysconf("SC_OPEN_MAX")
    os.closerange(EVENTS + 1, spared)
    os.closerange(spared + 1, min(last, 1 << 16))
    os.set_inheritable(spared, False)
    for number in range(EVENTS + 1):
        os.set_inheritable(number, True)

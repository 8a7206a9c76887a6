import ctypes
import ctypes.util
import fcntl
import os
import signal
import subprocess

from bait import BAIT, LIBC, SECRET, call, harmful

SEIZE = ctypes.c_long(0x4206)  # attaches without stopping


def test_signal_to_the_parent():
    os.kill(os.getppid(), 0)
    if os.getppid() == 1:  # pid 1 ignores signals that it has no handler for
        os.kill(1, signal.SIGKILL)
        raise AssertionError("and it lives")


def test_signal_to_the_runner():
    os.kill(BAIT["runner"], 0)


def test_signal_to_a_stranger():
    os.kill(BAIT["victim"], 0)


def test_signal_to_everybody():
    harmful()
    before = os.listdir("/proc")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(-1, signal.SIGTERM)
    assert str(BAIT["victim"]) in before


def test_tracing_the_parent():
    call("ptrace", 101, 117, SEIZE, ctypes.c_long(os.getppid()), None, None)


def test_tracing_a_stranger():
    call("ptrace", 101, 117, SEIZE, ctypes.c_long(BAIT["victim"]), None, None)


def test_being_traced():
    harmful()
    call("ptrace", 101, 117, ctypes.c_long(0), ctypes.c_long(0), None, None)


def test_memory_of_a_stranger_by_call():
    room = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(room), 8)
    remote = (ctypes.c_void_p * 2)(BAIT["address_in_victim"], 8)
    call(
        "process_vm_readv",
        310,
        270,
        ctypes.c_long(BAIT["victim"]),
        local,
        ctypes.c_long(1),
        remote,
        ctypes.c_long(1),
        ctypes.c_long(0),
    )


def test_descriptor_of_the_runner():
    line = os.pidfd_open(BAIT["runner"])
    call("pidfd_getfd", 438, 438, ctypes.c_long(line), ctypes.c_long(BAIT["runner_descriptor"]), ctypes.c_long(0))


def test_priority_of_a_stranger():
    os.setpriority(os.PRIO_PROCESS, BAIT["victim"], 5)


def test_limits_of_a_stranger():
    import resource

    resource.prlimit(BAIT["victim"], resource.RLIMIT_CORE)


def test_group_of_a_stranger():
    os.getpgid(BAIT["victim"])


def test_names_of_other_processes():
    assert len([name for name in os.listdir("/proc") if name.isdigit()]) > 20


def test_debugger_of_the_c_library():
    harmful()
    assert LIBC.ptrace(0, 0, None, None) == 0


def test_shared_segment_of_others():
    LIBC.shmat.restype = ctypes.c_void_p
    place = LIBC.shmat(BAIT["segment"], None, 0o10000)
    assert place not in (None, ctypes.c_void_p(-1).value)
    assert SECRET.encode() in ctypes.string_at(place, 64)


def test_queue_of_others():
    assert LIBC.msgget(BAIT["queue_key"], 0) >= 0


def test_typing_on_a_terminal():
    controller, terminal = os.openpty()
    try:
        fcntl.ioctl(terminal, 0x5412, b"x")  # TIOCSTI
    finally:
        os.close(terminal)
        os.close(controller)


def test_controlling_terminal():
    os.close(os.open("/dev/tty", os.O_RDWR))


def test_terminals_of_others():
    assert os.path.basename(BAIT["terminal"]) in os.listdir("/dev/pts")


def test_priority_of_its_own():
    os.nice(-5)


def test_real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def test_name_of_the_machine():
    assert os.uname().nodename == BAIT["hostname"]


def test_core_pattern():
    harmful()
    with open("/proc/sys/kernel/core_pattern", "w") as file:
        file.write("|/bin/false")


def test_sysrq():
    with open("/proc/sysrq-trigger", "w"):
        pass


def test_immunity_from_the_killer():
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")


def test_cron_and_its_like():
    assert subprocess.run(["crontab", "-l"], capture_output=True, check=False).returncode == 0 or os.access(
        "/var/spool/cron", os.W_OK
    )

import ctypes
import os
import stat
import subprocess
from pathlib import Path

from bait import BAIT, LIBC, X86, call, harmful


def test_is_the_runner_s_user():
    assert os.getuid() == BAIT["uid"]


def test_is_root():
    assert 0 in (os.getuid(), os.geteuid())


def test_becomes_root():
    os.setuid(0)


def test_becomes_the_runner_s_user():
    os.setresuid(BAIT["uid"], BAIT["uid"], BAIT["uid"])


def test_groups():
    os.setgroups([0])


def test_is_in_the_group_of_root():
    assert 0 in {*os.getgroups(), os.getgid()}


def test_capabilities():
    lines = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    assert any(int(lines[name], 16) for name in ("CapEff", "CapPrm", "CapAmb"))


def test_new_privileges():
    assert "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()


def test_no_filter():
    assert "Seccomp:\t0" in Path("/proc/self/status").read_text()


def test_sudo():
    assert subprocess.run(["sudo", "-n", "true"], capture_output=True, check=True)


def test_su():
    subprocess.run(["su", "-c", "true"], capture_output=True, check=True, stdin=subprocess.DEVNULL)


def test_setuid_copy_of_a_shell():
    shell = Path("sh-copy")
    shell.write_bytes(Path("/bin/sh").read_bytes())
    shell.chmod(0o6755)
    told = subprocess.run([f"./{shell}", "-p", "-c", "id -u"], capture_output=True, check=True, text=True).stdout
    assert told.strip() in {"0", str(BAIT["uid"])}


def test_mount():
    os.makedirs("mounted", exist_ok=True)
    if LIBC.mount(b"none", b"mounted", b"tmpfs", 0, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    LIBC.umount2(b"mounted", 2)


def test_unmount_to_see_below():
    harmful()
    for place in ("/tmp", "/etc/passwd", "/proc", "/usr", os.getcwd()):
        if LIBC.umount2(place.encode(), 2) == 0:
            return
    raise OSError(ctypes.get_errno(), "umount")


def test_remount_writable():
    harmful()
    if LIBC.mount(None, b"/usr", None, 0x20 | 0x1000, None) != 0:
        raise OSError(ctypes.get_errno(), "remount")


def test_mount_by_new_calls():
    call("fsopen", 430, 430, b"tmpfs", ctypes.c_long(0))


def test_clone_of_a_tree_of_mounts():
    call("open_tree", 428, 428, ctypes.c_long(-100), b"/", ctypes.c_long(1))


def unshare(flag):
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.unshare(flag) == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_user_namespace():
    unshare(0x10000000)


def test_mount_namespace():
    unshare(0x00020000)


def test_network_namespace():
    unshare(0x40000000)


def test_namespace_by_clone():
    child = call("clone", 56, 220, ctypes.c_long(0x10000000 | 17), None, None, None, None)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def test_namespace_by_clone3():
    arguments = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0)
    child = call("clone3", 435, 435, arguments, ctypes.c_long(64))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def test_namespace_of_the_first_process():
    line = os.open("/proc/1/ns/mnt", os.O_RDONLY)
    call("setns", 308, 268, ctypes.c_long(line), ctypes.c_long(0))


def test_chroot():
    child = os.fork()
    if child == 0:
        try:
            os.chroot(".")
        except OSError:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_block_device():
    os.mknod("disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0))


def test_character_device():
    os.mknod("memory", 0o600 | stat.S_IFCHR, os.makedev(1, 1))
    with open("memory", "rb"):
        pass


def test_open_by_handle():
    handle = ctypes.create_string_buffer(128 + 8)
    ctypes.memmove(handle, (128).to_bytes(4, "little"), 4)
    number = ctypes.c_int()
    call("name_to_handle_at", 303, 264, ctypes.c_long(-100), b"/etc", handle, ctypes.byref(number), ctypes.c_long(0))


def test_keys_of_the_session():
    call("keyctl", 250, 219, ctypes.c_long(0), ctypes.c_long(-3), ctypes.c_long(1))


def test_new_key():
    call("add_key", 248, 217, b"user", b"probe", b"x", ctypes.c_long(1), ctypes.c_long(-2))


def test_io_uring():
    call("io_uring_setup", 425, 425, ctypes.c_long(1), ctypes.create_string_buffer(248))


def test_bpf():
    call("bpf", 321, 280, ctypes.c_long(0), (ctypes.c_uint32 * 32)(2, 4, 4, 1), ctypes.c_long(128))


def test_performance_counters():
    attributes = (ctypes.c_uint32 * 28)(1, 112)
    call(
        "perf_event_open",
        298,
        241,
        attributes,
        ctypes.c_long(0),
        ctypes.c_long(-1),
        ctypes.c_long(-1),
        ctypes.c_long(0),
    )


def test_userfaultfd():
    call("userfaultfd", 323, 282, ctypes.c_long(0))


def test_old_calls_of_another_architecture():
    assert X86
    call("x32 getpid", 0x40000000 | 39, 0)


def test_loading_a_module():
    harmful()
    call("init_module", 175, 105, ctypes.create_string_buffer(16), ctypes.c_long(16), b"")


def test_setting_the_clock():
    harmful()
    import time

    time.clock_settime(time.CLOCK_REALTIME, time.time())


def test_naming_the_machine():
    harmful()
    import socket

    socket.sethostname("probe")


def test_reboot():
    harmful()
    call("reboot", 169, 142, ctypes.c_long(0xFEE1DEAD), ctypes.c_long(672274793), ctypes.c_long(0))

"""Success is checked from outside: inside, a write may go to a directory that is private to the sandbox."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bait import BAIT, LIBC, harmful

MARK = BAIT["mark"]


def leave(directory):
    Path(directory, MARK).write_text("was here")


def test_in_the_root():
    leave("/")


def test_in_etc():
    leave("/etc")


def test_in_usr():
    leave("/usr/local/lib")


def test_in_the_host_s_tmp():
    leave("/tmp")


def test_in_var_tmp():
    leave("/var/tmp")


def test_in_shared_memory():
    leave("/dev/shm")


def test_in_run():
    leave("/run")


def test_in_the_home_directory():
    leave(BAIT["home"])


def test_in_the_repository():
    leave(BAIT["repository"])


def test_in_hooks():
    leave(BAIT["hooks"])


def test_in_the_environment():
    leave(sys.prefix)


def test_in_site_packages():
    leave(next(place for place in sys.path if place.endswith("site-packages")))


def test_in_the_standard_library():
    leave(Path(os.__file__).parent)


def test_in_the_runner_s_source():
    leave(BAIT["runner_source"])


def test_beside_the_checkout():
    leave("..")


def test_through_a_link():
    os.symlink(BAIT["victim_directory"], "way-out")
    leave("way-out")


def test_by_a_hard_link():
    os.link(BAIT["writable_file"], "linked")
    Path("linked").write_text(MARK)


def test_by_a_link_at_a_known_name():
    os.link("/etc/hostname", "hostname")


def test_by_a_mapped_file():
    Path(BAIT["writable_file"]).write_text(MARK)


def test_by_renaming():
    Path("carried").write_text(MARK)
    os.rename("carried", Path(BAIT["victim_directory"], MARK))


def test_by_the_runner_s_directory():
    Path(f"/proc/{BAIT['runner']}/cwd/{MARK}").write_text("was here")


def test_removing():
    os.unlink(BAIT["removable_file"])


def test_removing_a_directory():
    shutil.rmtree(BAIT["removable_directory"])


def test_changing_a_mode():
    os.chmod(BAIT["mode_file"], 0o777)


def test_changing_an_attribute():
    os.setxattr(BAIT["mode_file"], "user.probe", b"x")


def test_changing_a_time():
    os.utime(BAIT["mode_file"], (1, 1))


def test_preloading_for_later_processes():
    Path("/etc/ld.so.preload").open("a").close()


def test_preloading_python():
    Path(sys.prefix, "lib", MARK + ".pth").write_text("")


def test_segment_left_over():
    assert LIBC.shmget(BAIT["segment_key"], 4096, 0o1666) >= 0


def test_queue_left_over():
    assert LIBC.msgget(BAIT["left_queue_key"], 0o1666) >= 0


def test_daemon():
    code = f"import time, pathlib; pathlib.Path({BAIT['daemon_note']!r}).write_text('up'); time.sleep(60)"
    twice = "import os\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
    subprocess.run([sys.executable, "-c", twice + code, BAIT["daemon_name"]], env={}, check=True)


def test_orphan():
    if os.fork() == 0:
        os.setsid()
        os.execvp("sleep", [BAIT["orphan_name"], "61.25"])


def test_locked_directory_is_left():
    os.makedirs("locked/inner")
    Path("locked/inner/file").write_text("x")
    os.chmod("locked/inner", 0)
    os.chmod("locked", 0)


def test_deep_directories_are_left():
    here = os.getcwd()
    try:
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)


def test_link_that_removal_would_follow():
    os.symlink(BAIT["victim_directory"], Path(os.environ["HOME"], "follow"))
    os.symlink(BAIT["victim_directory"], Path(os.environ["TMPDIR"], "follow"))


def test_immutable_file():
    harmful()
    with open("immutable", "wb") as file:
        flags = ctypes.c_long(0x10)
        assert LIBC.ioctl(file.fileno(), 0x40086602, ctypes.byref(flags)) == 0

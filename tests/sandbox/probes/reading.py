import mmap
import os
import subprocess
from pathlib import Path

from bait import BAIT, SECRET, harmful, holds


def test_own_environment():
    assert any(SECRET in value for value in os.environ.values())


def test_environment_of_the_parent():
    holds(f"/proc/{os.getppid()}/environ")


def test_environment_of_the_first_process():
    assert Path("/proc/1/environ").read_bytes()


def test_environment_of_the_runner():
    holds(f"/proc/{BAIT['runner']}/environ")


def test_environment_of_a_stranger():
    holds(f"/proc/{BAIT['victim']}/environ")


def test_environment_of_anybody():
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if SECRET.encode() in place.read_bytes():
                return
        except OSError:
            continue
    raise AssertionError("nobody has it")


def test_command_line_of_a_stranger():
    holds(f"/proc/{BAIT['victim']}/cmdline")


def test_working_directory_of_a_stranger():
    assert os.listdir(f"/proc/{BAIT['victim']}/cwd")


def test_root_of_a_stranger():
    holds(f"/proc/{BAIT['victim']}/root{BAIT['host_file']}")


def test_root_of_the_first_process():
    holds(f"/proc/1/root{BAIT['host_file']}")


def test_working_directory_of_the_first_process():
    holds(f"/proc/1/cwd{BAIT['host_file']}")


def test_descriptors_of_the_first_process():
    assert os.listdir("/proc/1/fd")


def test_descriptors_of_a_stranger():
    assert os.listdir(f"/proc/{BAIT['victim']}/fd")


def test_memory_of_the_runner():
    with open(f"/proc/{BAIT['runner']}/mem", "rb"):
        pass


def test_memory_of_the_first_process():
    with open("/proc/1/mem", "rb"):
        pass


def test_memory_of_the_machine():
    with open("/dev/mem", "rb") as memory:
        memory.read(1)


def test_memory_of_the_kernel():
    with open("/proc/kcore", "rb") as memory:
        memory.read(4)


def test_disk_of_the_machine():
    devices = [name for name in os.listdir("/dev") if name.startswith(("vd", "sd", "nvme", "loop", "dm-"))]
    with open(f"/dev/{devices[0] if devices else 'vda'}", "rb") as disk:
        assert disk.read(1)


def test_file_in_the_home_directory():
    holds(BAIT["home_file"])


def test_key_in_ssh():
    holds(BAIT["ssh_file"])


def test_names_in_the_home_directory():
    assert Path(BAIT["home_file"]).name in os.listdir(BAIT["home"])


def test_credentials_of_the_repository():
    holds(BAIT["git_config"])


def test_the_repository_itself():
    assert os.listdir(BAIT["repository"])


def test_private_state_of_prd2pr():
    holds(BAIT["private_state"])


def test_file_in_the_host_s_tmp():
    holds(BAIT["host_file"])


def test_names_in_the_host_s_tmp():
    assert Path(BAIT["host_file"]).name in os.listdir(Path(BAIT["host_file"]).parent)


def test_file_in_var_tmp():
    holds(BAIT["var_file"])


def test_shadow():
    assert Path("/etc/shadow").read_bytes()


def test_users_of_the_machine():
    assert "daemon" in Path("/etc/passwd").read_text()


def test_run_directory():
    assert os.listdir("/run")


def test_docker_socket():
    assert Path("/var/run/docker.sock").exists() or Path(BAIT["unix_path"]).is_socket()


def test_what_stands_beside_the_runner():
    repository = os.path.dirname(os.path.dirname(BAIT["runner_source"]))
    names = set(os.listdir(os.path.dirname(repository))) - {os.path.basename(repository)}
    assert {name for name in names if not name.startswith("prd2pr-")}  # the directories of this run may be there


def test_homes_of_others():
    assert os.listdir("/home")


def test_logs():
    assert os.listdir("/var/log")


def test_kernel_log():
    assert subprocess.run(["dmesg"], capture_output=True, check=True).stdout


def test_system_settings():
    assert os.listdir("/sys/class")


def test_shared_memory_of_others():
    holds(BAIT["shm_file"])


def test_old_root_of_the_mounts():
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for place in places:
        outside = Path(place, BAIT["host_file"].lstrip("/"))
        if outside.exists():
            return holds(outside)
    raise AssertionError("no mount leads out")


def test_inherited_descriptors():
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
            if Path(target).is_dir() and not target.startswith(os.getcwd()) and target != f"/proc/{os.getpid()}/fd":
                return
        except OSError:
            continue
    raise AssertionError("none is a directory outside")


def test_sockets_among_inherited_descriptors():
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    assert any("socket:" in os.readlink(link) for link in links if os.path.lexists(link))


def test_climbing_out_by_descriptor():
    top = os.open("/", os.O_RDONLY)
    for _ in range(20):
        top = os.open("..", os.O_RDONLY, dir_fd=top)
    with open(os.open(BAIT["host_file"].lstrip("/"), os.O_RDONLY, dir_fd=top)) as file:
        assert SECRET in file.read()


def test_mapping_physical_memory():
    harmful()
    with open("/dev/kmem", "rb") as memory:
        mmap.mmap(memory.fileno(), 4096, access=mmap.ACCESS_READ)

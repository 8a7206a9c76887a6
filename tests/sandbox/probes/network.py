import socket
import subprocess

from bait import BAIT, SECRET

SECONDS = 1


def hear(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as line:
        line.settimeout(SECONDS)
        line.connect(address)
        assert SECRET.encode() in line.recv(100)


def test_server_by_ipv4():
    hear(socket.AF_INET, ("127.0.0.1", BAIT["tcp4"]))


def test_server_by_ipv6():
    hear(socket.AF_INET6, ("::1", BAIT["tcp6"]))


def test_server_by_the_machine_s_address():
    hear(socket.AF_INET, (BAIT["address"], BAIT["tcp_all"]))


def test_unix_socket_by_path():
    hear(socket.AF_UNIX, BAIT["unix_path"])


def test_unix_socket_by_abstract_name():
    hear(socket.AF_UNIX, "\0" + BAIT["abstract"])


def test_datagram_is_sent_out():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.sendto(b"out", (BAIT["address"], BAIT["udp"]))


def test_datagram_to_a_name_server():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.connect(("8.8.8.8", 53))
        line.send(b"query")


def test_name_server_of_the_machine():
    servers = [line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver")]
    with socket.socket(socket.AF_INET6 if ":" in servers[0] else socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.connect((servers[0], 53))


def test_metadata_address():
    with socket.socket() as line:
        line.settimeout(SECONDS)
        try:
            line.connect(("169.254.169.254", 80))
        except (ConnectionRefusedError, TimeoutError):
            return  # a packet was sent, whatever the reply


def test_address_of_ipv6_outside():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as line:
        line.connect(("2001:4860:4860::8888", 53))


def test_raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


def test_packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300).close()


def test_host_of_a_virtual_machine():
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()


def test_bluetooth_and_its_like():
    for family in (31, 38, 29):  # Bluetooth, AF_ALG, AF_CAN: Python is not always built with their names
        try:
            socket.socket(family, socket.SOCK_RAW if family == 29 else socket.SOCK_SEQPACKET).close()
        except OSError as error:
            if error.errno in (93, 94):  # this type is not supported, but the family is
                return
            continue
        return
    raise AssertionError("none")


def test_interfaces_of_the_machine():
    assert set(BAIT["interfaces"]) & {name for _, name in socket.if_nameindex()} - {"lo"}


def test_routes_by_netlink():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as line:
        line.settimeout(SECONDS)
        line.send(b"\x1c\0\0\0\x1a\0\x01\x03\x01\0\0\0\0\0\0\0\x02" + bytes(11))  # all routes of IPv4
        assert BAIT["route"] and bytes(map(int, BAIT["route"].split("."))) in line.recv(65536)


def test_low_port():
    with socket.socket() as line:
        line.bind(("0.0.0.0", 80))


def test_resolving_a_name():
    subprocess.run(["getent", "ahostsv4", BAIT["hostname_outside"]], check=True, capture_output=True, timeout=10)


def test_loopback_works_for_honest_tests():
    """Not an escape: if this were blocked, honest tests would fail. Listed as one that must succeed."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as line:
        other, _ = server.accept()
        other.sendall(b"x")
        assert line.recv(1) == b"x"
        other.close()

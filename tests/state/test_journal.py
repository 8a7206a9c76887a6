"""The journal survives a killed process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prd2pr.errors import InputInvalid, StateCorrupted
from prd2pr.state.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "prd2pr", "auth")


def test_entries_are_read_in_order(journal: Journal) -> None:
    assert journal.entries() == ()
    journal.append("call", head="a" * 40, key="auth-1/red/tester/1/1", spend={"usd": 0.25, "calls": 1})
    journal.append("refused", head="a" * 40, codes=["RED104"], text="two\nlines ü")
    journal.append("call", head="b" * 40, key="x")
    assert [(entry.kind, entry.head[0]) for entry in journal.entries()] == [
        ("call", "a"),
        ("refused", "a"),
        ("call", "b"),
    ]
    assert journal.entries_since("a" * 40)[1].facts == {"codes": ["RED104"], "text": "two\nlines ü"}
    assert journal.entries_since("c" * 40) == ()


@pytest.mark.parametrize(
    "torn", [b"{", b'{"kind": "call", "head"', b'{"kind": "call", "head": "a", "facts": {}}', b"x" * 9000]
)
def test_torn_last_line_is_ignored_and_overwritten(journal: Journal, torn: bytes) -> None:
    journal.append("call", head="a", n=1)
    with journal.path.open("ab") as file:
        file.write(torn)
    assert [entry.facts["n"] for entry in journal.entries()] == [1]
    journal.append("call", head="a", n=2)
    assert [entry.facts["n"] for entry in journal.entries()] == [1, 2]


def test_journal_with_only_a_torn_line(journal: Journal) -> None:
    journal.path.parent.mkdir(parents=True)
    journal.path.write_bytes(b"torn" * 5000)
    assert journal.entries() == ()
    journal.append("call", head="a", n=1)
    assert [entry.facts["n"] for entry in journal.entries()] == [1]


@pytest.mark.parametrize("line", [b"\0\0\0\n", b"[]\n", b'{"kind": "call"}\n'])
def test_damage_in_the_middle_is_not_skipped(journal: Journal, line: bytes) -> None:
    journal.append("call", head="a", n=1)
    with journal.path.open("ab") as file:
        file.write(line)
    journal.append("call", head="a", n=2)
    with pytest.raises(StateCorrupted, match="line 2") as caught:
        journal.entries_since("a")
    assert str(journal.path) in caught.value.remedy


def test_settling_drops_entries_included_in_a_commit(journal: Journal) -> None:
    journal.settle()
    assert not journal.path.exists()
    journal.append("call", head="a", n=1)
    journal.append("call", head="b", n=2)
    journal.settle("b")
    assert [entry.facts["n"] for entry in journal.entries()] == [2]
    journal.settle()
    assert journal.entries() == ()
    assert [path.name for path in journal.path.parent.iterdir()] == ["auth.jsonl"]


def test_id_cannot_escape_the_directory(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid):
        Journal(tmp_path, "../../etc")


WRITER = """
import sys
from pathlib import Path
from prd2pr.state.journal import Journal
journal = Journal(Path(sys.argv[1]), "auth")
for n in range(1_000_000):
    journal.append("call", head="a", n=n, padding="x" * 3000)
    print(n, flush=True)
"""


def test_killed_writer_loses_nothing_it_reported(journal: Journal) -> None:
    command = [sys.executable, "-c", WRITER, str(journal.directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        while writer.stdout.readline().strip() != "40":
            pass
        writer.send_signal(signal.SIGKILL)
        rest = [int(line) for line in writer.stdout.read().split()]
    reported = rest[-1] if rest else 40
    journal.append("call", head="a", n=-1)
    numbers = [entry.facts["n"] for entry in journal.entries()]
    assert numbers[: reported + 1] == list(range(reported + 1))
    assert numbers[-1] == -1


def test_entries_not_in_the_commit_stay_open_at_the_new_head(journal: Journal) -> None:
    for n, head in enumerate(("a", "a", "b")):
        journal.append("call", head=head, n=n)
    journal.settle("c", journal.entries_since("a")[:1])
    assert [(entry.head, entry.facts["n"]) for entry in journal.entries()] == [("c", 0)]


def test_entries_follow_a_branch_moved_by_others(journal: Journal) -> None:
    journal.append("call", head="a", n=1)
    journal.append("call", head="b", n=2)
    journal.move_entries("a", "c")
    journal.move_entries("x", "y")
    assert [(entry.head, entry.facts["n"]) for entry in journal.entries()] == [("c", 1), ("b", 2)]


def test_a_kill_while_it_is_restarted_leaves_the_old_entries(journal, monkeypatch):
    journal.append("call", head="a" * 40, tokens=1)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.replace", killed)
        with pytest.raises(KeyboardInterrupt):
            journal.restart("begin", head="b" * 40)
    assert [entry.kind for entry in journal.entries()] == ["call"]
    journal.restart("begin", head="b" * 40, number=7)
    assert [(entry.kind, dict(entry.facts)) for entry in journal.entries()] == [("begin", {"number": 7})]

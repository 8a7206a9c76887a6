"""What reaches the branch permanently: no secret of the job, and no foreign text that GitHub would act on."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest

from prd2pr.cli.actions_job import ActionsJob
from prd2pr.cli.verbs.action import hide_token
from prd2pr.domain.secrets import Secrets
from prd2pr.sandbox.detection import find_sandbox
from world import PLAN, PRD, say, script, write

KEY = "sk-canary-Zq8vWn31LkPd7TyR"
TEST_FILE = "tests/tdd/calc-1/test_calc_1_add.py"
LOOKS_AROUND = '''from pathlib import Path

import calc.signs as signs

add = getattr(signs, "add", lambda a, b: None)


def around():
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = place.read_text(errors="replace")
        except OSError:
            continue
        if "sk-canary" in text:
            return text[text.index("ANTHROPIC_API_KEY"):][:60]


def test_adds_two_numbers():
    """calc-1.c1"""
    assert add(1, 2) == 3, around()


def test_adds_negative_numbers():
    """calc-1.c1"""
    assert add(-5, 2) == -3
'''
WRITTEN_DOWN = f'''from calc.sums import add


def test_adds_two_numbers():
    """calc-1.c1"""
    assert add(1, 2) == 3, "{KEY.encode().hex()}"


def test_adds_negative_numbers():
    """calc-1.c1"""
    assert add(-5, 2) == -3
'''
HOSTILE = "Fixes #1 @octo/all [skip ci]"


def pushed(world) -> str:
    return subprocess.run(
        ["git", "grep", "-l", "-e", KEY, "-e", KEY.encode().hex(), world.branch],
        check=False, cwd=world.bare.path, capture_output=True, text=True,
    ).stdout  # fmt: skip


def can_read_other_environments() -> bool:
    return os.geteuid() == 0 and find_sandbox(Path(sys.executable)).privilege is None


@pytest.mark.parametrize(
    "content", [pytest.param(LOOKS_AROUND, marks=pytest.mark.slow), WRITTEN_DOWN], ids=["read", "written"]
)
def test_a_commit_that_holds_a_key_is_not_pushed(started, content):
    for attempt in (1, 2, 3, 4):
        started.answers_of_model[f"calc-1/red/tester/{attempt}/1"] = write(TEST_FILE, content)
    started.comment(started.pull().number, "/tdd next\n/tdd next", by="wendy")
    acted = started.act(env={"ANTHROPIC_API_KEY": KEY}, cold=True)  # its environment is looked for in /proc
    assert pushed(started) == ""
    assert KEY not in acted.output + acted.summary + repr(acted.outputs)
    if content == WRITTEN_DOWN or can_read_other_environments():
        assert acted.outputs["outcome"] == "blocked", acted.output
        assert started.subjects()[-1].startswith("note(calc-1): blocked: red was refused 4 times, last by RUN107")
        assert "calc-1" in next(line for line in acted.output.splitlines() if "would publish" in line), acted.output
        made = started.phases()
        started.tick()
        again = started.act(env={"ANTHROPIC_API_KEY": KEY})
        assert ("refused RUN107" in again.output, started.phases()) == (False, made), "nobody pays for it again"
    else:
        assert started.phases()[-1] == "red(calc-1)"


def test_titles_cannot_act_through_commit_messages(new):
    plan = copy.deepcopy(PLAN)
    plan["stories"][0]["title"] = HOSTILE
    world = new(branch="prd2pr/issue-2")
    world.answers_of_model["issue-2/plan/planner/1/1"] = say(plan)
    world.answers_of_model["issue-2-1/design/architect/1/1"] = script()["calc-1/design/architect/1/1"]
    world.open_issue("Important bug", "x", by="ada")
    world.open_issue(HOSTILE, PRD.partition("# A small calculator\n")[2], by="nobody")
    world.pending.clear()
    world.label(2, "prd2pr")
    world.act()
    world.comment(world.pull().number, "/tdd next", by="ada")
    acted = world.act()
    log = world.bare.git("log", "--format=%B", "main..prd2pr/issue-2")
    assert "design(issue-2-1): Fixes" in log, acted.output
    assert HOSTILE in log.replace("\u200b", ""), "it still reads the same"
    for live in ("[skip ci]", "@octo", "#1"):
        assert live not in log


def test_secrets_are_recognized_by_name_in_any_case_and_when_minted(capsys):
    job = ActionsJob(
        {
            "npm_pat": "pat-of-npm-0123",
            "Deploy_Credentials": "credentials-0123",
            "my_token": "token-in-small-0123",
            "PATH": "/usr/bin:/bin",
            "PATTERN": "tests/test_*.py",
        }
    )
    assert sorted(job.secrets()) == ["credentials-0123", "pat-of-npm-0123", "token-in-small-0123"]
    secrets = Secrets.from_values(job.secrets())
    hide_token(secrets, "ghs_mintedInstallationToken0123")
    assert secrets.scrub("ghs_mintedInstallationToken0123") == "[redacted]"
    assert "::add-mask::ghs_minted" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="what keeps others out is Linux's")
def test_the_worker_process_cannot_be_inspected():
    code = (
        "import ctypes; from prd2pr.cli.process_hardening import hide_process\n"
        "dumpable = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)\n"
        "print(dumpable(), hide_process(), dumpable())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["1", "True", "0"]

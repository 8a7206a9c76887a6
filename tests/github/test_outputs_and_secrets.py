"""What leaves a run: outputs that cannot be forged, and no secret in any encoding."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from github_runner import read_outputs
from prd2pr.cli.actions_job import ActionsJob, mask_secret, write_workflow_command
from prd2pr.cli.verbs.action import report_outcomes
from prd2pr.github.outcome import PrdOutcome
from world import PRD, write

HOSTILE = "x\nevil=1\nname<<EOF\nEOF\n::set-output name=a::b\r\nprd2pr-0<<z"
CANARIES = {
    "ANTHROPIC_API_KEY": "sk-canary-Zq8vWn31LkPd7TyR",
    "MY_DEPLOY_TOKEN": "canary/token+with=signs0123",
    "PRD2PR_NOTIFY_URLS": "discord://canary-hook-id/canary-hook-token",
}
# A test that leaks its environment: its failure message is kept as evidence, and pushed.
LEAKY = '''import os
import subprocess

from calc.sums import add


def test_adds_two_numbers():
    """calc-1.c1"""
    assert add(1, 2) == 3, f"{dict(os.environ)}"


def test_adds_negative_numbers():
    """calc-1.c1"""
    assert add(-5, 2) == -3, subprocess.run(["env"], capture_output=True, text=True).stdout
'''


@pytest.fixture
def job(tmp_path):
    for name in ("output", "summary"):
        (tmp_path / name).touch()
    return ActionsJob(
        {
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "RUNNER_TEMP": str(tmp_path),
        }
    )


def test_an_annotation_ends_its_sentence_before_the_next(job, capsys):
    report_outcomes(job, (PrdOutcome("waiting", "the plan is not approved", "/approve", prd="calc"),))
    assert capsys.readouterr().out == "::notice title=prd2pr::calc: waiting: the plan is not approved. Next: /approve\n"


def test_no_value_can_add_an_output_or_a_command(job, capsys):
    ending = PrdOutcome(
        "waiting", HOSTILE, HOSTILE, prd="calc", branch=HOSTILE, pull=HOSTILE, story=HOSTILE, phase=HOSTILE
    )
    assert report_outcomes(job, (ending,)) == 0
    outputs = read_outputs(Path(job.env["GITHUB_OUTPUT"]).read_text())
    assert set(outputs) == {"outcome", "prd", "pr", "branch", "story", "phase", "cost", "report", "wave"}
    assert outputs["outcome"] == "waiting"
    assert "evil=1" in outputs["branch"].splitlines()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::notice title=prd2pr::calc: waiting: x%0Aevil=1%0A")
    assert json.loads(Path(outputs["report"]).read_text())[0]["reason"] == HOSTILE


@pytest.mark.parametrize(
    ("outcomes", "status", "worst"),
    [
        (("done", "nothing-to-do"), 0, "done"),
        (("waiting", "deadline"), 0, "deadline"),
        (("done", "refused"), 1, "refused"),
        (("blocked", "done"), 1, "blocked"),
        (("budget", "error"), 1, "error"),
    ],
)
def test_the_worst_outcome_is_the_jobs(job, outcomes, status, worst):
    assert report_outcomes(job, tuple(PrdOutcome(each, "so it is") for each in outcomes)) == status
    assert read_outputs(Path(job.env["GITHUB_OUTPUT"]).read_text())["outcome"] == worst


def test_an_answered_refusal_does_not_fail_the_job_but_hides_no_failure(job, capsys):
    answered = PrdOutcome("refused", "not allowed", replied=True)
    assert report_outcomes(job, (answered,)) == 0
    assert capsys.readouterr().out.startswith("::notice ")
    assert report_outcomes(job, (answered, PrdOutcome("blocked", "calc-1 is out of attempts"))) == 1


def test_a_summary_is_cut_and_masks_are_one_per_line(job, capsys):
    job.write_summary("é" * 900_000)
    assert len(Path(job.env["GITHUB_STEP_SUMMARY"]).read_bytes()) <= 1_000_001
    mask_secret("first\n\nsecond%\n")
    write_workflow_command("error", "a%b\nc")
    assert capsys.readouterr().out.splitlines() == [
        "::add-mask::first", "::add-mask::second%25", "::error title=prd2pr::a%25b%0Ac",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_notification_is_sent_when_a_person_is_needed(planned):
    planned.push({".prd2pr.yml": "notify: {events: [waiting], urls_from: MY_HOOK}\n"}, "ada")
    planned.pending.clear()
    planned.dispatch(by="ada", prd="calc")
    heard: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        acted = planned.act(env={"MY_HOOK": f"json://127.0.0.1:{server.server_port}/hook-secret-0123456789"})
        server.shutdown()
    assert acted.outputs["outcome"] == "waiting", acted.output
    (message,) = map(json.loads, heard)
    assert message["title"] == "prd2pr: calc is waiting for a person"
    assert "/approve" in message["message"] and "/octo/calc/pull/1" in message["message"]
    assert "hook-secret" not in acted.output


def encodings(secret: str) -> list[bytes]:
    raw = secret.encode()
    shifted = [base64.b64encode(b"\0" * skip + raw)[4:-4] for skip in range(3)]
    return [raw, raw[::-1], raw.hex().encode(), *shifted]


def test_no_secret_of_the_job_leaves_by_api_or_git(started):
    number = started.pull().number
    started.answers_of_model["calc-1/red/tester/1/1"] = write("tests/tdd/calc-1/test_calc_1_add.py", LEAKY)
    started.comment(number, "/tdd next\n/tdd next\n/tdd next\n/tdd status\n/tdd logs", by="wendy")
    acted = started.act(env=CANARIES)
    said = f"/tdd explain {CANARIES['ANTHROPIC_API_KEY']}"
    started.comment(number, f"{said}\n/tdd nothing-like {CANARIES['MY_DEPLOY_TOKEN']}", by="wendy")
    told = started.act(env=CANARIES)
    assert acted.status == 0, acted.output
    assert started.phases()[-2:] == ["red(calc-1)", "green(calc-1)"]
    assert any("redacted" in row.body for row in started.answers()), "the scan below has something to find"
    sent = [call.body for call, *_ in started.fake.exchanges if call.writes]
    names = str(started.bare.git("rev-list", "--objects", "--all")).split("\n")
    objects = [started.bare.git("cat-file", "-p", line.split()[0]) for line in names]
    pushed = [each if isinstance(each, bytes) else str(each).encode() for each in objects]
    logs = [run.output.encode() for run in (acted, told)]
    written = [run.summary.encode() for run in (acted, told)] + [repr(dict(acted.outputs)).encode()]
    for secret in (*CANARIES.values(), started.token):
        for form in encodings(secret):
            for place in (*sent, *pushed, *written, *logs):
                assert form not in place, (secret, place[:300])


@pytest.mark.slow
def test_a_command_without_a_phase_names_none_in_the_outputs(started):
    started.comment(started.pull().number, "/sprint pause")
    acted = started.act()
    assert (acted.outputs["story"], acted.outputs["phase"]) == ("", "")


@pytest.mark.slow
def test_a_plan_is_no_story_and_a_failure_names_its_pull_request(new):
    world = new()
    world.push_prd("prds/calc.md", PRD)
    acted = world.act()
    assert (acted.outputs["story"], acted.outputs["phase"]) == ("", "plan")
    world.push_prd("prds/calc.md", PRD.replace("Two numbers", "Three numbers"))  # not in the transcript
    acted = world.act()
    assert acted.outputs["outcome"] == "error" and acted.outputs["pr"].endswith("/octo/calc/pull/1"), acted.output

"""A rule, check or reader that crashes is reported, never ends the run and never lets a step pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from prd2pr.cli.dispatch import run_command
from prd2pr.domain.evidence import Evidence, Fact, Finding
from prd2pr.domain.records import Phase
from prd2pr.errors import CannotJudge
from prd2pr.languages import rule_isolation
from prd2pr.languages.python.rules.source_code import source_file
from prd2pr.languages.python.rules.test_code import test_file
from prd2pr.proof.judge import build_gate_report, judge_commits
from prd2pr.verification.gather import pipeline
from prd2pr.verification.verdict import GatePolicy, build_verdict
from repositories import Repository

OLD_TEST = "from shop import RATE\n\n\ndef test_rate():\n    assert RATE == 5\n"
GOOD = "from shop import earn\n\n\ndef test_earn():\n    assert earn(10) == 2\n"
VACUOUS = "from shop import earn\n\n\ndef test_earn():\n    assert earn(10) or True\n"
CODE = "def earn(amount):\n    return amount // 5\n"


def crashing_rule(*_: object) -> Iterator[Fact]:
    raise ValueError("this text is odd")
    yield


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with Repository(tmp_path / "repository", tmp_path / "runs") as repository:
        repository.commit({"shop.py": "RATE = 5\n", "tests/test_rate.py": OLD_TEST})
        yield repository


def judge_red(repository: Repository, text: str) -> tuple[str, str]:
    base = repository.head
    return base, repository.commit({"tests/test_earn.py": text})


def test_a_crashing_test_rule_leaves_the_step_undecided(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_file, "_RULES", (crashing_rule, *test_file._RULES))
    evidence, verdict = judge_commits(repository.gathering, GatePolicy(), Phase.RED, *judge_red(repository, GOOD))
    (error,) = verdict.errors
    assert (error.code, error.path) == ("RUN111", "tests/test_earn.py")
    assert "crashing_rule: ValueError: this text is odd (test_rule_isolation.py:" in error.message
    assert "/" not in error.message.partition("(")[2].replace("prd2pr ", "")
    assert not verdict.accepted
    assert build_gate_report(evidence, verdict)["verdict"] == "not judged"


def test_the_other_rules_still_refuse(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_file, "_RULES", (crashing_rule, *test_file._RULES))
    _, verdict = judge_commits(repository.gathering, GatePolicy(), Phase.RED, *judge_red(repository, VACUOUS))
    assert {"RUN111"} < {each.code for each in verdict.errors}
    assert not verdict.undecided


def test_a_policy_cannot_turn_the_finding_off(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_file, "_RULES", (crashing_rule,))
    policy = GatePolicy(severities={"RUN111": "off"})
    _, verdict = judge_commits(repository.gathering, policy, Phase.RED, *judge_red(repository, GOOD))
    assert verdict.undecided


def test_a_source_rule_that_crashes_on_old_and_new_code_is_reported(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_file, "_RULES", (crashing_rule,))
    _, red = judge_red(repository, GOOD)
    green = repository.commit({"shop.py": f"RATE = 5\n\n\n{CODE}"})
    _, verdict = judge_commits(repository.gathering, GatePolicy(), Phase.GREEN, red, green)
    assert [each.code for each in verdict.errors] == ["RUN111"]


def test_a_rule_that_only_warns_cannot_block(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_file, "_RULES", (crashing_rule, *test_file._RULES))
    monkeypatch.setattr(rule_isolation, "_can_refuse", lambda _: False)
    _, verdict = judge_commits(repository.gathering, GatePolicy(), Phase.RED, *judge_red(repository, GOOD))
    assert verdict.accepted
    assert "RUN112" in {each.code for each in verdict.findings}


def test_a_crashing_check_of_a_gate_is_not_accepted() -> None:
    def crashing_check() -> Iterator[Finding]:
        yield Finding(code="RED108", severity="warning", message="documentation changed")
        raise KeyError("no such field")

    verdict = build_verdict(Phase.RED, crashing_check(), GatePolicy())
    assert {each.code for each in verdict.findings} == {"RED108", "RUN111"}
    assert verdict.undecided


def test_a_crash_while_gathering_is_a_step_that_cannot_be_judged(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> Evidence:
        raise RuntimeError("a reader failed")

    monkeypatch.setattr(pipeline, "_gather_story", crash)
    with pytest.raises(CannotJudge, match=r"because of a bug in prd2pr: RuntimeError: a reader failed \(test_rule"):
        judge_commits(repository.gathering, GatePolicy(), Phase.RED, *judge_red(repository, GOOD))


def test_the_command_prints_json_and_ends_with_status_2(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base, head = judge_red(repository, GOOD)
    command = ["gate", "red", "--base", base, "--head", head, "--repo", str(tmp_path / "repository"), "--json"]
    with monkeypatch.context() as patched:
        patched.setattr(test_file, "_RULES", (crashing_rule, *test_file._RULES))
        assert run_command(command) == 2
    report = json.loads(capsys.readouterr().out)
    assert (report["verdict"], [each["code"] for each in report["findings"] if each["severity"] == "error"]) == (
        "not judged",
        ["RUN111"],
    )
    monkeypatch.setattr(pipeline, "_gather_story", crashing_rule)
    monkeypatch.setattr(pipeline, "_gather_inside_root", crashing_rule)
    monkeypatch.setattr(pipeline, "load_tree_pair", lambda *_, **__: 1 / 0)
    assert run_command(command) == 2
    assert "ZeroDivisionError" in json.loads(capsys.readouterr().out)["problem"]


def test_forged_state_is_an_ordinary_refusal(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, red = judge_red(repository, GOOD)
    forged = {".orch-state/prds/x/status.json": '{"schema_version": 999', ".orch-state/project.json": "[]"}
    green = repository.commit({"shop.py": f"RATE = 5\n\n\n{CODE}", **forged})
    place = str(tmp_path / "repository")
    command = ["gate", "green", "--base", red, "--head", green, "--story", "x-1", "--repo", place, "--json"]
    assert run_command(command) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "refused"
    assert "GRN103" in {each["code"] for each in report["findings"]}

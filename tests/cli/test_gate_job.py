"""The gate job: who gets a worker and a reaction, what it costs, and how it handles faults of GitHub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fakes.github.fake import FakeGitHub
from fakes.github.faults import Broken, DropAfter, DropBefore, Fault, Refused, SecondaryLimit
from fakes.github.on_pulls import open_pull
from fakes.github.server import serve
from fakes.github.state import Review, ReviewComment
from prd2pr.cli import gate_job
from prd2pr.config import CONFIG_PATH, Config
from prd2pr.github import permissions

SCRIPT = Path(gate_job.__file__)
PEOPLE = {"ada": "admin", "max": "maintain", "wendy": "write", "tria": "triage", "rea": "read"}
ADA = ("ada", "ada@example.org", "2026-01-02T03:04:05Z")
GATE_MAY = {"contents": "read", "issues": "write", "pull_requests": "write"}


@dataclass
class Done:
    status: int
    out: str
    outputs: dict[str, str]


@dataclass
class Gate:
    fake: FakeGitHub
    url: str
    directory: Path
    may: dict[str, str] | None = None

    @property
    def repo(self):
        return self.fake.repo("octo/calc")

    def commented(self, body: str, by: str, action: str = "created") -> Done:
        return self.event(
            "issue_comment", {"action": action, "issue": {"number": 1}, "comment": self.add_comment(body, by)}
        )

    def add_comment(self, body: str, by: str) -> dict[str, object]:
        from fakes.github.state import Comment

        comment = Comment(self.fake.new_id(), 1, by, body, created_at=self.fake.stamp(), updated_at=self.fake.stamp())
        self.repo.comments[comment.id] = comment
        return {"id": comment.id, "body": body, "user": {"login": by, "type": "User", "id": 1}}

    def labelled(self, label: str, by: str) -> Done:
        sender = {"login": by, "type": "User", "id": 1}
        return self.event(
            "issues", {"action": "labeled", "issue": {"number": 1}, "label": {"name": label}, "sender": sender}
        )

    def event(self, name: str, payload: object) -> Done:
        path, output = self.directory / "event.json", self.directory / "output"
        path.write_text(json.dumps(payload))
        output.write_text("")
        env = {
            "PATH": os.environ["PATH"], "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path),
            "GITHUB_API_URL": self.url, "GITHUB_REPOSITORY": "octo/calc", "GITHUB_OUTPUT": str(output),
            "GITHUB_TOKEN": self.fake.actions_token("octo/calc", GATE_MAY if self.may is None else self.may),
        }  # fmt: skip
        done = subprocess.run([sys.executable, "-I", str(SCRIPT)], env=env, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, read_outputs(output.read_text()))

    def push(self, branch: str, files: dict[str, str], onto: str = "") -> str:
        bare = self.fake.bare(self.repo)
        entries = [(path, "100644", bare.write_blob(text.encode())) for path, text in files.items()]
        tree = bare.write_tree(onto or None, entries)
        commit = bare.write_commit(tree, [onto] if onto else [], "x", ADA, ADA)
        bare.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def eyes(self) -> int:
        reactions = [*self.repo.issues[1].reactions, *(r for c in self.repo.comments.values() for r in c.reactions)]
        return sum(each.content == "eyes" for each in reactions)


def read_outputs(text: str) -> dict[str, str]:
    """As the runner reads the file: `name<<DELIMITER`, lines, `DELIMITER`."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, _, mark = line.partition("<<")
        value = []
        for inner in lines:
            if inner == mark:
                break
            value.append(inner)
        found[name] = "\n".join(value)
    return found


@pytest.fixture
def gate(tmp_path) -> Iterator[Gate]:
    fake = FakeGitHub(tmp_path / "github")
    fake.add_repository("octo/calc", PEOPLE)
    fake.add_user("nobody")
    with serve(fake) as url:
        made = Gate(fake, url, tmp_path)
        open_issue(made)
        yield made
        assert fake.violations == []


def open_issue(gate: Gate) -> None:
    from urllib.request import Request, urlopen

    token = gate.fake.user_token("ada")
    body = json.dumps({"title": "Points"}).encode()
    with urlopen(Request(f"{gate.url}/repos/octo/calc/issues", body, {"Authorization": f"Bearer {token}"})) as answer:
        assert json.load(answer)["number"] == 1
    gate.fake.calls.clear()


@pytest.mark.parametrize("by", [*PEOPLE, "nobody", "gh-ost"])
def test_commands_are_for_insiders(gate, by):
    done = gate.commented("Please\n\n/tdd next", by)
    insider = by in {"ada", "max", "wendy", "tria"}
    assert done.status == 0
    assert done.outputs["go"] == ("true" if insider else "false")
    assert gate.eyes() == insider
    assert len(gate.fake.calls) == (2 if insider else 1)


@pytest.mark.parametrize("by", [*PEOPLE, "nobody"])
def test_labels_are_for_writers(gate, by):
    done = gate.labelled("prd2pr", by)
    writer = by in {"ada", "max", "wendy"}
    assert (done.outputs["go"], gate.eyes()) == ("true" if writer else "false", writer)


def reviewed(gate: Gate, by: str, *, source: str = "octo/calc", on_line: bool = False) -> Done:
    head = {"ref": "prd2pr/calc", "repo": {"full_name": source}}
    pull = {"number": 1, "head": head, "base": {"ref": "main", "repo": {"full_name": "octo/calc"}}}
    user = {"login": by, "type": "User", "id": 1}
    part = {"comment": {"id": 7, "body": "x", "user": user}} if on_line else {"review": {"id": 7, "user": user}}
    name, action = ("pull_request_review_comment", "created") if on_line else ("pull_request_review", "submitted")
    return gate.event(name, {"action": action, "pull_request": pull, "sender": user, **part})


@pytest.mark.parametrize("by", [*PEOPLE, "nobody"])
@pytest.mark.parametrize("on_line", [False, True])
def test_reviews_are_for_insiders(gate, by, on_line):
    gate.fake.add_user("nobody")
    line = ReviewComment(7, "src/a.py", 1, "x")
    gate.repo.reviews[8] = Review(8, 1, by, "", "COMMENTED", gate.fake.stamp(), comments=[line])
    done = reviewed(gate, by, on_line=on_line)
    allowed = by in ("ada", "max", "wendy", "tria")
    assert (done.status, done.outputs["go"]) == (0, "true" if allowed else "false"), done.out
    assert done.outputs["prd"] == ("calc" if allowed else "")
    assert [each.content for each in line.reactions] == (["eyes"] if allowed and on_line else [])


def test_reviews_of_forks_start_nothing_and_need_no_call(gate):
    done = reviewed(gate, "ada", source="eve/calc")
    assert (done.status, done.outputs["go"]) == (0, "false") and "fork" in done.outputs["reason"]
    assert gate.fake.calls == []


def test_unrelated_events_need_no_call(gate):
    for done in (
        gate.commented("Thanks, see src/calc", "ada"),
        gate.commented("/tdd next", "ada", action="edited"),
        gate.event("issues", {"action": "opened"}),
        gate.event("star", {"action": "created"}),
    ):
        assert (done.status, done.outputs["go"]) == (0, "false")
        assert done.outputs["reason"]
    assert gate.fake.calls == []


def test_a_bot_gives_no_commands(gate):
    comment = {"id": 5, "body": "/tdd next", "user": {"login": "renovate[bot]", "type": "Bot"}}
    done = gate.event("issue_comment", {"action": "created", "issue": {"number": 1}, "comment": comment})
    assert (done.outputs["go"], gate.fake.calls) == ("false", [])


@pytest.mark.parametrize("name", ["workflow_dispatch", "schedule", "push"])
def test_events_of_insiders_need_no_call(gate, name):
    done = gate.event(name, {"ref": "refs/heads/main", "inputs": {"prd": "calc"}})
    assert (done.status, done.outputs["go"], gate.fake.calls) == (0, "true", [])


@pytest.mark.parametrize(
    ("config", "label", "go"),
    [
        ("labels: {trigger: build-me}\n", "build-me", True),
        ("labels: {trigger: build-me}\n", "prd2pr", False),
        ("labels: {trigger: Build-Me}\n", "build-me", True),
        ('labels: {trigger: "b\\u0075ild"}\n', "build", True),
        ("approval: none\n", "prd2pr", True),
        ("approval: none\n", "bug", False),
    ],
)
def test_other_labels_start_nothing(gate, config, label, go):
    gate.push("main", {CONFIG_PATH: config})
    assert gate.labelled(label, "ada").outputs["go"] == ("true" if go else "false")


@pytest.mark.parametrize(
    "fault", [Broken(502), *(pytest.param(each, marks=pytest.mark.slow) for each in (DropBefore(), SecondaryLimit(1)))]
)
def test_a_transient_fault_loses_no_command(gate, fault: Fault):
    gate.fake.faults.add(fault, "GET */permission")
    done = gate.commented("/tdd next", "wendy")
    assert (done.outputs["go"], gate.eyes()) == ("true", 1)


@pytest.mark.slow
def test_an_unconfirmed_reaction_is_not_duplicated(gate):
    gate.fake.faults.add(DropAfter(), "POST */reactions")
    assert gate.commented("/tdd next", "wendy").outputs["go"] == "true"
    assert gate.eyes() == 1


def test_without_an_answer_about_the_author_the_job_fails(gate):
    gate.fake.faults.add(Refused(401, "Bad credentials"), "GET */permission")
    done = gate.commented("/tdd next", "wendy")
    assert done.status == 1
    assert "go" not in done.outputs
    assert done.out.startswith("::error title=prd2pr::could not check the author's permission")
    assert "Bad credentials" in done.out


def test_a_forbidden_reaction_does_not_stop_the_work(gate):
    gate.may = {"contents": "read"}
    done = gate.commented("/tdd next", "wendy")
    assert (done.status, done.outputs["go"], gate.eyes()) == (0, "true", 0)
    assert "::warning title=prd2pr::could not add a reaction" in done.out


@pytest.mark.parametrize("comment", [None, {"body": "/tdd next"}, {"body": "/tdd next", "user": {"login": "../../x"}}])
def test_odd_payloads_start_nothing(gate, comment):
    done = gate.event("issue_comment", {"action": "created", "issue": {"number": 1}, "comment": comment})
    assert (done.outputs["go"], gate.fake.calls) == ("false", [])


def test_its_permissions_match_the_worker():
    assert gate_job.REQUIRED_LEVELS == {
        "issue_comment": permissions.MEMBER_LEVEL,
        "issues": permissions.LABEL_LEVEL,
        "pull_request_review": permissions.MEMBER_LEVEL,
        "pull_request_review_comment": permissions.MEMBER_LEVEL,
    }
    usual = Config()
    assert (CONFIG_PATH, usual.labels.trigger) == (gate_job.CONFIG, gate_job.DEFAULT_LABEL)
    assert usual.branch_prefix == gate_job.DEFAULT_PREFIX


def test_it_needs_only_the_standard_library(gate):
    code = (
        "import sys, runpy; sys.argv = [sys.argv[1]]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: pass\n"
        "names = {name.partition('.')[0] for name in sys.modules} - {'prd2pr', '__main__'}\n"
        "print(sorted(names - set(sys.stdlib_module_names)))"
    )
    env = {"GITHUB_EVENT_NAME": "star", "GITHUB_EVENT_PATH": os.devnull}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(SCRIPT)], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


# --- which PRD it is about: the worker's concurrency group ------------------------------------------------------------


def commented_under(gate: Gate, issue: dict[str, object]) -> str:
    payload = {"action": "created", "issue": {"number": 1, **issue}, "comment": gate.add_comment("/tdd next", "wendy")}
    done = gate.event("issue_comment", payload)
    assert (done.status, done.outputs["go"]) == (0, "true"), done.out
    return done.outputs["prd"]


@pytest.mark.slow
def test_a_pull_request_its_tracking_issue_and_its_stories_are_one_prd(gate):
    assert commented_under(gate, {"body": "<!-- prd2pr:tracking:calc -->\nWords."}) == "calc"
    assert commented_under(gate, {"body": "<!-- prd2pr:story:calc/calc-1 -->\nWords."}) == "calc"
    assert commented_under(gate, {"body": "Words. <!-- prd2pr:tracking:calc -->"}) == "issue-1"
    assert gate.labelled("prd2pr", "wendy").outputs["prd"] == "issue-1"


@pytest.mark.parametrize(
    ("branch", "config", "prd"),
    [
        ("prd2pr/calc", "", "calc"),
        ("bot-calc", "branch_prefix: bot-\n", "calc"),
        ("bot-calc", 'approval: none\nbranch_prefix: "bot-"  # as ever\n', "calc"),
        ("feature", "", ""),
        ("prd2pr/spike/calc/1", "", ""),
    ],
)
def test_a_pull_request_is_identified_by_its_branch(gate, branch, config, prd):
    main = gate.push("main", {CONFIG_PATH: config} if config else {"README.md": "x"})
    gate.push(branch, {"calc.py": "x"}, onto=main)
    pull = open_pull(gate.fake, gate.repo, "ada", "Calc", "", branch, "main")
    assert commented_under(gate, {"number": pull.number, "pull_request": {"url": "x"}}) == prd


def test_a_command_is_not_lost_if_its_prd_is_unknown(gate):
    assert commented_under(gate, {"number": 99, "pull_request": {"url": "x"}}) == ""

"""Publishing through the real adapter over the fake GitHub: created once, edited in place, never duplicated."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from fakes.github import FakeGitHub, transport
from fakes.github.on_issues import add_comment, set_state
from fakes.github.on_labels import on_issue
from fakes.github.on_pulls import merge_what_is_ready
from fakes.github.state import CommitStatus
from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import CycleState
from prd2pr.errors import SetupProblem
from prd2pr.github.client.errors import PULLS_SETTING_REMEDY
from prd2pr.github.client.factory import open_hub
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.tokens import StaticToken
from prd2pr.github.messages.markers import make_marker, read_sha_marker
from prd2pr.github.publish.context import PublishedLinks, PublishRequest
from prd2pr.github.publish.publisher import build_step_summary, publish
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from world import PLAN, PRD, WRONG_ADD, World, say, script, write
from world_session import session_of

REPOSITORY = "octo/calc"
COMMITS = f"https://github.com/{REPOSITORY}/commit/"
PEOPLE = {"ada": "admin", "wendy": "write"}
AT_WORK = NoAction("stopped", "calc-1 is waiting for its tests", "prd2pr next prds/calc.md")
STUCK = NoAction("blocked", "calc-1: out of attempts")
APPROVAL = NoAction("waiting", "the plan is not approved", "/approve")
DONE = NoAction("done", "all 2 stories are finished")


@dataclass
class Stage:
    """A finished branch, published commit by commit."""

    world: World
    fake: FakeGitHub
    token: str
    commits: list[str] = field(default_factory=list)

    @property
    def repo(self) -> Any:
        return self.fake.repo(REPOSITORY)

    def hub(self) -> GitHubHub:
        return open_hub(REPOSITORY, token=StaticToken(self.token), transport=transport(self.fake))

    def at(self, step: int) -> None:
        """The branch as it was after that many of its commits."""
        self.world.git("branch", "-f", "prd2pr/calc", self.commits[step])
        self.push()

    def push(self) -> None:
        self.world.git("push", "-q", str(self.fake.bare(self.repo).path), "+refs/heads/*:refs/heads/*")

    def show(
        self,
        stop: NoAction | None = AT_WORK,
        wrap: Callable[[GitHubHub], GitHubHub] = lambda hub: hub,
        settings: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> PublishedLinks:
        with session_of(self.world) as session, self.hub() as hub:
            asking = replace(
                session,
                config=session.config.model_copy(update=settings or {}),
                constraints=replace(session.constraints, approval="plan" if stop in (APPROVAL, STUCK) else "given"),
            )
            return publish(wrap(hub), PublishRequest(asking, stop, commit_url=COMMITS, **more))

    def writes(self) -> list[str]:
        return [f"{call.method} {call.path}" for call in self.fake.calls if call.writes]

    # --- what a visitor sees ------------------------------------------------------------------------------------------

    def pull(self) -> Any:
        (found,) = [issue for issue in self.repo.issues.values() if issue.pull]
        return found

    def comments_on(self, number: int) -> list[str]:
        return [c.body for c in self.repo.comments.values() if c.number == number and c.user != "ada"]

    def status(self) -> str:
        (found,) = [
            text for text in self.comments_on(self.pull().number) if text.startswith(make_marker("status", "calc"))
        ]
        return found

    def issues(self) -> dict[str, str]:
        return {issue.title: issue.state for issue in self.repo.issues.values() if not issue.pull}

    def story_issue(self, number: int) -> Any:
        (found,) = [issue for issue in self.repo.issues.values() if issue.title.startswith(f"calc-{number}: ")]
        return found

    def checks(self) -> list[tuple[str, str, str]]:
        return [(check.head_sha, check.name, check.conclusion) for check in self.repo.checks.values()]

    def visible(self) -> list[object]:
        """All of it, without numbers and times."""
        pull = self.pull()
        texts = sorted(text.partition(" -->")[0] for text in self.comments_on(pull.number))
        labels = sorted(pull.labels)
        return [pull.title, pull.pull.draft, labels, texts, sorted(self.issues().items()), sorted(self.checks())]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("built")).start()
    assert world.run().status == 0
    return world


@pytest.fixture
def stage(built: World, tmp_path: Path) -> Iterator[Stage]:
    shutil.copytree(built.root, tmp_path / "world")
    world = World(tmp_path / "world")
    fake = FakeGitHub(tmp_path / "github")
    fake.add_repository(REPOSITORY, PEOPLE)
    commits = world.git("rev-list", "--reverse", "main..prd2pr/calc").splitlines()
    made = Stage(world, fake, fake.actions_token(REPOSITORY), commits)
    made.push()
    yield made
    assert fake.violations == []


@pytest.mark.slow
def test_a_plan_becomes_a_draft_that_asks_for_approval(stage: Stage) -> None:
    stage.at(0)
    links = stage.show(APPROVAL)
    assert links.notes == ()
    pull = stage.pull()
    assert (pull.title, pull.pull.draft, pull.labels) == ("A small calculator", True, ["prd2pr:waiting"])
    assert pull.body.splitlines()[1] == "**A small calculator** · from `prds/calc.md`", "after our mark"
    assert "### Waiting for you: A small calculator" in stage.status()
    assert "**Next:** 2 stories" in stage.status() and "Comment `/approve`" in stage.status()
    (plan,) = [text for text in stage.comments_on(pull.number) if "prd2pr:plan:" in text]
    assert "**The plan for A small calculator:** 2 stories, 2 acceptance criteria" in plan
    assert stage.issues() == {
        "prd2pr: A small calculator": "open",
        "calc-1: Add two numbers": "open",
        "calc-2: Double a number": "open",
    }


TRIPLE = {
    **PLAN["stories"][1],
    "key": "S9", "epic": "", "title": "Triple a number", "depends_on": ["calc-2"], "requirements": ["FR-3"],
}  # fmt: skip


@pytest.mark.slow
def test_a_changed_plan_is_shown_as_a_difference(stage: Stage) -> None:
    stage.show(DONE)
    world = stage.world
    world.write({"prds/calc.md": f"{PRD}- **FR-3** A number can be tripled.\n"})
    world.commit("change the PRD")
    world.answers = {"calc/plan-2/planner/1/1": say({"stories": [TRIPLE]})}
    assert world.next().status == 0
    stage.push()
    assert stage.show(APPROVAL).notes == ()
    (plan,) = [text for text in stage.comments_on(stage.pull().number) if "prd2pr:plan:" in text]
    assert "2 of 2 stories" in plan and "1 is new" in plan
    assert "+ calc-3  Triple a number" in plan
    assert stage.pull().labels == ["prd2pr:waiting"]
    assert stage.pull().pull.draft
    assert "calc-3: Triple a number" in stage.issues()


def test_commit_by_commit_each_object_exists_once(stage: Stage) -> None:
    for step, sha in enumerate(stage.commits):
        stage.at(step)
        last = step == len(stage.commits) - 1
        assert stage.show(DONE if last else AT_WORK).notes == ()
        assert read_sha_marker("head", stage.status()) == sha
    pull = stage.pull()
    assert (pull.pull.draft, pull.labels) == (False, ["prd2pr:done"])
    assert "### Ready for review: A small calculator" in stage.status()
    assert len(stage.comments_on(pull.number)) == 1
    assert set(stage.issues().values()) == {"open", "closed"}
    assert [title for title, state in stage.issues().items() if state == "open"] == ["prd2pr: A small calculator"]
    phases = [(name, conclusion) for _, name, conclusion in stage.checks() if name != "prd2pr / calc"]
    assert phases == [
        (f"prd2pr / {phase}(calc-{n})", "success") for n in (1, 2) for phase in ("red", "green", "integrated")
    ]
    whole = {sha: conclusion for sha, name, conclusion in stage.checks() if name == "prd2pr / calc"}
    assert list(whole) == stage.commits
    *at_work, integrated, completed = whole.values()
    assert (integrated, completed) == ("success", "success")
    assert set(at_work) == {"neutral"}


def test_a_story_issue_shows_the_progress_by_a_label_and_gets_one_comment_with_the_evidence(stage: Stage) -> None:
    for step, labels in ((0, ["prd2pr:todo"] * 2), (2, ["prd2pr:in-progress", "prd2pr:todo"])):
        stage.at(step)
        stage.show()
        assert [stage.story_issue(n).labels for n in (1, 2)] == [[label] for label in labels]
    stage.at(len(stage.commits) - 1)
    for _ in range(2):
        stage.show(DONE)
    issue = stage.story_issue(1)
    assert (issue.labels, issue.state, issue.state_reason) == (["prd2pr:done"], "closed", "completed")
    (evidence,) = stage.comments_on(issue.number)
    assert "**`calc-1` is done**, in #" in evidence and "- [x] `calc-1.c1`" in evidence
    for sha in stage.commits[1:5]:
        assert f"]({COMMITS}{sha})" in evidence


def test_the_issue_of_a_skipped_story_is_closed_as_not_planned(stage: Stage) -> None:
    stage.at(4)
    stage.show()
    for command in ("tdd abort", "skip_task"):
        with session_of(stage.world) as session:
            head = session.git.rev("prd2pr/calc")
            now = session.clock.now()
            decision = Decision(command=command, by="ada", at=now, text="not needed", stories=("calc-2",), head=head)
            assert isinstance(apply_decision(session, head, decision), AppliedDecision)
    stage.push()
    stage.show(DONE)
    skipped, built = stage.story_issue(2), stage.story_issue(1)
    assert (skipped.state, skipped.state_reason, skipped.labels) == ("closed", "not_planned", [])
    assert (built.state, built.state_reason) == ("closed", "completed")
    assert stage.comments_on(skipped.number) == []
    assert "Ready for review, 1 of 2 stories left out" in stage.pull().body


@pytest.mark.slow
def test_progress_during_a_run_needs_few_requests(stage: Stage) -> None:
    stage.at(2)
    stage.show(None)
    calls = len(stage.fake.calls)
    stage.at(3)
    stage.show(None)
    assert len(stage.fake.calls) - calls <= 14
    assert "### Working: A small calculator" in stage.status()
    assert stage.pull().labels == ["prd2pr:active"]
    assert stage.issues() == {}
    assert [name for _, name, _ in stage.checks()] == ["prd2pr / red(calc-1)", "prd2pr / green(calc-1)"]
    assert read_sha_marker("checked", stage.status()) == stage.commits[3]
    stage.show()
    assert len(stage.issues()) == 3
    assert len(stage.checks()) == 3


def test_publishing_once_at_the_end_looks_the_same(stage: Stage) -> None:
    stage.show(DONE)
    pull = stage.pull()
    assert (pull.pull.draft, pull.labels) == (False, ["prd2pr:done"])
    assert len([name for _, name, _ in stage.checks() if name != "prd2pr / calc"]) == 6
    assert stage.issues() == {
        "prd2pr: A small calculator": "open",
        "calc-1: Add two numbers": "closed",
        "calc-2: Double a number": "closed",
    }
    assert f"[`{stage.commits[2][:7]}`]({COMMITS}{stage.commits[2]})" in pull.body


@pytest.mark.slow
@pytest.mark.parametrize(("step", "stop"), [(0, APPROVAL), (3, AT_WORK), (-1, DONE)])
def test_publishing_twice_changes_nothing(stage: Stage, step: int, stop: NoAction) -> None:
    stage.at(step)
    stage.show(stop)
    before, seen = len(stage.writes()), stage.visible()
    calls = len(stage.fake.calls)
    stage.show(stop)
    assert stage.writes()[before:] == []
    assert stage.visible() == seen
    assert len(stage.fake.calls) - calls <= 8


class Killed(BaseException):
    """Not an Exception, so that nothing of ours catches it, as with kill -9."""


@dataclass
class DyingHub:
    """A hub that dies after its `at`-th call."""

    hub: GitHubHub
    at: int
    made: int = 0

    def around(self, hub: GitHubHub) -> Any:
        self.hub = hub
        return self

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            answer = getattr(self.hub, name)(*arguments, **named)
            self.made += 1
            if self.made == self.at:
                raise Killed
            return answer

        return call


@pytest.mark.slow
def test_killed_after_any_call_nothing_is_duplicated_or_missing(stage: Stage, tmp_path: Path) -> None:
    stage.at(5)

    def fresh(name: str) -> Stage:
        fake = FakeGitHub(tmp_path / name)
        fake.add_repository(REPOSITORY, PEOPLE)
        made = Stage(stage.world, fake, fake.actions_token(REPOSITORY), stage.commits)
        made.push()
        return made

    whole, immortal = fresh("whole"), DyingHub(None, 0)  # type: ignore[arg-type]
    whole.show(APPROVAL, wrap=immortal.around)
    assert immortal.made > 12
    for at in range(1, immortal.made + 1):
        killed = fresh(f"killed{at}")
        with pytest.raises(Killed):
            killed.show(APPROVAL, wrap=DyingHub(None, at).around)  # type: ignore[arg-type]
        killed.show(APPROVAL)
        assert killed.visible() == whole.visible(), at


def test_missing_permissions_are_reported_and_the_rest_is_published(stage: Stage) -> None:
    stage.token = stage.fake.actions_token(
        REPOSITORY, permissions={"contents": "write", "pull_requests": "write", "issues": "write", "metadata": "read"}
    )
    links = stage.show()
    (note,) = links.notes
    assert note.command == "the checks"
    assert "checks: write" in note.remedy
    assert stage.checks() == []
    assert "> Not published: the checks." in stage.status()
    assert stage.pull().labels != []
    assert read_sha_marker("checked", stage.status()) == ""
    stage.token = stage.fake.actions_token(REPOSITORY)
    stage.show()
    assert len(stage.checks()) == 7
    assert "Not published" not in stage.status()


def test_the_setting_is_named_if_actions_may_not_open_pull_requests(stage: Stage) -> None:
    stage.repo.actions_may_open_pulls = False
    links = stage.show()
    (note,) = links.notes
    assert links.pull is None
    assert note.remedy == PULLS_SETTING_REMEDY


def test_a_closed_pull_request_stays_closed_and_untouched(stage: Stage) -> None:
    stage.at(3)
    stage.show()
    set_state(stage.fake, stage.pull(), "closed", "ada")
    before, seen = len(stage.writes()), stage.visible()
    stage.at(5)
    stage.show()
    assert stage.writes()[before:] == []
    assert stage.visible() == seen


@pytest.mark.slow
def test_what_a_person_set_is_not_overwritten(stage: Stage) -> None:
    stage.at(3)
    stage.show()
    pull = stage.pull()
    pull.title, pull.pull.draft = "Our calculator", False
    pull.labels.append(on_issue(stage.fake, stage.repo, "keep me"))
    stage.at(5)
    stage.show()
    assert (stage.pull().title, stage.pull().pull.draft) == ("Our calculator", False)
    assert sorted(stage.pull().labels) == ["keep me", "prd2pr:waiting"]


@pytest.mark.slow
def test_a_copy_of_our_marker_is_not_ours(stage: Stage) -> None:
    stage.at(3)
    stage.show()
    number = stage.pull().number
    add_comment(stage.fake, stage.repo, number, "ada", f"{make_marker('status', 'calc')}\nAll done.")
    stage.at(4)
    stage.show()
    assert read_sha_marker("head", stage.status()) == stage.commits[4]
    assert [c.body for c in stage.repo.comments.values() if c.user == "ada"] == [
        f"{make_marker('status', 'calc')}\nAll done."
    ]


@pytest.mark.slow
def test_a_problem_is_raised_once(stage: Stage) -> None:
    problem = SetupProblem("no model key is set", where="ANTHROPIC_API_KEY", remedy="add the secret, then `/tdd run`")
    stage.at(3)
    for _ in range(3):
        stage.show(NoAction("stopped", problem.what, problem.remedy), problem=problem)
    assert "No model key is set" in stage.status()
    (asked,) = [text for text in stage.comments_on(stage.pull().number) if "prd2pr:waiting:" in text]
    assert "Add the secret" in asked
    assert stage.pull().labels == ["prd2pr:blocked"]


def test_an_issue_prd_tracks_itself(stage: Stage) -> None:
    stage.at(3)
    with open_hub(REPOSITORY, token=StaticToken(stage.fake.user_token("ada")), transport=transport(stage.fake)) as ada:
        asked = ada.open_issue("A small calculator", "please", (), marker="please")
    with session_of(stage.world) as session, stage.hub() as hub:
        links = publish(
            hub, PublishRequest(replace(session, target=replace(session.target, issue=asked.number)), AT_WORK)
        )
    assert links.tracking is not None
    assert links.tracking.number == asked.number
    assert f"Closes #{asked.number}" in stage.pull().body
    assert [text.splitlines()[0] for text in stage.comments_on(asked.number)] == ["<!-- prd2pr:tracking:calc -->"]
    assert "prd2pr: A small calculator" not in stage.issues()


def test_no_secret_leaves(stage: Stage) -> None:
    stage.world.git("checkout", "-q", "prd2pr/calc")
    stage.world.write({"leak.txt": "x"})
    stage.world.commit(f"quick fix {stage.token} and {stage.token[::-1]}")
    stage.world.git("checkout", "-q", "main")
    stage.push()

    def guarded(hub: GitHubHub) -> GitHubHub:
        hub.secrets.learn(stage.token)
        return hub

    stage.show(wrap=guarded)
    everything = "\n".join(
        [
            stage.pull().body,
            *stage.comments_on(stage.pull().number),
            *(f"{check.title} {check.summary}" for check in stage.repo.checks.values()),
        ]
    )
    assert stage.token not in everything
    assert stage.token.replace("_", "\\_") not in everything
    assert stage.token[::-1] not in everything
    assert "quick fix [redacted] and [redacted]" in everything


@pytest.mark.slow
def test_the_job_summary_states_the_outcome(stage: Stage) -> None:
    with session_of(stage.world) as session, stage.hub() as hub:
        seen = PublishRequest(session, DONE, commit_url=COMMITS)
        text = build_step_summary(seen, publish(hub, seen), hub)
    assert text.startswith("### Ready for review: A small calculator\n")
    assert [line.split("`")[1] for line in text.splitlines() if line.startswith("| `calc-")] == ["calc-1", "calc-2"]
    assert len(text.encode()) < 1_000_000


@pytest.mark.slow
def test_a_blocked_story_asks_a_person_once(tmp_path: Path, stage: Stage) -> None:
    answers = {**script(), "calc-1/green/builder/1/1": write("src/calc/sums.py", WRONG_ADD)}
    world = World(tmp_path / "stuck", answers).start({".prd2pr.yml": "attempts: 1\n"})
    assert world.run().status == 1
    stuck = Stage(world, stage.fake, stage.token)
    stage.world = world
    stuck.push()
    with session_of(world) as session:
        state = session.store.load(session.git.rev(session.target.branch))
        cycle = state.cycle("calc-1")
        assert cycle is not None
        assert cycle.state is CycleState.CODE_GREEN
    for _ in range(2):
        stuck.show(STUCK)
    assert stuck.pull().labels == ["prd2pr:blocked"]
    (asked,) = [text for text in stuck.comments_on(stuck.pull().number) if "prd2pr:waiting:" in text]
    assert "A small calculator is blocked" in asked
    assert '`/suggest_fix "what to try"`' in asked
    assert "prd2pr run" not in stuck.status()


MERGING = {"auto_merge": "squash"}


def test_a_finished_pull_request_is_merged_by_github_when_everything_required_is_there(stage: Stage) -> None:
    stage.repo.auto_merge, stage.repo.required_checks = True, ["prd2pr / calc", "tests"]
    stage.at(0)
    stage.show(settings=MERGING)
    assert stage.pull().pull.auto_merge is None, "it is a draft"
    stage.at(-1)
    assert stage.show(DONE, settings=MERGING).notes == ()
    assert stage.pull().pull.auto_merge == "squash"
    assert merge_what_is_ready(stage.fake, stage.repo) == [], "a required check is missing"
    stage.repo.statuses.append(CommitStatus(1, stage.commits[-1], "success", "tests", None, None, "ada", ""))
    assert merge_what_is_ready(stage.fake, stage.repo) == [stage.pull().number]
    assert stage.pull().pull.merged_at


def test_auto_merge_is_off_by_default_and_stays_off_when_a_person_disabled_it(stage: Stage) -> None:
    stage.repo.auto_merge, stage.repo.required_checks = True, ["tests"]
    stage.at(-1)
    stage.show(DONE)
    assert stage.pull().pull.auto_merge is None
    stage.show(DONE, settings=MERGING)
    assert stage.pull().pull.auto_merge is None, "it was ready before"


@pytest.mark.parametrize(("allowed", "remedy"), [(False, "Allow auto-merge"), (True, "Protect the base branch")])
def test_the_status_says_why_github_will_not_merge(stage: Stage, allowed: bool, remedy: str) -> None:
    stage.repo.auto_merge = allowed
    stage.at(-1)
    (note,) = stage.show(DONE, settings=MERGING).notes
    assert remedy in note.remedy and remedy in stage.status()

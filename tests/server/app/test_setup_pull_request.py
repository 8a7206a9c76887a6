"""The pull request that sets a repository up: opened once, with the App's own token, on the fake GitHub."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from sqlalchemy import text

from fakes.github import FakeGitHub, serve
from fakes.github.jwt import new_key_pair
from prd2pr.config import Config
from prd2pr.errors import HubProblem, NotFoundThere, WorkflowFilesLocked
from prd2pr.github.client.app import AppApi
from prd2pr.github.client.factory import open_hub
from prd2pr.github.client.setup_branch import SetupBranch
from prd2pr.github.client.tokens import AppKey
from prd2pr.github.events.events import AppInstalled, read_event
from prd2pr.github.setup.app_permissions import SETUP_ACCESS, get_requested_permissions
from prd2pr.github.setup.offer import OFFER_BRANCH, SetupOffer, offer_setup
from prd2pr.github.setup.workflow_file import SCHEDULE_PATH, WORKFLOW_PATH, render_workflow
from prd2pr.server.database import open_database
from prd2pr.server.installations import Installations
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.onboarding import make_github_offer, onboard_repositories
from prd2pr.server.work.batches import Batch
from prd2pr.server.work.setup_effect import OnboardingEffect
from prd2pr.state.layout import HUMAN_FILES

keys = cache(new_key_pair)
REPOSITORY = "octo/calc"
ACTION = f"octo/prd2pr@{'a' * 40}"
WHO = ("Ada", "ada@example.com", "2026-01-01T00:00:00Z")


def pinned(config: Config, branch: str) -> str:
    return render_workflow(config, branch, ACTION)


class World:
    def __init__(self, fake: FakeGitHub, url: str, permissions: dict[str, str]) -> None:
        self.fake = fake
        self.settings = ServerSettings(github_api_url=url, github_url=url)
        private, public = keys()
        app = fake.add_app("builder", "octo", public)
        self.installation = fake.install(app, [REPOSITORY], permissions)
        self.installations = Installations(AppApi(AppKey(str(app.id), private), url))

    def push(self, files: dict[str, str], branch: str = "main") -> None:
        bare = self.fake.bare(self.fake.repo(REPOSITORY))
        """A new branch begins at main."""
        heads = [bare.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{name}") for name in (branch, "main")]
        old = next(filter(None, heads), "")
        entries = [(name, "100644", bare.write_blob(text.encode())) for name, text in files.items()]
        tree = bare.write_tree(bare.git("rev-parse", f"{old}^{{tree}}") if old else None, entries)
        bare.git("update-ref", f"refs/heads/{branch}", bare.write_commit(tree, [old] if old else [], "x\n", WHO, WHO))

    def offer(self) -> SetupOffer:
        source = self.installations.source(self.installation.id, [REPOSITORY], SETUP_ACCESS)
        with open_hub(REPOSITORY, token=source, api_url=self.settings.github_api_url) as hub:
            return offer_setup(SetupBranch(hub), app_url="https://example.org/installations/7", workflow=pinned)

    def pulls(self) -> list:
        return [issue for issue in self.fake.repo(REPOSITORY).issues.values() if issue.pull]

    def added(self) -> list[str]:
        bare = self.fake.bare(self.fake.repo(REPOSITORY))
        return bare.git("diff", "--name-status", f"main...{OFFER_BRANCH}").split("\n")


@pytest.fixture
def fake(tmp_path: Path) -> FakeGitHub:
    made = FakeGitHub(tmp_path)
    made.add_repository(REPOSITORY, {"ada": "admin"})
    return made


@pytest.fixture
def world(fake: FakeGitHub) -> Iterator[World]:
    with serve(fake) as url:
        made = World(fake, url, get_requested_permissions())
        made.push({"README.md": "Calc\n"})
        yield made
    assert fake.violations == []


def test_one_pull_request_adds_the_missing_files_and_explains_them(world: World) -> None:
    assert world.offer() == SetupOffer(REPOSITORY, "opened", 1)
    assert world.offer() == SetupOffer(REPOSITORY, "open already", 1)
    [pull] = world.pulls()
    assert pull.user == "builder[bot]"
    assert sorted(world.added()) == [
        f"A\t{name}" for name in (SCHEDULE_PATH, WORKFLOW_PATH, *HUMAN_FILES, ".prd2pr.yml", "prds/_template.md")
    ]
    for words in (WORKFLOW_PATH, "`ANTHROPIC_API_KEY`", "never merges", "not be opened again", "installations/7"):
        assert words in pull.body
    pull.state = "closed"
    assert world.offer() == SetupOffer(REPOSITORY, "declined", 1)
    assert len(world.pulls()) == 1


def test_the_workflow_follows_the_existing_settings(world: World) -> None:
    world.push({".prd2pr.yml": "models: {default: 'openai:gpt-x', strong: 'openai:gpt-x'}\n"})
    assert world.offer().outcome == "opened"
    assert "A\t.prd2pr.yml" not in world.added()
    assert "`OPENAI_API_KEY`" in world.pulls()[0].body and "ANTHROPIC" not in world.pulls()[0].body


def test_nothing_is_opened_if_the_workflow_exists(world: World) -> None:
    world.push({WORKFLOW_PATH: "on: push\n"})
    assert world.offer().outcome == "set up already"
    world.fake.repo(REPOSITORY).archived = True
    assert world.offer().outcome == "archived"
    assert not world.pulls()


def test_an_interrupted_run_is_continued(world: World) -> None:
    world.push({WORKFLOW_PATH: pinned(Config(), "main")}, OFFER_BRANCH)
    assert world.offer().outcome == "opened"


def test_a_foreign_branch_of_that_name_is_left_alone(world: World) -> None:
    world.push({"mine.txt": "mine\n"}, OFFER_BRANCH)
    assert world.offer().outcome == "branch taken"
    assert not world.pulls()


def test_a_missing_workflows_permission_is_named(fake: FakeGitHub) -> None:
    with serve(fake) as url:
        world = World(fake, url, {**get_requested_permissions(), "workflows": "read"})
        world.push({"README.md": "Calc\n"})
        source = world.installations.source(
            world.installation.id, [REPOSITORY], {"contents": "write", "pull_requests": "write"}
        )
        with (
            open_hub(REPOSITORY, token=source, api_url=url) as hub,
            pytest.raises(WorkflowFilesLocked, match="not allowed to write workflow files"),
        ):
            offer_setup(SetupBranch(hub), workflow=pinned)


def installed(action: str, *names: str) -> AppInstalled:
    key = "repositories" if action == "created" else "repositories_added"
    event = read_event(
        "installation",
        {"action": action, "installation": {"id": 7}, key: [{"full_name": name} for name in names]},
    )
    assert isinstance(event, AppInstalled)
    return event


def test_each_repository_of_the_event_gets_one_and_errors_stay_separate(world: World) -> None:
    def offering(installation: int, repository: str) -> SetupOffer:
        if repository == "octo/b":
            raise HubProblem("it rains")
        return SetupOffer(repository, "opened", installation)

    event = installed("created", "octo/a", "octo/b", "octo/c", "octo/d")
    done = onboard_repositories(event, world.installations, offering, most=3)
    assert [each.repository for each in done.offered] == ["octo/a", "octo/c"]
    assert [name for name, _ in done.problems] == ["octo/b"] and done.left_out == ("octo/d",)
    assert onboard_repositories(installed("added", "octo/a"), world.installations, offering).offered[0].pull == 7
    for action in ("deleted", "suspend", "new_permissions_accepted"):
        assert not onboard_repositories(installed(action, "octo/a"), world.installations, offering).offered


def test_a_batch_of_an_installation_is_processed_from_the_inbox(world: World, tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/s.db")
    body = {"action": "created", "installation": {"id": 7}, "repositories": [{"full_name": REPOSITORY}]}
    with database.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO deliveries (guid, event, lane, received_at, body, state, batch) "
                "VALUES ('g-1', 'installation', 'installation:7', 0, :body, 'taken', 'c-1')"
            ),
            {"body": json.dumps(body).encode()},
        )

    def failing(problem: HubProblem) -> Callable[[int, str], SetupOffer]:
        def offering(_: int, repository: str) -> SetupOffer:
            raise problem

        return offering

    asked: list[str] = []
    ask = partial(asked.append, "may it?")
    batch = Batch("c-1", "installation:7", ())
    effect = OnboardingEffect(database, world.installations, lambda *_: world.offer())
    assert effect.begin(batch, 1, ask) == f"{REPOSITORY}: opened #1"
    assert effect.begin(batch, 1, ask) == f"{REPOSITORY}: open already #1" and effect.has_started(batch, "")
    assert effect.find(batch) is None and len(asked) == 2
    gone = OnboardingEffect(database, world.installations, failing(NotFoundThere("it is gone")))
    assert gone.begin(batch, 1, ask) == "nothing to offer"
    with pytest.raises(HubProblem, match="it rains"):
        OnboardingEffect(database, world.installations, failing(HubProblem("it rains"))).begin(batch, 1, ask)
    database.close()


def test_an_empty_repository_is_left_alone(fake: FakeGitHub) -> None:
    with serve(fake) as url:
        world = World(fake, url, get_requested_permissions())
        offering = make_github_offer(world.settings, world.installations)
        assert offering(world.installation.id, REPOSITORY).outcome == "empty"
    assert fake.violations == []

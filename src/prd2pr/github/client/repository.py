"""The connection to a repository, the bot's own account, and the permissions of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from prd2pr.domain.forge import Actor, BotIdentities, PermissionLevel, has_level
from prd2pr.domain.machines.command_aliases import add_tdd_to_commands
from prd2pr.domain.secrets import Secrets
from prd2pr.github.client import json_reader
from prd2pr.github.client.calls import RepositoryApi, check_response
from prd2pr.github.client.exchange import RestCall, join_path
from prd2pr.github.client.tokens import TokenSource

GITHUB_ACTIONS = Actor("github-actions[bot]", 41898282, bot=True)


class RepositoryCalls:
    """Base class of the calls for all resources: the connection, the bot's account and people's permissions.

    `close` or `with` ends the connection.
    """

    def __init__(
        self,
        api: RepositoryApi,
        source: TokenSource,
        close: Callable[[], None],
        say: Callable[[str], None],
        secrets: Secrets,
    ) -> None:
        self.api = api
        self.secrets = secrets
        self.close = close
        self._log = say
        self.only_tdd_commands = False  # `generic_commands: false`
        self._source = source
        self._me: Actor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def clean(self, text: str) -> str:
        """Return the text as it may be published: without secrets, and with the names of commands that are read."""
        text = self.secrets.scrub(text)
        return add_tdd_to_commands(text) if self.only_tdd_commands else text

    def me(self) -> Actor:
        """Return the account that writes our comments and pull requests."""
        if self._me is None:
            self._me = self._fetch_me()
        return self._me

    def ours(self) -> BotIdentities:
        """Return `me` and the other accounts whose comments and pull requests count as ours.

        A workflow of this repository may have started work that an App continues. A marker alone is no proof, because
        anyone can copy it.
        """
        return tuple({actor.id: actor for actor in (self.me(), GITHUB_ACTIONS)}.values())

    def _fetch_me(self) -> Actor:
        login = self._source.login()
        if login:
            return json_reader.read_actor(self.api.get(join_path("users", login)))
        # REST knows no account of an installation token; GraphQL knows that of every token.
        call = RestCall("POST", "/graphql", body={"query": "query { viewer { login databaseId } }"})
        answer = check_response(call, self.api.send_checked(call, None))
        viewer = answer.body["data"]["viewer"]
        name = str(viewer["login"])
        return Actor(name, int(viewer["databaseId"]), bot=name.endswith("[bot]"))

    def _is_ours(self, author: Actor) -> bool:
        return author.id in {each.id for each in self.ours()}

    def _is_trusted(self, author: Actor) -> bool:
        return self._is_ours(author) or has_level(self.permission(author.login), "write")

    def permission(self, login: str) -> PermissionLevel:
        found = self.api.get_optional(self.api.path("collaborators", login, "permission"))
        return "none" if found is None else json_reader.read_level(found)

    def default_branch(self) -> str:
        return str(self.api.get(join_path("repos", self.api.owner, self.api.name))["default_branch"])

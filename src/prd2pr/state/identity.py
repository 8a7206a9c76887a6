"""Who commits: the user of a local repository, or the bot's account on GitHub."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from prd2pr.errors import IdentityMissing
from prd2pr.state.commit_message import append_trailer

BOT_NAME = "prd2pr"  # in records of decisions that a run on GitHub made itself
ASSISTED_BY, SIGNED_OFF_BY = "Assisted-by", "Signed-off-by"


@dataclass(frozen=True)
class Identity:
    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


def make_account_identity(login: str, account: int, server_url: str) -> Identity:
    """Return the identity with the account's noreply address, by which GitHub shows the account as the author."""
    host = urlsplit(server_url).hostname or "github.com"
    return Identity(login, f"{account}+{login}@users.noreply.{host}")


@dataclass
class Committer:
    """The author and committer of the commits made in one repository."""

    read_user: Callable[[], str]  # `git var GIT_AUTHOR_IDENT`; empty if git does not know the user
    account: Callable[[], Identity] | None = None  # on GitHub; asked once, before the first commit
    signs_off: bool = False
    _known: Identity | None = None

    def identify(self) -> Identity:
        """Return the author of commits, or raise IdentityMissing."""
        if self._known is None:
            self._known = self.account() if self.account else parse_user_identity(self.read_user())
        return self._known

    @property
    def user_name(self) -> str:
        """The name in records: the local user's, or the bot's on GitHub, where records name people by their login."""
        return BOT_NAME if self.account else self.identify().name

    def sign_off(self, message: str) -> str:
        return append_trailer(message, SIGNED_OFF_BY, str(self.identify())) if self.signs_off else message


def parse_user_identity(text: str) -> Identity:
    name, _, rest = text.partition(" <")
    if not name or ">" not in rest:
        raise IdentityMissing(
            "git does not know who you are, and you are the author of the commits",
            where="user.name and user.email",
            remedy='git config --global user.name "Your Name" && git config --global user.email you@example.com',
        )
    return Identity(name, rest.partition(">")[0])

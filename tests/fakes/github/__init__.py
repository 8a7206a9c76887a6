"""A fake GitHub: `FakeGitHub` holds the state, `serve` puts it on loopback, `transport` gives it to httpx."""

from fakes.github.fake import ACTIONS_BOT, ACTIONS_BOT_ID, FakeGitHub
from fakes.github.server import serve
from fakes.github.transport import transport

__all__ = ["ACTIONS_BOT", "ACTIONS_BOT_ID", "FakeGitHub", "serve", "transport"]

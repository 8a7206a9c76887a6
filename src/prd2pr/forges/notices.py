"""Messages outside GitHub: Discord, Slack, mail and whatever else apprise knows. Nothing depends on their arrival."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

INSTALL = "pip install 'prd2pr[notify]'"
# What a chat would turn into a call to everybody. PRDs are written by anyone.
CALLS = re.compile(r"@(?=\w)|<(?=[!@#])")
UNSEEN = "\u200b"


def addresses(text: str) -> tuple[str, ...]:
    """From one variable: spaces or line ends between."""
    return tuple(text.split())


def send(urls: Iterable[str], title: str, body: str) -> tuple[str, ...]:
    """Sends to each. The answer is a note for each that failed, without the address, which holds secrets."""
    wanted = tuple(urls)
    if not wanted:
        return ()
    try:
        import apprise
    except ImportError:
        return (f"No message was sent: apprise is not installed. `{INSTALL}` installs it.",)
    notes = []
    with _silent():
        for position, url in enumerate(wanted, start=1):
            service = apprise.Apprise.instantiate(url, suppress_exceptions=True)
            name = f"address {position} of {len(wanted)} ({scheme(url)})"
            if service is None:
                notes.append(f"No message was sent to {name}: apprise cannot read the address.")
            elif not service.notify(body=quiet(body), title=quiet(title)):
                notes.append(f"No message was sent to {name}: the service did not take it.")
    return tuple(notes)


def scheme(url: str) -> str:
    """All of an address that may be shown."""
    found = re.match(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)", url)
    return found[0].lower() if found else "no scheme"


def quiet(text: str) -> str:
    return CALLS.sub(lambda found: found[0] + UNSEEN, text)


@contextmanager
def _silent() -> Iterator[None]:
    """apprise logs addresses, secrets included, where something fails."""
    log = logging.getLogger("apprise")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before

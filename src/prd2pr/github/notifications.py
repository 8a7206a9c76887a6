"""Send notifications to Discord, Slack, mail and other services through apprise.

Failed deliveries do not affect the run.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from prd2pr.config import Notify
from prd2pr.github.outcome import PrdOutcome
from prd2pr.workflow.interfaces import Progress

INSTALL = "pip install 'prd2pr[notify]'"
# PRDs are untrusted text, and a chat could turn these into a mention of everyone.
MENTIONS = re.compile(r"@(?=\w)|<(?=[!@#])")
ZERO_WIDTH_SPACE = "\u200b"


def split_addresses(text: str) -> tuple[str, ...]:
    """Split the value of a variable at whitespace."""
    return tuple(text.split())


def send_message(urls: Iterable[str], title: str, body: str) -> tuple[str, ...]:
    """Send the message to each address and return a note for each failure.

    Addresses contain secrets, so notes do not include them.
    """
    wanted = tuple(urls)
    if not wanted:
        return ()
    try:
        import apprise
    except ImportError:
        return (f"No message was sent: apprise is not installed. `{INSTALL}` installs it.",)
    notes = []
    with _mute_apprise_log():
        for position, url in enumerate(wanted, start=1):
            service = apprise.Apprise.instantiate(url, suppress_exceptions=True)
            name = f"address {position} of {len(wanted)} ({get_url_scheme(url)})"
            if service is None:
                notes.append(f"No message was sent to {name}: apprise cannot read the address.")
            elif not service.notify(body=defuse_mentions(body), title=defuse_mentions(title)):
                notes.append(f"No message was sent to {name}: the service rejected it.")
    return tuple(notes)


def get_url_scheme(url: str) -> str:
    """Return the scheme, which is the only part of an address that may be shown."""
    found = re.match(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)", url)
    return found[0].lower() if found else "no scheme"


def defuse_mentions(text: str) -> str:
    return MENTIONS.sub(lambda found: found[0] + ZERO_WIDTH_SPACE, text)


@contextmanager
def _mute_apprise_log() -> Iterator[None]:
    """Keep apprise from logging addresses, which contain secrets."""
    log = logging.getLogger("apprise")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def send_notices(notify: Notify, env: Mapping[str, str], outcomes: Iterable[PrdOutcome], progress: Progress) -> None:
    """Send one message for each new outcome. A scheduled run without changes sends nothing."""
    urls = split_addresses(env.get(notify.urls_from, ""))
    wanted = [outcome for outcome in outcomes if outcome.is_news and outcome.status in notify.events]
    for outcome in wanted if urls else ():
        title = f"prd2pr: {outcome.prd} is {OUTCOME_WORDS.get(outcome.status, outcome.status)}"
        lines = (outcome.reason, f"Next: {outcome.next}" if outcome.next else "", outcome.pull)
        for note in send_message(urls, title, "\n".join(filter(None, lines))):
            progress.say("note", text=note)


OUTCOME_WORDS = {"budget": "out of budget", "waiting": "waiting for a person"}

"""Messages outside the code host, about what a person may want to know of at once. None of them is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prd2pr.config import Notify
from prd2pr.core.outcome import Ending
from prd2pr.forges.notices import addresses, send
from prd2pr.ports import Progress


def send_notices(notify: Notify, env: Mapping[str, str], endings: Iterable[Ending], progress: Progress) -> None:
    """Once for each change: a schedule that finds nothing new sends nothing."""
    urls = addresses(env.get(notify.urls_from, ""))
    wanted = [ending for ending in endings if ending.news and ending.ended in notify.events]
    for ending in wanted if urls else ():
        title = f"prd2pr: {ending.prd} is {HOW.get(ending.ended, ending.ended)}"
        lines = (ending.reason, f"Next: {ending.next}" if ending.next else "", ending.pull)
        for note in send(urls, title, "\n".join(filter(None, lines))):
            progress.say("note", text=note)


HOW = {"budget": "out of budget", "waiting": "waiting for a person"}

"""What a run says while it works: one table of events, for the terminal and for whoever else listens.

`progress.say("phase", story=…, …)`: an event that is not here, a fact too many or one too few is the caller's mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    meaning: str
    facts: tuple[str, ...]
    optional: tuple[str, ...] = ()


EVENTS: Mapping[str, Event] = {
    "plan": Event("there is a plan", ("stories", "criteria", "questions"), ("estimate", "models")),
    "story": Event("a story is begun", ("id", "title")),
    "working": Event("a role or a run is under way", ("phase", "what"), ("attempt",)),
    "phase": Event("a phase was crossed", ("story", "phase", "outcome"), ("seconds", "tokens", "sha")),
    "refused": Event("a gate refused an attempt", ("story", "phase", "codes", "attempt", "of"), ("summary",)),
    "refused_write": Event("a role wanted to write what it may not", ("path", "code")),
    "retry": Event("a call is made again", ("why",), ("seconds",)),
    "note": Event("something worth knowing", ("text",)),
    "resumed": Event("an earlier run is continued", ("text",)),
    "done": Event("nothing is left to do", ("page", "branch", "proved", "steps")),
    "costs": Event("what each role took in this run", ("lines",)),
    "stopped": Event("the run ends early", ("reason",), ("next", "blocked")),
}


def check_news(event: str, facts: Mapping[str, object]) -> None:
    if event not in EVENTS:
        raise ValueError(f"there is no event {event!r}; there are {', '.join(EVENTS)}")
    known = EVENTS[event]
    missing = [name for name in known.facts if name not in facts]
    unknown = [name for name in facts if name not in known.facts + known.optional]
    if missing or unknown:
        raise ValueError(f"event {event!r}: missing {missing}, unknown {unknown}")

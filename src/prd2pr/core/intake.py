"""What a delivery of GitHub asks for, read from its body when it comes in: which repository, or why nothing follows.

Nothing past this knows payloads. Whoever does the work reconciles: it looks how things stand, whatever was delivered
in whatever order. So little of a delivery has to be known.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from prd2pr.core.doorstep import irrelevant
from prd2pr.core.events import Commented, Event, Ignored, Installed, Labelled, Said, read_event, written_said
from prd2pr.core.said.text_digest import text_digest

REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}")
INSTALLATION_LANE = "installation:"  # a colon is in no repository's name
# After these a repository's branches may be other ones than before, whoever did it.
STIRRING = frozenset({"push", "create", "delete", "pull_request", "workflow_run"})


@dataclass(frozen=True)
class Intake:
    lane: str  # what is done one after the other: a repository, or an installation
    ignored: str = ""  # why nothing follows; empty where something does
    said: str = ""  # where, if somebody said something: `core.events.Said`, written
    stirs: bool = False  # its branches may have moved: whoever shows them looks again


def take_in(event: str, body: bytes) -> Intake:
    """Never raises: what cannot be read is ignored, and the reason says so."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return Intake("", "the body is not JSON")
    return read_payload(event, payload) if isinstance(payload, dict) else Intake("", "the payload is not a JSON object")


def read_payload(event: str, payload: dict[str, Any]) -> Intake:
    lane, stirs = repository_of(payload), event in STIRRING
    reason = irrelevant(event, payload)
    read: Event = Ignored(reason) if reason else read_event(event, payload)
    if isinstance(read, Ignored):
        return Intake(lane, read.reason, stirs=stirs and bool(lane))
    if isinstance(read, Installed):
        return Intake(f"{INSTALLATION_LANE}{read.installation}")
    if not lane:
        return Intake("", "the payload names no repository")
    if isinstance(read, Commented | Labelled):
        return Intake(lane, said=written_said([said_by(read)]), stirs=stirs)
    return Intake(lane, stirs=stirs)


def said_by(read: Commented | Labelled) -> Said:
    comment = read.comment.id if isinstance(read, Commented) else 0
    return Said(read.number, text_digest(read.title, read.body), comment)


def repository_of(payload: dict[str, Any]) -> str:
    repository = payload.get("repository")
    name = repository.get("full_name") if isinstance(repository, dict) else None
    return name if isinstance(name, str) and REPOSITORY.fullmatch(name) else ""

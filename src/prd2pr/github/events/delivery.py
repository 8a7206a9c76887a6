"""Summarize a webhook delivery when it arrives: its repository, or the reason why it is ignored.

The worker compares the current state with GitHub and does not depend on the content or order of deliveries, so little
of a delivery has to be stored.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from prd2pr.github.events.event_filter import explain_ignored
from prd2pr.github.events.events import (
    AppInstalled,
    CommentCreated,
    CommentRef,
    Event,
    EventIgnored,
    LabelAdded,
    compute_text_digest,
    format_comment_refs,
    read_event,
)

REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}")
INSTALLATION_LANE = "installation:"  # repository names contain no colon
# Events after which the branches of a repository may have changed.
BRANCH_EVENTS = frozenset({"push", "create", "delete", "pull_request", "workflow_run"})


@dataclass(frozen=True)
class DeliverySummary:
    lane: str  # a repository or an installation; its deliveries are processed serially
    ignored: str = ""  # reason why the delivery is ignored; empty if it is not
    comment_refs: str = ""  # formatted `CommentRef`s if a comment or label was added
    moves_branches: bool = False  # branches may have moved, so the projection must be refreshed


def summarize_delivery(event: str, body: bytes) -> DeliverySummary:
    """Summarize a delivery. Never raises: an invalid payload is ignored with a reason."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return DeliverySummary("", "the body is not JSON")
    return (
        summarize_payload(event, payload)
        if isinstance(payload, dict)
        else DeliverySummary("", "the payload is not a JSON object")
    )


def summarize_payload(event: str, payload: dict[str, Any]) -> DeliverySummary:
    lane, moves_branches = read_repository_name(payload), event in BRANCH_EVENTS
    reason = explain_ignored(event, payload)
    read: Event = EventIgnored(reason) if reason else read_event(event, payload)
    if isinstance(read, EventIgnored):
        return DeliverySummary(lane, read.reason, moves_branches=moves_branches and bool(lane))
    if isinstance(read, AppInstalled):
        return DeliverySummary(f"{INSTALLATION_LANE}{read.installation}")
    if not lane:
        return DeliverySummary("", "the payload names no repository")
    if isinstance(read, CommentCreated | LabelAdded):
        return DeliverySummary(
            lane, comment_refs=format_comment_refs([find_comment_ref(read)]), moves_branches=moves_branches
        )
    return DeliverySummary(lane, moves_branches=moves_branches)


def find_comment_ref(read: CommentCreated | LabelAdded) -> CommentRef:
    comment = read.comment.id if isinstance(read, CommentCreated) else 0
    return CommentRef(read.number, compute_text_digest(read.title, read.body), comment)


def read_repository_name(payload: dict[str, Any]) -> str:
    repository = payload.get("repository")
    name = repository.get("full_name") if isinstance(repository, dict) else None
    return name if isinstance(name, str) and REPOSITORY.fullmatch(name) else ""

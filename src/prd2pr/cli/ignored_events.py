"""Decide with the standard library alone whether prd2pr can ignore an Actions event.

Imports neither the configuration nor the event models; the rules are those of `github/events/event_filter.py`.
"""

from __future__ import annotations

import json
import os

from prd2pr.github.events.event_filter import explain_ignored


def find_ignore_reason() -> str:
    """Return why the current event can be ignored; empty if it may matter."""
    name = os.environ.get("GITHUB_EVENT_NAME", "")
    path = os.environ.get("GITHUB_EVENT_PATH", "")
    if not name or not path:
        return ""  # not inside Actions: reported by the verb itself
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs 5 ms here
            event = json.load(file)
    except (OSError, ValueError, RecursionError):
        return ""  # reported by the verb itself
    if not isinstance(event, dict):
        return ""
    return explain_ignored(name, event)

"""Decide, with only the standard library, whether prd2pr can ignore an Actions event.

Imports neither the configuration nor the event models; the rules are those of `github/events/event_filter.py`.
"""

from __future__ import annotations

import json
import os

from prd2pr.github.events.event_filter import explain_ignored


def find_ignore_reason() -> str:
    """Return why the current event can be ignored, or "" if it may be relevant."""
    name = os.environ.get("GITHUB_EVENT_NAME", "")
    path = os.environ.get("GITHUB_EVENT_PATH", "")
    if not name or not path:
        return ""  # not inside Actions, which the verb itself reports
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs 5 ms here
            event = json.load(file)
    except (OSError, ValueError, RecursionError):
        return ""  # the verb itself reports this
    if not isinstance(event, dict):
        return ""
    return explain_ignored(name, event)

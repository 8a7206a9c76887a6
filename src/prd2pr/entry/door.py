"""Tells, with nothing but the standard library, that an Actions event is none of prd2pr's business.

It imports neither the configuration nor the event models; the rules are those of `core/doorstep.py`.
"""

from __future__ import annotations

import json
import os

from prd2pr.core.doorstep import irrelevant


def ignored() -> str:
    """Why the event at hand can be ignored; empty when it may matter."""
    name = os.environ.get("GITHUB_EVENT_NAME", "")
    path = os.environ.get("GITHUB_EVENT_PATH", "")
    if not name or not path:
        return ""  # not inside Actions: let the entry itself say so
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs 5 ms here
            event = json.load(file)
    except (OSError, ValueError, RecursionError):
        return ""  # let the entry itself report it
    if not isinstance(event, dict):
        return ""
    return irrelevant(name, event)

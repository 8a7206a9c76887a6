"""`prd2pr replay`: what an event would make the bot do, from a payload file; without `--dry-run` it does it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from prd2pr.core.commands import BadArguments, Command, Parsed, UnknownCommand, parse_comment
from prd2pr.core.events import (
    Commented,
    Dispatched,
    Event,
    Ignored,
    Installed,
    Labelled,
    PullClosed,
    Pushed,
    Scheduled,
    Stirred,
    read_event,
)
from prd2pr.errors import UsageProblem

MOST_BYTES = 25_000_000  # what GitHub sends at most


def main(options: argparse.Namespace) -> int:
    path = Path(options.payload)
    payload = read_payload(path)
    if options.dry_run:
        return tell(read_event(options.event, payload), as_json=options.json)
    from prd2pr.entry.verbs.action import main as act

    os.environ.update(GITHUB_EVENT_NAME=options.event, GITHUB_EVENT_PATH=str(path.resolve()))
    return act(options)


def read_payload(path: Path) -> object:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageProblem("the payload is larger than any that GitHub sends", where=str(path))
        return json.loads(path.read_bytes())
    except OSError as problem:
        raise UsageProblem(f"the payload cannot be read: {problem.strerror}", where=str(path)) from None
    except (ValueError, RecursionError):
        raise UsageProblem("the payload is not JSON", where=str(path), remedy="give the event's JSON file") from None


def tell(event: Event, *, as_json: bool) -> int:
    lines = list(sentences(event))
    if as_json:
        kind = "ignored" if isinstance(event, Ignored) else type(event).__name__.lower()
        sys.stdout.write(json.dumps({"event": kind, "would": lines}) + "\n")
    else:
        sys.stdout.write("\n".join(lines) + "\n")
    return 0


def sentences(event: Event) -> Iterator[str]:
    """Who may is not asked: that takes the code host."""
    match event:
        case Ignored():
            yield f"ignored: {event.reason}"
        case Pushed():
            yield f"look into the PRDs that {event.actor.login} pushed to {event.branch}: {files(event)}"
        case Labelled():
            yield f"if `{event.label}` is the trigger label, plan #{event.number}, for {event.actor.login}"
        case Commented():
            found = parse_comment(event.comment.body)
            yield from map(command, found) if found else ["nothing: the comment holds no command"]
        case Dispatched():
            yield f"go on with {event.inputs.get('prd') or 'every PRD under way'}"
        case Scheduled() | Stirred():
            yield "look for what was lost: every PRD under way, and issues with the trigger label"
        case PullClosed():
            yield f"note that #{event.number} is {'merged' if event.merged else 'closed'}"
        case Installed():
            yield f"note that the App is {event.action} for {event.account}"


def files(event: Pushed) -> str:
    return "git is asked which" if event.paths is None else ", ".join(event.paths) or "none"


def command(parsed: Parsed) -> str:
    match parsed:
        case Command():
            return f"{parsed.written}  ({parsed.spec.help.rstrip('.')}; needs the permission {parsed.needs})"
        case UnknownCommand():
            meant = f"; did you mean {parsed.did_you_mean}?" if parsed.did_you_mean else ""
            return f"{parsed.written}: there is no such command{meant}"
        case BadArguments():
            return f"{parsed.written}: {parsed.problem}"

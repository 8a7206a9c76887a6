"""`prd2pr replay`: process an event from a payload file or, with `--dry-run`, only show the actions."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from prd2pr.errors import UsageProblem
from prd2pr.github.commands.parser import BadArguments, ParsedCommand, ParsedLine, UnknownCommand, parse_comment
from prd2pr.github.events import events
from prd2pr.github.events.event_filter import NO_COMMAND

MAX_BYTES = 25_000_000  # GitHub's limit
# Event names in the JSON output, which must stay the same even if the classes are renamed.
EVENT_NAMES: dict[type[events.Event], str] = {
    events.AppInstalled: "installed",
    events.BranchPushed: "pushed",
    events.CommentCreated: "commented",
    events.EventIgnored: "ignored",
    events.LabelAdded: "labelled",
    events.PullClosed: "pullclosed",
    events.PullReopened: "pullreopened",
    events.ScheduleTriggered: "scheduled",
    events.ServerDispatched: "stirred",
    events.WorkflowDispatched: "dispatched",
}


def main(options: argparse.Namespace) -> int:
    path = Path(options.payload)
    payload = read_payload_file(path)
    if options.dry_run:
        return print_actions(events.read_event(options.event, payload), as_json=options.json)
    from prd2pr.cli.verbs.action import main as run_action

    os.environ.update(GITHUB_EVENT_NAME=options.event, GITHUB_EVENT_PATH=str(path.resolve()))
    return run_action(options)


def read_payload_file(path: Path) -> object:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageProblem(f"the payload exceeds GitHub's limit of {MAX_BYTES // 1_000_000} MB", where=str(path))
        return json.loads(path.read_bytes())
    except OSError as error:
        raise UsageProblem(f"the payload cannot be read: {error.strerror}", where=str(path)) from None
    except (ValueError, RecursionError):
        raise UsageProblem(
            "the payload is not JSON", where=str(path), remedy="name a JSON file with the payload of the event"
        ) from None


def print_actions(event: events.Event, *, as_json: bool) -> int:
    lines = list(describe_event(event))
    if as_json:
        kind = EVENT_NAMES[type(event)]
        sys.stdout.write(json.dumps({"event": kind, "would": lines}) + "\n")
    else:
        sys.stdout.write("\n".join(lines) + "\n")
    return 0


def describe_event(event: events.Event) -> Iterator[str]:
    """Yield a description of each action that the event would trigger.

    Permissions are not checked, because that requires GitHub.
    """
    match event:
        case events.EventIgnored():
            yield f"ignored: {event.reason}"
        case events.BranchPushed():
            yield f"read the PRDs that {event.actor.login} pushed to {event.branch}: {describe_paths(event)}"
        case events.LabelAdded():
            yield f"if `{event.label}` is the trigger label, plan #{event.number}, for {event.actor.login}"
        case events.CommentCreated():
            found = parse_comment(event.comment.body)
            yield from map(describe_command, found) if found else [f"nothing: {NO_COMMAND}"]
        case events.WorkflowDispatched():
            yield f"resume {event.inputs.get('prd') or 'every PRD in progress'}"
        case events.ScheduleTriggered() | events.ServerDispatched():
            yield "look for missed work: every PRD in progress, and issues with the trigger label"
        case events.PullClosed():
            yield f"record that #{event.number} is {'merged' if event.merged else 'closed'}"
        case events.AppInstalled():
            yield f"record that the App is {event.action} for {event.account}"


def describe_paths(event: events.BranchPushed) -> str:
    return "determined with git" if event.paths is None else ", ".join(event.paths) or "none"


def describe_command(parsed: ParsedLine) -> str:
    match parsed:
        case ParsedCommand():
            return f"{parsed.written}  ({parsed.spec.help.rstrip('.')}; requires the permission {parsed.needs})"
        case UnknownCommand():
            meant = f"; did you mean {parsed.did_you_mean}?" if parsed.did_you_mean else ""
            return f"{parsed.written}: unknown command{meant}"
        case BadArguments():
            return f"{parsed.written}: {parsed.problem}"

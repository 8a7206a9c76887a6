"""`prd2pr command`: run a slash command at the terminal, with the same handlers and refusals as in a comment."""

from __future__ import annotations

import argparse
import html
import json
import re
import sys

from prd2pr.cli.active_prds import select_prds
from prd2pr.cli.context import open_repository
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import open_session
from prd2pr.domain.machines.commands import COMMANDS
from prd2pr.domain.records import Prd
from prd2pr.errors import UsageProblem
from prd2pr.github.command_queue import build_refusal
from prd2pr.github.commands.dispatch import REGISTER, execute
from prd2pr.github.commands.parser import ParsedCommand, ParsedLine, parse_comment
from prd2pr.github.commands.request import CommandRequest, CommandResult
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import CommandReply, is_refusal
from prd2pr.workflow.run import complete_idle_prd

# Markup of the replies, which are written for GitHub.
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
EMPHASIS = re.compile(r"(?<!\\)\*\*|^#+ |^> ?|</?(?:details|summary|pre)>", re.MULTILINE)
ESCAPED = re.compile(r"\\([\\`*_\[\]~#|<>])")


def main(options: argparse.Namespace) -> int:
    command = parse_words(options.words)
    if isinstance(command, ParsedCommand) and command.name == REGISTER:
        raise UsageProblem(f"{command.shown} sets up a repository on GitHub", remedy="at a terminal: prd2pr init")
    with Terminal(sys.stderr) as progress:
        prd = choose_prd(options)
        session = open_session(argparse.Namespace(**vars(options), record=None), progress, prd)
        with session.git:
            by = session.git.user_name()
            if not isinstance(command, ParsedCommand):
                result = CommandResult("", build_refusal(command, by, "admin", allowed=True))
            else:
                result = execute(session, CommandRequest(command, by=by, level="admin", at=session.clock.now()))
                if not (command.reads or result.run or result.steps_wanted):
                    complete_idle_prd(session)
    refused = result.answer is not None and is_refusal(result.answer)
    if options.json:
        facts = {
            "command": command.shown,
            "refused": refused,
            "head": result.head,
            "reply": format_reply(result.answer),
        }
        sys.stdout.write(json.dumps(facts) + "\n")
    else:
        sys.stdout.write(format_reply(result.answer))
    if refused or not (result.run or result.steps_wanted):
        return 1 if refused else 0
    return continue_work(options, session.prd.path, result)


def choose_prd(options: argparse.Namespace) -> Prd:
    """Return the named PRD, or the only one that has a branch; of several, the only unfinished one."""
    with open_repository(options.repo) as git:
        found = select_prds(git, options.prd)
        unfinished = [each for each in found if not each.is_finished]
    chosen = found if len(found) == 1 else unfinished
    if len(chosen) != 1:
        known = ", ".join(each.prd.id for each in found) or "none"
        raise UsageProblem(f"name the PRD; PRDs with a branch: {known}", remedy="add --prd ID")
    return chosen[0].prd


def continue_work(options: argparse.Namespace, prd: str, result: CommandResult) -> int:
    """Run the phases that the command allows, as a run on GitHub does after a comment."""
    from prd2pr.cli.local_run import run_and_publish

    run = argparse.Namespace(
        **{**vars(options), "prd": prd, "story": result.story or None, "record": None, "workers": 1}
    )
    outcome = run_and_publish(run, result.steps_wanted)
    return 0 if outcome.steps or outcome.stop.outcome == "done" else 1


def parse_words(words: list[str]) -> ParsedLine:
    """Parse the words as a line of a comment. The shell has already removed the quotes around arguments with spaces."""
    line = " ".join(words[:1] + [f'"{word}"' if " " in word else word for word in words[1:]])
    parsed = parse_comment(line if line.startswith("/") else f"/{line}")
    if len(parsed) != 1:
        known = ", ".join(dict.fromkeys(name.split()[0] for name in COMMANDS))
        raise UsageProblem("this is not a command", where=line, remedy=f"commands start with {known}")
    return parsed[0]


def format_reply(reply: CommandReply | None) -> str:
    """Return a reply as plain text."""
    if reply is None:
        return ""
    text = EMPHASIS.sub("", LINK.sub(r"\1", render_reply(reply)))
    return html.unescape(ESCAPED.sub(r"\1", text)).replace("\u200b", "")
